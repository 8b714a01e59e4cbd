/// Tells wall time and waits.
public protocol WallClock: Sendable {
    /// The instant that the machine's clock shows; may step both ways.
    var now: Instant { get }

    /// Returns after `span` of elapsed time, or at once when the task is cancelled.
    func sleep(for span: Duration) async
}
