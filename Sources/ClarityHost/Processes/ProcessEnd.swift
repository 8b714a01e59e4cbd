import ClarityScheduler

/// The end of a worker process, and the attempt's result that follows from it.
struct ProcessEnd: Hashable {
    /// How a process ended.
    enum Exit: Hashable {
        case status(Int32)
        case signal(Int32)

        /// Decodes the status that wait(2) returns for a process that has ended.
        init(waitStatus: Int32) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .status((waitStatus >> 8) & 0xFF) : .signal(signal)
        }
    }

    var exit: Exit
    /// The outcome that the worker reported.
    var outcome: Outcome?
    /// The fault for which we killed it.
    var fault: AttemptFault?
    /// Whether a process of its group was still running after it had ended by itself.
    var leftProcesses = false

    /// The attempt's result.
    ///
    /// A fault for which we killed the worker comes first. A process left behind breaks the attempt
    /// even if it reported success. Such a process may still hold files, write to the store and
    /// send data while the job's next attempt runs, so the report was not yet true. Success also
    /// needs exit status 0, because a worker that fails while it exits may have lost its work. A
    /// reported failure, retry, snooze or need counts whatever follows it: it says more than a
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
