import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Recording a trace", .timeLimit(.minutes(5)))
struct TraceRecorderTests {
    private let clock = SteppingClock()
    private let monitor = FakeConditions(Conditions(pressurePercent: .init(5, source: "p")))

    /// Starts to record, and returns the lines as a sequence and the task.
    private func start(
        for span: Duration? = nil
    ) -> (lines: AsyncStream<String>.AsyncIterator, end: Task<Void, Never>) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let recorder = TraceRecorder(monitor: monitor, clock: clock)
        let end = Task {
            await recorder.run(for: span) { continuation.yield($0) }
            continuation.finish()
        }
        return (stream.makeAsyncIterator(), end)
    }

    private func pressure(_ line: String?) -> Substring? {
        line?.firstMatch(of: #/"pressure_percent":(\d+)/#)?.output.1
    }

    @Test func `a line comes at the start and at each change that is announced`() async {
        var (lines, end) = start()
        let first = await lines.next()
        monitor.change(to: Conditions(pressurePercent: .init(50, source: "p")))
        let second = await lines.next()
        end.cancel()
        await end.value

        #expect(first?.contains(#""connected":null"#) == true)
        #expect(pressure(first) == "5")
        #expect(
            second
                == #"{"at":"2026-11-20T12:00:00.001Z","pressure_percent":50,"#
                + #""sources":{"pressure_percent":"p"}}"#)
        #expect(await lines.next() == nil)
    }

    @Test func `what no event announces is looked at each minute`() async {
        let monitor = SilentConditions()
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let recorder = TraceRecorder(monitor: monitor, clock: clock)
        let end = Task { await recorder.run { continuation.yield($0) } }
        var lines = stream.makeAsyncIterator()
        let first = await lines.next()
        await clock.waitForSleeper(until: .seconds(60))
        clock.advance(by: .seconds(60))
        let second = await lines.next()
        end.cancel()
        await end.value

        #expect(pressure(first) == "20")
        #expect(second?.hasPrefix(#"{"at":"2026-11-20T12:01:00Z","pressure_percent":40,"#) == true)
    }

    @Test func `a recording ends when its span is over`() async {
        var (lines, end) = start(for: .seconds(90))
        _ = await lines.next()
        await clock.waitForSleeper(until: .seconds(90))
        clock.advance(by: .seconds(90))

        await end.value

        #expect(await lines.next() == nil)
    }

    @Test func `an error of the writing ends a recording`() async {
        struct Full: Error {}
        let recorder = TraceRecorder(monitor: monitor, clock: clock)

        await #expect(throws: Full.self) {
            try await recorder.run { (_: String) throws(Full) in throw Full() }
        }
    }
}

/// Conditions whose pressure rises by 20 with each look, without an announcement.
private final class SilentConditions: ConditionMonitor {
    func ask(_ checks: Set<String>) {}

    private let looks = Journal<Void>()

    func conditions(of accounts: Set<AccountID>) -> Conditions {
        looks.add(())
        return Conditions(pressurePercent: .init(20 * looks.entries.count, source: "p"))
    }

    func changes() -> AsyncStream<Void> { AsyncStream { _ in } }
}
