/// How much of the past a history keeps.
///
/// A finished run is pruned when it is too old, or when its job has too many newer ones; runs that
/// failed are exempt from the count up to ten times of it and have an age of their own. When all
/// that is kept takes more than `bytes`, the oldest goes first, failures included, so that nothing
/// can fill a disk. What is not finished stays.
public struct RetentionPolicy: Hashable, Sendable {
    /// The finished runs kept of each job, at least 1.
    public var runs: Int
    /// How long a run that did not fail is kept after its end.
    public var age: Duration
    /// How long a run that failed is kept after its end.
    public var failureAge: Duration
    /// The most bytes that the history may take.
    public var bytes: Int64

    /// Creates a policy; the standard is 1,000 runs a job, 90 days, failures a year, 256 MiB.
    public init(
        runs: Int = 1000, age: Duration = .seconds(90 * 86_400),
        failureAge: Duration = .seconds(365 * 86_400), bytes: Int64 = 256 << 20
    ) {
        self.runs = runs
        self.age = age
        self.failureAge = failureAge
        self.bytes = bytes
    }
}
