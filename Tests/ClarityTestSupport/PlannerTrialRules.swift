import ClarityScheduler

/// The rules that must hold after every decision, whatever happened before.
struct PlannerTrialRules {
    let jobs: [JobID: Job]
    let planner: Planner
    let scope: Planner.Scope
    let hasReloaded: Bool
    /// The attempts of this process before the acts of the decision.
    let workers: [RunID: TrialWorker]
    let isDraining: Bool
    let moment: Moment
    let conditions: Conditions
    let before: Ledger
    let after: Ledger
    let plan: Plan
    /// The starts before the decision, of all jobs.
    let starts: [AttemptStart]

    /// The longest time for which a run may wait, or a schedule may stand still, once nothing is in
    /// the way.
    ///
    /// It is the sum of: how far a clock may be set back, the longest backoff, the longest schedule
    /// of `TrialDraw.lastingJobs`, the longest time for which one of their windows is closed, an
    /// earliest begin for each run that may wait, and the spread of those runs.
    static let patience =
        Planner.clockTolerance + RetryPolicy.longestMaximum
        + .seconds(
            86_400 + 3 * 86_400 + 7200
                * (TrialDraw.mostCaughtUp + Int64(TrialDraw.mostBackfilled) + 2)
                + TrialDraw.longestSpread + 60
        )

    /// Checks all rules.
    ///
    /// - Throws: `BrokenRule` for the first broken rule.
    func check(_ tallies: inout TrialTallies) throws(BrokenRule) {
        try checkRuns()
        try checkAttempts(&tallies)
        for order in plan.started { try checkStart(order) }
        for act in plan.acts { try checkSignal(act) }
        for job in planner.jobs.jobs { try checkOccurrences(of: job) }
        try checkWakeUp()
    }

    private func expect(_ condition: Bool, _ rule: @autoclosure () -> String) throws(BrokenRule) {
        if !condition { throw BrokenRule(rule()) }
    }

    private var openAfter: [Run] { after.open.values.sorted { $0.id < $1.id } }

    private var putRuns: [Run] {
        plan.changes.compactMap { if case .put(let run) = $0 { run } else { nil } }
    }

    // MARK: Runs

    private func checkRuns() throws(BrokenRule) {
        let running = openAfter.filter { $0.state == .running }
        try expect(Set(running.map(\.job)).count == running.count, "a job has one running run")
        try expect(
            running.allSatisfy { $0.lease?.state != .lapsed },
            "no run is running under an owner that is gone")
        let changed = putRuns.map(\.id)
        try expect(Set(changed).count == changed.count, "a run is written once a decision")
        let open = Set(before.open.keys)
        try expect(
            changed.allSatisfy { open.contains($0) || $0 >= before.nextRun },
            "a run that is finished stays as it is")
        // A job has at most a waiting run and one behind it while it runs. Only catching up, a
        // backfill and runs with parameters of their own add more.
        let waiting = Dictionary(grouping: openAfter, by: \.job).mapValues(\.count)
        let most =
            Int(TrialDraw.mostCaughtUp) + TrialDraw.mostBackfilled + TrialDraw.values.count + 2
        try expect(waiting.values.allSatisfy { $0 <= most }, "a job has few unfinished runs")
    }

    private func checkAttempts(_ tallies: inout TrialTallies) throws(BrokenRule) {
        for case .putAttempt(let attempt) in plan.changes where attempt.result == .stopped {
            tallies.stops[attempt.run, default: 0] += 1
        }
        for run in putRuns {
            guard let job = jobs[run.job] else { continue }
            let stops = tallies.stops[run.id] ?? 0
            // Some attempts may vanish before each failure and each stop.
            let most = (TrialDraw.mostAttempts + stops) * (Planner.toleratedInterruptions + 2)
            try expect(run.attempts <= most, "run \(run.id) had \(run.attempts) attempts")
            try expect(
                run.state.isFinished || run.failures < mostAttempts(of: job)
                    || run.failures == before.open[run.id]?.failures,
                "a run that exhausts its attempts fails")
        }
    }

    /// Returns the most attempts of a job. An attempt keeps the policy with which it was started,
    /// and which a reload may have changed.
    private func mostAttempts(of job: Job) -> Int {
        hasReloaded ? TrialDraw.mostAttempts : job.retry.attempts
    }

    // MARK: Acts

