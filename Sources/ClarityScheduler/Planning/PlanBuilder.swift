/// A decision in progress: the planner's state, the known facts, and what was decided so far.
struct PlanBuilder {
    var planner: Planner
    let events: [Planner.Event]
    let moment: Moment
    let ledger: Ledger

    private let readConditions: () -> Conditions
    private var conditionsRead: Conditions?
    private var runningElsewhereRead: [Run]?
    private var loadRead: [String: Int]?
    /// How many attempts other processes of this machine have that take a place of this one.
    var otherAttemptsHere: Int?
    private var changedRuns: [RunID: Run] = [:]
    private var changedOrder: [RunID] = []
    private var newByJob: [JobID: [RunID]] = [:]
    private var records: [JobID: JobRecord] = [:]
    private(set) var nextRun: Int64
    /// What the groups of jobs have taken, by name, as far as a run needed to know.
    var groupUse: [String: GroupUse] = [:]
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

    /// Makes the decision, step by step in a fixed order.
    mutating func decide() {
        // First, so that one decision is about one set of jobs.
        for case .reload(let jobs, let maxParallel, let total) in events {
            reload(jobs)
            planner.maxParallel = maxParallel
            planner.maxParallelTotal = total
        }
        for case .sourcesReached(let accounts) in events {
            (planner.reached, planner.reachedAt) = (accounts, moment.elapsed)
        }
        guard ledger.role != .follower else { return follow() }
        settlePlacedAttempts()
        rescueLapsedRuns()
        for event in events { take(event) }
        // Before the occurrences, so that none is coalesced into an expired run; and after them,
        // for the deadlines of new runs.
        expireLateRuns()
        enqueueDueOccurrences()
        expireLateRuns()
        // After the due occurrences, because a run of one stands for a changed source as well.
        for case .sourcesSeen(let sources) in events { notice(sources) }
        startFlexibly()
        endLostAttempts()
        watchAttempts()
        startWaitingRuns()
        publish()
        prune()
        if planner.lastAtBeginning == nil { planner.lastAtBeginning = RunID(nextRun - 1) }
    }

    private mutating func take(_ event: Planner.Event) {
        switch event {
        case .tick, .reload, .sourcesSeen, .sourcesReached: break
        case .conditionsChanged: noticeNetwork()
        case .requested(let ids, let isForced, let parameters):
            request(ids, isForced: isForced, parameters)
        case .retry(let run, let job, let parameters):
            request([job], isForced: false, parameters, causedBy: run)
        case .backfill(let job, let occurrences): fill(occurrences, of: job)
        case .cancel(let run): cancel(run)
        case .pause(let ids, let until, let reason): pause(ids, until: until, reason: reason)
        case .resume(let ids): resume(ids)
        case .happened(let name):
            if name == .boot, let boot = planner.boot { add(.setBoot(boot)) }
            enqueueRuns(on: name)
        case .progressed(let run, let elapsed): planner.inFlight[run]?.progressAt = elapsed
        case .finished(let run, let end): finish(run, end)
        case .labelled(let labels): planner.labels = labels
        case .drain: drain()
        }
    }

    // MARK: State that the steps share

    /// The machine's conditions, read on first use.
    var conditions: Conditions {
        mutating get {
            if let conditionsRead { return conditionsRead }
            let conditions = readConditions()
            conditionsRead = conditions
            return conditions
        }
    }

    /// The runs that other processes hold, in no order; found on first use.
    var runningElsewhere: [Run] {
        mutating get {
            if let runningElsewhereRead { return runningElsewhereRead }
            let runs = ledger.open.values.filter {
                $0.state == .running && $0.lease?.state == .held
                    && changedRuns[$0.id].map { $0.state == .running } ?? true
            }
            runningElsewhereRead = runs
            return runs
        }
    }

    /// How many attempts each other process has.
    var load: [String: Int] {
        mutating get {
            if let loadRead { return loadRead }
            let load = runningElsewhere.reduce(into: [String: Int]()) { load, run in
                if let owner = run.lease?.owner { load[owner, default: 0] += 1 }
            }
            loadRead = load
            return load
        }
    }

    /// Counts a run that this decision starts in another process.
    mutating func noteElsewhere(_ run: Run) {
        guard let owner = run.lease?.owner else { return }
        var load = load
        load[owner, default: 0] += 1
        loadRead = load
        runningElsewhereRead?.append(run)
    }

    /// Returns an unfinished run, or one that this decision has ended.
    func run(_ id: RunID) -> Run? { changedRuns[id] ?? ledger.open[id] }

    /// Whether the planner may start a run.
    func isInScope(_ run: RunID) -> Bool { planner.isInScope(run) }

