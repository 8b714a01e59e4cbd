// How waiting runs start and running attempts are watched.
extension Round {
    /// Starts nothing more; what runs is warned, and killed when it does not end in time.
    mutating func drain() {
        planner.isDraining = true
        for id in planner.inFlight.keys { stop(id, .shutdown) }
    }

    /// Warns and kills by the clock, and stops what lost a constraint.
    mutating func watchAttempts() {
        for id in planner.inFlight.keys.sorted() {
            guard var attempt = planner.inFlight[id] else { continue }
            if attempt.stop == nil, !attempt.isForced,
                attempt.job.constraints.contains(where: { !$0.verdict(in: conditions).allows })
            {
                stop(id, .constraintLost)
                attempt = planner.inFlight[id] ?? attempt
            }
            if !attempt.isWarned, !attempt.isKilled, moment.elapsed >= attempt.warnAt {
                attempt.stop = attempt.stop ?? .timeout
                attempt.isWarned = true
                // A look that comes late, as after a suspend, takes nothing from the time that the
                // worker has to come to an end.
                attempt.killAt = max(attempt.killAt, moment.elapsed + attempt.job.warning)
                add(.signal(id, .warn))
            } else if !attempt.isKilled, moment.elapsed >= attempt.killAt {
                attempt.isKilled = true
                add(.signal(id, .kill))
            }
            planner.inFlight[id] = attempt
            if !attempt.isKilled {
                wake(after: (attempt.isWarned ? attempt.killAt : attempt.warnAt) - moment.elapsed)
            }
        }
    }

    /// Starts what may start, the requested in their order and the longest due first; says of the
    /// rest why it waits.
    mutating func startWaitingRuns() {
        guard !planner.isDraining else { return }
        let waiting = open.values.filter { $0.state == .enqueued }
            .map { ($0, planner.requestedRuns.firstIndex(of: $0.id) ?? .max) }
            .sorted { ($0.1, $0.0.scheduledFor, $0.0.id) < ($1.1, $1.0.scheduledFor, $1.0.id) }
            .map(\.0)
        for run in waiting {
            guard let job = jobs[run.job], isInScope(run) else { continue }
            let deferrals = deferrals(of: run, job)
            add(.deferred(run.id, deferrals, at: moment.wall))
            if !deferrals.isEmpty {
                add(waiting: Plan.Waiting(job: job.id, run: run.id, deferrals: deferrals))
            } else if planner.inFlight.count < planner.maxParallel {
                start(run, job)
            }
        }
    }

    /// Renews this process's leases when it is time.
    mutating func renewLeases() {
        guard !planner.inFlight.isEmpty else { return }
        if moment.elapsed >= planner.nextRenewal {
            planner.nextRenewal = moment.elapsed + Planner.leaseRenewal
            add(.renewLeases)
        }
        wake(after: planner.nextRenewal - moment.elapsed)
    }

    /// Everything that keeps an enqueued run from starting now; empty when nothing does.
    mutating func deferrals(of run: Run, _ job: Job) -> [Deferral] {
        var deferrals: [Deferral] = []
        if let other = runAhead(of: run) {
            deferrals.append(overlap(other))
            if other.lease?.standing == .held { wake(after: Planner.recheck) }
        } else if let ending = planner.inFlight.filter({ $0.value.job.id == job.id }).keys.min() {
            // Its lease is lost and it is killed, but its process is not gone yet.
            deferrals.append(
                Deferral(
                    .overlap, subject: "overlap", wanted: "no other attempt of the job",
                    measured: "an attempt of run \(ending) that is being ended",
                    source: "this process"))
        }
        // What lies further ahead than the policy can put it comes from a clock that was set back.
        if let notBefore = run.notBefore, notBefore > moment.wall,
            notBefore - moment.wall <= job.retry.longestWait
        {
            deferrals.append(
                Deferral(
                    .backoff, subject: "backoff", wanted: "\(notBefore) or later",
                    measured: "too early", source: "failure \(run.failures) of the run"))
            wake(after: notBefore - moment.wall)
        }
        if !run.isExpedited, run.attempts == 0, job.earliestBegin > .zero,
            let finished = lastFinished[job.id], finished <= moment.wall,
            finished + job.earliestBegin > moment.wall
        {
            let earliest = finished + job.earliestBegin
            deferrals.append(
                Deferral(
                    .notDue, subject: "earliest_begin", wanted: "\(earliest) or later",
                    measured: "too early", source: "end of the last run"))
            wake(after: earliest - moment.wall)
        }
        if !run.isForced {
            let unmet = job.constraints.map { $0.verdict(in: conditions) }.filter { !$0.allows }
            for verdict in unmet {
                // All that is wanted of the network goes by one name; the first unmet says it.
                let subject = verdict.constraint.name
                guard !deferrals.contains(where: { $0.subject == subject }) else { continue }
                deferrals.append(
                    Deferral(
                        .constraint, subject: subject, wanted: verdict.wanted,
                        measured: verdict.measured, source: verdict.source))
            }
            if !unmet.isEmpty { wake(after: Planner.recheck) }
        }
        return deferrals
    }

    private func isInScope(_ run: Run) -> Bool {
        switch planner.scope {
        case .everything: true
        case .requested: planner.requestedRuns.contains(run.id)
        }
    }

    private mutating func stop(_ id: RunID, _ reason: StopReason) {
        guard var attempt = planner.inFlight[id], attempt.stop == nil else { return }
        attempt.stop = reason
        attempt.warnAt = moment.elapsed
        attempt.killAt = min(attempt.killAt, moment.elapsed + attempt.job.warning)
        planner.inFlight[id] = attempt
    }

    private mutating func start(_ run: Run, _ job: Job) {
        var run = run
        run.state = .running
        run.attempts += 1
        run.generation += 1
        run.lease = Lease(owner: planner.owner, standing: .mine)
        run.startedAt = run.startedAt ?? moment.wall
        run.notBefore = nil
        put(run)
        add(.putAttempt(Attempt(run: run.id, number: run.attempts, startedAt: moment.wall)))
        planner.inFlight[run.id] = AttemptInFlight(
            job: job, number: run.attempts, startedAt: moment.wall, isForced: run.isForced,
            warnAt: moment.elapsed + job.timeout - job.warning,
            killAt: moment.elapsed + job.timeout)
        wake(after: job.timeout - job.warning)
        add(
            .start(
                AttemptOrder(
                    run: run.id, job: job.id, kind: job.kind, attempt: run.attempts,
                    generation: run.generation, scheduledFor: run.scheduledFor,
                    timeout: job.timeout, warning: job.warning,
                    memoryLimitBytes: job.memoryLimitBytes, checkpoint: run.checkpoint,
                    options: job.options)))
    }
}
