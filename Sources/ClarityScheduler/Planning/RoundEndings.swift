// What becomes of a run when its attempt ends or vanishes.
extension Round {
    /// Takes in the end of an attempt that this process started.
    mutating func finish(_ id: RunID, _ end: AttemptEnd) {
        guard let attempt = planner.inFlight.removeValue(forKey: id) else { return }
        // Whoever took the lease over writes this run's future now.
        guard var run = open[id], run.state == .running, run.lease?.standing == .mine else {
            return
        }
        for name in end.tally.names { run.tally[name] = end.tally[name] }
        if !end.notes.isEmpty { run.notes = end.notes }
        run.checkpoint = end.checkpoint ?? run.checkpoint
        run.lease = nil
        run.stopReason = attempt.stop
        run.failure = nil
        switch verdict(on: end, of: attempt, run) {
        case .succeeded:
            close(&run, .succeeded, attempt, end, .succeeded)
            enqueueFollowers(of: run, attempt.job)
        case .failed(let failure):
            run.failure = failure
            close(&run, .failed, attempt, end, .failed)
        case .again(let failure, let wish):
            run.failures += 1
            run.interruptions = 0
            run.failure = failure
            if run.failures >= attempt.job.retry.attempts {
                close(&run, .failed, attempt, end, .failed)
            } else {
                let wait = attempt.job.retry.wait(
                    afterFailures: run.failures, using: &planner.random)
                let believed = min(wish ?? .zero, attempt.job.retry.maximum)
                release(&run, after: max(wait, believed), attempt, end, .failed)
            }
        case .stopped(let failure):
            // Stopped by us: no failure. What ran into its warning goes on after the first wait.
            run.interruptions = 0
            run.failure = failure
            let wait = attempt.stop == .timeout ? attempt.job.retry.initial : nil
            release(&run, after: wait, attempt, end, .stopped)
        case .interrupted(let failure):
            run.interruptions += 1
            run.failure = failure
            release(&run, after: nil, attempt, end, .interrupted)
        case .cancelled:
            close(&run, .cancelled, attempt, end, .stopped)
        }
    }

    /// Takes over the runs whose holders are gone.
    mutating func rescueLapsedRuns() {
        for run in ledger.open where run.state == .running && run.lease?.standing == .lapsed {
            // A job that this process does not know may be known to another, or again later.
            let retry = jobs[run.job]?.retry ?? RetryPolicy()
            var run = run
            let owner = run.lease?.owner ?? "unknown"
            let failure = Failure(.internalFault, "its scheduler `\(owner)` ended without a word")
            run.lease = nil
            run.interruptions += 1
            run.failure = failure
            run.stopReason = .leaseLost
            run.state = .enqueued
            if run.interruptions > Planner.toleratedInterruptions {
                run.failures += 1
                run.interruptions = 0
                if run.failures >= retry.attempts {
                    run.state = .failed
                    run.finishedAt = moment.wall
                } else {
                    run.isExpedited = false
                    run.notBefore =
                        moment.wall
                        + retry.wait(afterFailures: run.failures, using: &planner.random)
                }
            }
            put(run)
            add(
                .putAttempt(
                    Attempt(
                        run: run.id, number: run.attempts, startedAt: run.startedAt ?? moment.wall,
                        finishedAt: moment.wall, result: .interrupted, stopReason: .leaseLost,
                        reason: failure.reason)))
        }
    }

    /// Kills the attempts whose run another process has taken over.
    mutating func endLostAttempts() {
        for id in planner.inFlight.keys.sorted()
        where open[id]?.lease?.standing != .mine && planner.inFlight[id]?.stop != .leaseLost {
            planner.inFlight[id]?.stop = .leaseLost
            if planner.inFlight[id]?.isKilled == true { continue }
            planner.inFlight[id]?.isKilled = true
            add(.signal(id, .kill))
        }
    }

    private enum EndVerdict {
        case succeeded
        case failed(Failure)
        case again(Failure, wish: Duration?)
        case stopped(Failure?)
        case interrupted(Failure)
        case cancelled
    }

    private func verdict(
        on end: AttemptEnd, of attempt: AttemptInFlight, _ run: Run
    ) -> EndVerdict {
        switch (end.result, attempt.stop) {
        case (.reported(.success), _): return .succeeded
        case (_, .cancelled): return .cancelled
        case (.reported(.failure(let failure)), _): return .failed(failure)
        case (.reported(.retry(_, let failure)), .timeout) where !end.tally.hasCounted:
            // It heeded its warning and had nothing to show: a backend that hangs looks like this.
            return .again(failure, wish: nil)
        case (.reported(.retry(_, let failure)), .some): return .stopped(failure)
        case (.reported(.retry(let after, let failure)), nil):
            return .again(failure, wish: after)
        case (.broke, .timeout):
            let time = attempt.job.timeout.text
            return .again(Failure(.work, "did not end within its time of \(time)"), wish: nil)
        case (.broke, .some): return .stopped(nil)
        case (.broke(.killedBySignal(9)), nil)
        where run.interruptions < Planner.toleratedInterruptions:
            return .interrupted(Failure(.internalFault, "its worker was killed from outside"))
        case (.broke(let fault), nil): return .again(fault.failure, wish: nil)
        }
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
                    peakMemoryBytes: end.peakMemoryBytes)))
    }
}

extension AttemptFault {
    /// The fault as a person reads it in the history.
    public var failure: Failure {
        switch self {
        case .notStarted(let reason):
            Failure(.configuration, "its worker could not be started: \(reason)")
        case .exitedWithoutReport(let status):
            Failure(
                .internalFault, "its worker exited with status \(status) and reported no outcome")
        case .killedBySignal(let signal):
            Failure(.internalFault, "its worker was ended by signal \(signal)")
        case .malformedReport(let reason):
            Failure(.internalFault, "its worker wrote something that is no report: \(reason)")
        case .memoryLimitExceeded(let limit, let measured):
            Failure(
                .internalFault,
                "its worker took \(byteText(measured)) of memory, over its limit of "
                    + byteText(limit))
        case .leftProcessesBehind:
            Failure(.internalFault, "its worker ended and left processes running")
        }
    }
}