    private func checkStart(_ order: AttemptOrder) throws(BrokenRule) {
        guard let job = jobs[order.job], let run = after.open[order.run]
        else { throw BrokenRule("what starts is a run of a known job") }
        try expect(
            run.state == .running && run.lease?.state == .mine
                && run.fencingToken == order.fencingToken && run.attempts == order.attempt,
            "what starts is running under our lease")
        try expect(!isDraining, "a drain starts nothing")
        try expect(
            !workers.values.contains { $0.job.id == job.id },
            "a process has one attempt of a job at a time")
        try expect(
            workers.count + plan.started.count + runningElsewhere <= planner.maxParallel,
            "no more attempts of all processes run at once than allowed")
        for group in job.groups { try checkStart(in: group) }
        try expect(
            run.isForced
                || asked(of: job, by: run).allSatisfy {
                    job.verdict(of: $0, in: conditions, at: moment.wall).allows
                },
            "an attempt starts only when its constraints hold, or by force")
        let pause = after.jobs[job.id]?.pause
        try expect(
            run.isForced || !(pause?.holds(at: moment.wall) ?? false),
            "a paused job starts nothing but by force")
        try expect(
            run.attempts > 1 || [.manual, .backfill].contains(run.trigger) || run.isExpedited
                || mostLate(run, job).map { moment.wall - order.scheduledFor <= $0 } ?? true,
            "a run starts within its time or not at all")
        try expect(
            run.isForced || mayAskBackend(job),
            "nothing but force comes before the end of a Retry-After")
        try expect(
            !openAfter.contains { $0.job == job.id && $0.id != run.id && isAhead($0, of: run) },
            "the runs of a job go in their order: those with parameters, others, backfills")
        guard !run.isExpedited else { return }
        if run.attempts == 1, job.earliestBegin > .zero {
            let ends = putRuns.filter { $0.job == job.id && $0.attempts > 0 }
                .compactMap(\.finishedAt)
            let last = ends.last ?? before.jobs[job.id]?.lastFinished
            try expect(
                last.map { moment.wall < $0 || moment.wall >= $0 + job.earliestBegin } ?? true,
                "two runs of a job are its earliest begin apart")
        }
        if let earlier = before.open[run.id], earlier.state == .enqueued,
            let notBefore = earlier.notBefore
        {
            let rest = notBefore - moment.wall
            let longest =
                order.attempt > 1 ? RetryPolicy.longestMaximum : job.catchUp.longestSpread
            try expect(
                rest <= .zero || rest > longest,
                "a run waits out its backoff, \(rest.text) are left")
        }
    }

    /// Checks that what starts has places in a group, whose limits are those of the job that starts.
    private func checkStart(in group: LimitGroup) throws(BrokenRule) {
        func isIn(_ job: Job?) -> Bool { job?.groups.contains { $0.name == group.name } ?? false }
        let here = workers.values.filter { isIn(jobs[$0.job.id] ?? $0.job) }.count
        let elsewhere = before.open.values.filter {
            $0.state == .running && $0.lease?.state == .held && isIn(jobs[$0.job])
        }.count
        let started = plan.started.filter { isIn(jobs[$0.job]) }.count
        if let atOnce = group.atOnce {
            try expect(
                here + elsewhere + started <= atOnce,
                "no more attempts of group \(group.name) run at once than it allows")
        }
        if let rate = group.rate {
            let before = starts.filter {
                isIn(jobs[$0.job]) && $0.at <= moment.wall && moment.wall - $0.at < rate.span
            }.count
            try expect(
                before + started <= rate.count,
                "no more attempts of group \(group.name) start in \(rate.span.text) than it allows")
        }
    }

    private func isAhead(_ other: Run, of run: Run) -> Bool {
        let (first, second) = (rank(other), rank(run))
        // Any other scheduler leaves to the next one what it may not start itself.
        return first == second ? other.id < run.id : first < second && scope == .everything
    }

    private func rank(_ run: Run) -> Int {
        if !run.parameters.isEmpty { return 1 }
        return run.trigger == .backfill ? 3 : 2
    }

    /// The number of attempts of other processes. Those whose lease has lapsed are gone.
    private var runningElsewhere: Int {
        before.open.values.filter { $0.state == .running && $0.lease?.state == .held }.count
    }

