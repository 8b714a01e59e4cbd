import ClarityScheduler

/// What became of a worker process, and what that makes of its attempt.
struct ProcessEnd: Hashable {
    /// How a process ended.
    enum Exit: Hashable {
        case status(Int32)
        case signal(Int32)

        /// Reads what wait(2) gives for a process that has ended.
        init(waitStatus: Int32) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .status((waitStatus >> 8) & 0xFF) : .signal(signal)
        }
    }

    var exit: Exit
    /// The outcome that the worker reported.
    var outcome: Outcome?
    /// What we killed it for.
    var fault: AttemptFault?
    /// Whether a process of its group was still running when it had ended of itself.
    var leftProcesses = false

    /// The attempt's result.
    ///
    /// What we killed the worker for comes first. A process left behind breaks the attempt even
    /// when it reported success: it may still hold files, write to the store and send data while
    /// the job's next attempt runs, so what was reported was not yet true. Success then needs both
    /// the word and exit status 0, for a worker that fails while it ends may not have kept what it
    /// did. A reported failure, retry, snooze or need counts whatever followed it: it tells more than a
    /// status.
    var result: AttemptEnd.Result {
        if let fault { return .broke(fault) }
        if leftProcesses, case .status = exit { return .broke(.leftProcessesBehind) }
        switch (outcome, exit) {
        case (.success, .status(0)): return .reported(.success)
        case (.retry(let after, let failure), _):
            return .reported(.retry(after: after, failure))
        case (.snooze(let after, let failure), _):
            return .reported(.snooze(after: after, failure))
        case (.awaits(let need, let failure), _): return .reported(.awaits(need, failure))
        case (.failure(let failure), _): return .reported(.failure(failure))
        case (_, .status(let status)): return .broke(.exitedWithoutReport(status: status))
        case (_, .signal(let signal)): return .broke(.killedBySignal(signal))
        }
    }
}
