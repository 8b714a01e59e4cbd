// Handles attempts that end or vanish.
extension PlanBuilder {
    /// Handles the end of an attempt that this process started.
    mutating func finish(_ id: RunID, _ end: AttemptEnd) {
        guard let attempt = planner.inFlight.removeValue(forKey: id) else { return }
        if ledger.placements[id]?.number == attempt.number { unplace(id) }
        settle(id, end, of: attempt, isOwn: run(id)?.lease?.state == .mine)
    }

    /// Handles the end of an attempt.
    ///
    /// - Parameter isOwn: whether the run still belongs to the attempt: else a process that has
    ///   taken it over decides about it.
    mutating func settle(
        _ id: RunID, _ end: AttemptEnd, of attempt: AttemptInFlight, isOwn: Bool
    ) {
        // Events count however the attempt ends. The job itself does not react to them, so that no
        // job keeps itself running for ever.
        for name in end.events.sorted() {
            enqueueRuns(on: name, from: attempt.job.id, of: id)
        }
        var end = end
        if !end.hasLastWord {
            supposeEvents(of: attempt.job, in: id, run(id)?.trigger)
            end.tally.add(lost(byAttemptOf: attempt.job.kind))
        }
        guard var run = run(id), run.state == .running, isOwn else { return }
        // Without an outcome some facts may be missing, and their former values would be lost.
        if case .reported = end.result, !end.facts.isEmpty {
            add(.putFacts(end.facts, of: run.job.account, at: moment.wall))
        }
        if let asked = end.pause { pause([run.job], until: asked.until, reason: asked.reason) }
        run.tally.add(end.tally)
        if !end.notes.isEmpty { run.notes = end.notes }
        run.checkpoint = end.checkpoint ?? run.checkpoint
        run.lease = nil
        run.stopReason = run.stopRequest ?? attempt.stop
        run.stopRequest = nil
        run.failure = nil
        switch verdict(on: end, of: attempt, run) {
        case .succeeded:
            close(&run, .succeeded, attempt, end, .succeeded)
            enqueueFollowers(of: run, attempt.job)
        case .failed(let failure):
            run.failure = failure
            close(&run, .failed, attempt, end, .failed)
            enqueueFollowers(of: run, attempt.job)
        case .again(let failure, let retryAfter):
            run.failures += 1
            run.interruptions = 0
            run.failure = failure
            let believed = min(retryAfter ?? .zero, attempt.job.retry.maximum)
            if believed > .zero { setRetryAfter(moment.wall + believed, of: run.job) }
            if run.failures >= attempt.job.retry.attempts {
                close(&run, .failed, attempt, end, .failed)
                enqueueFollowers(of: run, attempt.job)
            } else {
                var generator = generator(of: run)
                let wait = attempt.job.retry.wait(
                    afterFailures: run.failures, using: &generator)
                release(&run, after: max(wait, believed), attempt, end, .failed)
            }
        case .snoozed(let failure, let span):
            run.interruptions = 0
            run.failure = failure
            // The job's longest wait is one after failures. An earlier attempt could do nothing.
            let believed = min(span, RetryPolicy.longestMaximum)
            release(&run, after: max(attempt.job.retry.initial, believed), attempt, end, .stopped)
        case .awaits(let need, let failure):
            run.interruptions = 0
            run.failure = failure
            run.needs = need
            // Force cannot provide what the work itself needs: a forced run would never stop
            // asking.
            run.isForced = false
            // Waits even if the condition holds by now, because it may come and go by the second. A
            // login does not.
            let wait = need == .login ? nil : attempt.job.retry.initial
            release(&run, after: wait, attempt, end, .stopped)
        case .stopped(let failure):
            // The scheduler stopped the attempt, so it did not fail. After a timeout or a lost
            // constraint the run continues after the initial wait, because a constraint may come
            // and go by the second.
            run.interruptions = 0
            run.failure = failure
            let goesOnAtOnce = attempt.stop == .shutdown || attempt.stop == .leaseLost
            let wait = goesOnAtOnce ? nil : attempt.job.retry.initial
            release(&run, after: wait, attempt, end, .stopped)
        case .interrupted(let failure):
            run.interruptions += 1
            run.failure = failure
            release(&run, after: nil, attempt, end, .interrupted)
        case .cancelled:
            let hasSucceeded = end.result == .reported(.success)
            run.failure = Failure(
                .work,
                run.stopReason == .superseded
                    ? "a later occurrence took its place"
                    : "cancelled while it ran"
                        + (hasSucceeded ? "; its attempt ended with success all the same" : ""))
            close(&run, .cancelled, attempt, end, hasSucceeded ? .succeeded : .stopped)
        }
    }

    /// Returns the mark of an attempt that ended without a report. A command reports no counts, so
    /// none are missing.
    private func lost(byAttemptOf kind: JobKind) -> Tally {
        var tally = Tally()
        if kind != .command { tally[Tally.unreported] = 1 }
        return tally
    }