    /// Returns how late a run may start by `start_within` and `catch_up`, or `nil` if there is no
    /// limit.
    private func mostLate(_ run: Run, _ job: Job) -> Duration? {
        let isOccurrence =
            [.schedule, .catchUp].contains(run.trigger) || run.latestOccurrence != nil
        // An occurrence that waited only for places was not missed.
        let waits = before.waits[run.id]?.map(\.subject) ?? []
        let waitedForPlaces =
            !waits.isEmpty && waits.allSatisfy { $0 == "max_parallel" || $0.hasPrefix("group ") }
        let ofCatchUp: Duration? =
            switch job.catchUp {
            case .none where isOccurrence && !waitedForPlaces: .seconds(15 * 60)
            case .all(let bounds) where isOccurrence: bounds.window
            default: nil
            }
        return [job.startWithin, ofCatchUp].compactMap { $0 }.min()
    }

    private func mayAskBackend(_ job: Job) -> Bool {
        guard let until = before.jobs[job.id]?.retryAfter else { return true }
        return until <= moment.wall || until - moment.wall > RetryPolicy.longestMaximum
    }

    /// Returns the constraints that a run still has to meet, given how late it is.
    private func asked(of job: Job, by run: Run) -> [Constraint] {
        let late = moment.wall - (run.trigger == .backfill ? run.enqueuedAt : run.scheduledFor)
        let dropped = job.relaxations.filter { $0.after <= late }.map(\.drops)
        var needed = before.open[run.id]?.needs.map { [$0.constraint] } ?? []
        // A new occurrence ends the need for a source, and no other need.
        if hasOccurrence(of: job) { needed.removeAll { $0 == .source } }
        return (job.constraints + needed).filter { !dropped.contains($0.name) }
    }

    /// Returns whether this decision settled an occurrence of the job.
    private func hasOccurrence(of job: Job) -> Bool {
        plan.changes.contains {
            switch $0 {
            case .put(let run):
                run.job == job.id && run.id >= before.nextRun
                    && [.schedule, .catchUp].contains(run.trigger)
            case .recordOutcome(job.id, _, _, _, _, _): true
            default: false
            }
        }
    }

    private func checkSignal(_ act: Plan.Act) throws(BrokenRule) {
        guard case .signal(let run, let signal) = act else { return }
        guard let worker = workers[run] else { throw BrokenRule("a signal has somebody to go to") }
        try expect(!worker.isKilled, "nobody is killed twice, or warned when dead")
        let isOurs = after.open[run]?.lease?.state == .mine
        switch signal {
        case .warn: try expect(worker.warnedAt == nil, "nobody is warned twice")
        case .kill where isOurs:
            guard let warnedAt = worker.warnedAt else {
                throw BrokenRule("nobody is killed without a warning")
            }
            let deadline = worker.startedAt + worker.job.timeout
            try expect(
                moment.elapsed >= min(deadline, warnedAt + worker.job.warning),
                "nobody is killed before the time is over")
        case .kill: break
        }
    }

    // MARK: Occurrences

    private func checkOccurrences(of job: Job) throws(BrokenRule) {
        var runs = putRuns.filter {
            $0.job == job.id && $0.id >= before.nextRun
                && [.schedule, .catchUp].contains($0.trigger)
        }.map(\.scheduledFor)
        var count = runs.count
        for case .recordOutcome(job.id, _, let first, let latest, let share, _) in plan.changes {
            runs += [first, latest]
            count += share
        }
        guard let schedule = job.schedule else {
            return try expect(count == 0, "what has no schedule has no occurrences")
        }
        guard let clock = after.jobs[job.id]?.clock else {
            throw BrokenRule("a job that was seen has a clock")
        }
        let known = before.jobs[job.id]?.clock
        var last = known?.considered ?? moment.wall - .milliseconds(1)
        if let known, clock.era > known.era {
            try expect(
                last - moment.wall > Planner.clockTolerance,
                "only a clock that was set back takes occurrences back")
            last = moment.wall
        }
        // With `flex`, an occurrence may be settled before it is due.
        let end = max(moment.wall, clock.considered)
        let due = schedule.due(after: last, through: end, anchor: clock.anchor)
        try expect(
            count == due?.count ?? 0,
            "each occurrence of \(job.id) has one fate, \(count) have of \(due?.count ?? 0)")
        try expect(
            runs.allSatisfy { last < $0 && $0 <= clock.considered },
            "an outcome is that of an occurrence that was due")
        try expect(
            schedule.due(after: clock.considered, through: moment.wall, anchor: clock.anchor)
                == nil,
            "no due occurrence is left without an outcome")
        try expect(
            clock.considered - moment.wall <= Planner.clockTolerance + schedule.flex,
            "a clock that was set back stops no schedule")
        if let next = schedule.next(after: clock.considered, anchor: clock.anchor) {
            try expectLook(within: next - moment.wall, "the next occurrence")
        }
    }

