/// One reading of both clocks: wall time for schedules and people, elapsed time for spans.
public struct Moment: Hashable, Sendable {
    public var wall: Instant
    /// The time since some fixed instant, including suspend; never steps.
    public var elapsed: Duration

    /// Creates a reading.
    public init(wall: Instant, elapsed: Duration) {
        self.wall = wall
        self.elapsed = elapsed
    }
}
