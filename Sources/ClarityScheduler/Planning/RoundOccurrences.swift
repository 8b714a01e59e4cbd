// How what schedules name becomes runs, or gets its fate without one.
extension Round {
    /// An occurrence that is seen later than this is no longer on time but caught up: thrice the
    /// five minutes after which cron or a timer comes back with `run --due`.
    private static let onTime: Duration = .seconds(15 * 60)

    /// Deals with what each schedule has named since it was last considered.
    mutating func enqueueDueOccurrences() {
        followClock()
        if planner.agenda == nil { makeAgenda() }
        var due: [Int] = []
        while let entry = planner.agenda?.popFirst(through: moment.wall) { due.append(entry.place) }
        // In the order of the job file, whenever they became due: so the same decision made again
        // gives the same numbers.
        for place in due.sorted() {
            let job = planner.jobs.jobs[place]
            settleOccurrences(of: job)
            plan(place, clock(of: job))
        }
        if let next = planner.agenda?.first { wake(after: next.at - moment.wall) }
    }

    /// Deals with what a job's schedule has named up to now.
    mutating func settleOccurrences(of job: Job) {
        guard let schedule = job.schedule else { return }
        guard let pause = record(of: job.id).pause else {
            return settle(schedule, of: job, through: moment.wall, paused: false)
        }
        // What came before the pause and what comes after it goes its usual way.
        let eve = min(pause.since - .milliseconds(1), moment.wall)
        settle(schedule, of: job, through: eve, paused: false)
        let isOver = !pause.holds(at: moment.wall)
        let last = pause.until.map { $0 - .milliseconds(1) } ?? moment.wall
        settle(schedule, of: job, through: min(last, moment.wall), paused: true)
        // Taken back when something comes after it, and not at whatever look: so the same decision
        // made again takes it back as well.
        let clock = clock(of: job)
        guard isOver,
            schedule.due(after: clock.considered, through: moment.wall, anchor: clock.anchor) != nil
        else { return }
        setPause(nil, of: job.id)
        settle(schedule, of: job, through: moment.wall, paused: false)
    }

    /// How far the job's schedule has been dealt with; set where the job was never seen, and set
    /// back where the wall clock was.
    mutating func clock(of job: Job) -> JobClock {
        let schedule = job.schedule.map { "\($0)" } ?? ""
        guard var clock = record(of: job.id).clock else {
            // The anchor itself is the first occurrence of `every`, so it must not count as
            // considered.
            let clock = JobClock(
                anchor: moment.wall, considered: moment.wall - .milliseconds(1), schedule: schedule)
            setClock(clock, of: job.id)
            return clock
        }
        let known = clock
        let ahead = Planner.clockTolerance + (job.schedule?.flex ?? .zero)
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
        if clock != known { setClock(clock, of: job.id) }
        return clock
    }

    // MARK: The agenda

