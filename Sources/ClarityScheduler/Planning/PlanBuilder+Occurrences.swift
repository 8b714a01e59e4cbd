// Turns occurrences into runs, or records why they get none.
extension PlanBuilder {
    /// Handles what each schedule has named since it was last considered.
    mutating func enqueueDueOccurrences() {
        followClock()
        if planner.agenda == nil { makeAgenda() }
        var due: [Int] = []
        while let entry = planner.agenda?.popFirst(through: moment.wall) { due.append(entry.place) }
        // In the order of the job file, not of due times, so that the same decision made again
        // gives the same ids.
        for place in due.sorted() {
            guard let job = planner.jobs.job(at: place) else { continue }
            settleOccurrences(of: job)
            plan(place, job.schedule, clock(of: job))
        }
        if let next = planner.agenda?.first { wake(after: next.at - moment.wall) }
    }

    /// Handles what a job's schedule has named up to now.
    mutating func settleOccurrences(of job: Job) {
        let clock = clock(of: job)
        guard let schedule = job.schedule,
            let due = schedule.due(
                after: clock.considered, through: moment.wall, anchor: clock.anchor)
        else { return }
        decide(due, schedule, of: job, after: clock)
        consider(due.latest, of: job)
        // The pause is removed at the first occurrence after its end, not at just any decision, so
        // that the same decision made again removes it as well.
        if let until = record(of: job.id).pause?.until, until <= due.latest {
            setPause(nil, of: job.id)
        }
    }

    /// Returns how far the job's schedule has been handled. Creates the clock of a new job, and
    /// sets it back if the wall clock was set back.
    mutating func clock(of job: Job) -> JobClock { clock(of: job.id, job.schedule) }

    private mutating func clock(of job: JobID, _ ownSchedule: Schedule?) -> JobClock {
        let schedule = ownSchedule.map { "\($0)" } ?? ""
        guard var clock = record(of: job).clock else {
            // The anchor itself is the first occurrence of `every`, so it must not count as
            // considered.
            let clock = JobClock(
                anchor: moment.wall, considered: moment.wall - .milliseconds(1), schedule: schedule)
            setClock(clock, of: job)
            return clock
        }
        let known = clock
        let ahead = Planner.clockTolerance + (ownSchedule?.flex ?? .zero)
        if clock.considered - moment.wall > ahead {
            clock.anchor = min(clock.anchor, moment.wall)
            clock.considered = moment.wall
            clock.era += 1
            clock.scheduleSince = moment.wall
        }
        if clock.schedule != schedule {
            clock.schedule = schedule
            clock.scheduleSince = clock.considered
        }
        if clock != known { setClock(clock, of: job) }
        return clock
    }

    // MARK: The agenda

    /// Discards the agenda if the clocks of jobs were set back, or may have to be.
    private mutating func followClock() {
        var basis = planner.agendaBasis
        if let seen = basis.seen {
            // The wall time just before now, if the clock was not set; another process may have
            // decided then.
            basis.furthest = max(basis.furthest, seen.wall + (moment.elapsed - seen.elapsed))
        }
        let isFarBack = basis.furthest > moment.wall + Planner.clockTolerance
        if ledger.setbacks != basis.setbacks || isFarBack { planner.agenda = nil }
        basis.seen = moment
        basis.furthest = max(basis.furthest, moment.wall)
        planner.agendaBasis = basis
    }

    private mutating func makeAgenda() {
        planner.agenda = Agenda()
        planner.earlyAgenda = Agenda()
        planner.flexible = []
        var basis = AgendaBasis(
            setbacks: ledger.setbacks, furthest: moment.wall, seen: moment)
        addToAgenda(planner.jobs.places, &basis)
        planner.agendaBasis = basis
    }

