// Why a run waits.
extension PlanBuilder {
    /// Returns everything that keeps an enqueued run from starting now; empty if nothing does.
    mutating func deferrals(of run: Run, _ job: Job) -> [Deferral] {
        var deferrals: [Deferral] = []
        if let other = runAhead(of: run) {
            deferrals.append(overlap(other))
            if other.lease?.state == .held { wake(after: Planner.recheck) }
        } else if let ending = endingAttempt(of: job) {
            deferrals.append(ending)
        }
        if let misplaced = misplaced(run, job) { deferrals.append(misplaced) }
        if let paused = paused(run, job) { deferrals.append(paused) }
        if let tooEarly = tooEarly(run, job) { deferrals.append(tooEarly) }
        if let refused = refused(run, job) { deferrals.append(refused) }
        if !run.isExpedited, run.attempts == 0, job.earliestBegin > .zero,
            let finished = record(of: job.id).lastFinished, finished <= moment.wall,
            finished + job.earliestBegin > moment.wall
        {
            deferrals.append(
                tooEarly(
                    .notDue, PlanBuilder.earliestBegin, until: finished + job.earliestBegin,
                    "end of the last run"))
        }
        // A pause has to end first, so the conditions need not be read.
        if !run.isForced, !deferrals.contains(where: { $0.reason == .paused }) {
            deferrals += unmet(of: job, for: run)
        }
        return deferrals
    }

    /// The subject of the deferral of a run that waits for a slot under `max_parallel`.
    static let maxParallel = "max_parallel"
    /// The same under the limit of all machines.
    static let maxParallelTotal = "max_parallel_total"

    /// The subject of the deferral that keeps two runs of a job apart.
    static let earliestBegin = "earliest_begin"

    /// A run that holds a place or has reserved one.
    struct SlotHolder {
        var job: JobID
        var words: String
        /// In which process it runs, as it follows the words.
        var process = ""
        var isElsewhere = false
        var groups: [LimitGroup] = []

        /// The same with its process in the words.
        var inItsProcess: SlotHolder { SlotHolder(job: job, words: "\(words) \(process)") }
    }

    /// Returns the deferral of an account's runs that could start if fewer attempts were running, or
    /// if fewer runs before them had reserved a slot.
    mutating func waitForSlot(
        of account: AccountID?, behind reservations: [SlotHolder]
    ) -> Deferral {
        // Another process announces the end of its attempt at once, unless it dies.
        if !runningElsewhere.isEmpty { wake(after: Planner.recheck) }
        let reserved =
            reservations.isEmpty
            ? ""
            : ", and \(reservations.count) reserved: "
                + PlanBuilder.names(of: reservations, for: account)
        let total =
            isTotalFull(reserved: reservations.count) ? planner.maxParallelTotal : nil
        return Deferral(
            .overlap,
            subject: total == nil ? PlanBuilder.maxParallel : PlanBuilder.maxParallelTotal,
            wanted: "fewer than "
                + (total.map { "\($0) attempts at once on all machines" } ?? allPlaces),
            measured: slotsTaken(for: account) + reserved,
            source: reservations.isEmpty
                ? "leases of this state directory" : Deferral.reservation)
    }

    /// The maximum number of attempts at once, on all machines.
    private var allPlaces: String {
        let places = ledger.machines.reduce(planner.maxParallel) { $0 + $1.places }
        let machines = ledger.machines.count + 1
        return "\(places) attempts at once" + (machines > 1 ? " on \(machines) machines" : "")
    }

    /// Returns how many slots are taken, and by which runs, in words for an account.
    mutating func slotsTaken(for account: AccountID?) -> String {
        attempts == 0
            ? "0"
            : "\(attempts): \(PlanBuilder.names(of: slotHolders.map(\.inItsProcess), for: account))"
    }

    /// The number of running attempts, in all processes that share the state.
    var attempts: Int {
        mutating get {
            planner.inFlight.count + runningElsewhere.count
        }
    }

