// What people, events and other jobs ask for.
extension PlanBuilder {
    /// Enqueues a run of each job that a person asked for, or hurries the one that waits already.
    mutating func request(_ ids: [JobID], isForced: Bool, causedBy: RunID? = nil) {
        for id in ids {
            guard let job = planner.jobs[id] else { continue }
            let runs = presentRuns(of: id)
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
                    job, .manual, for: moment.wall, isExpedited: true, isForced: isForced,
                    causedBy: causedBy)
                noteRequested(run)
            }
        }
    }

    /// Enqueues a run for each occurrence that has no unfinished one of its own.
    ///
    /// Their constraints, retries and turns are those of any run. What says how late an occurrence may
    /// start, `start_within` and `catch_up`, says nothing of one that a person asks for.
    mutating func fill(_ occurrences: [Instant], of id: JobID) {
        guard let job = planner.jobs[id] else { return }
        var taken = Set(openRuns(of: id).filter(\.isOfOccurrence).map(\.occurrence))
        for occurrence in occurrences where taken.insert(occurrence).inserted {
            enqueue(job, .backfill, for: occurrence)
        }
    }

    /// Ends a run for good: at once where it waits, through whoever runs it otherwise.
    mutating func cancel(_ id: RunID) {
        guard let run = run(id), !run.state.isFinished else { return }
        if run.state == .enqueued {
            end(run, .cancelled, Failure(.work, "cancelled before it was done"))
        } else if planner.inFlight[id] != nil {
            stop(id, .cancelled)
        } else {
            add(.requestStop(id, .cancelled))
        }
    }

    /// Lets a later occurrence take the place of an unfinished run.
    mutating func supersede(_ run: Run) {
        if run.state == .enqueued {
            end(run, .superseded, Failure(.work, "a later occurrence took its place"))
        } else if planner.inFlight[run.id] != nil {
            stop(run.id, .superseded)
        } else if run.stopRequest == nil {
            add(.requestStop(run.id, .superseded))
        }
    }

    /// Lets jobs start nothing for a while; what was due before still has its usual fate.
    mutating func pause(_ ids: [JobID], until: Instant?, reason: String) {
        for id in ids {
            if let job = planner.jobs[id] { settleOccurrences(of: job) }
            let since = record(of: id).pause?.since ?? moment.wall
            setPause(Pause(since: since, until: until, reason: reason), of: id)
        }
    }

    /// Lets jobs go on; what was due meanwhile is recorded as paused.
    mutating func resume(_ ids: [JobID]) {
        for id in ids where record(of: id).pause != nil {
            if let job = planner.jobs[id] { settleOccurrences(of: job) }
            setPause(nil, of: id)
        }
    }

    /// Enqueues a run of each job that names the event in `on:` and has none that waits; of no job
    /// whose own attempt told of it.
    ///
    /// An event during a run asks for another one after it: what it tells of may have come too late
    /// for the run.
    /// Where `isDelayed`, not before the first of the job's waits after a failure.
    mutating func enqueueRuns(
        on name: EventName, besides teller: JobID? = nil, isDelayed: Bool = false
    ) {
        for job in planner.jobs.jobs(on: name) where job.id != teller {
            if presentRuns(of: job.id).contains(where: { $0.state == .enqueued }) { continue }
            let notBefore = isDelayed ? moment.wall + job.retry.initial : nil
            enqueue(job, .event, for: moment.wall, notBefore: notBefore)
        }
    }

    /// Takes sources that differ from what some scheduler last saw of them for the event that it is.
    mutating func notice(_ sources: [String: SourceFingerprint]) {
        var isNews = false
        for (path, found) in sources.sorted(by: { $0.key < $1.key }) {
            let known = ledger.sources[path]
            guard found != known else { continue }
            add(.setSource(path, found))
            isNews = isNews || found.isNews(after: known)
        }
        if isNews { enqueueRuns(on: .sourceChanged) }
    }

    /// Takes a network that came back for the event that it is.
    mutating func noticeNetwork() {
        guard !planner.jobs.jobs(on: .networkRestored).isEmpty,
            let isConnected = conditions.connected.value
        else { return }
        if isConnected, planner.wasConnected == false { enqueueRuns(on: .networkRestored) }
        planner.wasConnected = isConnected
    }

    /// Enqueues what follows a success or a failure for good by `then`; a run that waits already
    /// stands for it.
    mutating func enqueueFollowers(of run: Run, _ job: Job) {
        for id in run.state == .failed ? job.thenFailed : job.then {
            guard let follower = planner.jobs[id] else { continue }
            let waiting = presentRuns(of: id).first { $0.state == .enqueued }
            let next =
                waiting?.id
                ?? enqueue(follower, .chain, for: moment.wall, causedBy: run.id)
            if planner.requestedRuns.contains(run.id) { noteRequested(next) }
        }
    }

    /// Ends a run that has no attempt in flight, other than by its work.
    private mutating func end(_ run: Run, _ reason: StopReason, _ failure: Failure) {
        var run = run
        run.state = .cancelled
        run.stopReason = reason
        run.failure = failure
        run.notBefore = nil
        run.finishedAt = moment.wall
        put(run)
    }

    private mutating func noteRequested(_ run: RunID) {
        if !planner.requestedRuns.contains(run) { planner.requestedRuns.append(run) }
    }
}
