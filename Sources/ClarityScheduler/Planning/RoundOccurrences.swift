// How occurrences and requests become runs.
extension Round {
    /// An occurrence that is seen later than this is no longer on time but caught up: thrice the
    /// five minutes after which cron or a timer comes back with `run --due`.
    private static let onTime: Duration = .seconds(15 * 60)

    /// Enqueues what each schedule has named since it was last considered.
    mutating func enqueueDueOccurrences() {
        for job in planner.jobs {
            guard let schedule = job.schedule else { continue }
            var clock = self.clock(of: job)
            if let due = schedule.due(
                after: clock.considered, through: moment.wall, anchor: clock.anchor)
            {
                settle(due, of: job)
                clock.considered = due.latest
                setClock(clock, of: job)
            }
            if let next = schedule.next(after: clock.considered, anchor: clock.anchor) {
                wake(after: next - moment.wall)
            }
        }
    }

    /// Enqueues a run of each job that a person asked for, or hurries the one that waits already.
    mutating func request(_ ids: [JobID], isForced: Bool) {
        for id in ids {
            guard let job = jobs[id] else { continue }
            let runs = openRuns(of: id)
            if var waiting = runs.first(where: { $0.state == .enqueued }) {
                waiting.isExpedited = true
                waiting.isForced = waiting.isForced || isForced
                waiting.notBefore = nil
                put(waiting)
                noteRequested(waiting.id)
            } else if let running = runs.first {
                add(waiting: Plan.Waiting(job: id, run: running.id, deferrals: [overlap(running)]))
            } else {
                let run = enqueue(
                    job, .manual, for: moment.wall, isExpedited: true, isForced: isForced)
                noteRequested(run)
            }
        }
    }

    /// Enqueues a run of each job that names the event in `on:` and has no unfinished run.
    ///
    /// An event during a run asks for another one after it: what it tells of may have come too late
    /// for the run.
    mutating func enqueueRuns(on name: EventName) {
        for job in planner.jobs where job.events.contains(name) {
            if openRuns(of: job.id).contains(where: { $0.state == .enqueued }) { continue }
            enqueue(job, .event, for: moment.wall)
        }
    }

    /// Takes a network that came back for the event that it is.
    mutating func noticeNetwork() {
        guard let isConnected = conditions.connected.value else { return }
        if isConnected, planner.wasConnected == false { enqueueRuns(on: .networkRestored) }
        planner.wasConnected = isConnected
    }

    /// Enqueues what follows a success by `then`; a run that waits already stands for it.
    mutating func enqueueFollowers(of run: Run, _ job: Job) {
        for id in job.then {
            guard let follower = jobs[id] else { continue }
            let waiting = openRuns(of: id).first { $0.state == .enqueued }
            let next =
                waiting?.id
                ?? enqueue(follower, .chain, for: moment.wall, causedBy: run.id)
            if planner.requestedRuns.contains(run.id) { noteRequested(next) }
        }
    }

    /// The unfinished run of the same job that must be finished first: one that runs, or an older
    /// one, even while it waits to be tried again.
    func runAhead(of run: Run) -> Run? {
        openRuns(of: run.job).first { $0.id != run.id && ($0.state == .running || $0.id < run.id) }
    }

    /// The deferral that says that another run of the job is not finished.
    func overlap(_ other: Run) -> Deferral {
        let source =
            switch other.lease {
            case let lease? where lease.standing == .mine: "lease of this process"
            case let lease?: "lease of \(lease.owner)"
            case nil: "history"
            }
        return Deferral(
            .overlap, subject: "overlap", wanted: "no other run of the job",
            measured: "run \(other.id), which is \(other.state.rawValue)", source: source)
    }

    private mutating func noteRequested(_ run: RunID) {
        if !planner.requestedRuns.contains(run) { planner.requestedRuns.append(run) }
    }

    private mutating func settle(_ due: DueOccurrences, of job: Job) {
        let runs = openRuns(of: job.id)
        if let waiting = runs.first(where: { $0.state == .enqueued }) {
            add(
                .recordFate(
                    job.id, .coalesced, first: due.first, latest: due.latest, count: due.count,
                    run: waiting.id))
            return
        }
        if let running = runs.first, job.overlap == .skip {
            add(
                .recordFate(
                    job.id, .skipped, first: due.first, latest: due.latest, count: due.count,
                    run: running.id))
            return
        }
        let isLate = moment.wall - due.latest > Round.onTime
        if isLate, job.catchUp == .none {
            add(
                .recordFate(
                    job.id, .skipped, first: due.first, latest: due.latest, count: due.count,
                    run: nil))
            return
        }
        // Without catch-up the run stands for the latest alone.
        let standsForAll = job.catchUp == .latest
        let run = enqueue(
            job, isLate || (due.count > 1 && standsForAll) ? .catchUp : .schedule, for: due.latest)
        if due.count > 1 {
            add(
                .recordFate(
                    job.id, standsForAll ? .coalesced : .skipped, first: due.first,
                    latest: due.latest,
                    count: due.count - 1, run: standsForAll ? run : nil))
        }
    }

    /// How far the job's schedule has been dealt with; set where the job was never seen, and set
    /// back where the wall clock was.
    mutating func clock(of job: Job) -> JobClock {
        guard let known = clocks[job.id] else {
            // The anchor itself is the first occurrence of `every`, so it must not count as
            // considered.
            let clock = JobClock(anchor: moment.wall, considered: moment.wall - .milliseconds(1))
            setClock(clock, of: job)
            return clock
        }
        guard known.considered - moment.wall > Planner.clockTolerance else { return known }
        let clock = JobClock(anchor: min(known.anchor, moment.wall), considered: moment.wall)
        setClock(clock, of: job)
        return clock
    }

    private mutating func setClock(_ clock: JobClock, of job: Job) {
        clocks[job.id] = clock
        add(.setClock(job.id, clock))
    }
}
