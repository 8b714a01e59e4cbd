/// What a simulation of many accounts comes to: sums over all runs.
public struct SimulationTotals: Sendable {
    /// How late a run started, and whose it was.
    public struct Latest: Hashable, Sendable {
        public var job: JobID
        public var by: Duration
    }

    public let accounts: Int
    public let jobs: Int
    public let start: Instant
    public internal(set) var end: Instant
    public internal(set) var decisions = 0
    public private(set) var runs = 0
    public private(set) var succeeded = 0
    public private(set) var failed = 0
    /// The number of runs that were given up because their time was over.
    public private(set) var expired = 0
    public private(set) var attempts = 0
    /// The number of occurrences that started no run of their own.
    public private(set) var missed = 0
    /// The most attempts that ran at the same time.
    public private(set) var mostAtOnce = 0
    /// The most attempts that started within one minute of the clock.
    public private(set) var mostInMinute = 0
    /// The run that started latest after it was due.
    public private(set) var latest: Latest?

    /// When each run that has not ended was due.
    private var open: [RunID: (job: JobID, due: Instant)] = [:]
    private var running: Set<RunID> = []
    private var minute: (number: Int64, starts: Int) = (.min, 0)
    /// The number of runs by the milliseconds from when they were due until they started.
    private var lateness: [Int64: Int] = [:]

    init(jobs: JobSet, over stretch: Range<Instant>) {
        self.jobs = jobs.count
        accounts = jobs.accountCount
        (start, end) = (stretch.lowerBound, stretch.upperBound)
    }

    /// Returns how late at most `share` (0 to 1) of the runs started; `nil` if none did.
    public func lateness(of share: Double) -> Duration? {
        let count = lateness.values.reduce(0, +)
        var rest = max(1, Int((share * Double(count)).rounded(.up)))
        for (milliseconds, runs) in lateness.sorted(by: { $0.key < $1.key }) {
            rest -= runs
            if rest <= 0 { return .milliseconds(milliseconds) }
        }
        return nil
    }

    mutating func add(_ change: LedgerChange) {
        switch change {
        case .put(let run): add(run)
        case .putAttempt(let attempt): add(attempt)
        case .recordOutcome(_, _, first: _, latest: _, let count, run: _): missed += count
        case .setClock, .setBoot, .setSource, .setPause, .setRetryAfter, .requestStop, .putFacts,
            .prune, .deferred, .placing:
            break
        }
    }

    private mutating func add(_ run: Run) {
        if !run.state.isFinished {
            if open.updateValue((run.job, run.scheduledFor), forKey: run.id) == nil { runs += 1 }
            return
        }
        if open.removeValue(forKey: run.id) == nil { runs += 1 }
        switch run.state {
        case .succeeded: succeeded += 1
        case .skipped: expired += 1
        default: failed += 1
        }
    }

    private mutating func add(_ attempt: Attempt) {
        guard attempt.result == .running else {
            running.remove(attempt.run)
            return
        }
        attempts += 1
        running.insert(attempt.run)
        mostAtOnce = max(mostAtOnce, running.count)
        let number = attempt.startedAt.millisecondsSince1970 / 60_000
        minute = number == minute.number ? (number, minute.starts + 1) : (number, 1)
        mostInMinute = max(mostInMinute, minute.starts)
        guard attempt.number == 1, let run = open[attempt.run] else { return }
        let late = max(attempt.startedAt - run.due, .zero)
        lateness[late.milliseconds, default: 0] += 1
        if latest.map({ late > $0.by }) ?? true { latest = Latest(job: run.job, by: late) }
    }
}

/// Records the changes that a simulation's decisions make, and summarises them.
struct SimulationLog {
    private var runs: [RunID: Run] = [:]
    private var spans: [RunID: [DeferralSpan]] = [:]
    private var outcomes: [JobID: [OccurrenceOutcome: Int]] = [:]
    private var starts: [JobID: Int] = [:]

