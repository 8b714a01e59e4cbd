import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import Import

@Suite struct SampleFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(
        _ text: some Sequence<UInt8>, isList: Bool = false
    ) throws -> (values: [String], outcome: SampleFile.Outcome) {
        let path = try folder.write("samples", text)
        var values: [String] = []
        var reading = SampleFile(now: Instant(secondsSince1970: 1_790_000_000))
        let outcome = try reading.read(
            try RegularFile(OpenFile(path: path)), path: path, isList: isList
        ) { sample, _ in values.append(sample.canonicalValue) }
        #expect(outcome.report.unexplained == 0)
        return (values, outcome)
    }

    @Test(arguments: [(1_770_000_000, 1_770_000_000), (1_800_000_000, 1_790_000_000)])
    func `an aggregate is true as of the file's time, and never of one to come`(
        written: Int, asOf: Int64
    ) throws {
        let text = #"{"kind":"steps","start":"2026-01-02T03:04:05Z","value":1,"aggregate":true}"#
        let path = try folder.write("samples", text.utf8)
        let time = timespec(tv_sec: written, tv_nsec: 0)
        utimensat(AT_FDCWD, path, [time, time], 0)
        var natures: [SampleNature] = []
        var reading = SampleFile(now: Instant(secondsSince1970: 1_790_000_000))

        _ = try reading.read(try RegularFile(OpenFile(path: path)), path: path, isList: false) {
            natures.append($1)
        }

        #expect(natures == [.aggregate(asOf: Instant(secondsSince1970: asOf))])
    }

    private func line(_ value: Int) -> String {
        #"{"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":\#(value),"source":"Band"}"#
    }

    @Test func `each line is a sample, and a bad one keeps back no other`() throws {
        let text =
            "\u{FEFF}\(line(61))\r\n\n  \t\n{\"kind\":1}\nnot json\n\(line(62))\n\(line(63))"

        let (values, outcome) = try read(text.utf8)

        #expect(values == ["61.0", "62.0", "63.0"])
        #expect(
            outcome.faults.map(\.description) == [
                "line 4: `kind`: got a number, wanted a text",
                "line 5: no JSON: unknown word (byte 1)",
            ])
        #expect(outcome.report.recordsRead == 5)
        #expect(outcome.report.refused == ["bad sample": 1, "no JSON": 1])
        #expect(outcome.report.bySource == ["Band": 3])
    }

    @Test func `a line of any length costs no more than the longest that is read`() throws {
        let long = "{\"kind\":\"\(String(repeating: "x", count: 300_000))\"}"
        let full = line(61) + String(repeating: " ", count: 65_536 - line(61).utf8.count)

        let (values, outcome) = try read("\(long)\n\(full)\n\(full) \n\(line(62))\n\(long)".utf8)

        #expect(values == ["61.0", "62.0"])
        #expect(
            outcome.faults.map(\.description)
                == [1, 3, 5].map {
                    "line \($0): the line has more than 65536 bytes"
                })
    }

    @Test func `of many bad lines the first hundred are told and all are counted`() throws {
        let (_, outcome) = try read(String(repeating: "[]\n", count: 1000).utf8)

        #expect(outcome.faults.count == 100 && outcome.faultCount == 1000)
        #expect(outcome.reasons.hasPrefix("line 1: got a list, wanted an object\n"))
        #expect(outcome.reasons.hasSuffix("\nand 900 more\n0 good samples were taken\n"))
    }

    @Test func `a list is read element by element, with the line of each`() throws {
        let (values, outcome) = try read(
            "\u{FEFF}\n[\n\(line(61)),\n{\"kind\":1},\n [ nix ],\n\(line(62))]\n".utf8, isList: true
        )

        #expect(values == ["61.0", "62.0"])
        #expect(
            outcome.faults.map(\.description) == [
                "line 4: `kind`: got a number, wanted a text", "line 5: no JSON: unknown word",
            ])
    }

    @Test func `a file that is read whole may be one object`() throws {
        #expect(try read("{\n\(line(61).dropFirst())\n".utf8, isList: true).values == ["61.0"])
    }

    @Test func `a list that is cut off keeps what stood before`() throws {
        let (values, outcome) = try read(
            "[\(line(61)),\n\(line(62).dropLast(4))".utf8, isList: true)

        #expect(values == ["61.0"])
        #expect(
            outcome.faults.map(\.description) == ["line 2: no JSON: the text ends inside a string"])
    }

    @Test func `bytes of any kind are bad lines and no more`() throws {
        var generator = ClarityScheduler.SeededGenerator(seed: 7)
        let noise = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &generator) }

        let lines = try read(noise)
        let list = try read(Array("[".utf8) + noise, isList: true)

        #expect(lines.values == [] && lines.outcome.faultCount > 100)
        #expect(list.values == [] && list.outcome.faultCount > 0)
    }
}