    /// The running attempts. Each counts in the groups that its job has now, or had if the job is
    /// gone.
    var slotHolders: [SlotHolder] {
        mutating get {
            let here = planner.inFlight.sorted { $0.key < $1.key }.map { id, attempt in
                SlotHolder(
                    job: attempt.job.id, words: "run \(id) of \(attempt.job.id)",
                    process: "in this process",
                    groups: planner.jobs.limitGroups(of: attempt.job.id) ?? attempt.job.groups)
            }
            return here
                + runningElsewhere.sorted { $0.id < $1.id }.map { run in
                    SlotHolder(
                        job: run.job, words: "run \(run.id) of \(run.job)",
                        process: "in process \(run.lease?.owner ?? "unknown")",
                        isElsewhere: true, groups: planner.jobs.limitGroups(ofAny: run.job))
                }
        }
    }

    /// Returns at most four of the runs by name, and how many more there are. A wearer reads why a run
    /// waits, so those of other accounts have no names.
    static func names(of holders: [SlotHolder], for account: AccountID?) -> String {
        let own = holders.filter { $0.job.account == account }
        let others = holders.count - own.count
        let named = own.prefix(4).map(\.words).joined(separator: ", ")
        let parts = [
            named.isEmpty ? nil : named, own.count > 4 ? "\(own.count - 4) more" : nil,
            others > 0 ? "\(others) of other accounts" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: " and ")
    }

    /// Returns the names of the constraints that a run has dropped because it is late.
    func relaxed(_ job: Job, for run: Run) -> Set<String> {
        guard !job.relaxations.isEmpty else { return [] }
        let late = moment.wall - run.lateSince
        return Set(job.relaxations.prefix { $0.after <= late }.map(\.drops))
    }

    /// Returns the deferral for another run of the job that is not finished.
    func overlap(_ other: Run) -> Deferral {
        let source =
            switch other.lease {
            case let lease? where lease.state == .mine: "lease of this process"
            case let lease?: "lease of \(lease.owner)"
            case nil: "history"
            }
        return Deferral(
            .overlap, subject: "overlap", wanted: "no other run of the job",
            measured: "run \(other.id), which is \(other.state.rawValue)", source: source)
    }

    /// Returns the unfinished run of the same job that has to finish first: a running one, or an
    /// older one, even while it waits for a retry. Runs of a later rank come after those of an
    /// earlier one that this planner may start.
    func runAhead(of run: Run) -> Run? {
        // In the order of their ids: the first match is ahead of all others.
        for id in openRunNumbers(of: run.job) {
            guard let other = self.run(id), !other.state.isFinished, id != run.id else { continue }
            if other.state == .running { return other }
            let isBefore =
                other.rank == run.rank ? id < run.id : other.rank < run.rank && isInScope(id)
            if isBefore { return other }
        }
        return nil
    }

    /// Returns the deferral for an attempt of the job that has lost its lease and is being killed,
    /// but has not ended yet.
    private func endingAttempt(of job: Job) -> Deferral? {
        guard !planner.inFlight.isEmpty,
            let ending = planner.inFlight.filter({ $0.value.job.id == job.id }).keys.min()
        else { return nil }
        return Deferral(
            .overlap, subject: "overlap", wanted: "no other attempt of the job",
            measured: "an attempt of run \(ending) that is being ended", source: "this process")
    }

    private mutating func paused(_ run: Run, _ job: Job) -> Deferral? {
        guard !run.isForced, let pause = record(of: job.id).pause, pause.holds(at: moment.wall)
        else { return nil }
        if let until = pause.until { wake(after: until - moment.wall) }
        return Deferral(
            .paused, subject: "pause",
            wanted: pause.until.map { "\($0) or later" } ?? "a resume",
            measured: "paused since \(pause.since)",
            source: pause.reason.isEmpty ? "a person" : pause.reason)
    }

    private mutating func tooEarly(_ run: Run, _ job: Job) -> Deferral? {
        guard let notBefore = run.notBefore, notBefore > moment.wall else { return nil }
        let (reason, subject, source, longest): (WaitReason, String, String, Duration) =
            switch (run.attempts, run.trigger) {
            case (0, .event):
                (.backoff, "backoff", "what may have told of the event broke", job.retry.initial)
            case (0, _):
                (.notDue, "catch_up", "spread of what was missed", job.catchUp.longestSpread)
            default:
                (
                    .backoff, "backoff",
                    run.failures > 0 ? "failure \(run.failures) of the run" : "its last stop",
                    // A worker's wish may exceed the job's longest wait after failures.
                    RetryPolicy.longestMaximum
                )
            }
        // An instant further ahead than any policy allows dates from before the clock was set back.
        guard notBefore - moment.wall <= longest else { return nil }
        return tooEarly(reason, subject, until: notBefore, source)
    }

