import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Windows of time")
struct WindowConstraintTests {
    // The desk's clock starts at noon.
    private func window(_ text: String) throws -> Constraint {
        .window(Windows([try Window(text)], in: .utc))
    }

    @Test func `a run waits until its window opens`() throws {
        var desk = PlanningDesk([try job(constraints: [window("12:30-13:00")])])

        let waits = try desk.handle(.tick)
        desk.pass(.seconds(1800))
        let starts = try desk.handle(.tick)

        #expect(
            waits.waiting.first?.deferrals == [
                Deferral(
                    .constraint, subject: "window", wanted: "12:30-13:00",
                    measured: "closed until 2026-11-20T12:30:00Z", source: "clock of UTC")
            ])
        // The planner rechecks any announced condition after 15 minutes, before the window opens.
        #expect(waits.wakeAfter == Planner.announcedRecheck)
        #expect(starts.started.count == 1)
    }

    @Test func `an attempt ends when its window closes`() throws {
        var desk = PlanningDesk([
            try job(constraints: [window("11:00-12:00")], timeout: .seconds(7200)),
            try job("b", constraints: [window("11:00-12:01")], timeout: .seconds(7200)),
        ])

        let starts = try desk.handle(.tick)
        let next = try desk.handle(.tick)
        desk.pass(.seconds(60))
        let closes = try desk.handle(.tick)

        #expect(starts.started.map(\.job.rawValue) == ["b"])
        #expect(next.wakeAfter == .seconds(60))
        #expect(closes.signals == [RunID(2): .warn])
    }

    @Test func `a job that waits for its window says when it opens`() throws {
        let desk = PlanningDesk([try job(constraints: [window("22:00-06:00")])])

        let explanation = desk.planner.explanation(
            of: try id("a"), at: desk.moment, conditions: desk.conditions, ledger: Ledger(),
            past: JobPast())

        let opens = Instant.noon + .seconds(10 * 3600)
        #expect(explanation?.factors.first?.change == .opens(opens))
        #expect(explanation?.start == .at(opens))
    }
}
