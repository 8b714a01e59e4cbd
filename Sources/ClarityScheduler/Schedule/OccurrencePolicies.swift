/// What happens to missed occurrences.
public enum CatchUpPolicy: Hashable, Sendable {
    /// One run stands for all of them, for the latest occurrence.
    case latest
    /// They get no run: they are recorded as skipped, or as paused if only a pause was in the way.
    case none
    /// Each gets a run of its own, one after the other, within bounds.
    case all(CatchUpBounds)

    /// The span over which caught-up runs are spread; zero without a spread.
    public var longestSpread: Duration {
        if case .all(let bounds) = self { bounds.spread } else { .zero }
    }
}

/// How much is caught up when every missed occurrence gets a run.
public struct CatchUpBounds: Hashable, Sendable {
    /// The maximum number of the job's runs that wait at a time, at least 1. The latest occurrences
    /// get them; the others are recorded as skipped.
    public var atMost: Int
    /// The age above which an occurrence is recorded as expired; `nil` for no limit.
    public var window: Duration?
    /// The span over which the runs are spread, in equal steps from the start of the first one.
    /// Zero starts each run as soon as the previous one has finished.
    public var spread: Duration

    /// Creates bounds.
    public init(atMost: Int = 100, window: Duration? = nil, spread: Duration = .zero) {
        self.atMost = atMost
        self.window = window
        self.spread = spread
    }

    /// The maximum of `atMost`.
    public static let largestCount = 1000
    /// The maximum of `spread`: a week.
    public static let longestSpread: Duration = .seconds(7 * 86_400)
}

/// What happens to an occurrence while a run of the same job is not finished.
///
/// With `skip` and `queue`, a waiting run stands for later occurrences, unless `catch_up` gives
/// each its own run.
public enum OverlapPolicy: String, CaseIterable, Sendable {
    /// The occurrence is recorded as skipped while the run is running.
    case skip
    /// One run waits until the other has finished.
    case queue
    /// The occurrence gets a run; the other run is stopped and cancelled as superseded.
    case replace
}
