// Handles what people, events and other jobs request.
extension PlanBuilder {
    /// Enqueues a run of each job that a person requested, or expedites the one that waits already.
    /// A job that is running gets no second run, unless the request has values for its parameters:
    /// no other run does what such a request asks for.
    mutating func request(
        _ ids: [JobID], isForced: Bool, _ parameters: [String: String], causedBy: RunID? = nil
    ) {
        for id in ids {
            guard let job = planner.jobs[id] else { continue }
            let runs = openRuns(of: id)
            let same = runs.first {
                $0.state == .enqueued && $0.trigger != .backfill && $0.parameters == parameters
            }
            if var waiting = same {
                waiting.isExpedited = true
                waiting.isForced = waiting.isForced || isForced
                waiting.notBefore = nil
                put(waiting)
                noteRequested(waiting.id)
            } else if parameters.isEmpty, let running = runs.first(where: { $0.state == .running })
            {
                add(waiting: Plan.Waiting(job: id, run: running.id, deferrals: [overlap(running)]))
            } else {
                let run = enqueue(
                    job, .manual, for: moment.wall, isExpedited: true, isForced: isForced,
                    causedBy: causedBy, parameters: parameters)
                noteRequested(run)
            }
        }
    }

    /// Enqueues a run for each occurrence that has no unfinished run of its own.
    ///
    /// Constraints, retries and slots apply as to any run. `start_within` and `catch_up` limit how
    /// late an occurrence may start, and do not apply to one that a person requests.
    mutating func fill(_ occurrences: [Instant], of id: JobID) {
        guard let job = planner.jobs[id] else { return }
        var taken = Set(openRuns(of: id).filter(\.isOfOccurrence).map(\.occurrence))
        for occurrence in occurrences where taken.insert(occurrence).inserted {
            enqueue(job, .backfill, for: occurrence)
        }
    }

    /// Cancels a run: at once if it waits, otherwise through the process that runs it.
    mutating func cancel(_ id: RunID) {
        guard let run = run(id), !run.state.isFinished else { return }
        end(
            run, .cancelled,
            run.attempts > 0 ? "cancelled between two attempts" : "cancelled before it started")
    }

    /// Replaces an unfinished run by a later occurrence.
    mutating func supersede(_ run: Run) {
        guard run.stopRequest == nil || planner.inFlight[run.id] != nil else { return }
        end(run, .superseded, "a later occurrence took its place")
    }

    /// Pauses jobs; occurrences that were due before are handled as usual first.
    mutating func pause(_ ids: [JobID], until: Instant?, reason: String) {
        for id in ids {
            if let job = planner.jobs[id] { settleOccurrences(of: job) }
            let since = record(of: id).pause?.since ?? moment.wall
            setPause(Pause(since: since, until: until, reason: reason), of: id)
        }
    }

    /// Resumes jobs; occurrences that were due during the pause are handled first.
    mutating func resume(_ ids: [JobID]) {
        for id in ids where record(of: id).pause != nil {
            if let job = planner.jobs[id] { settleOccurrences(of: job) }
            setPause(nil, of: id)
        }
    }

    /// Enqueues a run of each job that names an event of the machine in `on:`.
    mutating func enqueueRuns(on name: EventName) {
        enqueueRuns(of: planner.jobs.jobs(on: name))
    }

    /// Enqueues a run of each other job of the same account that names in `on:` an event that a
    /// job's attempt emitted.
    mutating func enqueueRuns(
        on name: EventName, from emitter: JobID, of run: RunID, isDelayed: Bool = false
    ) {
        let listeners = planner.jobs.jobs(on: name, of: emitter.account)
            .filter { $0.id != emitter }
        enqueueRuns(of: listeners, isDelayed: isDelayed, emittedBy: run)
    }

    /// Enqueues a run of each job that has no waiting run.
    ///
    /// An event during a run causes another run after it, because its cause may have come too late
    /// for the current run. With `isDelayed`, the new run first waits as after a first failure.
    private mutating func enqueueRuns(
        of jobs: [Job], isDelayed: Bool = false, emittedBy run: RunID? = nil
    ) {
        for job in jobs {
            let notBefore = isDelayed ? moment.wall + job.retry.initial : nil
            let next =
                waitingRun(of: job.id)
                ?? enqueue(job, .event, for: moment.wall, notBefore: notBefore)
            if let run { noteFollowing(next, from: run) }
        }
    }

    /// Records the sources that differ from what a scheduler last saw, and enqueues runs of the jobs
    /// that read one with something new.
    mutating func notice(_ sources: [String: SourceFingerprint]) {
        var news: Set<String> = []
        for (path, found) in sources.sorted(by: { $0.key < $1.key }) {
            let known = ledger.sources[path]
            guard found != known else { continue }
            add(.setSource(path, found))
            if found.isNews(after: known) { news.insert(path) }
        }
        if !news.isEmpty { enqueueRuns(of: planner.jobs.jobs(reading: news)) }
    }

    /// Enqueues the runs that wait for the network if it has come back.
    mutating func noticeNetwork() {
        guard planner.jobs.hasJobs(on: .networkRestored),
            let isConnected = conditions.connected.value
        else { return }
        if isConnected, planner.wasConnected == false { enqueueRuns(on: .networkRestored) }
        planner.wasConnected = isConnected
    }

    /// Enqueues the jobs that `then` names for a success or a final failure; a run that already
    /// waits stands for one.
    mutating func enqueueFollowers(of run: Run, _ job: Job) {
        for id in run.state == .failed ? job.thenFailed : job.then {
            guard let follower = planner.jobs[id] else { continue }
            let next =
                waitingRun(of: id)
                ?? enqueue(follower, .chain, for: moment.wall, causedBy: run.id)
            if planner.requestedRuns.contains(run.id) { noteRequested(next) }
            noteFollowing(next, from: run.id)
        }
    }

    /// Returns a job's waiting run that stands for another one.
    private func waitingRun(of job: JobID) -> RunID? {
        presentRuns(of: job).first { $0.state == .enqueued }?.id
    }

    /// Ends an unfinished run for another reason than its work: at once if it waits, otherwise
    /// through the process that runs it.
    private mutating func end(_ run: Run, _ reason: StopReason, _ words: String) {
        guard run.state == .enqueued else {
            if let attempt = planner.inFlight[run.id] {
                stop(run.id, reason)
                // If the attempt is being stopped for a passing reason, the run ends all the same.
                if let former = run.stopRequest ?? attempt.stop, former != reason,
                    former != .cancelled
                {
                    var run = run
                    run.stopRequest = reason
                    put(run)
                }
            } else {
                add(.requestStop(run.id, reason))
            }
            return
        }
        var run = run
        run.state = .cancelled
        run.stopReason = reason
        run.failure = Failure(.work, words)
        run.notBefore = nil
        run.finishedAt = moment.wall
        put(run)
    }

    private mutating func noteRequested(_ run: RunID) {
        if !planner.requestedRuns.contains(run) { planner.requestedRuns.append(run) }
    }

    private mutating func noteFollowing(_ next: RunID, from run: RunID) {
        if planner.scope == .due, isInScope(run) { planner.following.insert(next) }
    }
}
