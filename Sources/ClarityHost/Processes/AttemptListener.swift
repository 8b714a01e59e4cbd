import ClarityScheduler

/// Receives the output of an attempt's process, and turns the process's end into the attempt's end.
///
/// `ProcessAttempt` watches workers and commands alike. Only the listener knows whether the output
/// is reports or any program's text.
protocol AttemptListener: Sendable {
    /// The reason to kill the process for its output; the output after it is not read.
    var fault: String? { get }
    /// Whether the process has reported the outcome of its work.
    var hasOutcome: Bool { get }

    /// Takes bytes as they arrive, split anywhere.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, progress: (_ done: Int64, _ total: Int64) -> Void)

    /// Marks the end of the output after the process has exited by itself.
    mutating func finish()

    /// Returns the end of the attempt, without its peak memory.
    func end(of process: ProcessEnd) -> AttemptEnd
}
