/// Runs a planner through a span of time on a simulated clock. The decisions are those of a real
/// scheduler; the attempts and the conditions are made up.
///
/// The clock jumps from event to event: the next wake-up of the planner, the end of an attempt, or
/// a change of conditions. A check that is asked answers what the conditions say at that time, and
/// passes if they say nothing. The same simulation always has the same result.
public struct Simulation {
    /// The default limit on the number of runs.
    public static let mostRuns: Int64 = 100_000

    private var jobs: JobSet
    private let maxParallel: Int
    private let stretch: Range<Instant>
    private let anchors: [JobID: Instant]
    private let conditions: (Instant) -> Conditions
    private let nextChange: (Instant) -> Instant?
    private let attempt: (Job) -> Duration
    private let supposed: (Job, Instant) -> SimulatedAttempt
    private let seed: UInt64
    private let mostRuns: Int64
    private var retention: RetentionPolicy?

    /// Creates a simulation.
    ///
    /// - Parameters:
    ///   - stretch: The simulated time, without its end.
    ///   - anchors: The instants from which the jobs' `every` counts. A job without an anchor, or
    ///     with one after the start of the stretch, counts from the start of the stretch.
    ///   - conditions: Returns what is known of the machine at an instant.
    ///   - nextChange: Returns when the conditions change next after an instant; `nil` for never.
    ///   - attempt: Returns how long an attempt of a job takes; until then it makes progress.
    ///   - supposed: Returns the course of the attempts of a job that start at an instant, unless
    ///     they are stopped; by default they succeed.
    ///   - seed: The seed for the jitter of waits.
    ///   - mostRuns: The number of runs after which the simulation ends early.
    public init(
        _ jobs: [Job], maxParallel: Int, over stretch: Range<Instant>,
        anchors: [JobID: Instant] = [:], conditions: @escaping (Instant) -> Conditions,
        nextChange: @escaping (Instant) -> Instant?, attempt: @escaping (Job) -> Duration,
        supposed: @escaping (Job, Instant) -> SimulatedAttempt = { _, _ in SimulatedAttempt() },
        seed: UInt64 = 1, mostRuns: Int64 = Simulation.mostRuns
    ) {
        self.jobs = JobSet(jobs)
        self.maxParallel = maxParallel
        self.stretch = stretch
        self.anchors = anchors
        self.conditions = conditions
        self.nextChange = nextChange
        self.attempt = attempt
        self.supposed = supposed
        self.seed = seed
        self.mostRuns = mostRuns
    }

    /// Creates a simulation of the jobs of many accounts, without a limit on the number of runs.
    ///
    /// - Parameters:
    ///   - conditions: What is known of the machine all the time.
    ///   - attempt: Returns how long an attempt of a job takes.
    ///   - retention: What the history keeps.
    public init(
        _ jobs: JobSet, maxParallel: Int, over stretch: Range<Instant>, conditions: Conditions,
        attempt: @escaping (Job) -> Duration, retention: RetentionPolicy
    ) {
        self.init(
            [], maxParallel: maxParallel, over: stretch, conditions: { _ in conditions },
            nextChange: { _ in nil }, attempt: attempt, mostRuns: .max)
        self.jobs = jobs
        self.retention = retention
    }

    /// Runs the simulation to its end.
    public func run() -> SimulationReport {
        var ledger = Ledger(jobs: records())
        var log = SimulationLog()
        let end = drive(owner: "simulation") { starts, plan in
            ledger.recall(starts, isStale: false) { _ in [] }
            let plan = plan(ledger)
            for change in plan.changes {
                ledger.apply(change)
                log.add(change)
            }
            return plan
        }
        return log.report(of: jobs.jobs, over: stretch.lowerBound..<end)
    }

