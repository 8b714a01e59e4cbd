/// What one decision saw and what it decided, about the jobs that it touched: enough to make it
/// again.
///
/// A decision about one job depends on others only by the places that their attempts take, so what
/// it did not touch is left out but for their number.
public struct Decision: Hashable, Sendable {
    public var moment: Moment
    public var owner: String
    public var seed: UInt64
    public var scope: Planner.Scope
    /// The `JobSet.origin` of the jobs that it was about.
    public var origin: String
    public var maxParallel: Int
    public var isDraining: Bool
    public var wasConnected: Bool?
    /// The attempts of jobs that it did not touch.
    public var attemptsElsewhere: Int
    /// What was known of the machine; `nil` where nobody asked.
    public var conditions: Conditions?
    public var events: [Planner.Event]
    /// The touched jobs.
    public var jobs: [JobID]
    /// What the ledger knew of them; nothing of one that was never seen.
    public var records: [JobID: JobRecord]
    /// Their unfinished runs, by number.
    public var runs: [Run]
    public var waits: [RunID: [Deferral]]
    /// Their attempts in the process that decided.
    public var inFlight: [RunID: AttemptRecord]
    public var requestedRuns: [RunID]
    public var nextRun: RunID
    /// What was decided, a line each, in its order.
    public var outcome: [String]
    /// The runs that the outcome is about.
    public var touchedRuns: [RunID]

    /// Creates a decision, as whoever reads one back does.
    public init(
        moment: Moment, owner: String, seed: UInt64, scope: Planner.Scope, origin: String,
        maxParallel: Int, isDraining: Bool, wasConnected: Bool?, attemptsElsewhere: Int,
        conditions: Conditions?, events: [Planner.Event], jobs: [JobID],
        records: [JobID: JobRecord], runs: [Run], waits: [RunID: [Deferral]],
        inFlight: [RunID: AttemptRecord], requestedRuns: [RunID], nextRun: RunID,
        outcome: [String], touchedRuns: [RunID]
    ) {
        self.moment = moment
        self.owner = owner
        self.seed = seed
        self.scope = scope
        self.origin = origin
        self.maxParallel = maxParallel
        self.isDraining = isDraining
        self.wasConnected = wasConnected
        self.attemptsElsewhere = attemptsElsewhere
        self.conditions = conditions
        self.events = events
        self.jobs = jobs
        self.records = records
        self.runs = runs
        self.waits = waits
        self.inFlight = inFlight
        self.requestedRuns = requestedRuns
        self.nextRun = nextRun
        self.outcome = outcome
        self.touchedRuns = touchedRuns
    }
}

extension Decision {
    /// Decides again with the same inputs.
    ///
    /// `jobs` gives the jobs of an origin; `nil` where they are not known any more.
    ///
    /// - Returns: the outcome, to be held against the recorded one; `nil` where the jobs are not
    ///   known.
    public func replayed(jobs: (_ origin: String) -> JobSet?) -> [String]? {
        guard let declared = jobs(origin) else { return nil }
        let touched = Set(self.jobs)
        var planner = Planner(
            jobs: JobSet(declared.jobs.filter { touched.contains($0.id) }, origin: origin),
            owner: owner, maxParallel: maxParallel, scope: scope, seed: seed)
        for (run, recorded) in inFlight {
            guard let job = jobs(recorded.origin)?[recorded.job] else { return nil }
            planner.inFlight[run] = recorded.attempt(of: job)
        }
        planner.attemptsElsewhere = attemptsElsewhere
        planner.isDraining = isDraining
        planner.wasConnected = wasConnected
        planner.requestedRuns = requestedRuns
        let plan = planner.handle(
            events, at: moment, conditions: conditions ?? Conditions(),
            ledger: Ledger(jobs: records, open: runs, waits: waits, nextRun: nextRun))
        for case .recordDecision(let decision) in plan.changes { return decision.outcome }
        return []
    }
}

