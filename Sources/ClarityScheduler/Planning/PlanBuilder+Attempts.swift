// Starts waiting runs and watches running attempts.
extension PlanBuilder {
    /// Starts nothing more; warns the running attempts, and kills those that do not end in time.
    mutating func drain() {
        planner.isDraining = true
        for id in planner.inFlight.keys { stop(id, .shutdown) }
    }

    /// Stops attempts that should not continue, then warns and kills by the clock.
    mutating func watchAttempts() {
        for id in planner.inFlight.keys.sorted() {
            heedRequest(id)
            watchConstraints(id)
            watchProgress(id)
            watchTime(id)
        }
    }

    /// Starts the runs that may start and records why the others wait. Requested runs come first,
    /// in their order, then the others by priority. Within a priority the accounts take turns, and
    /// each account's runs come by the longest due.
    ///
    /// A run that waits only for the answer to a check reserves a slot, so that none that comes
    /// after it takes the slot meanwhile.
    mutating func startWaitingRuns() {
        guard !planner.isDraining else { return }
        // The same for every run of an account that waits for a slot, because no attempt ends here.
        var noSlot: [AccountID?: Deferral] = [:]
        var reservations: [SlotHolder] = []
        var askedSince: [RunID: Duration] = [:]
        for turn in startOrder() {
            guard let run = run(turn.run), run.state == .enqueued, let job = planner.jobs[run.job]
            else { continue }
            // Thousands may wait for a place of several machines: what they have to look at is
            // looked at when there is one.
            if !ledger.machines.isEmpty, ledger.waits[run.id]?.areForPlaces == true,
                isEverywhereFull(reserved: reservations.count)
            {
                continue
            }
            var deferrals = deferrals(of: run, job)
            let isTotalFull = isTotalFull(reserved: reservations.count)
            let isFull =
                isTotalFull || attemptsHere + reservations.count >= planner.maxParallel
            let host =
                isTotalFull ? nil : host(for: run, job, deferrals, isFull: isFull)
            let mayStart = deferrals.isEmpty || host != nil
            if mayStart, host == nil {
                let account = job.id.account
                let deferral = noSlot[account] ?? waitForSlot(of: account, behind: reservations)
                noSlot[account] = deferral
                deferrals = [deferral]
            } else if mayStart, !job.groups.isEmpty {
                deferrals = groupDeferrals(of: job)
                if !deferrals.isEmpty {
                    add(waiting: Plan.Waiting(job: job.id, run: run.id, deferrals: deferrals))
                    if job.groups.count > 1, deferrals.allSatisfy({ $0.reason == .overlap }) {
                        keepPlaces(of: run, job, "waits for \(deferrals[0].subject)")
                    }
                }
            }
            if host != nil, job.groups.isEmpty { deferrals = [] }
            if !mayStart {
                let asked = askChecks(job, for: run, deferrals)
                if !asked.isEmpty {
                    let since = planner.askedSince[run.id] ?? moment.elapsed
                    askedSince[run.id] = since
                    let rest = since + Planner.longestReservation - moment.elapsed
                    if !isFull, rest > .zero {
                        let names = asked.map { "`\($0)`" }.joined(separator: ", ")
                        let words = "waits for check \(names)"
                        reservations.append(
                            SlotHolder(
                                job: job.id, words: "run \(run.id) of \(job.id) \(words)"))
                        keepPlaces(of: run, job, words)
                        wake(after: rest)
                    }
                }
                add(waiting: Plan.Waiting(job: job.id, run: run.id, deferrals: deferrals))
            }
            record(deferrals, of: run, isBeingAsked: askedSince[run.id] != nil)
            if deferrals.isEmpty, let host { start(run, job, host) }
        }
        planner.askedSince = askedSince
    }

    /// Stops an attempt: warns it at once, and kills it after the warning time of its job.
    mutating func stop(_ id: RunID, _ reason: StopReason) {
        guard var attempt = planner.inFlight[id], attempt.stop == nil else { return }
        attempt.stop = reason
        attempt.warnAt = moment.elapsed
        attempt.killAt = min(attempt.killAt, moment.elapsed + attempt.job.warning)
        planner.inFlight[id] = attempt
    }

    // MARK: Watching

    private mutating func heedRequest(_ id: RunID) {
        if let reason = run(id)?.stopRequest { stop(id, reason) }
    }