    /// Runs the simulation to its end with a store, whose history is empty, and sums up what
    /// happened. Unlike a report, the totals of a long simulation take little memory.
    ///
    /// - Parameter owner: in whose name the store takes leases.
    public func totals(
        on store: some RunStore, owner: String
    ) throws(RunStoreError) -> SimulationTotals {
        var totals = SimulationTotals(jobs: jobs, over: stretch)
        totals.end = try drive(owner: owner) { starts, plan throws(RunStoreError) in
            var made = Plan()
            try store.decide(recalling: starts) { ledger in
                made = plan(ledger)
                return made.changes
            }
            made.changes.forEach { totals.add($0) }
            totals.decisions += 1
            return made
        }
        return totals
    }

    /// Lets the planner decide, from event to event, and returns when the simulation ended.
    ///
    /// - Parameter decide: makes a plan from the ledger, which has the given starts, and keeps its
    ///   changes.
    private func drive<Fault>(
        owner: String, decide: (StartRecall?, (Ledger) -> Plan) throws(Fault) -> Plan
    ) throws(Fault) -> Instant {
        var planner = Planner(
            jobs: jobs, owner: owner, maxParallel: maxParallel, retention: retention, seed: seed)
        var attempts = SimulatedAttempts()
        var runs: Int64 = 0
        var now = stretch.lowerBound
        var events: [Planner.Event] = [.conditionsChanged]
        var answers: [String: Conditions.Reading<Bool>] = [:]
        while now < stretch.upperBound, runs < mostRuns {
            let (instant, conditions, known) = (now, conditions, answers)
            let plan = try decide(jobs.recall(at: now)) { ledger in
                planner.handle(
                    events, at: Moment(wall: instant, elapsed: instant - stretch.lowerBound),
                    conditions: conditions(instant).answering(known, at: instant), ledger: ledger)
            }
            for case .put(let run) in plan.changes { runs = max(runs, run.id.rawValue) }
            for act in plan.acts {
                switch act {
                case .start(let order):
                    guard let job = jobs[order.job] else { continue }
                    let course = supposed(job, now)
                    attempts.start(
                        order.run, at: now, for: course.duration ?? attempt(job), course,
                        isWatched: job.stall != nil)
                case .signal(let run, _): attempts.stop(run, at: now)
                }
            }
            for check in plan.asks {
                var answer =
                    conditions(now).checks[check]
                    ?? Conditions.Reading(true, source: "simulation")
                answer.at = now
                answers[check] = answer
            }
            // A second decision at the same instant would change nothing, so the planner wakes at
            // least 1 ms later.
            let looks = [plan.wakeAfter.map { max(now + $0, now + .milliseconds(1)) }]
            let change = plan.asks.isEmpty ? nextChange(now) : now + .milliseconds(1)
            let next = (looks + [attempts.next, change]).compactMap { $0 }.min()
            guard let next else {
                now = stretch.upperBound
                break
            }
            now = next
            events = attempts.progress(at: now, since: stretch.lowerBound)
            events += attempts.takeEnds(at: now)
            if change == now { events.append(.conditionsChanged) }
        }
        return max(min(now, stretch.upperBound), stretch.lowerBound)
    }

    /// Returns the job records at the start of the stretch: planned up to it, nothing due.
    private func records() -> [JobID: JobRecord] {
        var records: [JobID: JobRecord] = [:]
        for job in jobs.jobs {
            guard let anchor = anchors[job.id], anchor <= stretch.lowerBound else { continue }
            records[job.id] = JobRecord(
                clock: JobClock(
                    anchor: anchor, considered: stretch.lowerBound - .milliseconds(1),
                    schedule: job.schedule.map { "\($0)" } ?? ""))
        }
        return records
    }
}

extension Conditions {
    /// Returns the conditions with these answers to checks. An answer that the conditions already
    /// have stays if it is at least as new and not after `now`, or if either answer has no time.
    fileprivate func answering(
        _ answers: [String: Reading<Bool>], at now: Instant
    ) -> Conditions {
        var conditions = self
        conditions.checks.merge(answers) { own, answer in
            guard let known = own.at, let asked = answer.at else { return own }
            return asked <= known && known <= now ? own : answer
        }
        return conditions
    }
}