    /// Returns the unfinished runs of a job, oldest first.
    func openRuns(of job: JobID) -> [Run] {
        openRunNumbers(of: job).compactMap { run($0) }.filter { !$0.state.isFinished }
    }

    /// Returns the unfinished runs of a job without those that wait for themselves, oldest first. No
    /// occurrence or event is coalesced into one of these or replaces it.
    func presentRuns(of job: JobID) -> [Run] {
        openRuns(of: job).filter { !$0.waitsForItself }
    }

    /// Returns the ids of a job's runs that were unfinished when the decision began or are new,
    /// oldest first.
    func openRunNumbers(of job: JobID) -> [RunID] {
        guard let new = newByJob[job] else { return ledger.openRuns(of: job) }
        return ledger.openRuns(of: job) + new
    }

    /// All enqueued runs, in no order.
    var waitingRuns: [Run] {
        let known = ledger.open.values.filter { changedRuns[$0.id] == nil && $0.state == .enqueued }
        return known + changedRuns.values.filter { $0.state == .enqueued }
    }

    /// Records the new state of a run.
    mutating func put(_ run: Run) {
        if changedRuns.updateValue(run, forKey: run.id) == nil {
            changedOrder.append(run.id)
            if ledger.open[run.id] == nil { newByJob[run.job, default: []].append(run.id) }
        }
        if let finished = run.finishedAt, run.attempts > 0 {
            updateRecord(of: run.job) { $0.lastFinished = finished }
        }
    }

    /// Returns what is known of a job apart from its runs.
    func record(of job: JobID) -> JobRecord { records[job] ?? ledger.jobs[job] ?? JobRecord() }

    mutating func setClock(_ clock: JobClock, of job: JobID) {
        updateRecord(of: job) { $0.clock = clock }
        add(.setClock(job, clock))
    }

    mutating func setPause(_ pause: Pause?, of job: JobID) {
        updateRecord(of: job) { $0.pause = pause }
        add(.setPause(job, pause))
    }

    mutating func setRetryAfter(_ instant: Instant, of job: JobID) {
        updateRecord(of: job) { $0.retryAfter = instant }
        add(.setRetryAfter(job, instant))
    }

    private mutating func updateRecord(of job: JobID, _ update: (inout JobRecord) -> Void) {
        var record = record(of: job)
        update(&record)
        records[job] = record
    }

    mutating func recordOutcome(
        _ outcome: OccurrenceOutcome, of job: JobID, _ due: DueOccurrences, run: RunID? = nil
    ) {
        result.changes.append(
            .recordOutcome(
                job, outcome, first: due.first, latest: due.latest, count: due.count, run: run))
    }

    /// Adds a change that matters only to the store.
    mutating func add(_ change: LedgerChange) { result.changes.append(change) }

    mutating func add(_ act: Plan.Act) { result.acts.append(act) }

    mutating func add(waiting: Plan.Waiting) { result.waiting.append(waiting) }

    /// Adds a check to ask, because everything else that a run needs is met.
    mutating func ask(_ check: String) { result.asks.insert(check) }

    /// Plans the next decision for after `span` at the latest.
    mutating func wake(after span: Duration) {
        let span = max(span, .zero)
        result.wakeAfter = result.wakeAfter.map { min($0, span) } ?? span
    }

    /// Adds an enqueued run of a job and returns its id.
    @discardableResult
    mutating func enqueue(
        _ job: Job, _ trigger: Trigger, for instant: Instant, notBefore: Instant? = nil,
        isExpedited: Bool = false, isForced: Bool = false, causedBy: RunID? = nil,
        parameters: [String: String] = [:]
    ) -> RunID {
        var run = Run(
            id: RunID(nextRun), job: job.id, kind: job.kind, trigger: trigger,
            scheduledFor: instant, enqueuedAt: moment.wall, isExpedited: isExpedited,
            isForced: isForced, causedBy: causedBy)
        run.notBefore = notBefore
        run.parameters = parameters
        nextRun += 1
        put(run)
        return run.id
    }

    /// Prunes the history if enough new runs or enough time have accumulated.
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

    /// Returns the finished decision. Each changed run is written once, in its final form, before
    /// anything that refers to it. Runs that no longer run come before those that take their place.
    func plan() -> Plan {
        var plan = result
        let runs = changedOrder.compactMap { changedRuns[$0] }
        let atRest = runs.filter { $0.state != .running }
        if !runs.isEmpty {
            plan.changes.insert(
                contentsOf: (atRest + runs.filter { $0.state == .running }).map { .put($0) }, at: 0)
        }
        plan.hasOpenWindow = !planner.flexible.isEmpty
        plan.isIdle = planner.inFlight.isEmpty && plan.asks.isEmpty
        return plan
    }
}
