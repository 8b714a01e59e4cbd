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
        indirect case values(MeasuredValues)
    }

    public var kind: SampleKind
    public var start: Instant
    public var end: Instant
    public var value: Value
    /// The app or device that measured, as named by the source. It is not part of the identity,
    /// since a renamed phone rewrites it.
    public var source: String?
    /// Whether an app made it for a span of time and names in `source` all devices that contributed,
    /// so that another value of the same time replaces it, whatever that one's `source` is.
    public var isOfAllSources = false

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

extension Sample {
    /// The bytes that identify the same sample in another export.
    ///
    /// They are the kind's raw value in UTF-8, a zero byte, the start and the end as big-endian
    /// 64-bit seconds since 1970-01-01T00:00:00Z, and `canonicalValue` in UTF-8. The layout never
    /// changes, because ids on the server were derived from it. The source is left out, since a
    /// renamed phone rewrites it. So are the device and the text of the dates, which differ in
    /// every export. An export has whole seconds, so fractions of a second do not count either.
    ///
    /// The bytes contain the value: they are health data and must not be logged.
    public var identity: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        bytes.append(contentsOf: kind.rawValue.utf8)
        bytes.append(0)
        for seconds in [start.secondsSince1970, end.secondsSince1970] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: seconds >> Int64(shift)))
            }
        }
        appendCanonicalValue(to: &bytes)
        return bytes
    }
}

/// How a sample relates to another one of the same kind and time.
public enum SampleNature: Hashable, Sendable {
    /// A measured value: two different values are two measurements, and no aggregate replaces
    /// either.
    case measurement
    /// A measured value that an earlier reading of its source brought, with all others of its month.
    case knownMeasurement
    /// A value that a source computes from everything that it knows of the time between start and
    /// end, such as a day's steps. Of two such values the one with the later `asOf` counts.
    ///
    /// - Parameter asOf: the instant up to which everything that the source knows is included, such
    ///   as the date of the export or the time when the file was written.
    case aggregate(asOf: Instant)

    /// Whether another sample of the same kind and time may replace this one.
    public var isAggregate: Bool {
        switch self {
        case .measurement, .knownMeasurement: false
        case .aggregate: true
        }
    }
}