/// The attempts that run in a simulation.
private struct SimulatedAttempts {
    private struct Running {
        /// When the attempt ends or stalls.
        var endsAt: Instant
        var course: SimulatedAttempt
        /// Whether the planner watches the attempt's progress.
        var isWatched: Bool
        var isStopped = false

        /// When the attempt ends; `nil` if only a stop ends it.
        var end: Instant? { course.end == .stall && !isStopped ? nil : endsAt }

        func hasEnded(by now: Instant) -> Bool { end.map { $0 <= now } ?? false }
    }

    private var running: [RunID: Running] = [:]

    /// When the next attempt ends; `nil` if none ends by itself.
    var next: Instant? { running.values.compactMap(\.end).min() }

    mutating func start(
        _ run: RunID, at now: Instant, for span: Duration, _ course: SimulatedAttempt,
        isWatched: Bool
    ) {
        running[run] = Running(
            endsAt: now + max(span, .milliseconds(1)), course: course, isWatched: isWatched)
    }

    /// Returns the progress of the watched attempts, up to their end or stall, in order of runs.
    func progress(at now: Instant, since start: Instant) -> [Planner.Event] {
        running.filter(\.value.isWatched).sorted { $0.key < $1.key }.map { run, attempt in
            .progressed(run, at: min(now, attempt.endsAt) - start)
        }
    }

    /// Ends an attempt at once, as if it obeyed a warning.
    mutating func stop(_ run: RunID, at now: Instant) {
        running[run]?.endsAt = now
        running[run]?.isStopped = true
    }

    /// Removes the attempts that have ended and returns their events.
    mutating func takeEnds(at now: Instant) -> [Planner.Event] {
        let ended = running.filter { $0.value.hasEnded(by: now) }.sorted { $0.key < $1.key }
        return ended.map { run, attempt in
            running[run] = nil
            let outcome: Outcome =
                attempt.isStopped
                ? .retry(after: nil, Failure(.work, "stopped before it was done"))
                : attempt.course.outcome
            let events = attempt.isStopped ? [] : attempt.course.events
            return .finished(run, AttemptEnd(.reported(outcome), events: events))
        }
    }
}

/// The assumed course of an attempt in a simulation.
public struct SimulatedAttempt: Hashable, Sendable {
    /// How an attempt ends if it is not stopped.
    public enum End: String, CaseIterable, Sendable {
        /// The work is done.
        case ok
        /// The attempt fails and may be retried, as while a backend is down.
        case retry
        /// The attempt fails for good.
        case fail
        /// The attempt finds nobody logged in, and its run waits for a login.
        case login
        /// The attempt finds none of its source files, and its run waits for one.
        case source
        /// The attempt makes no progress after `duration` and does not end by itself.
        case stall
    }

    public var end: End
    /// How long the attempt takes to end or stall; `nil` for the usual time of its job's attempts.
    public var duration: Duration?
    /// The events that the attempt emits; jobs may wait for them with `on:`.
    public var events: Set<EventName>

    /// Creates an assumption; the default is a success after the usual time.
    public init(_ end: End = .ok, duration: Duration? = nil, events: Set<EventName> = []) {
        self.end = end
        self.duration = duration
        self.events = events
    }

    var outcome: Outcome {
        switch end {
        case .ok: .success
        case .retry: .retry(after: nil, Failure(.unreachable, "supposed to fail"))
        case .fail: .failure(Failure(.work, "supposed to fail for good"))
        case .login: .awaits(.login, Failure(.credential, "supposed to find nobody logged in"))
        case .stall: .retry(after: nil, Failure(.work, "supposed to stall"))
        case .source: .awaits(.source, Failure(.configuration, "supposed to find no source file"))
        }
    }
}