    /// Records the success of an attempt that outlived its scheduler.
    private mutating func settleSuccess(
        _ run: inout Run, ofOwner owner: String, _ tally: Tally
    ) {
        run.state = .succeeded
        run.failure = nil
        run.finishedAt = moment.wall
        put(run)
        add(
            .putAttempt(
                Attempt(
                    run: run.id, number: run.attempts, startedAt: run.startedAt ?? moment.wall,
                    finishedAt: moment.wall, result: .succeeded,
                    reason: "its scheduler `\(owner)` ended before it could record this",
                    tally: tally)))
        guard let job = planner.jobs[run.job] else { return }
        supposeEvents(of: job, in: run.id, run.trigger)
        enqueueFollowers(of: run, job)
    }

    /// Takes over the runs whose lease holders are gone.
    mutating func rescueLapsedRuns() {
        let lapsed = ledger.open.values.compactMap { run($0.id) }.filter {
            $0.state == .running && [.lapsed, .succeeded].contains($0.lease?.state)
        }
        for run in lapsed.sorted(by: { $0.id < $1.id }) {
            // Another process may know the job, or this one may know it again later.
            let retry = planner.jobs[run.job]?.retry ?? RetryPolicy()
            var run = run
            let owner = run.lease?.owner ?? "unknown"
            let hasSucceeded = run.lease?.state == .succeeded && run.stopRequest == nil
            run.lease = nil
            unplace(run.id)
            let tally = lost(byAttemptOf: run.kind)
            run.tally.add(tally)
            if hasSucceeded {
                settleSuccess(&run, ofOwner: owner, tally)
                continue
            }
            let failure = Failure(.internalFault, "its scheduler `\(owner)` ended without a word")
            run.interruptions += 1
            run.failure = failure
            run.stopReason = run.stopRequest ?? .leaseLost
            run.state = .enqueued
            if run.stopRequest != nil {
                run.stopRequest = nil
                run.state = .cancelled
                run.finishedAt = moment.wall
            } else if run.interruptions > Planner.toleratedInterruptions {
                run.failures += 1
                run.interruptions = 0
                if run.failures >= retry.attempts {
                    run.state = .failed
                    run.finishedAt = moment.wall
                } else {
                    run.isExpedited = false
                    var generator = generator(of: run)
                    run.notBefore =
                        moment.wall + retry.wait(afterFailures: run.failures, using: &generator)
                }
            }
            put(run)
            if let job = planner.jobs[run.job] {
                supposeEvents(of: job, in: run.id, run.trigger)
                if run.state == .failed { enqueueFollowers(of: run, job) }
            }
            add(
                .putAttempt(
                    Attempt(
                        run: run.id, number: run.attempts, startedAt: run.startedAt ?? moment.wall,
                        finishedAt: moment.wall, result: .interrupted, stopReason: .leaseLost,
                        reason: failure.reason, tally: tally)))
        }
    }

    /// Assumes that an attempt without a reported outcome emitted all of its events, and enqueues
    /// the jobs that wait for them. A superfluous run finds nothing to do; nobody would ever notice
    /// a missing one.
    ///
    /// If an event started the run, the other jobs wait first, so that jobs that wait for each
    /// other's events and break do not chase each other.
    private mutating func supposeEvents(of emitter: Job, in run: RunID, _ trigger: Trigger?) {
        for name in emitter.emits.sorted() {
            enqueueRuns(on: name, from: emitter.id, of: run, isDelayed: trigger == .event)
        }
    }

    /// Kills the attempts whose run another process has taken over.
    mutating func endLostAttempts() {
        for id in planner.inFlight.keys.sorted()
        where run(id)?.lease?.state != .mine && planner.inFlight[id]?.stop != .leaseLost {
            guard var attempt = planner.inFlight[id] else { continue }
            attempt.stop = .leaseLost
            if !attempt.isKilled { add(.signal(id, .kill)) }
            attempt.isKilled = true
            planner.inFlight[id] = attempt
        }
    }

    /// Returns the generator for the draws about a run at its current number of failures: the same
    /// run gets the same draws, whatever else was decided.
    private func generator(of run: Run) -> SeededGenerator {
        let draw = UInt64(bitPattern: run.id.rawValue) &* 0x9E37_79B9_7F4A_7C15
        return SeededGenerator(seed: planner.seed ^ draw ^ UInt64(run.failures))
    }

    private enum EndVerdict {
        case succeeded
        case failed(Failure)
        case again(Failure, retryAfter: Duration?)
        case snoozed(Failure, Duration)
        case awaits(NeededCondition, Failure)
        case stopped(Failure?)
        case interrupted(Failure)
        case cancelled
    }

