public import ClarityScheduler

/// A metric as it is read back: one that was pulled, or a sample of the outbox that was not pulled.
public struct MetricRecord: Sendable, PrivateValue {
    /// Where it comes from.
    public enum Origin: Hashable, Sendable {
        /// The backend listed it.
        case pulled
        /// A source had it, and the backend has not listed it yet.
        case source
    }

    /// When it was measured, or began.
    public var start: Instant
    /// When it ended; the start where only an instant is known.
    public var end: Instant
    public var origin: Origin
    /// As of when a source's day or night is true; `nil` where that is not known.
    public var asOf: Instant?
    public var numbers: MetricNumbers

    /// Creates a record.
    public init(
        start: Instant, end: Instant, origin: Origin, asOf: Instant? = nil, numbers: MetricNumbers
    ) {
        self.start = start
        self.end = end
        self.origin = origin
        self.asOf = asOf
        self.numbers = numbers
    }
}

/// What is kept of one type of metrics.
public struct MetricStock: Hashable, Sendable {
    /// The group's name, or the backend's name of a type that no group reads.
    public var name: String
    public var group: MetricGroup?
    /// How many, each once.
    public var count: Int64
    /// When the first and the last began.
    public var first: Instant
    public var last: Instant

    /// Adds another part of the same.
    mutating func add(_ other: MetricStock) {
        count += other.count
        first = min(first, other.first)
        last = max(last, other.last)
    }
}
