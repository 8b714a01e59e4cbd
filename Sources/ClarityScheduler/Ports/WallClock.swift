/// Tells the time and waits.
public protocol WallClock: Sendable {
    /// The instant that the machine's clock shows; may step forward and back.
    var now: Instant { get }

    /// The time since some fixed instant, including suspend; never steps.
    var elapsed: Duration { get }

    /// Returns after `span` of elapsed time, or at once when the task is cancelled.
    func sleep(for span: Duration) async
}

extension WallClock {
    /// Both clocks, read together.
    public var moment: Moment { Moment(wall: now, elapsed: elapsed) }
}
