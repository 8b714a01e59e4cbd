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
        case .recordFate(_, _, first: _, latest: _, let count, run: _): missed += count
        case .setClock, .setBoot, .setSource, .setPause, .setRetryAfter, .requestStop, .putFacts,
            .prune, .deferred:
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
