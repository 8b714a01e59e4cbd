/// How much of the past the history keeps.
///
/// A finished run is pruned when it is too old, or when its job has too many newer ones. Failed
/// runs have an age limit of their own, and their number may be ten times as high. If the history
/// takes more than `bytes`, the oldest entries go first, failures included, so that nothing can
/// fill a disk. Unfinished runs are never pruned.
public struct RetentionPolicy: Hashable, Sendable {
    /// The number of finished runs that are kept for each job, at least 1.
    public var runs: Int
    /// How long a run that did not fail is kept after its end.
    public var age: Duration
    /// How long a run that failed is kept after its end.
    public var failureAge: Duration
    /// The maximum size of the history, in bytes.
    public var bytes: Int64

    /// Creates a policy; the defaults are 1,000 runs a job, 90 days, a year for failures, 256 MiB.
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
