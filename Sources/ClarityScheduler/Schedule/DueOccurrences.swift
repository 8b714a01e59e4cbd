/// The occurrences of a schedule in a span of time that contains at least one.
public struct DueOccurrences: Hashable, Sendable {
    public var first: Instant
    /// The last occurrence; equal to `first` if there is only one.
    public var latest: Instant
    /// The number of occurrences, including both; at least 1.
    public var count: Int

    /// Creates the occurrences from the first to the latest.
    public init(first: Instant, latest: Instant, count: Int) {
        self.first = first
        self.latest = latest
        self.count = count
    }
}