    /// Replaces the jobs, and plans those that have changed; the others keep their entries on the
    /// agenda, so that a changed account costs nothing for the others.
    mutating func reload(_ jobs: JobSet) {
        let changed = jobs.places(changedSince: planner.jobs)
        planner.jobs = jobs
        guard planner.agenda != nil, changed.count < jobs.places.count else {
            planner.agenda = nil
            return
        }
        planner.agenda?.remove(changed)
        planner.earlyAgenda.remove(changed)
        planner.flexible.subtract(changed)
        var basis = planner.agendaBasis
        addToAgenda(changed.filter { jobs.places.contains($0) }.sorted(), &basis)
        planner.agendaBasis = basis
    }

    private mutating func addToAgenda(_ places: some Sequence<Int>, _ basis: inout AgendaBasis) {
        for place in places {
            guard let (id, schedule) = planner.jobs.schedule(at: place) else { continue }
            let era = record(of: id).clock?.era ?? 0
            let clock = clock(of: id, schedule)
            basis.setbacks += clock.era - era
            basis.furthest = max(basis.furthest, clock.considered)
            plan(place, schedule, clock)
        }
    }

    /// Puts a job's next occurrence on the agenda.
    private mutating func plan(_ place: Int, _ schedule: Schedule?, _ clock: JobClock) {
        planner.flexible.remove(place)
        guard let schedule,
            let next = schedule.next(after: clock.considered, anchor: clock.anchor)
        else { return }
        planner.agenda?.insert(Agenda.Entry(at: next, place: place))
        if schedule.flex > .zero {
            planner.earlyAgenda.insert(Agenda.Entry(at: next - schedule.flex, place: place))
        }
    }

    /// Enqueues jobs with flex as soon as their window is open and nothing holds them back, if a
    /// run that is enqueued now is one that the planner may start.
    mutating func startFlexibly() {
        while let entry = planner.earlyAgenda.popFirst(through: moment.wall) {
            planner.flexible.insert(entry.place)
        }
        if let next = planner.earlyAgenda.first { wake(after: next.at - moment.wall) }
        guard !planner.flexible.isEmpty, !planner.isDraining,
            planner.scope == .everything || planner.scope == .due,
            isInScope(RunID(nextRun))
        else { return }
        for place in planner.flexible.sorted() {
            guard let job = planner.jobs.job(at: place) else { continue }
            let clock = clock(of: job)
            guard let schedule = job.schedule,
                let next = schedule.next(after: clock.considered, anchor: clock.anchor)
            else { continue }
            // Another process may have handled the occurrence since.
            guard next - schedule.flex <= moment.wall else {
                planner.flexible.remove(place)
                planner.earlyAgenda.insert(Agenda.Entry(at: next - schedule.flex, place: place))
                continue
            }
            guard next > moment.wall, presentRuns(of: job.id).isEmpty,
                !isEverywhereFull(reserved: 0)
            else { continue }
            let candidate = Run(
                id: ledger.nextRun, job: job.id, kind: job.kind, trigger: .schedule,
                scheduledFor: next, enqueuedAt: moment.wall)
            guard deferrals(of: candidate, job).isEmpty, groupDeferrals(of: job).isEmpty else {
                continue
            }
            planner.flexible.remove(place)
            enqueue(job, .schedule, for: next)
            consider(next, of: job)
        }
    }

    // MARK: Outcomes

    private mutating func consider(_ instant: Instant, of job: Job) {
        var clock = clock(of: job)
        clock.considered = instant
        setClock(clock, of: job.id)
    }

