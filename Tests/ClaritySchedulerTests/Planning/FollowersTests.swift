import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What follows the end of a run")
struct FollowersTests {
    /// Makes job `a`, which starts `good` after a success and `bad` after a failure.
    private func jobs(
        attempts: Int = 1, startWithin: Duration? = nil, constraints: [Constraint] = []
    ) throws -> [Job] {
        [
            try job(
                "a", schedule: .at(.noon), constraints: constraints, startWithin: startWithin,
                attempts: attempts, then: [try id("good")], thenFailed: [try id("bad")]),
            try job("good", schedule: nil), try job("bad", schedule: nil),
        ]
    }

    private func followers(_ desk: PlanningDesk) -> [String] {
        desk.store.runs.values.filter { $0.trigger == .chain }.map(\.job.rawValue).sorted()
    }

    @Test(
        arguments: [
            (.success(), 1, ["good"]), (.failure, 1, ["bad"]), (.failure, 3, ["bad"]),
            (.retry(), 1, ["bad"]), (.retry(), 2, []), (.awaits(.login), 1, []), (.killed(), 1, []),
            (.killed(by: 11), 1, ["bad"]),
        ] as [(AttemptEnd, Int, [String])])
    func `an end starts what follows it, and one that is tried again starts nothing`(
        end: AttemptEnd, attempts: Int, expected: [String]
    ) throws {
        var desk = PlanningDesk(try jobs(attempts: attempts))
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), end))

        #expect(followers(desk) == expected)
        #expect(desk.store.runs[RunID(2)]?.causedBy == (expected.isEmpty ? nil : RunID(1)))
    }

    @Test func `the last of several attempts that fail decides`() throws {
        var desk = PlanningDesk(try jobs(attempts: 2))
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry()))
        let before = followers(desk)
        desk.pass(.seconds(3600))
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), .retry()))

        #expect(before == [])
        #expect(followers(desk) == ["bad"])
    }

    @Test func `a run that is cancelled while it waits or runs starts nothing`() throws {
        var desk = PlanningDesk(try jobs())
        try desk.handle(.tick)
        try desk.handle(.cancel(RunID(1)))
        try desk.handle(.finished(RunID(1), .failure))

        var waiting = PlanningDesk(try jobs(constraints: [.externalPower]))
        waiting.conditions.externalPower = Conditions.Reading(false, source: "test")
        try waiting.handle(.tick)
        try waiting.handle(.cancel(RunID(1)))

        for desk in [desk, waiting] {
            #expect(desk.store.runs.values.map(\.state) == [.cancelled])
        }
    }

    @Test func `a run that expires starts nothing`() throws {
        var desk = PlanningDesk(
            try jobs(startWithin: .seconds(600), constraints: [.externalPower]))
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)
        desk.pass(.seconds(601))

        try desk.handle(.tick)

        #expect(desk.store.runs.values.map(\.state) == [.skipped])
    }

    @Test func `a run whose schedulers vanish until it has failed starts what follows a failure`()
        throws
    {
        var desk = PlanningDesk(try jobs(), owner: "0")
        try desk.handle(.tick)

        for number in 1...4 {
            desk.store.deadOwners.insert("\(number - 1)")
            desk = PlanningDesk(try jobs(), store: desk.store, owner: "\(number)")
            try desk.handle(.tick)
        }

        #expect(desk.store.runs[RunID(1)]?.state == .failed)
        #expect(followers(desk) == ["bad"])
    }

    @Test func `what follows a failed request belongs to the request`() throws {
        var desk = PlanningDesk(try jobs(), scope: .requested)
        try desk.handle(.requested([try id("a")], isForced: false))

        let follower = try desk.handle(.finished(RunID(1), .failure))

        #expect(follower.started.map(\.job) == [try id("bad")])
    }
}
