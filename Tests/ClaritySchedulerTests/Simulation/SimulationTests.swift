@testable import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("A simulation")
struct SimulationTests {
    /// Conditions that change over time: from each instant on, the machine is idle or not.
    private struct Seat {
        var changes: [(at: Instant, isIdle: Bool)] = []

        func conditions(at instant: Instant) -> Conditions {
            var conditions = Conditions.everythingAllowed
            let isIdle = changes.last { $0.at <= instant }?.isIdle ?? true
            conditions.idle = Conditions.Reading(isIdle, source: "the seat")
            return conditions
        }

        func nextChange(after instant: Instant) -> Instant? {
            changes.first { $0.at > instant }?.at
        }
    }

    private func simulate(
        _ jobs: [Job], hours: Int64, seat: Seat = Seat(), maxParallel: Int = 2,
        anchors: [JobID: Instant] = [:], attempt: Duration = .seconds(30),
        supposed: SimulatedAttempt = SimulatedAttempt()
    ) -> SimulationReport {
        Simulation(
            jobs, maxParallel: maxParallel, over: .noon..<(.noon + .seconds(hours * 3600)),
            anchors: anchors, conditions: seat.conditions, nextChange: seat.nextChange,
            attempt: { _ in attempt }, supposed: { _, _ in supposed }
        ).run()
    }

    private func at(_ seconds: Int64) -> Instant { .noon + .seconds(seconds) }

