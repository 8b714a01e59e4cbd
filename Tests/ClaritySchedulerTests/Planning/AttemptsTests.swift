import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How attempts start and are watched")
struct AttemptsTests {
    @Test func `a worker is warned before its deadline and killed at it`() throws {
        var desk = PlanningDesk([try job(timeout: .seconds(100), warning: .seconds(20))])
        let start = try desk.handle(.tick)

        desk.pass(.seconds(79))
        let before = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let warned = try desk.handle(.tick)
        desk.pass(.seconds(20))
        let killed = try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .killed()))

        #expect(start.wakeAfter == .seconds(80))
        #expect(before.signals == [:])
        #expect(before.wakeAfter == .seconds(1))
        #expect(warned.signals == [RunID(1): .warn])
        #expect(killed.signals == [RunID(1): .kill])
        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.failures == 1)
        #expect(run.stopReason == .timeout)
        #expect(run.failure?.reason == "did not end within its time of 1m 40s")
    }

    @Test func `an attempt that is warned at its limit is killed when its warning is over`() throws
    {
        var atLimit = try job(timeout: .seconds(100), warning: .seconds(20))
        atLimit.warnsAhead = false
        var desk = PlanningDesk([atLimit])
        let start = try desk.handle(.tick)

        desk.pass(.seconds(99))
        let before = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let warned = try desk.handle(.tick)
        desk.pass(.seconds(19))
        let waiting = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let killed = try desk.handle(.tick)

        #expect(start.wakeAfter == .seconds(100))
        #expect(before.signals == [:] && waiting.signals == [:])
        #expect(warned.signals == [RunID(1): .warn])
        #expect(killed.signals == [RunID(1): .kill])
    }

    @Test func `a worker is warned first even when its deadline passed in a suspend`() throws {
        var desk = PlanningDesk([try job(timeout: .seconds(100), warning: .seconds(20))])
        try desk.handle(.tick)

        desk.pass(.seconds(28_800))
        let resumed = try desk.handle(.tick)
        desk.pass(.seconds(19))
        let before = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let killed = try desk.handle(.tick)

        #expect(resumed.signals == [RunID(1): .warn])
        #expect(before.signals == [:])
        #expect(before.wakeAfter == .seconds(1))
        #expect(killed.signals == [RunID(1): .kill])
    }

    @Test func `a deadline follows elapsed time, not the wall clock`() throws {
        var desk = PlanningDesk([try job(timeout: .seconds(100), warning: .seconds(20))])
        try desk.handle(.tick)

        desk.moment.wall = desk.moment.wall + .seconds(3600)
        let stepped = try desk.handle(.tick)

        #expect(stepped.signals == [:])
    }

    @Test func `the facts of an attempt are kept if it reports an outcome and holds its lease`()
        throws
    {
        let facts = [AttemptFact("waiting", 3, at: .noon)]
        let ends: [(AttemptEnd, keeps: Bool)] = [
            (AttemptEnd(.reported(.success), facts: facts), true),
            (AttemptEnd(.reported(.failure(Failure(.work, "no"))), facts: facts), true),
            (AttemptEnd(.reported(.success)), false),
            (AttemptEnd(.broke(.exitedWithoutReport(status: 1)), facts: facts), false),
        ]
        for (end, keeps) in ends {
            for isFenced in [false, true] {
                var desk = PlanningDesk([try job()])
                try desk.handle(.tick)
                if isFenced {
                    desk.store.deadOwners = ["me"]
                    var other = PlanningDesk([try job()], store: desk.store, owner: "other")
                    try other.handle(.tick)
                    desk.store.deadOwners = []
                }

                let plan = try desk.handle(.finished(RunID(1), end))

                let kept = plan.changes.contains { change in
                    if case .putFacts(facts, of: nil, at: _) = change { true } else { false }
                }
                #expect(kept == (keeps && !isFenced), "\(end.result) \(isFenced)")
            }
        }
    }

    @Test func `a worker that heeds its warning has not failed and goes on later`() throws {
        var sentOne = Tally()
        sentOne["samples_sent"] = 1
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        desk.pass(.seconds(80))
        try desk.handle(.tick)

        try desk.handle(
            .finished(
                RunID(1),
                AttemptEnd(
                    .reported(.retry(after: nil, Failure(.work, "its time ended"))),
                    tally: sentOne, checkpoint: "half")))
        desk.pass(.seconds(30))
        let again = try desk.handle(.tick)

        #expect(desk.store.runs[RunID(1)]?.failures == 0)
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .stopped)
        #expect(again.started.map(\.checkpoint) == ["half"])
    }

    @Test func `a worker that heeds its warning with nothing to show has failed`() throws {
        var idle = Tally()
        idle["samples_sent"] = 0
        var desk = PlanningDesk([try job(attempts: 1)])
        try desk.handle(.tick)
        desk.pass(.seconds(80))
        try desk.handle(.tick)

        try desk.handle(
            .finished(
                RunID(1),
                AttemptEnd(
                    .reported(.retry(after: nil, Failure(.work, "its time ended"))), tally: idle)))

        #expect(desk.store.runs[RunID(1)]?.state == .failed)
        #expect(desk.store.runs[RunID(1)]?.failures == 1)
        #expect(desk.store.runs[RunID(1)]?.stopReason == .timeout)
    }

    @Test func `a worker that went as far as it may is no failure, however often`() throws {
        var desk = PlanningDesk([try job(attempts: 2)])
        try desk.handle(.tick)

        for _ in 1...5 {
            try desk.handle(
                .finished(
                    RunID(1),
                    AttemptEnd(
                        .reported(.snooze(after: .seconds(3600), Failure(.work, "used up"))))))
            desk.pass(.seconds(3599))
            #expect(try desk.handle(.tick).started.isEmpty)
            desk.pass(.seconds(1))
            #expect(try desk.handle(.tick).started.count == 1)
        }

        #expect(desk.store.runs[RunID(1)]?.failures == 0)
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .stopped)
        #expect(desk.store.attempts[RunID(1)]?[1]?.stopReason == nil)
        #expect(desk.store.runs[RunID(1)]?.state == .running)
    }

    @Test func `a run goes on when its worker says, however short the retries' longest wait`()
        throws
    {
        var patient = try job()
        patient.retry = RetryPolicy(attempts: 2, initial: .seconds(10), maximum: .seconds(30))
        var desk = PlanningDesk([patient])
        try desk.handle(.tick)
        var starts = 0

        let end = try desk.handle(.finished(RunID(1), Self.usedUp))
        for _ in 0..<119 {
            desk.pass(.seconds(30))
            starts += try desk.handle(.tick).started.count
        }

        #expect(end.wakeAfter == .seconds(3600))
        #expect(desk.store.runs[RunID(1)]?.notBefore == .noon + .seconds(3600))
        #expect(starts == 0)
        desk.pass(.seconds(30))
        #expect(try desk.handle(.tick).started.map(\.attempt) == [2])
    }

    @Test func `a stop does not shorten the wait that the worker asks for`() throws {
        var desk = PlanningDesk([try job(constraints: [.externalPower])])
        try desk.handle(.tick)
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), Self.usedUp))

        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.notBefore == .noon + .seconds(3600))
        #expect(run.stopReason == .constraintLost)
    }

    private static let usedUp = AttemptEnd(
        .reported(.snooze(after: .seconds(3600), Failure(.work, "used up"))))

    @Test func `a worker that snoozes for no time starts no busy loop`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        let end = try desk.handle(
            .finished(
                RunID(1),
                AttemptEnd(.reported(.snooze(after: .zero, Failure(.work, "used up"))))))

        #expect(end.started.isEmpty)
        #expect(try desk.handle(.tick).started.isEmpty)
    }

    @Test func `a constraint lost while running stops the attempt without a failure`() throws {
        var desk = PlanningDesk([try job(constraints: [.externalPower])])
        try desk.handle(.tick)

        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        let stop = try desk.handle(.tick)
        desk.pass(.seconds(20))
        let kill = try desk.handle(.tick)
        let end = try desk.handle(.finished(RunID(1), .killed()))

        #expect(stop.signals == [RunID(1): .warn])
        #expect(kill.signals == [RunID(1): .kill])
        #expect(desk.store.runs[RunID(1)]?.failures == 0)
        #expect(desk.store.runs[RunID(1)]?.stopReason == .constraintLost)
        #expect(end.waiting.first?.deferrals.map(\.subject) == ["backoff", "external_power"])
    }

    @Test func `a run waits for its constraints and says what it measured`() throws {
        var desk = PlanningDesk([try job(constraints: [.batteryAbove(percent: 20), .idle])])
        desk.conditions.battery = Conditions.Reading(.charge(percent: 17), source: "BAT0")
        let waits = try desk.handle(.tick)

        desk.conditions.battery = Conditions.Reading(.charge(percent: 21), source: "BAT0")
        let starts = try desk.handle(.tick)

        #expect(waits.started == [])
        #expect(
            waits.waiting.first?.deferrals == [
                Deferral(
                    .constraint, subject: "battery_above", wanted: "above 20 %", measured: "17 %",
                    source: "BAT0")
            ])
        #expect(waits.wakeAfter == Planner.announcedRecheck)
        #expect(starts.started.map(\.run) == [RunID(1)])
        #expect(desk.store.deferrals[RunID(1)] == nil)
    }

    @Test func `two constraints on the network hold a run back under their one name`() throws {
        var desk = PlanningDesk([try job(constraints: [.unmetered, .notRoaming])])
        desk.conditions.connected = Conditions.Reading(false, source: "test")

        let waits = try desk.handle(.tick)

        #expect(waits.waiting.first?.deferrals.map(\.subject) == ["network"])
        #expect(waits.waiting.first?.deferrals.map(\.wanted) == ["unmetered"])
    }

    @Test func `a run whose constraints hold waits for a free place alone`() throws {
        var desk = PlanningDesk(
            [try job("a"), try job("b", constraints: [.externalPower])], maxParallel: 1)
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)
        let before = desk.store.deferrals[RunID(2)]?.map(\.subject)

        desk.conditions.externalPower = Conditions.Reading(true, source: "test")
        try desk.handle(.tick)

        #expect(before == ["external_power"])
        #expect(desk.store.deferrals[RunID(2)]?.map(\.subject) == ["max_parallel"])
    }

    @Test func `force starts a run whatever the constraints say and keeps it running`() throws {
        var desk = PlanningDesk([try job(constraints: [.connected])], scope: .requested)
        desk.conditions.connected = Conditions.Reading(false, source: "test")

        let forced = try desk.handle(.requested([try id("a")], isForced: true))
        let later = try desk.handle(.tick)

        #expect(forced.started.map(\.run) == [RunID(1)])
        #expect(later.signals == [:])
    }

    @Test func `no more attempts run at once than allowed`() throws {
        var desk = PlanningDesk([try job("a"), try job("b"), try job("c")], maxParallel: 2)

        let first = try desk.handle(.tick)
        let next = try desk.handle(.finished(RunID(1), .success()))

        #expect(first.started.count == 2)
        #expect(next.started.count == 1)
    }

    @Test func `the earliest begin counts from the end of the last run`() throws {
        var desk = PlanningDesk(
            [try job(schedule: .every(.seconds(60)), earliestBegin: .seconds(900))])
        try desk.handle(.tick)
        desk.pass(.seconds(30))
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(899))
        let early = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let due = try desk.handle(.tick)

        #expect(early.started == [])
        #expect(early.waiting.first?.deferrals.map(\.subject) == ["earliest_begin"])
        #expect(due.started.map(\.run) == [RunID(2)])
    }

    @Test func `the earliest begin does not hold back a repetition, and is looked for`() throws {
        var desk = PlanningDesk(
            [
                try job(
                    schedule: nil, earliestBegin: .seconds(900), events: [.sourceChanged])
            ])
        try desk.handle(.happened(.sourceChanged))
        try desk.handle(.finished(RunID(1), .success()))

        let waits = try desk.handle(.happened(.sourceChanged))
        desk.pass(.seconds(900))
        let starts = try desk.handle(.tick)
        try desk.handle(.finished(RunID(2), .retry()))
        desk.pass(.seconds(30))
        let again = try desk.handle(.tick)

        #expect(waits.wakeAfter == .seconds(900))
        #expect(starts.started.map(\.run) == [RunID(2)])
        #expect(again.started.map(\.attempt) == [2])
    }

    @Test func `force frees a run that waits for a constraint`() throws {
        var desk = PlanningDesk([try job(constraints: [.connected])])
        desk.conditions.connected = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)

        let forced = try desk.handle(.requested([try id("a")], isForced: true))

        #expect(forced.started.map(\.run) == [RunID(1)])
    }

    @Test func `the earliest begin counts from a run that ended this instant`() throws {
        var desk = PlanningDesk(
            [
                try job(
                    schedule: .every(.seconds(60)), earliestBegin: .seconds(900), overlap: .queue)
            ])
        try desk.handle(.tick)
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let end = try desk.handle(.finished(RunID(1), .success()))

        #expect(end.started == [])
        #expect(end.waiting.first?.deferrals.map(\.subject) == ["earliest_begin"])
    }

    @Test func `a drain starts nothing more and warns what runs`() throws {
        var desk = PlanningDesk([try job("a"), try job("b")], maxParallel: 1)
        try desk.handle(.tick)

        let drain = try desk.handle(.drain)
        let end = try desk.handle(.finished(RunID(1), .retry()))

        #expect(drain.signals == [RunID(1): .warn])
        #expect(end.started == [])
        #expect(end.isIdle)
        #expect(desk.store.runs[RunID(1)]?.failures == 0)
        #expect(desk.store.runs[RunID(1)]?.stopReason == .shutdown)
    }

    @Test func `a plan with nothing to do changes nothing`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        let plan = try desk.handle(.tick)

        #expect(plan.changes == [])
        #expect(plan.acts == [])
        #expect(plan.wakeAfter == .seconds(4 * 3600))
    }
}
