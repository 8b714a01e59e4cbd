/// Lets a planner live through a stretch of time on a clock of its own: the decisions are those of
/// a real scheduler, the attempts and the conditions are made up.
///
/// It goes from event to event: from one look that the planner asks for, end of an attempt or change
/// of conditions to the next. A check that is asked answers what the conditions say of it then, and
/// passes where they say nothing. The same simulation always comes out the same.
public struct Simulation {
    /// The most runs unless told otherwise.
    public static let mostRuns: Int64 = 100_000

    private let jobs: JobSet
    private let maxParallel: Int
    private let stretch: Range<Instant>
    private let anchors: [JobID: Instant]
    private let conditions: (Instant) -> Conditions
    private let nextChange: (Instant) -> Instant?
    private let attempt: (Job) -> Duration
    private let supposed: (Job, Instant) -> SimulatedAttempt
    private let seed: UInt64
    private let mostRuns: Int64

    /// Sets up a simulation.
    ///
    /// - Parameters:
    ///   - stretch: from where on jobs are planned, and up to where; not itself included.
    ///   - anchors: where the jobs' `every` counts from; what is not given, or comes later, counts
    ///     from the beginning of the stretch.
    ///   - conditions: what is known of the machine at an instant.
    ///   - nextChange: when that changes next after an instant; `nil` for never.
    ///   - attempt: how long an attempt of a job takes; until then it makes progress.
    ///   - supposed: how the attempts of a job go that start at an instant, unless they are stopped;
    ///     they succeed unless told otherwise.
    ///   - seed: what decides the jitter of waits.
    ///   - mostRuns: the number of runs after which it ends early.
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

    /// Runs it to its end.
    public func run() -> SimulationReport {
        var planner = Planner(
            jobs: jobs, owner: "simulation", maxParallel: maxParallel, seed: seed)
        var ledger = Ledger(jobs: records())
        var log = SimulationLog()
        var attempts = SimulatedAttempts()
        var now = stretch.lowerBound
        var events: [Planner.Event] = [.conditionsChanged]
        var answers: [String: Conditions.Reading<Bool>] = [:]
        while now < stretch.upperBound, ledger.nextRun.rawValue <= mostRuns {
            let (instant, conditions, known) = (now, conditions, answers)
            let plan = planner.handle(
                events, at: Moment(wall: now, elapsed: now - stretch.lowerBound),
                conditions: conditions(instant).answering(known, at: instant), ledger: ledger)
            for change in plan.changes {
                ledger.apply(change)
                log.add(change)
            }
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
            // Nothing else happens in the same instant: what could has been decided.
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
        let end = min(now, stretch.upperBound)
        return log.report(of: jobs.jobs, over: stretch.lowerBound..<max(end, stretch.lowerBound))
    }

    /// Where the jobs stand at the beginning: planned up to it, and not yet due.
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
    /// The same with answers to checks, where it has none of its own or one that is older, or is not
    /// there yet.
    fileprivate func answering(
        _ answers: [String: Reading<Bool>], at now: Instant
    ) -> Conditions {
        var conditions = self
        conditions.checks.merge(answers) { own, answer in
            guard let told = own.at, let asked = answer.at else { return own }
            return asked <= told && told <= now ? own : answer
        }
        return conditions
    }
}

/// The attempts that run in a simulation.
private struct SimulatedAttempts {
    private struct Running {
        /// When it ends or stalls.
        var endsAt: Instant
        var course: SimulatedAttempt
        /// Whether its progress counts.
        var isWatched: Bool
        var isStopped = false

        /// When it ends; `nil` where only a stop ends it.
        var end: Instant? { course.end == .stall && !isStopped ? nil : endsAt }

        func hasEnded(by now: Instant) -> Bool { end.map { $0 <= now } ?? false }
    }

    private var running: [RunID: Running] = [:]

    /// When the first of them ends.
    var next: Instant? { running.values.compactMap(\.end).min() }

    mutating func start(
        _ run: RunID, at now: Instant, for span: Duration, _ course: SimulatedAttempt,
        isWatched: Bool
    ) {
        running[run] = Running(
            endsAt: now + max(span, .milliseconds(1)), course: course, isWatched: isWatched)
    }

    /// What the attempts tell of their progress, which goes on until they end or stall.
    func progress(at now: Instant, since start: Instant) -> [Planner.Event] {
        running.filter(\.value.isWatched).sorted { $0.key < $1.key }.map { run, attempt in
            .progressed(run, at: min(now, attempt.endsAt) - start)
        }
    }

    /// Lets an attempt end at once, as one does that heeds its warning.
    mutating func stop(_ run: RunID, at now: Instant) {
        running[run]?.endsAt = now
        running[run]?.isStopped = true
    }

    /// Takes out the attempts that end now.
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