extension Round {
    /// The decision that this round made, or `nil` where it decided nothing about any run.
    ///
    /// What only passed occurrences over is told whole by their fates: a job that is paused may have
    /// one each second.
    func decision(on plan: Plan) -> Decision? {
        let lines = touched.isEmpty ? [] : outcome(of: plan)
        let touchedRuns = Set(lines.compactMap(\.run)).sorted()
        guard !touchedRuns.isEmpty else { return nil }
        let jobs = touched.sorted()
        let known = jobs.flatMap { ledger.openRuns(of: $0) }.sorted()
        let runs = known.compactMap { ledger.open[$0] }
        let inFlight = before.inFlight.filter { touched.contains($0.value.job.id) }
        return Decision(
            moment: moment, owner: planner.owner, seed: planner.seed, scope: planner.scope,
            origin: planner.jobs.origin, maxParallel: planner.maxParallel,
            isDraining: before.isDraining, wasConnected: before.wasConnected,
            attemptsElsewhere: before.inFlight.count - inFlight.count + planner.attemptsElsewhere,
            conditions: conditionsRead, events: events.filter { isInput($0, inFlight) },
            jobs: jobs, records: slice(jobs) { ledger.jobs[$0] }, runs: runs,
            waits: slice(known) { ledger.waits[$0] },
            inFlight: inFlight.mapValues { AttemptRecord($0) },
            requestedRuns: before.requestedRuns.filter { ledger.open[$0] != nil },
            nextRun: ledger.nextRun, outcome: lines.map(\.text),
            touchedRuns: touchedRuns)
    }

    private func slice<Key: Hashable, Value>(
        _ keys: [Key], _ value: (Key) -> Value?
    ) -> [Key: Value] {
        var slice: [Key: Value] = [:]
        for key in keys { slice[key] = value(key) }
        return slice
    }

    /// Whether an event can have a part in what was decided.
    private func isInput(
        _ event: Planner.Event, _ inFlight: [RunID: AttemptInFlight]
    ) -> Bool {
        switch event {
        // What a reload brought is told by the origin.
        case .tick, .reload: false
        case .progressed(let run, at: _), .finished(let run, _): inFlight[run] != nil
        default: true
        }
    }

    private typealias Line = (run: RunID?, text: String)

    /// What was decided about the touched jobs, for people and to be compared.
    private func outcome(of plan: Plan) -> [Line] {
        // What became of clocks is told once and last, since the way there may differ.
        let clocks = touched.sorted().compactMap { job -> Line? in
            let considered = record(of: job).clock?.considered
            guard let considered, considered != ledger.jobs[job]?.clock?.considered else {
                return nil
            }
            return (nil, "\(job): considered until \(considered)")
        }
        return plan.changes.compactMap(line) + plan.acts.map(line) + clocks
    }

    private func line(_ change: LedgerChange) -> Line? {
        switch change {
        case .put(let run): (run.id, "run \(run.id) of \(run.job): \(run.standing)")
        case .setPause(let job, let pause):
            (
                nil,
                pause.map { "\(job): paused until \($0.until.map { "\($0)" } ?? "resumed")" }
                    ?? "\(job): goes on"
            )
        case .recordFate(let job, let fate, let first, let latest, let count, let run):
            (
                nil,
                "\(job): \(count) occurrences from \(first) to \(latest) are \(fate.rawValue)"
                    + (run.map { " by run \($0)" } ?? "")
            )
        case .requestStop(let run, let reason):
            (run, "run \(run): asked to stop, \(reason.rawValue)")
        case .putAttempt(let attempt):
            (
                attempt.run,
                "attempt \(attempt.number) of run \(attempt.run): \(attempt.result.rawValue)"
                    + (attempt.stopReason.map { ", \($0.rawValue)" } ?? "")
            )
        case .deferred(let id, let deferrals, at: _):
            run(id).flatMap { touched.contains($0.job) ? $0 : nil }.map { run in
                let reasons = deferrals.map {
                    "\($0.subject) wanted \($0.wanted), is \($0.measured)"
                }
                return (
                    id,
                    "run \(id) of \(run.job): waits for "
                        + (reasons.isEmpty ? "nothing" : reasons.joined(separator: "; "))
                )
            }
        case .setClock, .keepOrigin, .recordDecision, .renewLeases, .prune: nil
        }
    }

    private func line(_ act: Plan.Act) -> Line {
        switch act {
        case .start(let order): (order.run, "start attempt \(order.attempt) of run \(order.run)")
        case .signal(let run, .warn): (run, "warn run \(run)")
        case .signal(let run, .kill): (run, "kill run \(run)")
        }
    }
}

extension Run {
    /// The run's state with all that a decision may have given it.
    fileprivate var standing: String {
        var words = "\(state.rawValue), \(trigger.rawValue) for \(scheduledFor)"
        if attempts > 0 { words += ", \(attempts) attempts, \(failures) failed" }
        if let notBefore { words += ", not before \(notBefore)" }
        if let needs { words += ", needs \(needs.rawValue)" }
        if let stopReason { words += ", stopped: \(stopReason.rawValue)" }
        if let failure { words += ", because \(failure.reason)" }
        return words
    }
}
