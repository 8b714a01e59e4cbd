/// The occurrences of a schedule in a stretch of time, of which there is at least one.
public struct DueOccurrences: Hashable, Sendable {
    public var first: Instant
    /// The last of them; `first` itself when there is one only.
    public var latest: Instant
    /// How many there are, both included; at least 1.
    public var count: Int

    /// Creates a count of occurrences.
    public init(first: Instant, latest: Instant, count: Int) {
        self.first = first
        self.latest = latest
        self.count = count
    }
}
