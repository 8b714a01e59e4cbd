/// For how long a job's attempt runs, beside how long its attempts usually take.
public struct JobPace: Hashable, Sendable {
    /// How many of the job's last successful attempts say what is usual.
    public static let sampleSize = 20
    /// How many of them there must be.
    public static let smallestSample = 5
    /// How many times the 95th percentile an attempt may take, and how much more.
    public static let tolerance = (factor: 3, more: Duration.seconds(60))

    /// The start of the attempt.
    public var since: Instant
    /// The median of the successful attempts; `nil` if there are too few. For an even number, the
    /// lower of the two middle values.
    public var usual: Duration?
    /// The time that the job file expects an attempt to take; it alone says what is slow.
    public var expected: Duration?
    /// The time after which the attempt is slower than usual or expected; `nil` if nobody knows.
    public var slowAfter: Duration?

    /// Compares an attempt with the job's last successful ones.
    public init(since: Instant, lastSuccesses: [Duration], expected: Duration? = nil) {
        self.since = since
        self.expected = expected
        slowAfter = expected
        let lengths = lastSuccesses.sorted()
        guard lengths.count >= JobPace.smallestSample else { return }
        usual = lengths[(lengths.count - 1) / 2]
        // The nearest rank: the smallest length that 95 of 100 do not exceed.
        let percentile = lengths[(lengths.count * 95 + 99) / 100 - 1]
        slowAfter =
            expected ?? percentile * JobPace.tolerance.factor + JobPace.tolerance.more
    }

    /// Whether the attempt, if it still runs, is slower than usual or expected.
    public func isSlow(at now: Instant) -> Bool {
        slowAfter.map { now - since > $0 } ?? false
    }

    /// How long the attempt runs and how long it should, as `2h 10m, usually 12m`; `nil`
    /// if nobody knows how long it should.
    package func words(at now: Instant) -> String? {
        should.map { "\(JobPace.rounded(now - since).text), \($0)" }
    }

    /// How long an attempt of the job takes: what the job file expects, or else what is usual.
    package var should: String? {
        expected.map { "expected \($0.text)" }
            ?? usual.map { "usually \(JobPace.rounded($0).text)" }
    }

    /// Returns whole seconds, or whole minutes from ten minutes on.
    private static func rounded(_ span: Duration) -> Duration {
        let seconds = max(span.milliseconds, 0) / 1000
        return .seconds(seconds >= 600 ? seconds / 60 * 60 : seconds)
    }
}
