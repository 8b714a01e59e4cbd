import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What becomes of occurrences that could not start on time")
struct MissedOccurrencesTests {
    private let hour = Duration.seconds(3600)
    private let minute = Duration.seconds(60)

    @Test(
        "the cause makes no difference",
        arguments: MissedCause.allCases,
        [
            (CatchUpPolicy.latest, nil, ["20:00"]),
            (.latest, Duration.seconds(45 * 60), ["20:00"]),
            (.latest, .seconds(20 * 60), []),
            (.none, nil, []),
            (.all(CatchUpBounds(atMost: 3)), nil, ["18:00", "19:00", "20:00"]),
            (.all(CatchUpBounds(window: .seconds(3 * 3600))), nil, ["18:00", "19:00", "20:00"]),
            (.all(CatchUpBounds(atMost: 2)), .seconds(90 * 60), ["19:00", "20:00"]),
            (.all(CatchUpBounds()), .seconds(90 * 60), ["19:00", "20:00"]),
        ] as [(CatchUpPolicy, Duration?, [String])])
    func outcome(cause: MissedCause, policy: (CatchUpPolicy, Duration?, [String])) throws {
        let day = try MissedDay(cause, catchUp: policy.0, startWithin: policy.1)

        #expect(day.starts.map(\.occurrence) == policy.2)
        #expect(day.unaccounted == 0)
    }

    @Test(arguments: MissedCause.allCases)
    func `every missed occurrence has its run where all count, one after the other`(
        cause: MissedCause
    ) throws {
        let day = try MissedDay(cause, catchUp: .all(CatchUpBounds()))

        #expect(day.starts.map(\.occurrence) == (13...20).map { "\($0):00" })
    }

    @Test(arguments: MissedCause.allCases)
    func `a spread begins when what was in the way has ended`(cause: MissedCause) throws {
        let day = try MissedDay(cause, catchUp: .all(CatchUpBounds(spread: minute * 24)))

        #expect(
            day.starts.map(\.at) == (0..<8).map { MissedDay.end + minute * 3 * $0 })
    }

    @Test(arguments: MissedCause.allCases)
    func `ten minutes late is on time, whatever the cause and without catch-up`(
        cause: MissedCause
    ) throws {
        // While a job without catch-up is paused, its occurrences are skipped at once.
        guard cause != .paused else { return }
        let day = try MissedDay(cause, catchUp: .none, end: .noon + hour * 8 + minute * 10)

        #expect(day.starts.map(\.occurrence) == ["20:00"])
    }

    @Test func `a longer start deadline never makes a run start later`() throws {
        for (patience, started) in [(hour * 20, 24), (hour * 26, 24)] {
            var desk = PlanningDesk(
                [
                    try job(
                        schedule: .every(hour * 24), constraints: [.externalPower],
                        startWithin: patience)
                ])
            let power = desk.conditions.externalPower
            desk.conditions.externalPower = Conditions.Reading(false, source: "test")
            try desk.handle(.tick)
            for _ in 0..<24 {
                desk.pass(hour)
                try desk.handle(.tick)
            }
            desk.pass(hour * 2 + minute * 30)
            try desk.handle(.tick)

            desk.conditions.externalPower = power
            let plan = try desk.handle(.conditionsChanged)

            #expect(plan.started.map(\.scheduledFor) == [.noon + hour * started])
        }
    }

    @Test func `without catch-up a run that could not start is skipped and says what was missing`()
        throws
    {
        var desk = PlanningDesk([try job(constraints: [.idle], catchUp: .none)])
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        let first = try desk.handle(.tick)

        desk.pass(minute * 15)
        let last = try desk.handle(.tick)
        desk.pass(.milliseconds(1))
        try desk.handle(.tick)

        #expect(first.wakeAfter.map { $0 <= minute * 15 + .milliseconds(1) } == true)
        #expect(last.wakeAfter == .milliseconds(1))
        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .skipped)
        #expect(run.failure?.reason == "missed, and not caught up, waiting for idle")
    }

    @Test func `without catch-up a run that only waits for its turn is not missed`() throws {
        let long = hour * 3
        var desk = PlanningDesk(
            [
                try job("a", schedule: .at(.noon), priority: .high, timeout: long),
                try job("b", catchUp: .none),
            ], maxParallel: 1)
        try desk.handle(.tick)

        desk.pass(hour)
        try desk.handle(.tick)
        let plan = try desk.handle(.finished(RunID(1), .success()))

        #expect(plan.started.map(\.job) == [try id("b")])
    }

    @Test func `what was asked for by hand while it waited has no deadline`() throws {
        var desk = PlanningDesk([try job(constraints: [.idle], startWithin: hour)])
        let idle = desk.conditions.idle
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)
        try desk.handle(.requested([try id("a")], isForced: false))

        desk.pass(hour * 2)
        desk.conditions.idle = idle
        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.run) == [RunID(1)])
    }
}
