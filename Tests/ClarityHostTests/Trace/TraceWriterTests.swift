import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("Writing traces")
struct TraceWriterTests {
    private let base = Conditions(
        connected: .init(true, source: "route"), battery: .init(.charge(percent: 80), source: "b"))

    @Test func `the first line is whole and the next has what changed`() {
        var writer = TraceWriter()
        var later = base
        later.battery = .init(.charge(percent: 79), source: "b")

        let first = writer.line(for: base, at: .noon)
        let second = writer.line(for: later, at: .noon + .milliseconds(1500))

        #expect(
            first?.hasPrefix(
                #"{"at":"2026-11-20T12:00:00Z","connected":true,"metered":null,"#) == true)
        #expect(
            second
                == #"{"at":"2026-11-20T12:00:01.500Z","battery":79,"sources":{"battery":"b"}}"#)
    }

    @Test func `no change and a change of source alone make no line`() {
        var writer = TraceWriter()
        var moved = base
        moved.connected.source = "elsewhere"
        _ = writer.line(for: base, at: .noon)

        #expect(writer.line(for: base, at: .noon + .seconds(1)) == nil)
        #expect(writer.line(for: moved, at: .noon + .seconds(2)) == nil)
    }

    @Test func `times rise though the clock is set back`() {
        var writer = TraceWriter()
        let lines = [0, -3600, -3000, 60].enumerated().compactMap { index, seconds in
            writer.line(
                for: Conditions(pressurePercent: .init(index, source: "p")),
                at: .noon + .seconds(seconds))
        }

        #expect(
            lines.map { $0.split(separator: "\"")[3] } == [
                "2026-11-20T12:00:00Z", "2026-11-20T12:00:00.001Z", "2026-11-20T12:00:00.002Z",
                "2026-11-20T12:01:00Z",
            ])
    }

    @Test func `what is written is read as it was`() throws {
        var draw = SeededGenerator(seed: 20_261_120)
        var conditions = Conditions()
        var writer = TraceWriter()
        var entries: [ConditionTrace.Entry] = []
        var lines = ""
        for number in 0..<500 {
            // Each value has its own source, so that neither changes without the other.
            switch Int.random(in: 0..<5, using: &draw) {
            case 0:
                let value = [true, false, nil].randomElement(using: &draw) ?? nil
                conditions.connected = .init(value, source: "route \(String(describing: value))")
            case 1:
                let percent = Int.random(in: 0...100, using: &draw)
                conditions.battery = .init(.charge(percent: percent), source: "cell \(percent)")
            case 2: conditions.battery = .init(.absent, source: "\u{1B}[31m\"none\"\n")
            case 3:
                let bytes = Int64.random(in: 0...Int64.max, using: &draw)
                conditions.storageFreeBytes = .init(bytes, source: "/\(bytes)")
            default: conditions.idle = .unknown("no login manager")
            }
            let at = Instant.noon + .milliseconds(Int64(number) * 977)
            guard let line = writer.line(for: conditions, at: at) else { continue }
            entries.append(.init(at: at, conditions: conditions))
            lines += line + "\n"
        }

        let trace = try TraceReader().read(Array(lines.utf8), path: "drawn")

        #expect(entries.count > 300)
        // While a condition stays unknown, its reason may change without a line.
        #expect(trace.entries.map(\.at) == entries.map(\.at))
        #expect(
            trace.entries.map { values($0.conditions) } == entries.map { values($0.conditions) })
    }

    private func values(_ conditions: Conditions) -> Conditions {
        var result = conditions
        if result.idle.value == nil { result.idle.source = "" }
        if result.connected.value == nil { result.connected.source = "" }
        return result
    }
}
