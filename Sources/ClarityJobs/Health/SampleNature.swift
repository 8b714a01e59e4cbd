/// How a sample stands to another one of the same kind, start and end.
public enum SampleNature: Hashable, Sendable {
    /// One that was measured: two of different values are two measurements.
    case measurement
    /// What a source makes of all that it knows of the time between start and end, such as a day's
    /// steps: a later one of the same kind, start and end replaces it.
    case aggregate
}