    // MARK: Wake-ups

    private func checkWakeUp() throws(BrokenRule) {
        for waiting in plan.waiting {
            let isHeld = openAfter.contains {
                $0.job == waiting.job && $0.lease?.state == .held
            }
            // A request for a running job is answered with that run, so nothing waits.
            guard let run = waiting.run.flatMap({ after.open[$0] }), run.lease == nil else {
                continue
            }
            for deferral in waiting.deferrals {
                if deferral.reason == .overlap && isHeld {
                    try expectLook(within: Planner.recheck, "\(deferral.subject)")
                }
            }
            guard let job = jobs[run.job] else { continue }
            try checkLook(atGroups: waiting.deferrals)
            // The conditions of a paused job are not checked.
            if !run.isForced, !waiting.deferrals.contains(where: { $0.reason == .paused }) {
                try checkLook(at: asked(of: job, by: run), of: job)
            }
            if waiting.deferrals.contains(where: { $0.subject == "retry_after" }) {
                let until = after.jobs[job.id]?.retryAfter ?? moment.wall
                try expectLook(within: until - moment.wall, "the end of the Retry-After")
            }
            if waiting.deferrals.contains(where: { ["backoff", "catch_up"].contains($0.subject) }) {
                let notBefore = run.notBefore ?? moment.wall
                try expectLook(within: notBefore - moment.wall, "the end of the backoff")
            }
            if waiting.deferrals.contains(where: { $0.subject == "earliest_begin" }) {
                try expectLook(within: job.earliestBegin, "the earliest begin")
            }
        }
        for order in plan.started {
            try expectLook(within: order.timeout - order.warning, "the warning")
        }
        for (run, worker) in workers {
            if !worker.isKilled, plan.signals[run] != .kill {
                let deadline = worker.startedAt + worker.job.timeout
                try expectLook(
                    within: max(deadline - moment.elapsed, worker.job.warning), "the deadline")
            }
        }
        try expect(
            plan.isIdle == (workers.isEmpty && plan.started.isEmpty && plan.asks.isEmpty),
            "a scheduler is idle when no attempt of it runs and it awaits no answer")
    }

    /// Checks when the constraints that hold a job back are looked at again: soon, if they can
    /// change without an announcement. Of several constraints with one name, only the first counts.
    private func checkLook(at constraints: [Constraint], of job: Job) throws(BrokenRule) {
        var seen: Set<String> = []
        for constraint in constraints {
            let verdict = job.verdict(of: constraint, in: conditions, at: moment.wall)
            guard !verdict.allows, seen.insert(constraint.name).inserted else { continue }
            try expectLook(
                within: verdict.isSampled ? Planner.recheck : Planner.announcedRecheck,
                constraint.name)
            if let changesAt = verdict.changesAt {
                try expectLook(within: changesAt - moment.wall, "a change of \(constraint.name)")
            }
        }
    }

    /// Checks when a run that waits for places in groups is looked at again: when a place becomes
    /// free, and soon if another process holds one.
    private func checkLook(atGroups deferrals: [Deferral]) throws(BrokenRule) {
        for deferral in deferrals where deferral.subject.hasPrefix("group ") {
            let name = deferral.subject.dropFirst("group ".count)
            if deferral.reason == .backoff {
                let next = Instant(rfc3339: String(deferral.wanted.prefix { $0 != " " }))
                guard let next, next > moment.wall else {
                    throw BrokenRule("the next place of a group is to come: \(deferral.wanted)")
                }
                try expectLook(within: next - moment.wall, "the next place")
            } else if openAfter.contains(where: { run in
                run.lease?.state == .held
                    && jobs[run.job]?.groups.contains { $0.name == name } ?? false
            }) {
                try expectLook(within: Planner.recheck, "a place of another process")
            }
        }
    }

    private func expectLook(within span: Duration, _ what: String) throws(BrokenRule) {
        try expect(
            plan.wakeAfter.map { $0 <= span } ?? false,
            "\(what) is in \(span.text), the next look in \(plan.wakeAfter?.text ?? "never")")
    }
}

/// The counts that the rules keep over a whole trial.
struct TrialTallies {
    /// The number of stopped attempts of each run, which no policy limits.
    var stops: [RunID: Int] = [:]
    /// Every start of an attempt.
    var starts: [AttemptStart] = []
}
