/// One decision in the making: the planner's state, what is known, and what was decided so far.
struct PlanBuilder {
    var planner: Planner
    let events: [Planner.Event]
    let moment: Moment
    let ledger: Ledger

    private let readConditions: () -> Conditions
    private var conditionsRead: Conditions?
    private var runningElsewhereRead: [Run]?
    private var changedRuns: [RunID: Run] = [:]
    private var changedOrder: [RunID] = []
    private var newByJob: [JobID: [RunID]] = [:]
    private var records: [JobID: JobRecord] = [:]
    private var nextRun: Int64
    private var result = Plan()

    init(
        _ planner: consuming Planner, _ events: [Planner.Event], _ moment: Moment,
        _ conditions: @escaping () -> Conditions, _ ledger: Ledger
    ) {
        self.planner = planner
        self.events = events
        self.moment = moment
        self.ledger = ledger
        readConditions = conditions
        nextRun = ledger.nextRun.rawValue
    }

    /// Does all that a decision consists of, in its order.
    mutating func decide() {
        // First, so that one decision is about one set of jobs.
        for case .reload(let jobs, let maxParallel) in events {
            planner.jobs = jobs
            planner.maxParallel = maxParallel
            planner.agenda = nil
        }
        rescueLapsedRuns()
        for event in events { take(event) }
        // Before, so that no occurrence is coalesced into a run that is given up, and after, for the
        // deadlines of new runs.
        expireLateRuns()
        enqueueDueOccurrences()
        expireLateRuns()
        // After what is due: a run of that stands for a source that changed as well.
        for case .sourcesSeen(let sources) in events { notice(sources) }
        startFlexibly()
        endLostAttempts()
        watchAttempts()
        startWaitingRuns()
        renewLeases()
        prune()
    }

    private mutating func take(_ event: Planner.Event) {
        switch event {
        case .tick, .reload, .sourcesSeen: break
        case .conditionsChanged: noticeNetwork()
        case .requested(let ids, let isForced): request(ids, isForced: isForced)
        case .retry(let run, let job): request([job], isForced: false, causedBy: run)
        case .backfill(let job, let occurrences): fill(occurrences, of: job)
        case .cancel(let run): cancel(run)
        case .pause(let ids, let until, let reason): pause(ids, until: until, reason: reason)
        case .resume(let ids): resume(ids)
        case .happened(let name):
            if name == .boot, let boot = planner.boot { add(.setBoot(boot)) }
            enqueueRuns(on: name)
        case .progressed(let run, let elapsed): planner.inFlight[run]?.progressAt = elapsed
        case .finished(let run, let end): finish(run, end)
        case .drain: drain()
        }
    }

    // MARK: What the parts of a decision share

    /// The machine's conditions, read when they are first asked for.
    var conditions: Conditions {
        mutating get {
            if let conditionsRead { return conditionsRead }
            let conditions = readConditions()
            conditionsRead = conditions
            return conditions
        }
    }

    /// The runs that other processes hold when the decision begins, in no order; found out when they are
    /// first asked for.
    var runningElsewhere: [Run] {
        mutating get {
            if let runningElsewhereRead { return runningElsewhereRead }
            let runs = ledger.open.values.filter {
                $0.state == .running && $0.lease?.standing == .held
            }
            runningElsewhereRead = runs
            return runs
        }
    }

    /// An unfinished run, or one that this decision ended.
    func run(_ id: RunID) -> Run? { changedRuns[id] ?? ledger.open[id] }

    /// The unfinished runs of a job, oldest first.
    func openRuns(of job: JobID) -> [Run] {
        openRunNumbers(of: job).compactMap { run($0) }.filter { !$0.state.isFinished }
    }

    /// The unfinished runs of a job that stand for what comes now, oldest first: no occurrence, event
    /// or request becomes part of a run that waits to fill the past, or takes its place.
    func presentRuns(of job: JobID) -> [Run] {
        openRuns(of: job).filter { !$0.isWaitingBackfill }
    }

    /// The runs of a job that were unfinished when the decision began or are new, oldest first.
    func openRunNumbers(of job: JobID) -> [RunID] {
        guard let new = newByJob[job] else { return ledger.openRuns(of: job) }
        return ledger.openRuns(of: job) + new
    }

