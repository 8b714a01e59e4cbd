public import ClarityScheduler

/// A clock that shows one instant for ever, for questions about another time; its spans are those
/// of the machine.
public struct FixedClock: WallClock {
    public let now: Instant
    private let machine = SystemClock()

    /// Creates a clock that shows `now`.
    public init(_ now: Instant) { self.now = now }

    /// The time since the machine started, suspend included.
    public var elapsed: Duration { machine.elapsed }

    /// Returns after `span` of elapsed time, or at once when the task is cancelled.
    public func sleep(for span: Duration) async { await machine.sleep(for: span) }
}