    /// Gives each occurrence a run or an outcome: first by how late it is, then by the job's
    /// policies for those that may still start.
    private mutating func decide(
        _ due: DueOccurrences, _ schedule: Schedule, of job: Job, after clock: JobClock
    ) {
        var start = clock.considered
        if let limit = lateness(job) {
            let edge = min(moment.wall - limit.most - .milliseconds(1), due.latest)
            if let old = schedule.due(after: start, through: edge, anchor: clock.anchor) {
                passOver(old, schedule, of: job, limit.rule, after: clock)
                start = old.latest
            }
        }
        guard let due = schedule.due(after: start, through: due.latest, anchor: clock.anchor)
        else { return }
        if let pause = record(of: job.id).pause, job.catchUp == .none,
            pause.holds(at: moment.wall),
            pause.until.map({ $0 > due.latest + PlanBuilder.onTime }) ?? true
        {
            return recordOutcome(.paused, of: job.id, due)
        }
        if job.overlap == .replace { presentRuns(of: job.id).forEach { supersede($0) } }
        let open = presentRuns(of: job.id)
        if case .all(let bounds) = job.catchUp {
            if job.overlap == .skip, let running = open.first(where: { $0.state == .running }) {
                return recordOutcome(.skipped, of: job.id, due, run: running.id)
            }
            return enqueueEach(due, schedule, of: job, bounds, after: start, clock.anchor)
        }
        if let waiting = open.first(where: { $0.state == .enqueued }) {
            return coalesce(due, into: waiting)
        }
        if job.overlap == .skip, let running = open.first {
            // `overlap` decides about an occurrence during a run, so nothing is left to catch up.
            return recordOutcome(.skipped, of: job.id, due, run: running.id)
        }
        let isMissed = moment.wall - due.first > PlanBuilder.onTime
        let run = enqueue(job, isMissed ? .catchUp : .schedule, for: due.latest)
        guard due.count > 1 else { return }
        // The latest occurrence has the run; the last of the others is the one before it.
        let others = schedule.latest(
            2, after: start, through: due.latest, anchor: clock.anchor)
        recordOutcome(
            .coalesced, of: job.id,
            DueOccurrences(
                first: due.first, latest: others.first ?? due.first, count: due.count - 1),
            run: run)
    }

    /// Records occurrences that may no longer start; as paused if only the pause stopped them.
    private mutating func passOver(
        _ old: DueOccurrences, _ schedule: Schedule, of job: Job, _ rule: LatenessLimit.Rule,
        after clock: JobClock
    ) {
        guard rule == .noCatchUp else { return recordOutcome(.expired, of: job.id, old) }
        guard let pause = record(of: job.id).pause else {
            return recordOutcome(.skipped, of: job.id, old)
        }
        let end = pause.until ?? old.latest + .milliseconds(1)
        var start = clock.considered
        for (outcome, through) in [
            (OccurrenceOutcome.skipped, pause.since - .milliseconds(1)),
            (.paused, end - .milliseconds(1)), (.skipped, old.latest),
        ] {
            guard
                let part = schedule.due(
                    after: start, through: min(through, old.latest), anchor: clock.anchor)
            else { continue }
            recordOutcome(outcome, of: job.id, part)
            start = part.latest
        }
    }

    /// Coalesces later occurrences of a job into its waiting run.
    private mutating func coalesce(_ due: DueOccurrences, into waiting: Run) {
        var run = waiting
        run.latestOccurrence = due.latest
        // Other data, such as samples of an import, must not wait for a source file.
        if run.needs == .source { run.needs = nil }
        // The session may not have ended: an outage looks the same, and no login ends that.
        if run.needs == .login, run.failure?.category == .unreachable { run.needs = nil }
        put(run)
        recordOutcome(.coalesced, of: run.job, due, run: run.id)
    }

    /// Gives the occurrences runs of their own, within the bounds; the latest ones get the runs.
    private mutating func enqueueEach(
        _ due: DueOccurrences, _ schedule: Schedule, of job: Job, _ bounds: CatchUpBounds,
        after start: Instant, _ anchor: Instant
    ) {
        let chosen = schedule.latest(
            bounds.atMost, after: start, through: due.latest, anchor: anchor)
        let edge = (chosen.first ?? due.latest + .milliseconds(1)) - .milliseconds(1)
        if let rest = schedule.due(after: start, through: edge, anchor: anchor) {
            recordOutcome(.skipped, of: job.id, rest)
        }
        let waiting = waitingOccurrences(of: job)
        for run in waiting.prefix(max(waiting.count + chosen.count - bounds.atMost, 0)) {
            skip(run, "passed over for later occurrences, of which \(bounds.atMost) may wait")
        }
        for instant in chosen {
            let isMissed = moment.wall - instant > PlanBuilder.onTime
            enqueue(job, isMissed ? .catchUp : .schedule, for: instant)
        }
    }
}
