import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How every missed occurrence is caught up")
struct CatchUpTests {
    private let hour = Duration.seconds(3600)

    private func desk(_ bounds: CatchUpBounds, overlap: OverlapPolicy = .queue) throws
        -> PlanningDesk
    {
        var desk = PlanningDesk(
            [try job(schedule: .every(.seconds(3600)), overlap: overlap, catchUp: .all(bounds))])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        return desk
    }

    private func occurrences(_ desk: PlanningDesk) -> [Instant] {
        desk.store.runs.values.sorted { $0.id < $1.id }.dropFirst().map(\.scheduledFor)
    }

    @Test func `each missed occurrence has a run of its own, one after the other`() throws {
        var desk = try desk(CatchUpBounds())

        desk.pass(hour * 3)
        let first = try desk.handle(.tick)
        let second = try desk.handle(.finished(RunID(2), .success()))

        #expect(occurrences(desk) == [.noon + hour, .noon + hour * 2, .noon + hour * 3])
        #expect(first.started.map(\.run) == [RunID(2)])
        #expect(second.started.map(\.run) == [RunID(3)])
        #expect(desk.store.runs[RunID(2)]?.trigger == .catchUp)
        #expect(desk.store.runs[RunID(4)]?.trigger == .schedule)
        #expect(desk.store.outcomes == [])
    }

    @Test func `beyond the cap the latest have runs and the others are skipped`() throws {
        var desk = try desk(CatchUpBounds(atMost: 2))

        desk.pass(hour * 5)
        try desk.handle(.tick)

        #expect(occurrences(desk) == [.noon + hour * 4, .noon + hour * 5])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .skipped, first: .noon + hour, latest: .noon + hour * 3, count: 3,
                    run: nil)
            ])
    }

    @Test func `occurrences older than the window have expired`() throws {
        var desk = try desk(CatchUpBounds(window: .seconds(2 * 3600)))

        desk.pass(hour * 5)
        try desk.handle(.tick)

        #expect(
            occurrences(desk) == [.noon + hour * 3, .noon + hour * 4, .noon + hour * 5])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .expired, first: .noon + hour, latest: .noon + hour * 2, count: 2,
                    run: nil)
            ])
    }

    @Test func `a spread separates the starts of the runs`() throws {
        var desk = try desk(CatchUpBounds(spread: .seconds(1800)))

        desk.pass(hour * 3)
        let first = try desk.handle(.tick)
        let done = try desk.handle(.finished(RunID(2), .success()))
        desk.pass(.seconds(600))
        let second = try desk.handle(.tick)

        #expect(first.started.map(\.run) == [RunID(2)])
        #expect(done.started == [])
        #expect(done.wakeAfter == .seconds(600))
        #expect(done.waiting.first?.deferrals.map(\.subject) == ["catch_up"])
        #expect(second.started.map(\.run) == [RunID(3)])
    }

    @Test func `a schedule of seconds after a year of absence costs little and keeps the cap`()
        throws
    {
        var desk = PlanningDesk(
            [
                try job(
                    schedule: .every(.seconds(1)), overlap: .queue,
                    catchUp: .all(CatchUpBounds(atMost: 3)))
            ])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(366 * 86_400))
        try desk.handle(.tick)

        #expect(desk.store.runs.count == 4)
        guard case .recordOutcome(_, .skipped, _, _, let count, _) = desk.store.outcomes.first
        else {
            Issue.record("no outcome")
            return
        }
        #expect(count == 366 * 86_400 - 3)
    }
}