    /// Forgets the agenda when clocks of jobs were set back, or may have to be.
    private mutating func followClock() {
        var basis = planner.agendaBasis
        if let seen = basis.seen {
            // Where the clock stood just before now, unless it was set; others may have looked then.
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
        for (place, job) in planner.jobs.jobs.enumerated() where job.schedule != nil {
            let era = record(of: job.id).clock?.era ?? 0
            let clock = clock(of: job)
            basis.setbacks += clock.era - era
            basis.furthest = max(basis.furthest, clock.considered)
            plan(place, clock)
        }
        planner.agendaBasis = basis
    }

    /// Puts a job's next occurrence on the agenda.
    private mutating func plan(_ place: Int, _ clock: JobClock) {
        planner.flexible.remove(place)
        guard let schedule = planner.jobs.jobs[place].schedule,
            let next = schedule.next(after: clock.considered, anchor: clock.anchor)
        else { return }
        planner.agenda?.insert(Agenda.Entry(at: next, place: place))
        if schedule.flex > .zero {
            planner.earlyAgenda.insert(Agenda.Entry(at: next - schedule.flex, place: place))
        }
    }

    /// Starts jobs with flex early where nothing holds them back: this process is awake anyway.
    mutating func startFlexibly() {
        while let entry = planner.earlyAgenda.popFirst(through: moment.wall) {
            planner.flexible.insert(entry.place)
        }
        guard !planner.flexible.isEmpty, !planner.isDraining, planner.scope == .everything else {
            return
        }
        for place in planner.flexible.sorted() {
            let job = planner.jobs.jobs[place]
            let clock = clock(of: job)
            guard let schedule = job.schedule,
                let next = schedule.next(after: clock.considered, anchor: clock.anchor)
            else { continue }
            // Another process may have dealt with the occurrence since.
            guard next - schedule.flex <= moment.wall else {
                planner.flexible.remove(place)
                planner.earlyAgenda.insert(Agenda.Entry(at: next - schedule.flex, place: place))
                continue
            }
            guard next > moment.wall, openRuns(of: job.id).isEmpty, attempts < planner.maxParallel
            else { continue }
            let candidate = Run(
                id: ledger.nextRun, job: job.id, kind: job.kind, trigger: .schedule,
                scheduledFor: next, enqueuedAt: moment.wall)
            guard deferrals(of: candidate, job).isEmpty else { continue }
            planner.flexible.remove(place)
            enqueue(job, .schedule, for: next)
            consider(next, of: job)
        }
    }

    // MARK: Fates

    private mutating func settle(
        _ schedule: Schedule, of job: Job, through end: Instant, paused: Bool
    ) {
        let clock = clock(of: job)
        guard
            let due = schedule.due(after: clock.considered, through: end, anchor: clock.anchor)
        else { return }
        if paused {
            recordFate(.paused, of: job.id, due)
        } else {
            decide(due, schedule, of: job, after: clock)
        }
        consider(due.latest, of: job)
    }

    private mutating func consider(_ instant: Instant, of job: Job) {
        var clock = clock(of: job)
        clock.considered = instant
        setClock(clock, of: job.id)
    }

    private mutating func decide(
        _ due: DueOccurrences, _ schedule: Schedule, of job: Job, after clock: JobClock
    ) {
        if let startWithin = job.startWithin, moment.wall - due.latest > startWithin {
            return recordFate(.expired, of: job.id, due)
        }
        if case .all(let bounds) = job.catchUp {
            return catchUp(due, schedule, of: job, bounds, after: clock)
        }
        let isLate = moment.wall - due.latest > Round.onTime
        if job.overlap == .replace {
            for run in openRuns(of: job.id) { supersede(run) }
        } else if let waiting = openRuns(of: job.id).first(where: { $0.state == .enqueued }) {
            endSourceNeed(of: waiting)
            return recordFate(.coalesced, of: job.id, due, run: waiting.id)
        } else if let running = openRuns(of: job.id).first, job.overlap == .skip {
            return recordFate(.skipped, of: job.id, due, run: running.id)
        }
        if isLate, job.catchUp == .none { return recordFate(.skipped, of: job.id, due) }
        // Without catch-up the run stands for the latest alone.
        let standsForAll = job.catchUp == .latest
        let run = enqueue(
            job, isLate || (due.count > 1 && standsForAll) ? .catchUp : .schedule, for: due.latest)
        if due.count > 1 {
            // The latest has the run; the others end just before it.
            let others = schedule.latest(
                2, after: clock.considered, through: due.latest, anchor: clock.anchor)
            recordFate(
                standsForAll ? .coalesced : .skipped, of: job.id,
                DueOccurrences(
                    first: due.first, latest: others.first ?? due.first, count: due.count - 1),
                run: standsForAll ? run : nil)
        }
    }

    /// Lets a run that waits for a source file look again: what came in otherwise, such as samples of
    /// an import, must not wait for that file.
    private mutating func endSourceNeed(of run: Run) {
        guard run.needs == .source else { return }
        var run = run
        run.needs = nil
        put(run)
    }

    /// Gives each occurrence a run of its own as far as the bounds allow.
    private mutating func catchUp(
        _ due: DueOccurrences, _ schedule: Schedule, of job: Job, _ bounds: CatchUpBounds,
        after clock: JobClock
    ) {
        var start = clock.considered
        if let window = bounds.window, due.first < moment.wall - window {
            let edge = min(moment.wall - window - .milliseconds(1), due.latest)
            if let old = schedule.due(after: start, through: edge, anchor: clock.anchor) {
                recordFate(.expired, of: job.id, old)
                start = old.latest
            }
            guard start < due.latest else { return }
        }
        let running = openRuns(of: job.id).first { $0.state == .running }
        if job.overlap == .replace {
            for run in openRuns(of: job.id) { supersede(run) }
        } else if job.overlap == .skip, let running, moment.wall - due.latest <= Round.onTime {
            // What passes while a run of the job goes on was not missed.
            if let rest = schedule.due(after: start, through: due.latest, anchor: clock.anchor) {
                recordFate(.skipped, of: job.id, rest, run: running.id)
            }
            return
        }
        let waiting = openRuns(of: job.id).filter { $0.state == .enqueued }.count
        let places = max(bounds.atMost - waiting, waiting == 0 ? 1 : 0)
        let chosen =
            places == 0
            ? []
            : schedule.latest(places, after: start, through: due.latest, anchor: clock.anchor)
        let edge = (chosen.first ?? due.latest + .milliseconds(1)) - .milliseconds(1)
        if let rest = schedule.due(after: start, through: edge, anchor: clock.anchor) {
            recordFate(.skipped, of: job.id, rest)
        }
        let step = chosen.count > 1 ? bounds.spread / chosen.count : .zero
        for (index, instant) in chosen.enumerated() {
            let isLate = index < chosen.count - 1 || moment.wall - instant > Round.onTime
            enqueue(
                job, isLate ? .catchUp : .schedule, for: instant,
                notBefore: step > .zero && index > 0 ? moment.wall + step * index : nil)
        }
    }
}
