public import ClarityScheduler

/// How a sample stands to another one of the same kind and time.
public enum SampleNature: Hashable, Sendable {
    /// One that was measured: two of different values are two measurements, and no aggregate replaces
    /// either.
    case measurement
    /// What a source makes of all that it knows of the time between start and end, such as a day's
    /// steps: of two, the one that is true as of a later instant counts.
    ///
    /// - Parameter asOf: up to when everything that the source knows is in it, such as the date of the
    ///   export or when the file was written.
    case aggregate(asOf: Instant)

    /// Whether another sample of the same kind and time may take this one's place.
    public var isAggregate: Bool {
        switch self {
        case .measurement: false
        case .aggregate: true
        }
    }
}