    /// All enqueued runs, in no order.
    var waitingRuns: [Run] {
        let known = ledger.open.values.filter { changedRuns[$0.id] == nil && $0.state == .enqueued }
        return known + changedRuns.values.filter { $0.state == .enqueued }
    }

    /// Takes down what a run has become.
    mutating func put(_ run: Run) {
        if changedRuns.updateValue(run, forKey: run.id) == nil {
            changedOrder.append(run.id)
            if ledger.open[run.id] == nil { newByJob[run.job, default: []].append(run.id) }
        }
        if let finished = run.finishedAt, run.attempts > 0 {
            var record = record(of: run.job)
            record.lastFinished = finished
            records[run.job] = record
        }
    }

    /// What is known of a job beyond its runs.
    func record(of job: JobID) -> JobRecord { records[job] ?? ledger.jobs[job] ?? JobRecord() }

    mutating func setClock(_ clock: JobClock, of job: JobID) {
        var record = record(of: job)
        record.clock = clock
        records[job] = record
        result.changes.append(.setClock(job, clock))
    }

    mutating func setPause(_ pause: Pause?, of job: JobID) {
        var record = record(of: job)
        record.pause = pause
        records[job] = record
        result.changes.append(.setPause(job, pause))
    }

    mutating func setRetryAfter(_ instant: Instant, of job: JobID) {
        var record = record(of: job)
        record.retryAfter = instant
        records[job] = record
        result.changes.append(.setRetryAfter(job, instant))
    }

    mutating func recordFate(
        _ fate: OccurrenceFate, of job: JobID, _ due: DueOccurrences, run: RunID? = nil
    ) {
        result.changes.append(
            .recordFate(
                job, fate, first: due.first, latest: due.latest, count: due.count, run: run))
    }

    /// Takes down a change that only the store needs to know of.
    mutating func add(_ change: LedgerChange) { result.changes.append(change) }

    mutating func add(_ act: Plan.Act) { result.acts.append(act) }

    mutating func add(waiting: Plan.Waiting) { result.waiting.append(waiting) }

    /// Lets a check be asked, since all else that a run wants is there.
    mutating func ask(_ check: String) { result.asks.insert(check) }

    /// Looks again after `span` at the latest.
    mutating func wake(after span: Duration) {
        let span = max(span, .zero)
        result.wakeAfter = result.wakeAfter.map { min($0, span) } ?? span
    }

    /// Adds an enqueued run of a job.
    @discardableResult
    mutating func enqueue(
        _ job: Job, _ trigger: Trigger, for instant: Instant, notBefore: Instant? = nil,
        isExpedited: Bool = false, isForced: Bool = false, causedBy: RunID? = nil
    ) -> RunID {
        var run = Run(
            id: RunID(nextRun), job: job.id, kind: job.kind, trigger: trigger,
            scheduledFor: instant, enqueuedAt: moment.wall, isExpedited: isExpedited,
            isForced: isForced, causedBy: causedBy)
        run.notBefore = notBefore
        nextRun += 1
        put(run)
        return run.id
    }

    /// Prunes the past when enough of it has come together.
    private mutating func prune() {
        guard let retention = planner.retention, !planner.isDraining else { return }
        if let mark = ledger.pruned, mark.at <= moment.wall {
            let newRuns = nextRun - 1 - mark.through.rawValue
            guard
                newRuns >= Planner.pruneEvery.runs
                    || moment.wall - mark.at >= Planner.pruneEvery.span
            else { return }
        } else if ledger.pruned == nil, nextRun <= Planner.pruneEvery.runs {
            return
        }
        add(.prune(retention, at: moment.wall))
    }

    /// Ends the decision: each run that changed is written once, in its last form, before what refers
    /// to it; one that runs no more before one that takes its place.
    func plan() -> Plan {
        var plan = result
        let runs = changedOrder.compactMap { changedRuns[$0] }
        let atRest = runs.filter { $0.state != .running }
        plan.changes =
            (atRest + runs.filter { $0.state == .running }).map { .put($0) }
            + result.changes
        plan.isIdle = planner.inFlight.isEmpty && plan.asks.isEmpty
        return plan
    }
}
