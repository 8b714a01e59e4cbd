public import ClarityScheduler

/// A clock that always shows the same instant, for questions about another time.
///
/// Spans are still measured by the machine's clock.
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