    /// Returns the deferral of a run that has to wait until an instant, and plans the next decision
    /// for then.
    private mutating func tooEarly(
        _ reason: WaitReason, _ subject: String, until instant: Instant, _ source: String
    ) -> Deferral {
        wake(after: instant - moment.wall)
        return Deferral(
            reason, subject: subject, wanted: "\(instant) or later", measured: "too early",
            source: source)
    }

    /// Returns the deferral for a server's Retry-After, which a request by hand respects too.
    private mutating func refused(_ run: Run, _ job: Job) -> Deferral? {
        guard !run.isForced, let until = record(of: job.id).retryAfter, until > moment.wall,
            // An instant further ahead dates from before the clock was set back.
            until - moment.wall <= RetryPolicy.longestMaximum,
            run.notBefore.map({ $0 < until }) ?? true
        else { return nil }
        return tooEarly(
            .backoff, PlanBuilder.retryAfter, until: until,
            "Retry-After that the last attempt was told")
    }

    /// The subject of the deferral for a server's Retry-After.
    static let retryAfter = "retry_after"

    /// Returns what a run needs: the constraints of its job in order, then its own need.
    func requirements(of run: Run, _ job: Job) -> [Requirement] {
        let own = run.needs.map {
            Requirement(subject: $0.rawValue, constraint: $0.constraint, isOwn: true)
        }
        let all = job.constraints.map { Requirement(subject: $0.name, constraint: $0) }
        guard let own, !job.constraints.contains(own.constraint) else { return all }
        return all + [own]
    }

    /// Returns the verdict on one requirement; its source says if the requirement is the run's own.
    func verdict(
        on requirement: Requirement, of job: Job, in conditions: Conditions
    ) -> Verdict {
        var verdict = job.verdict(of: requirement.constraint, in: conditions, at: moment.wall)
        if requirement.isOwn { verdict.source += "; the run itself asks for it" }
        return verdict
    }

    /// Returns a deferral for each constraint that does not hold on this machine, in their order.
    mutating func unmet(of job: Job, for run: Run) -> [Deferral] {
        guard !job.constraints.isEmpty || run.needs != nil else { return [] }
        return unmet(of: job, for: run, in: conditions)
    }

    /// Returns a deferral for each constraint that does not hold under conditions, in their order.
    ///
    /// - Parameter asksElsewhere: whether a check without a valid answer is left out, because the
    ///   machine whose conditions they are asks it.
    mutating func unmet(
        of job: Job, for run: Run, in conditions: Conditions, asksElsewhere: Bool = false
    ) -> [Deferral] {
        let relaxed = relaxed(job, for: run)
        var deferrals: [Deferral] = []
        for wanted in requirements(of: run, job) where !relaxed.contains(wanted.constraint.name) {
            if asksElsewhere, case .check(let check) = wanted.constraint,
                !(conditions.checks[check.name].map { check.isValid($0, at: moment.wall) } ?? false)
            {
                continue
            }
            let verdict = verdict(on: wanted, of: job, in: conditions)
            // The network constraints share one name; the first unmet one stands for them.
            guard !verdict.allows, !deferrals.contains(where: { $0.subject == wanted.subject })
            else { continue }
            deferrals.append(
                Deferral(
                    .constraint, subject: wanted.subject, wanted: verdict.wanted,
                    measured: verdict.measured, source: verdict.source))
            wake(after: verdict.isSampled ? Planner.recheck : Planner.announcedRecheck)
            if let changesAt = verdict.changesAt { wake(after: changesAt - moment.wall) }
        }
        guard !deferrals.isEmpty else { return [] }
        let late = moment.wall - run.lateSince
        if let next = job.relaxations.first(where: { $0.after > late }) {
            wake(after: next.after - late)
        }
        return deferrals
    }
}

extension Deferral {
    /// The source of a deferral by runs that reserve a slot.
    fileprivate static let reservation = "a check that is being asked"

    /// Whether the run waits for a place that a run before it has reserved.
    var isForReservation: Bool {
        isForPlace && (source == Deferral.reservation || source == Deferral.kept)
    }
}

/// One condition that a run needs: a constraint of its job, or its own need.
struct Requirement {
    /// As in `Deferral.subject`.
    var subject: String
    var constraint: Constraint

    /// Whether the run needs it and its job does not.
    var isOwn = false
}
