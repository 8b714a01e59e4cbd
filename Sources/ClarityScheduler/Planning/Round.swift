/// One decision in the making: the planner's state, what is known, and what was decided so far.
struct Round {
    var planner: Planner
    let moment: Moment
    let conditions: Conditions
    let ledger: Ledger
    /// The unfinished runs with what this round made of them.
    var open: [RunID: Run]
    let jobs: [JobID: Job]

    var clocks: [JobID: JobClock]
    var lastFinished: [JobID: Instant]
    private var nextRun: Int64
    private var changedRuns: [RunID] = []
    private var result = Plan()

    init(_ planner: Planner, moment: Moment, conditions: Conditions, ledger: Ledger) {
        self.planner = planner
        self.moment = moment
        self.conditions = conditions
        self.ledger = ledger
        open = Dictionary(uniqueKeysWithValues: ledger.open.map { ($0.id, $0) })
        jobs = Dictionary(uniqueKeysWithValues: planner.jobs.map { ($0.id, $0) })
        clocks = ledger.clocks
        lastFinished = ledger.lastFinished
        nextRun = ledger.nextRun.rawValue
    }

    // MARK: What the parts of a decision share

    /// The unfinished runs of a job, oldest first.
    func openRuns(of job: JobID) -> [Run] {
        open.values.filter { $0.job == job && !$0.state.isFinished }.sorted { $0.id < $1.id }
    }

    /// Takes down what a run has become.
    mutating func put(_ run: Run) {
        open[run.id] = run
        if let finished = run.finishedAt { lastFinished[run.job] = finished }
        if !changedRuns.contains(run.id) { changedRuns.append(run.id) }
    }

    mutating func add(_ change: LedgerChange) { result.changes.append(change) }

    mutating func add(_ act: Plan.Act) { result.acts.append(act) }

    mutating func add(waiting: Plan.Waiting) { result.waiting.append(waiting) }

    /// Looks again after `span` at the latest.
    mutating func wake(after span: Duration) {
        let span = max(span, .zero)
        result.wakeAfter = result.wakeAfter.map { min($0, span) } ?? span
    }

    /// Adds an enqueued run of a job.
    @discardableResult
    mutating func enqueue(
        _ job: Job, _ trigger: Trigger, for instant: Instant, isExpedited: Bool = false,
        isForced: Bool = false, causedBy: RunID? = nil
    ) -> RunID {
        let run = Run(
            id: RunID(nextRun), job: job.id, kind: job.kind, trigger: trigger,
            scheduledFor: instant, enqueuedAt: moment.wall, isExpedited: isExpedited,
            isForced: isForced, causedBy: causedBy)
        nextRun += 1
        put(run)
        return run.id
    }

    /// Ends the round: each run that changed is written once, in its last form, before what refers
    /// to it; one that runs no more before one that takes its place.
    func plan() -> Plan {
        var plan = result
        let runs = changedRuns.compactMap { open[$0] }
        let atRest = runs.filter { $0.state != .running }
        plan.changes =
            (atRest + runs.filter { $0.state == .running }).map { .put($0) }
            + result.changes
        plan.isIdle = planner.inFlight.isEmpty
        return plan
    }
}