    private func verdict(
        on end: AttemptEnd, of attempt: AttemptInFlight, _ run: Run
    ) -> EndVerdict {
        switch (end.result, run.stopReason) {
        case (_, .cancelled): return .cancelled
        case (.reported(.success), _): return .succeeded
        case (_, .superseded): return .cancelled
        case (.reported(.failure(let failure)), .timeout) where attempt.job.kind == .command,
            (.reported(.retry(_, let failure)), .timeout) where attempt.job.kind == .command:
            // A program that is asked to stop ends with a status of its own.
            return .again(
                Failure(.work, "\(overran(attempt)), then it \(failure.reason)"), retryAfter: nil)
        case (.reported(.failure(let failure)), _): return .failed(failure)
        case (.reported(.retry(_, let failure)), .timeout) where !end.tally.hasCounted:
            // The worker obeyed its warning without a count above zero: a backend that hangs looks
            // like this.
            return .again(failure, retryAfter: nil)
        case (_, .stalled):
            let time = attempt.job.stall?.text ?? "its time"
            return .again(Failure(.work, "made no progress for \(time)"), retryAfter: nil)
        case (.reported(.snooze(let after, let failure)), _): return .snoozed(failure, after)
        case (.reported(.retry(_, let failure)), .some),
            (.reported(.awaits(_, let failure)), .some):
            return .stopped(failure)
        case (.reported(.awaits(let need, let failure)), nil): return .awaits(need, failure)
        case (.reported(.retry(let after, let failure)), nil):
            return .again(failure, retryAfter: after)
        case (.broke, .timeout):
            return .again(Failure(.work, overran(attempt)), retryAfter: nil)
        // A machine has not started it.
        case (.broke(.notStarted(let reason)), .leaseLost):
            return .stopped(Failure(.internalFault, reason))
        case (.broke, .some): return .stopped(nil)
        case (.broke(.killedBySignal(9)), nil)
        where run.interruptions < Planner.toleratedInterruptions:
            let name = AttemptFault.name(of: attempt.job.kind)
            return .interrupted(Failure(.internalFault, "\(name) was killed from outside"))
        case (.broke(let fault), nil):
            return .again(fault.failure(of: attempt.job.kind), retryAfter: nil)
        }
    }

    /// Says that an attempt took too long: that it was warned before its limit, or reached it.
    private func overran(_ attempt: AttemptInFlight) -> String {
        let (job, limit) = (attempt.job, attempt.job.timeout.text)
        return job.warnsAhead && !attempt.isKilled && job.warning > .zero
            ? "asked to stop \(job.warning.text) before its limit of \(limit)"
            : "did not end within its time of \(limit)"
    }

    private mutating func close(
        _ run: inout Run, _ state: RunState, _ attempt: AttemptInFlight, _ end: AttemptEnd,
        _ result: Attempt.Result
    ) {
        run.state = state
        run.finishedAt = moment.wall
        run.notBefore = nil
        put(run)
        record(run, attempt, end, result)
    }

    private mutating func release(
        _ run: inout Run, after wait: Duration?, _ attempt: AttemptInFlight, _ end: AttemptEnd,
        _ result: Attempt.Result
    ) {
        run.state = .enqueued
        run.notBefore = wait.map { moment.wall + $0 }
        run.isExpedited = wait == nil && run.isExpedited
        put(run)
        record(run, attempt, end, result)
    }

    private mutating func record(
        _ run: Run, _ attempt: AttemptInFlight, _ end: AttemptEnd, _ result: Attempt.Result
    ) {
        add(
            .putAttempt(
                Attempt(
                    run: run.id, number: attempt.number, startedAt: attempt.startedAt,
                    finishedAt: moment.wall, result: result, stopReason: attempt.stop,
                    reason: run.failure?.reason, tally: end.tally,
                    peakMemoryBytes: end.peakMemoryBytes, output: end.output)))
    }
}

extension AttemptFault {
    /// Returns the fault as a person reads it in the history.
    func failure(of kind: JobKind) -> Failure {
        let name = AttemptFault.name(of: kind)
        return switch self {
        case .notStarted(let reason):
            Failure(.configuration, "\(name) could not be started: \(reason)")
        case .exitedWithoutReport(let status):
            Failure(
                .internalFault, "\(name) exited with status \(status) and reported no outcome")
        case .killedBySignal(let signal):
            Failure(.internalFault, "\(name) was ended by signal \(signal)")
        case .malformedReport(let reason):
            Failure(.internalFault, "\(name) wrote something that is no report: \(reason)")
        case .memoryLimitExceeded(let limit, let measured):
            Failure(
                .internalFault,
                "\(name) took \(byteText(measured)) of memory, over its limit of "
                    + byteText(limit))
        case .leftProcessesBehind:
            // A program that goes on in the background is the job's fault, and not ours.
            Failure(
                kind == .command ? .work : .internalFault,
                "\(name) ended and left processes running in the background, which were killed")
        }
    }
    /// Returns the name of an attempt of a kind in the history.
    static func name(of kind: JobKind) -> String {
        kind == .command ? "its program" : "its worker"
    }
}
