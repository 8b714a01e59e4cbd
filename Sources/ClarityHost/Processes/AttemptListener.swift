import ClarityScheduler

/// Takes what the process of an attempt writes, and says at its end what that makes of the attempt.
protocol AttemptListener: Sendable {
    /// Why the process must be killed for what it wrote; what it writes then is not read.
    var fault: String? { get }
    /// Whether it has said how its work ends.
    var hasOutcome: Bool { get }

    /// Takes bytes as they come, cut anywhere.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, progress: (_ done: Int64, _ total: Int64) -> Void)

    /// Says that the process ended of itself, so that there is no more to come.
    mutating func finish()

    /// The end of the attempt, but for its memory.
    func end(of process: ProcessEnd) -> AttemptEnd
}
