import ClarityScheduler

/// A decision with all of its inputs, so that it can be repeated.
struct RepeatedDecision {
    /// The planner before the decision.
    let planner: Planner
    let events: [Planner.Event]
    let moment: Moment
    let conditions: Conditions
    let ledger: Ledger
    let plan: Plan

    /// Repeats the decision twice.
    ///
    /// - Throws: `BrokenRule` if the same inputs give another plan, or if jobs that the plan does
    ///   not concern change it other than by the places that their attempts take.
    func check() throws(BrokenRule) {
        let again = handle(events, ledger.copy { _ in true })
        guard again == plan else {
            throw BrokenRule("the same inputs give the same plan: \(plan), then \(again)")
        }
        let concerned = concernedJobs
        guard !concerned.isEmpty else { return }
        // Without jobs in between there is no agenda left: the ledger of the others says nothing of
        // the clocks that were set back since it was made.
        let alone = handle(
            [.reload(JobSet([]), maxParallel: 1), reload(keeping: concerned)]
                + events.filter { !$0.isReload },
            ledger.copy { concerned.contains($0) })
        let (wanted, got) = (outcome(of: plan, concerned), outcome(of: alone, concerned))
        guard got == wanted else {
            let (first, second) = (wanted.lines, got.lines)
            let both = zip(first + ["nothing more"], second + ["nothing more"])
            let difference = both.first { $0 != $1 }.map { "\($0), then \($1)" } ?? ""
            throw BrokenRule("a decision is about its own jobs alone: \(difference)")
        }
    }

    private func handle(_ events: [Planner.Event], _ ledger: Ledger) -> Plan {
        var planner = planner
        return planner.handle(events, at: moment, conditions: conditions, ledger: ledger)
    }

    /// The jobs for which the plan decides more than how far their schedules have been processed,
    /// and those whose runs may have reserved a place.
    private var concernedJobs: Set<JobID> {
        let runs = plan.changes.reduce(into: ledger.open) { runs, change in
            if case .put(let run) = change { runs[run.id] = run }
        }
        let changed = plan.changes.compactMap { change -> JobID? in
            switch change {
            case .put(let run): run.job
            case .setPause(let job, _), .setRetryAfter(let job, _),
                .recordOutcome(let job, _, _, _, _, _):
                job
            case .requestStop(let run, _), .deferred(let run, _, at: _): runs[run]?.job
            case .putAttempt(let attempt): runs[attempt.run]?.job
            case .setClock, .setBoot, .setSource, .putFacts, .prune, .placing: nil
            }
        }
        // Jobs of one group share its places, wherever they run.
        // An attempt of a job that the file still has holds the places of its groups there, and else
        // those with which it was started.
        let running = Set(runs.values.filter { $0.state == .running }.map(\.job))
            .union(planner.jobsInFlight)
        let grouped = jobsThen.jobs.filter { !$0.groups.isEmpty || running.contains($0.id) }
            .map(\.id)
        let signalled = plan.signals.keys.compactMap { runs[$0]?.job }
        // A run whose check is being asked reserves a place, and so holds others back.
        let reserving = plan.asks.isEmpty ? [] : plan.waiting.map(\.job)
        return Set(changed + signalled + reserving + grouped)
    }

    /// The jobs about which the plan decides.
    private var jobsThen: JobSet {
        var jobs = planner.jobs
        for case .reload(let others, _, _) in events { jobs = others }
        return jobs
    }

    /// Returns a reload that removes all other jobs. Their attempts continue and keep their places.
    private func reload(keeping concerned: Set<JobID>) -> Planner.Event {
        var maxParallel = planner.maxParallel
        for case .reload(_, let most, _) in events { maxParallel = most }
        let jobs = jobsThen
        let groups = jobs.groups.map { group in
            var kept = group
            kept.jobs = zip(group.jobs, group.wholeJobs).compactMap { declared, whole in
                concerned.contains(whole.id) ? declared : nil
            }
            return kept
        }
        return .reload(JobSet(groups), maxParallel: maxParallel)
    }

    /// The part of a plan that concerns some jobs.
    private struct Outcome: Equatable {
        var changes: [LedgerChange]
        /// How far the schedules are processed in the end. The steps on the way may differ.
        var considered: [JobID: Instant]
        var acts: [Plan.Act]
        var waiting: [Plan.Waiting]

        var lines: [String] {
            changes.map { "\($0)" } + acts.map { "\($0)" } + waiting.map { "\($0)" }
                + considered.map { "\($0): \($1)" }.sorted()
        }
    }

    private func outcome(of plan: Plan, _ jobs: Set<JobID>) -> Outcome {
        var outcome = Outcome(
            changes: [], considered: [:], acts: plan.acts,
            waiting: plan.waiting.filter { jobs.contains($0.job) })
        for job in jobs { outcome.considered[job] = ledger.jobs[job]?.clock?.considered }
        for change in plan.changes {
            switch change {
            case .setClock(let job, let clock):
                if jobs.contains(job) { outcome.considered[job] = clock.considered }
            case .prune, .setBoot, .setSource: break
            default: outcome.changes.append(change)
            }
        }
        return outcome
    }
}

extension Planner.Event {
    fileprivate var isReload: Bool { if case .reload = self { true } else { false } }
}

extension Ledger {
    /// Returns a copy with some jobs only, and with all runs that take places, whatever their job.
    /// The tables of the copy have another order.
    fileprivate func copy(keeping: (JobID) -> Bool) -> Ledger {
        let runs = open.values.filter { run in
            keeping(run.job) || run.lease.map { $0.state != .lapsed } ?? false
        }
        let kept = Set(runs.map(\.id))
        var copy = Ledger(
            jobs: jobs.byJob.filter { keeping($0.key) }, open: runs.sorted { $0.id > $1.id },
            waits: waits.filter { kept.contains($0.key) }, nextRun: nextRun, pruned: pruned,
            boot: boot, sources: sources)
        if let recall { copy.recall(recall, isStale: true) { _ in starts.reversed() } }
        return copy
    }
}