    @Test func `a job runs at each of its occurrences`() throws {
        let report = try simulate([job()], hours: 12)

        #expect(report.runs.map(\.run.scheduledFor) == [at(0), at(14_400), at(28_800)])
        #expect(report.runs.map(\.run.finishedAt) == [at(30), at(14_430), at(28_830)])
        #expect(report.runs.allSatisfy { $0.run.state == .succeeded && $0.holds.isEmpty })
        let a = try id("a")
        #expect(
            report.jobs == [
                SimulatedJob(
                    job: a, occurrences: 3, outcomes: [:], runs: 3, successes: 3, expired: 0,
                    starts: 3, holds: [], worstAge: .seconds(14_400))
            ])
    }

    @Test func `an anchor that is known is where every counts from`() throws {
        let anchors = [try id("a"): at(-3600)]

        let report = try simulate([job()], hours: 12, anchors: anchors)

        #expect(report.runs.map(\.run.scheduledFor) == [at(10_800), at(25_200), at(39_600)])
    }

    @Test func `a constraint holds runs back until it holds, and takes the later ones together`()
        throws
    {
        let seat = Seat(changes: [(at(-60), false), (at(5000), true)])

        let report = try simulate(
            [job(schedule: .every(.seconds(1800)), constraints: [.idle])], hours: 2, seat: seat)

        #expect(report.runs.map(\.run.startedAt) == [at(5000), at(5400)])
        #expect(
            report.runs.first?.holds == [
                HoldSummary(
                    reason: .constraint, subject: "idle", spans: 1, total: .seconds(5000), runs: 1,
                    ended: 1, median: .seconds(5000))
            ])
        #expect(report.jobs.first?.occurrences == 4)
        #expect(report.jobs.first?.outcomes == [.coalesced: 2])
        #expect(report.jobs.first?.worstAge == .seconds(5030))
    }

    @Test func `a wait for a group is one for its attempts, then one for its starts`() throws {
        let nas = LimitGroup("nas", atOnce: 1, rate: Rate(1, per: .seconds(120)))

        let report = try simulate(
            [job("a", groups: [nas]), job("b", groups: [nas])], hours: 1)

        #expect(report.runs.map(\.run.startedAt) == [at(0), at(120)])
        let held = report.runs.last?.holds ?? []
        #expect(held.map(\.reason) == [.backoff, .overlap])
        #expect(held.map(\.total) == [.seconds(90), .seconds(30)])
        #expect(held.allSatisfy { $0.subject == "group nas" && $0.spans == 1 })
    }

    @Test func `an attempt that loses its constraint is stopped and goes on later`() throws {
        let seat = Seat(changes: [(at(10), false), (at(100), true)])

        let report = try simulate([job(constraints: [.idle])], hours: 1, seat: seat)

        #expect(report.runs.map(\.run.attempts) == [2])
        #expect(report.runs.map(\.run.finishedAt) == [at(130)])
        #expect(
            report.runs.first?.holds.map(\.subject) == ["idle", "backoff"])
        #expect(report.jobs.first?.starts == 2)
    }

    @Test func `attempts end as it is supposed of their start`() throws {
        let down = at(3600)..<at(3600 + 200)
        func simulate(_ end: SimulatedAttempt.End) throws -> [Run] {
            Simulation(
                [try job(schedule: .every(.seconds(3600)), attempts: 5)], maxParallel: 1,
                over: .noon..<at(2 * 3600), conditions: { _ in .everythingAllowed },
                nextChange: { _ in nil }, attempt: { _ in .seconds(10) },
                supposed: { _, instant in
                    down.contains(instant) ? SimulatedAttempt(end) : SimulatedAttempt()
                }
            ).run().runs.map(\.run)
        }

        let retried = try simulate(.retry)
        let failed = try simulate(.fail)

        #expect(retried.map(\.state) == [.succeeded, .succeeded])
        #expect(retried.last?.attempts == 4 && retried.last?.failures == 3)
        #expect(failed.map(\.state) == [.succeeded, .failed])
        #expect(failed.last?.attempts == 1)
    }

    @Test func `an attempt takes its assumed time and emits its assumed events`() throws {
        let done = EventName("half-done")
        let report = Simulation(
            [try job("a"), try job("b", schedule: nil, events: [done])], maxParallel: 1,
            over: .noon..<at(3600), conditions: { _ in .everythingAllowed },
            nextChange: { _ in nil }, attempt: { _ in .seconds(10) },
            supposed: { job, _ in
                job.id.rawValue == "a"
                    ? SimulatedAttempt(duration: .seconds(50), events: [done]) : SimulatedAttempt()
            }
        ).run()

        #expect(report.runs.map(\.run.trigger) == [.schedule, .event])
        #expect(report.runs.map(\.run.finishedAt) == [at(50), at(60)])
    }

    @Test func `a seed decides the jitter of waits`() throws {
        func firstRetry(_ seed: UInt64) throws -> Instant? {
            Simulation(
                [try job()], maxParallel: 1, over: .noon..<at(20),
                conditions: { _ in .everythingAllowed }, nextChange: { _ in nil },
                attempt: { _ in .seconds(10) }, supposed: { _, _ in SimulatedAttempt(.retry) },
                seed: seed
            ).run().runs.first?.run.notBefore
        }

        #expect(try firstRetry(1) == firstRetry(1))
        #expect(try firstRetry(1) != firstRetry(2))
    }

    @Test func `what has no place waits for one`() throws {
        let report = try simulate([job("a"), job("b")], hours: 1, maxParallel: 1)

        #expect(report.runs.map(\.run.startedAt) == [at(0), at(30)])
        #expect(report.runs.last?.holds.map(\.subject) == ["max_parallel"])
        #expect(report.jobs.last?.holds.map(\.total) == [.seconds(30)])
    }

    @Test func `an attempt that takes longer than its time fails in the end`() throws {
        let report = try simulate([job(attempts: 2)], hours: 1, attempt: .seconds(200))

        #expect(report.runs.map(\.run.state) == [.failed])
        #expect(report.runs.map(\.run.attempts) == [2])
        #expect(report.jobs.map(\.successes) == [0])
        #expect(report.jobs.map(\.worstAge) == [.seconds(3600)])
    }

    @Test func `an attempt makes progress until it ends, unless it is supposed to stall`() throws {
        let (steady, stalled) = try (
            simulate([job(stall: .seconds(5))], hours: 1),
            simulate(
                [job(stall: .seconds(5), attempts: 1)], hours: 1,
                supposed: SimulatedAttempt(.stall, duration: .seconds(12)))
        )

        #expect(steady.runs.map(\.run.attempts) == [1])
        #expect(steady.runs.map(\.run.finishedAt) == [at(30)])
        #expect(stalled.runs.map(\.run.state) == [.failed])
        #expect(stalled.runs.map(\.run.stopReason) == [.stalled])
        #expect(stalled.runs.map(\.run.finishedAt) == [at(17)])
    }

    @Test func `without a limit to its silence a stalled attempt takes all its time`() throws {
        let report = try simulate(
            [job(attempts: 1)], hours: 1,
            supposed: SimulatedAttempt(.stall, duration: .seconds(12)))

        #expect(report.runs.map(\.run.stopReason) == [.timeout])
        #expect(report.runs.map(\.run.finishedAt) == [at(80)])
    }

    @Test func `what is not started within its time is given up`() throws {
        let seat = Seat(changes: [(at(-60), false)])

        let report = try simulate(
            [job(constraints: [.idle], startWithin: .seconds(600))], hours: 6, seat: seat)

        #expect(report.runs.map(\.run.state) == [.skipped, .skipped])
        #expect(report.jobs.map(\.expired) == [2])
        #expect(report.jobs.first?.holds.map(\.total) == [.milliseconds(1_200_002)])
    }

    @Test func `a run that waits in the end is told, with its wait so far`() throws {
        let seat = Seat(changes: [(at(-60), false)])

        let report = try simulate([job(constraints: [.idle])], hours: 1, seat: seat)

        #expect(report.runs.map(\.run.state) == [.enqueued])
        #expect(report.runs.first?.holds.map(\.total) == [.seconds(3600)])
        #expect(report.runs.first?.holds.map(\.ended) == [0])
    }

    @Test func `a success starts the jobs that follow it`() throws {
        let report = try simulate(
            [job("a", then: [id("b")]), job("b", schedule: nil)], hours: 1)

        #expect(report.runs.map(\.run.trigger) == [.schedule, .chain])
        #expect(report.runs.map(\.run.startedAt) == [at(0), at(30)])
        #expect(report.jobs.map(\.occurrences) == [1, 0])
    }

    @Test func `a network that comes back is the event that it is`() throws {
        let report = Simulation(
            [try job(schedule: nil, events: [.networkRestored])], maxParallel: 1,
            over: .noon..<at(3600),
            conditions: { instant in
                var conditions = Conditions.everythingAllowed
                conditions.connected.value = instant >= at(600)
                return conditions
            },
            nextChange: { $0 < at(600) ? at(600) : nil }, attempt: { _ in .seconds(1) }
        ).run()

        #expect(report.runs.map(\.run.trigger) == [.event])
        #expect(report.runs.map(\.run.startedAt) == [at(600)])
    }

    @Test func `too many runs end it early, and it says where`() throws {
        let report = Simulation(
            [try job(schedule: .every(.milliseconds(10)))], maxParallel: 1,
            over: .noon..<at(86_400), conditions: { _ in .everythingAllowed },
            nextChange: { _ in nil }, attempt: { _ in .milliseconds(1) }, mostRuns: 100
        ).run()

        #expect(report.runs.count == 100)
        #expect(report.stretch == .noon..<(.noon + .milliseconds(991)))
    }

    @Test func `a stretch of no time has no runs`() throws {
        let report = try simulate([job()], hours: 0)

        #expect(report.runs == [] && report.jobs.map(\.occurrences) == [0])
    }

    @Test func `a run waits for its window, and a check of which nothing is known passes`() throws {
        let window = Constraint.window(Windows([try Window("13:00-14:00")], in: .utc))
        let check = Constraint.check(Check(name: "door"))

        let report = try simulate([job(constraints: [window, check])], hours: 3)

        #expect(report.runs.map(\.run.startedAt) == [at(3600) + .milliseconds(1)])
        #expect(report.runs.map(\.run.state) == [.succeeded])
    }

    @Test func `a check that was recorded is asked again, and answers as it did then`() throws {
        let door = Constraint.check(Check(name: "door", validFor: .seconds(60)))
        let jobs = [try job(constraints: [door])]
        let change = at(7_200)
        let report = Simulation(
            jobs, maxParallel: 2, over: .noon..<at(12 * 3600), anchors: [:],
            conditions: { instant in
                var conditions = Conditions.everythingAllowed
                conditions.checks["door"] =
                    instant < change
                    ? .init(true, source: "exit 0", at: .noon)
                    : .init(false, source: "exit 1", at: change)
                return conditions
            },
            nextChange: { $0 < change ? change : nil }, attempt: { _ in .seconds(30) }
        ).run()

        #expect(report.runs.map(\.run.startedAt) == [at(0), nil])
        #expect(report.runs.last?.holds.isEmpty == false)
    }
}
