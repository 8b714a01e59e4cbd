public import ClarityScheduler

/// A metric as it is read back: a pulled row, or an outbox sample that was not pulled.
public struct MetricRecord: Sendable, PrivateValue {
    /// Where the metric comes from.
    public enum Origin: Hashable, Sendable {
        /// The backend listed it.
        case pulled
        /// A source had it, and the backend has not listed it yet.
        case source
    }

    /// When it was measured or began.
    public var start: Instant
    /// When it ended; equal to `start` if only an instant is known.
    public var end: Instant
    public var origin: Origin
    /// The instant as of which a source's day or night is correct; `nil` if that is not known.
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

/// The stored metrics of one type.
public struct MetricStock: Hashable, Sendable {
    /// The group's name, or the backend's type if no group has it.
    public var name: String
    public var group: MetricGroup?
    /// The number of metrics, each counted once.
    public var count: Int64
    /// When the first and the last of them began.
    public var first: Instant
    public var last: Instant

    /// Adds another part of the same type.
    mutating func add(_ other: MetricStock) {
        count += other.count
        first = min(first, other.first)
        last = max(last, other.last)
    }
}