    private mutating func watchConstraints(_ id: RunID) {
        guard var attempt = planner.inFlight[id], attempt.stop == nil, !attempt.isForced,
            !attempt.job.constraints.isEmpty, attempt.job.onLost != .finish, let run = run(id)
        else { return }
        let relaxed = relaxed(attempt.job, for: run)
        let kept = attempt.job.constraints.filter { !relaxed.contains($0.name) }
        guard kept.contains(where: { isLost($0, attempt.job) }) else {
            planner.inFlight[id]?.lostAt = nil
            return
        }
        if case .finishWithin(let span) = attempt.job.onLost {
            let lostAt = attempt.lostAt ?? moment.elapsed
            attempt.lostAt = lostAt
            planner.inFlight[id] = attempt
            guard moment.elapsed >= lostAt + span else {
                return wake(after: lostAt + span - moment.elapsed)
            }
        }
        stop(id, .constraintLost)
    }

    /// Whether a constraint under which an attempt was started no longer holds; plans another look
    /// if time alone can end the constraint.
    private mutating func isLost(_ constraint: Constraint, _ job: Job) -> Bool {
        if case .check(let check) = constraint {
            // A check is asked before a start and not again, so only a known "no" ends the attempt.
            return conditions.checks[check.name]?.value == false
        }
        let verdict = job.verdict(of: constraint, in: conditions, at: moment.wall)
        if let changesAt = verdict.changesAt { wake(after: changesAt - moment.wall) }
        return !verdict.allows
    }

    private mutating func watchProgress(_ id: RunID) {
        guard let attempt = planner.inFlight[id], attempt.stop == nil,
            let stall = attempt.job.stall
        else { return }
        let late = moment.elapsed - (attempt.progressAt + stall)
        guard late >= .zero else { return wake(after: .zero - late) }
        // A decision as late as this means that the scheduler slept, as in a suspend, and so did
        // the worker: it gets another term.
        if late > .seconds(10) {
            planner.inFlight[id]?.progressAt = moment.elapsed
            wake(after: stall)
        } else {
            stop(id, .stalled)
        }
    }

