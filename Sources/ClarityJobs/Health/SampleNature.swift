public import ClarityScheduler

/// How a sample relates to another one of the same kind and time.
public enum SampleNature: Hashable, Sendable {
    /// A measured value: two different values are two measurements, and no aggregate replaces
    /// either.
    case measurement
    /// A value that a source computes from everything that it knows of the time between start and
    /// end, such as a day's steps. Of two such values the one with the later `asOf` counts.
    ///
    /// - Parameter asOf: the instant up to which everything that the source knows is included, such
    ///   as the date of the export or the time when the file was written.
    case aggregate(asOf: Instant)

    /// Whether another sample of the same kind and time may replace this one.
    public var isAggregate: Bool {
        switch self {
        case .measurement: false
        case .aggregate: true
        }
    }
}
