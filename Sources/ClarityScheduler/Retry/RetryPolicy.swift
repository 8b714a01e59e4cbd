/// How many attempts a run gets and how long it waits between them.
///
/// After failure `n` (from 1) the wait is `initial * 2^(n-1)` (exponential) or `initial * n`
/// (linear), at most `maximum`. Jitter then takes off up to a tenth, so the wait never exceeds the
/// maximum. With the default 30 s and 5 h: 30 s, 1 m, 2 m, 4 m ... 5 h from failure 11 on. The
/// numbers are those of Android's WorkManager.
public struct RetryPolicy: Hashable, Sendable {
    /// How the waits grow.
    public enum Backoff: String, CaseIterable, Sendable {
        case linear
        case exponential
    }

    /// The number of failed attempts after which a run fails, 1 to 100.
    public var attempts: Int
    public var backoff: Backoff
    /// The wait after the first failure; at least `shortestInitial`.
    public var initial: Duration
    /// The longest wait; at most `longestMaximum`.
    public var maximum: Duration

    /// The shortest allowed `initial`: 10 s.
    public static let shortestInitial: Duration = .seconds(10)
    /// The longest allowed `maximum`: 5 h.
    public static let longestMaximum: Duration = .seconds(5 * 3600)

    /// Creates a policy.
    public init(
        attempts: Int = 5, backoff: Backoff = .exponential, initial: Duration = .seconds(30),
        maximum: Duration = RetryPolicy.longestMaximum
    ) {
        self.attempts = attempts
        self.backoff = backoff
        self.initial = initial
        self.maximum = maximum
    }

    /// Returns the wait after failure number `failures` (from 1); draws once from `generator`.
    public func wait(
        afterFailures failures: Int, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        precondition(failures >= 1, "a wait follows a failure, got \(failures) failures")
        let first = initial.milliseconds
        let cap = maximum.milliseconds
        // 2^40 * 10 s exceeds every maximum, and the product still fits in 64 bits.
        let factor =
            switch backoff {
            case .linear: Int64(failures)
            case .exponential: Int64(1) << Int64(min(failures - 1, 40))
            }
        let (product, overflow) = first.multipliedReportingOverflow(by: factor)
        let wait = overflow ? cap : min(product, cap)
        return .milliseconds(wait - Int64.random(in: 0...(wait / 10), using: &generator))
    }
}

/// A small random number generator whose output follows from its seed alone, so that a decision can
/// be repeated.
///
/// The algorithm is SplitMix64 of Steele, Lea and Flood. It is not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// Creates a generator.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
