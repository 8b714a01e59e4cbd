@testable import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Why a job does or does not run")
struct JobExplanationTests {
    private func explain(
        _ desk: PlanningDesk, past: JobPast = JobPast()
    ) throws -> JobExplanation {
        try #require(
            desk.planner.explanation(
                of: try id("a"), at: desk.moment, conditions: desk.conditions,
                ledger: try desk.store.ledger(), past: past))
    }

    private func hours(_ count: Int64) -> Instant { .noon + .seconds(count * 3600) }

    /// Returns a summary of `times` earlier holds by a constraint, with the given median length.
    private func past(_ subject: String, times: Int, median: Duration) -> HoldSummary {
        HoldSummary(
            reason: .constraint, subject: subject, spans: times, total: median * times, runs: times,
            ended: times, median: median)
    }

    private func inUse() -> Conditions {
        var conditions = Conditions.everythingAllowed
        conditions.idle = Conditions.Reading(false, source: "the seat")
        return conditions
    }

    @Test func `nothing is in the way of a job that is due`() throws {
        let desk = try PlanningDesk([job(constraints: [.idle])])

        let explanation = try explain(desk)

        #expect(explanation.start == .now)
        #expect(explanation.status.open == nil && explanation.waiting == nil)
        #expect(explanation.factors.map(\.state) == [.met])
        #expect(explanation.factors.map(\.change) == [nil])
    }

    @Test func `a constraint that nobody can measure is assumed`() throws {
        var desk = try PlanningDesk([job(constraints: [.idle])])
        desk.conditions = Conditions()

        let explanation = try explain(desk)

        #expect(explanation.factors.map(\.state) == [.assumed])
        #expect(explanation.start == .now)
    }

    @Test func `a job that is not due starts at its next occurrence`() throws {
        var desk = try PlanningDesk([job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        let explanation = try explain(desk)

        let factor = try #require(explanation.factors.first)
        #expect(factor.subject == "schedule" && factor.change == .pass(until: hours(4)))
        #expect(explanation.start == .at(hours(4)))
    }

    @Test func `without a schedule somebody has to ask`() throws {
        let explanation = try explain(try PlanningDesk([job(schedule: nil)]))

        #expect(explanation.factors.map(\.change) == [.ask])
        #expect(explanation.start == .unknown(notBefore: nil, [.untilAsked]))
    }

    @Test func `an explanation tells earlier waits for a group by their reasons`() throws {
        let nas = LimitGroup("nas", atOnce: 1)
        var desk = PlanningDesk([try job("b", groups: [nas]), try job("a", groups: [nas])])
        try desk.handle(.tick)
        let past = [(WaitReason.backoff, 7), (.overlap, 3)].map { reason, times in
            HoldSummary(
                reason: reason, subject: "group nas", spans: times, total: .seconds(60), runs: times
            )
        }

        let explained = try explain(desk, past: JobPast(holds: past))

        #expect(explained.factors.map(\.reason) == [.overlap, .backoff])
        #expect(explained.factors.map(\.state) == [.unmet, .met])
        #expect(explained.factors.map(\.past?.spans) == [3, 7])
    }

    @Test func `a constraint that fails has the time since when and what would end it`() throws {
        var desk = try PlanningDesk([job(constraints: [.connected, .idle])])
        desk.conditions = inUse()
        try desk.handle(.tick)

        let explanation = try explain(
            desk, past: JobPast(waitingSince: ["idle": .noon]))

        #expect(explanation.waiting?.id == RunID(1))
        #expect(explanation.factors.map(\.state) == [.met, .unmet])
        #expect(
            explanation.factors.last
                == JobExplanation.Factor(
                    reason: .constraint, subject: "idle", wanted: "idle", measured: "in use",
                    source: "the seat", state: .unmet, since: .noon, change: .meet(.idle)))
        #expect(
            explanation.start
                == .unknown(notBefore: nil, [.tooFewTimes(subject: "idle", times: 0)]))
    }

    @Test func `three earlier times make an estimate, two do not`() throws {
        var desk = try PlanningDesk([job(constraints: [.idle])])
        desk.conditions = inUse()
        try desk.handle(.tick)
        desk.pass(.seconds(60))

        func start(_ times: Int, _ median: Duration) throws -> LikelyStart {
            try explain(
                desk,
                past: JobPast(
                    waitingSince: ["idle": .noon],
                    holds: [past("idle", times: times, median: median)])
            ).start
        }

        let basis = LikelyStart.Basis(
            subject: "idle", since: .noon, times: 3, median: .seconds(3600))
        #expect(try start(3, .seconds(3600)) == .estimated(hours(1), [basis]))
        #expect(
            try start(2, .seconds(3600))
                == .unknown(notBefore: nil, [.tooFewTimes(subject: "idle", times: 2)]))
        let short = LikelyStart.Basis(
            subject: "idle", since: .noon, times: 3, median: .seconds(60))
        #expect(
            try start(3, .seconds(60)) == .unknown(notBefore: nil, [.longerThanMostly(short)]))
    }

    @Test func `a constraint in the way of a job that is not due promises no time`() throws {
        var desk = try PlanningDesk([job(constraints: [.idle])])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        desk.conditions = inUse()

        let explanation = try explain(
            desk, past: JobPast(holds: [past("idle", times: 9, median: .seconds(60))]))

        #expect(
            explanation.start
                == .unknown(notBefore: hours(4), [.notWaitedFor(subject: "idle")]))
    }

    @Test func `a ladder says when it drops a constraint, and then that it has`() throws {
        let relaxations = [Relaxation(after: .seconds(7200), drops: "idle")]
        var desk = try PlanningDesk([job(constraints: [.idle], relaxations: relaxations)])
        desk.conditions = inUse()
        try desk.handle(.tick)
        let waiting = JobPast(waitingSince: ["idle": .noon])
        let often = JobPast(
            waitingSince: ["idle": .noon],
            holds: [past("idle", times: 5, median: .seconds(600))])

        let before = try explain(desk, past: waiting)
        let estimate = try explain(desk, past: often)
        desk.pass(.seconds(7200))
        let after = try explain(desk, past: waiting)

        #expect(before.factors.map(\.dropsAt) == [hours(2)])
        #expect(before.start == .by(hours(2), dropping: ["idle"]))
        guard case .estimated(.noon + .seconds(600), _) = estimate.start else {
            return #expect(Bool(false), "\(estimate.start)")
        }
        #expect(after.factors.map(\.state) == [.dropped])
        #expect(after.start == .now)
    }

    @Test func `time alone makes a certain start, the latest of all`() throws {
        var desk = try PlanningDesk([
            job(earliestBegin: .seconds(3 * 3600), events: [.sourceChanged])
        ])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        try desk.handle(.pause([id("a")], until: hours(1), reason: "a walk"))
        try desk.handle(.happened(.sourceChanged))

        let explanation = try explain(desk)

        #expect(explanation.factors.map(\.subject) == ["pause", "earliest_begin"])
        #expect(
            explanation.factors.map(\.change)
                == [.resume(until: hours(1)), .pass(until: hours(3))])
        #expect(explanation.factors.map(\.since) == [.noon, nil])
        #expect(explanation.start == .at(hours(3)))
        #expect(explanation.pause?.reason == "a walk")
    }

    @Test func `a backoff ends when it says`() throws {
        var desk = try PlanningDesk([job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry(after: .seconds(3600))))

        let explanation = try explain(desk)

        #expect(explanation.factors.map(\.subject) == ["backoff"])
        #expect(explanation.factors.map(\.change) == [.pass(until: hours(1))])
        #expect(explanation.start == .at(hours(1)))
    }

    @Test(arguments: [
        (CatchUpPolicy.latest, nil, Int64(5)), (.none, nil, 8),
        (.latest, Duration.seconds(3600), 5), (.latest, .seconds(1800), 8),
    ])
    func `what falls into a pause is caught up at its end, or the next one starts`(
        catchUp: CatchUpPolicy, startWithin: Duration?, start: Int64
    ) throws {
        var desk = try PlanningDesk([job(startWithin: startWithin, catchUp: catchUp)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        try desk.handle(.pause([id("a")], until: hours(5), reason: ""))

        let until = try explain(desk)
        try desk.handle(.pause([id("a")], until: nil, reason: ""))
        let forGood = try explain(desk)

        #expect(until.start == .at(hours(start)))
        #expect(until.status.nextStart == hours(start))
        #expect(forGood.status.nextStart == nil)
        #expect(forGood.start == .unknown(notBefore: hours(4), [.untilResumed]))
        #expect(
            forGood.factors.map(\.change) == [.pass(until: hours(4)), .resume(until: nil)])
    }

    @Test func `an explanation asks to make an unmeasured constraint measurable`() throws {
        var desk = try PlanningDesk([job(schedule: nil, constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(nil, source: "no power supply")
        try desk.handle(.requested([id("a")], isForced: false))

        let explanation = try explain(desk)

        #expect(explanation.factors.map(\.change) == [.makeKnown(.externalPower)])
    }

    @Test func `a run that is given up before it can start never does`() throws {
        var desk = try PlanningDesk(
            [
                job(
                    startWithin: .seconds(3600), earliestBegin: .seconds(2 * 3600),
                    events: [.sourceChanged])
            ])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        try desk.handle(.happened(.sourceChanged))

        let explanation = try explain(desk)

        #expect(explanation.expiresAt == hours(1))
        #expect(explanation.start == .never(expires: hours(1)))
    }

    @Test func `for a running job, an explanation says what holds back the next run`() throws {
        var desk = try PlanningDesk([job(schedule: .every(.seconds(60)), overlap: .queue)])
        try desk.handle(.tick)
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let explanation = try explain(
            desk, past: JobPast(waitingSince: ["overlap": .noon + .seconds(60)]))

        #expect(explanation.start == .running)
        #expect(explanation.status.open?.id == RunID(1))
        #expect(explanation.waiting?.id == RunID(2))
        #expect(explanation.factors.map(\.change) == [.finish(RunID(1))])
        #expect(explanation.factors.map(\.since) == [.noon + .seconds(60)])
    }

    @Test func `an explanation names max_parallel if another process is full`() throws {
        var desk = try PlanningDesk([job("b"), job("a")], maxParallel: 1)
        try desk.handle(.tick)
        desk.store.owner = "reader"
        let elsewhere = try PlanningDesk([job("a")], store: desk.store, owner: "reader")

        let explanation = try explain(elsewhere)

        #expect(explanation.factors.map(\.subject) == ["max_parallel"])
        #expect(explanation.factors.map(\.change) == [.slot])
    }

    @Test func `a constraint that held the job back only earlier comes last`() throws {
        let desk = try PlanningDesk([job(constraints: [.connected])])
        let idle = past("idle", times: 1, median: .seconds(60))

        let explanation = try explain(desk, past: JobPast(holds: [idle]))

        #expect(explanation.factors.map(\.subject) == ["network", "idle"])
        #expect(explanation.factors.last?.state == .met)
        #expect(explanation.factors.last?.past == idle)
        #expect(explanation.start == .now)
    }

    @Test func `an unknown job has no explanation`() throws {
        let desk = try PlanningDesk([job("b")])

        #expect(
            desk.planner.explanation(
                of: try id("a"), at: desk.moment, conditions: desk.conditions,
                ledger: try desk.store.ledger(), past: JobPast()) == nil)
    }
}