    private mutating func watchTime(_ id: RunID) {
        guard var attempt = planner.inFlight[id] else { return }
        if !attempt.isWarned, !attempt.isKilled, moment.elapsed >= attempt.warnAt {
            attempt.stop = attempt.stop ?? .timeout
            attempt.isWarned = true
            // A late decision, as after a suspend, takes nothing from the time that the worker has
            // to finish.
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

    // MARK: Starting

    /// The sort key of a waiting run; small, because each decision sorts hundreds.
    private struct Turn: Comparable {
        /// The run's position among the requested runs; `Int.max` if it was not requested.
        var request: Int
        var priority: Job.Priority
        /// How many attempts the account has running, or has before this one in this decision.
        var ahead = 0
        /// The number of the account's last attempt; 0 if it had none yet.
        var lastServed = 0
        var scheduledFor: Instant
        var run: RunID

        static func < (a: Turn, b: Turn) -> Bool {
            if a.request != b.request { return a.request < b.request }
            if a.priority != b.priority { return a.priority > b.priority }
            return (a.ahead, a.lastServed, a.scheduledFor.millisecondsSince1970, a.run)
                < (b.ahead, b.lastServed, b.scheduledFor.millisecondsSince1970, b.run)
        }
    }

    private mutating func startOrder() -> [Turn] {
        let requests = Dictionary(
            uniqueKeysWithValues: planner.requestedRuns.enumerated().map { ($1, $0) })
        var accounts: [RunID: AccountID] = [:]
        var turns = runsToServe.compactMap { run in
            guard isInScope(run.id), let priority = planner.jobs.priority(of: run.job) else {
                return nil as Turn?
            }
            accounts[run.id] = run.job.account
            return Turn(
                request: requests[run.id] ?? .max, priority: priority,
                scheduledFor: run.scheduledFor, run: run.id)
        }.sorted()
        guard !accounts.isEmpty else { return turns }
        // Without the turns, an account with a long queue would keep every slot, because its runs
        // have been due the longest.
        var ahead = attemptsByAccount
        for index in turns.indices {
            guard let account = accounts[turns[index].run] else { continue }
            turns[index].ahead = ahead[account, default: 0]
            turns[index].lastServed = planner.lastServed[account] ?? 0
            ahead[account, default: 0] += 1
        }
        return turns.sorted()
    }

    /// The number of running attempts of each account, in all processes.
    private var attemptsByAccount: [AccountID: Int] {
        mutating get {
            let jobs = planner.inFlight.values.map(\.job.id) + runningElsewhere.map(\.job)
            return jobs.reduce(into: [:]) { counts, job in
                if let account = job.account { counts[account, default: 0] += 1 }
            }
        }
    }

    /// The enqueued runs, with only the first backfill of each job. The other backfills, which may
    /// be thousands, wait for it and need no look.
    private var runsToServe: [Run] {
        let waiting = waitingRuns
        var first: [JobID: RunID] = [:]
        for run in waiting where run.trigger == .backfill {
            first[run.job] = min(first[run.job] ?? run.id, run.id)
        }
        return waiting.filter { $0.trigger != .backfill || first[$0.job] == $0.id }
    }

    /// Asks the unmet checks of a run that waits for nothing else, if none has a valid answer.
    /// Returns the checks that are being asked.
    mutating func askChecks(
        _ job: Job, for run: Run, _ deferrals: [Deferral]
    ) -> [String] {
        guard
            deferrals.allSatisfy({
                $0.reason == .constraint && $0.subject != PlanBuilder.machine
            })
        else { return [] }
        let relaxed = relaxed(job, for: run)
        let conditions = conditions
        let unmet = requirements(of: run, job).map(\.constraint).filter {
            !relaxed.contains($0.name)
                && !job.verdict(of: $0, in: conditions, at: moment.wall).allows
        }
        let checks = unmet.compactMap { constraint in
            if case .check(let check) = constraint { check } else { nil as Check? }
        }
        guard checks.count == unmet.count else { return [] }
        let unasked = checks.filter { check in
            !(conditions.checks[check.name].map { check.isValid($0, at: moment.wall) } ?? false)
        }
        // While a valid answer says no, the other answers change nothing.
        guard unasked.count == checks.count else { return [] }
        for check in unasked { ask(check.name) }
        return unasked.map(\.name)
    }

    /// Records what a run waits for, if that has changed.
    ///
    /// A change of the runs that hold the places is not recorded: it comes with each attempt, for
    /// every waiting run, and the runs themselves show it. Nothing else shows a reservation.
    ///
    /// A run that waited for a place still does while its check is being asked again: it is not
    /// missed because the former answer has become too old meanwhile.
    private mutating func record(_ deferrals: [Deferral], of run: Run, isBeingAsked: Bool) {
        let known = ledger.waits[run.id] ?? []
        guard known != deferrals, !known.areForSamePlaces(as: deferrals),
            !(known.areForPlaces && isBeingAsked)
        else { return }
        add(.deferred(run.id, deferrals, at: moment.wall))
    }

    private mutating func start(_ run: Run, _ job: Job, _ host: Host) {
        if isMissed(run) { spread(job, behind: run) }
        var run = run
        run.state = .running
        run.attempts += 1
        run.fencingToken += 1
        run.lease =
            switch host {
            case .here: Lease(owner: planner.owner, state: .mine)
            case .machine(let machine): Lease(owner: machine.owner, state: .held)
            }
        run.startedAt = run.startedAt ?? moment.wall
        run.notBefore = nil
        run.needs = nil
        put(run)
        noteStart(of: run, job)
        add(.putAttempt(Attempt(run: run.id, number: run.attempts, startedAt: moment.wall)))
        if let account = job.id.account {
            planner.turns += 1
            planner.lastServed[account] = planner.turns
        }
        switch host {
        case .here: carryOut(run, job)
        case .machine(let machine): place(run, job, on: machine)
        }
        if ledger.role == .leader { planner.lastMachine[job.id.account] = run.lease?.owner }
    }

    /// Starts an attempt in this process.
    mutating func carryOut(_ run: Run, _ job: Job) {
        planner.inFlight[run.id] = AttemptInFlight(
            job: job, number: run.attempts, startedAt: moment.wall,
            isForced: run.isForced, warnAt: moment.elapsed + job.warnedAfter,
            killAt: moment.elapsed + job.timeout, progressAt: moment.elapsed)
        wake(after: min(job.warnedAfter, job.stall ?? job.timeout))
        var order =
            AttemptOrder(
                run: run.id, job: job.id, kind: job.kind, attempt: run.attempts,
                fencingToken: run.fencingToken, scheduledFor: run.occurrence,
                timeout: job.timeout, warning: job.warning,
                memoryLimitBytes: job.memoryLimitBytes, checkpoint: run.checkpoint,
                conditions: orderConditions(of: run, job),
                options: planner.jobs.options(of: job.id))
        if run.trigger == .chain { order.after = run.causedBy }
        order.parameters = run.parameters
        add(.start(order))
    }

    /// Returns the conditions that a worker gets: those that are known and still count.
    private mutating func orderConditions(of run: Run, _ job: Job) -> OrderConditions {
        guard job.heedsConditions, !run.isForced else { return OrderConditions() }
        return job.orderConditions(of: conditions, without: relaxed(job, for: run))
    }
}
