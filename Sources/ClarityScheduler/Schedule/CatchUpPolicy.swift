/// What becomes of occurrences that passed while nobody could run them.
public enum CatchUpPolicy: Hashable, Sendable {
    /// One run stands for all of them, as the latest.
    case latest
    /// They are recorded as skipped.
    case none
    /// Each gets a run of its own, one after the other, within bounds.
    case all(CatchUpBounds)

    /// The span over which runs may be spread.
    public var longestSpread: Duration {
        if case .all(let bounds) = self { bounds.spread } else { .zero }
    }
}

/// How much is caught up when every occurrence counts.
public struct CatchUpBounds: Hashable, Sendable {
    /// The most runs of the job that wait at a time, at least 1; the latest occurrences have them,
    /// the others are recorded as skipped.
    public var atMost: Int
    /// Occurrences that are older are recorded as expired; `nil` for no such bound.
    public var window: Duration?
    /// The span over which the runs are spread from now on, in equal steps; zero starts each as
    /// soon as the one before it is finished.
    public var spread: Duration

    /// Creates bounds.
    public init(atMost: Int = 100, window: Duration? = nil, spread: Duration = .zero) {
        self.atMost = atMost
        self.window = window
        self.spread = spread
    }

    /// The most that `atMost` may be.
    public static let largestCount = 1000
    /// The most that `spread` may be: a week.
    public static let longestSpread: Duration = .seconds(7 * 86_400)
}