    mutating func add(_ change: LedgerChange) {
        switch change {
        case .put(let run):
            runs[run.id] = run
            if let finished = run.finishedAt { end(of: run.id, besides: [], at: finished) }
        case .putAttempt(let attempt):
            guard attempt.result == .running, let job = runs[attempt.run]?.job else { return }
            starts[job, default: 0] += 1
        case .deferred(let run, let deferrals, let instant):
            end(of: run, besides: deferrals.map(\.cause), at: instant)
            for deferral in deferrals where !isOpen(deferral.cause, of: run) {
                spans[run, default: []].append(
                    DeferralSpan(deferral, of: run, since: instant))
            }
        case .recordOutcome(let job, let outcome, first: _, latest: _, let count, run: _):
            outcomes[job, default: [:]][outcome, default: 0] += count
        case .setClock, .setBoot, .setSource, .setPause, .setRetryAfter, .requestStop, .putFacts,
            .prune, .placing:
            break
        }
    }

    /// Returns the report; a wait that has not ended counts up to the end of the stretch.
    func report(of jobs: [Job], over stretch: Range<Instant>) -> SimulationReport {
        let all = runs.values.sorted { $0.id < $1.id }
        let byJob = Dictionary(grouping: all, by: \.job)
        return SimulationReport(
            stretch: stretch,
            runs: all.map { run in
                SimulatedRun(run: run, holds: sums(spans[run.id] ?? [], stretch))
            },
            jobs: jobs.map { report(of: $0.id, byJob[$0.id] ?? [], over: stretch) })
    }

    private func report(
        of job: JobID, _ runs: [Run], over stretch: Range<Instant>
    ) -> SimulatedJob {
        // With flex, a run may start before the end of the stretch for an occurrence after it.
        let ofOccurrences = runs.filter {
            [.schedule, .catchUp].contains($0.trigger) && $0.scheduledFor < stretch.upperBound
        }
        let outcomes = outcomes[job] ?? [:]
        let successes = runs.filter { $0.state == .succeeded }.compactMap(\.finishedAt).sorted()
        let marks = [stretch.lowerBound] + successes + [stretch.upperBound]
        return SimulatedJob(
            job: job, occurrences: ofOccurrences.count + outcomes.values.reduce(0, +),
            outcomes: outcomes,
            runs: runs.count, successes: successes.count,
            expired: runs.filter { $0.state == .skipped }.count, starts: starts[job] ?? 0,
            holds: sums(runs.flatMap { spans[$0.id] ?? [] }, stretch),
            worstAge: zip(marks, marks.dropFirst()).map { $1 - $0 }.max() ?? .zero)
    }

    private func sums(_ spans: [DeferralSpan], _ stretch: Range<Instant>) -> [HoldSummary] {
        HoldSummary.sums(of: spans, from: stretch.lowerBound, until: stretch.upperBound)
    }

    private func isOpen(_ cause: Deferral.Cause, of run: RunID) -> Bool {
        spans[run]?.contains { $0.deferral.cause == cause && $0.until == nil } ?? false
    }

    /// Ends the open spans of a run, except those of some causes.
    private mutating func end(
        of run: RunID, besides causes: [Deferral.Cause], at instant: Instant
    ) {
        guard let known = spans[run] else { return }
        for index in known.indices
        where known[index].until == nil && !causes.contains(known[index].deferral.cause) {
            spans[run]?[index].until = instant
        }
    }
}

/// The result of a simulation.
public struct SimulationReport: Hashable, Sendable {
    /// The simulated time; it ends earlier than requested if there were too many runs.
    public var stretch: Range<Instant>
    /// In the order of their numbers.
    public var runs: [SimulatedRun]
    /// In the order of the job file.
    public var jobs: [SimulatedJob]
}

/// The result of one run in a simulation.
public struct SimulatedRun: Hashable, Sendable {
    /// The final state of the run; its lease and counts have no meaning.
    public var run: Run
    /// What held the run back, the longest first.
    public var holds: [HoldSummary]
}

/// The result of one job in a simulation.
public struct SimulatedJob: Hashable, Sendable {
    public var job: JobID
    /// The number of occurrences that the job's schedule named.
    public var occurrences: Int
    /// The number of occurrences that got no run of their own, by outcome.
    public var outcomes: [OccurrenceOutcome: Int]
    /// The number of runs, whatever triggered them.
    public var runs: Int
    /// The number of runs that succeeded.
    public var successes: Int
    /// The number of runs that were skipped before they started.
    public var expired: Int
    /// The number of attempts that were started.
    public var starts: Int
    /// What held the job's runs back, the longest first.
    public var holds: [HoldSummary]
    /// The longest time without a success: from the start to the first success, between two
    /// successes, or from the last success to the end.
    public var worstAge: Duration
}
