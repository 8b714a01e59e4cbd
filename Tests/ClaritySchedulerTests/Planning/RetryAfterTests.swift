import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Retry-After of a server")
struct RetryAfterTests {
    private let minute = Duration.seconds(60)

    /// Makes a desk whose job's first attempt was told to retry after ten minutes.
    private func desk(attempts: Int = 3) throws -> PlanningDesk {
        var desk = PlanningDesk([try job(attempts: attempts)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry(after: minute * 10)))
        return desk
    }

    @Test func `a manual request waits for Retry-After and says until when`() throws {
        var desk = try desk()

        let request = try desk.handle(.requested([try id("a")], isForced: false))
        desk.pass(minute * 10)
        let after = try desk.handle(.tick)

        #expect(request.started == [])
        #expect(
            request.waiting.first?.deferrals == [
                Deferral(
                    .backoff, subject: "retry_after", wanted: "2026-11-20T12:10:00Z or later",
                    measured: "too early", source: "Retry-After that the last attempt was told")
            ])
        #expect(request.wakeAfter.map { $0 <= minute * 10 } == true)
        #expect(after.started.map(\.run) == [RunID(1)])
    }

    @Test func `Retry-After outlives the run that received it`() throws {
        var desk = try desk(attempts: 1)
        #expect(desk.store.runs[RunID(1)]?.state == .failed)

        let request = try desk.handle(.requested([try id("a")], isForced: false))

        #expect(request.started == [])
        #expect(request.waiting.first?.deferrals.map(\.subject) == ["retry_after"])
    }

    @Test func `force ignores Retry-After`() throws {
        var desk = try desk()

        let plan = try desk.handle(.requested([try id("a")], isForced: true))

        #expect(plan.started.map(\.run) == [RunID(1)])
    }

    @Test func `a wait of our own does not hold back who asks by hand`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry()))

        let plan = try desk.handle(.requested([try id("a")], isForced: false))

        #expect(plan.started.map(\.attempt) == [2])
    }

    @Test func `Retry-After holds for other processes too`() throws {
        let first = try desk()
        var other = PlanningDesk([try job()], store: first.store, owner: "other")
        other.moment = first.moment

        let plan = try other.handle(.requested([try id("a")], isForced: false))

        #expect(plan.started == [])
    }
}
