public import ClarityScheduler

/// One measurement over an interval, or an aggregate of many, in canonical units.
public struct Sample: Hashable, Sendable, PrivateValue {
    /// A measurement's number or numbers, in the unit of its `SampleKind`.
    public enum Value: Hashable, Sendable, PrivateValue {
        case single(Double)
        case pressure(systolic: Int, diastolic: Int)
        // Indirect, because otherwise every measurement would have the size of these cases.
        indirect case sleep(SleepNight)
        indirect case activity(ActivityDay)
    }

    public var kind: SampleKind
    public var start: Instant
    public var end: Instant
    public var value: Value
    /// The app or device that measured, as named by the source. It is not part of the identity,
    /// since a renamed phone rewrites it.
    public var source: String?

    /// Creates a sample.
    public init(
        kind: SampleKind, start: Instant, end: Instant, value: Value, source: String? = nil
    ) {
        self.kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.source = source
    }
}
