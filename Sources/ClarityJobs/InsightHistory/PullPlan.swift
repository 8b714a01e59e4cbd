import HealthStore
import ClarityScheduler

/// Decides which pages of metrics a pull requests next, and when it may stop.
///
/// | phase | begins | stops |
/// |---|---|---|
/// | recent | at the front | after 2 pages in a row without news if newest first, else at its end |
/// | whole | where the last one stopped, else at the front | at the end of the list |
///
/// The recent phase comes first, so that an attempt that is too short for the whole list still gets
/// the news. The whole phase follows when it is due. Metrics that were measured long ago, and added
/// or changed since, are far from the front, so the recent phase never sees them. The whole phase
/// is also due after a recent phase that found news and was interrupted: the next recent phase
/// would take its first pages for the end of the news.
struct PullPlan: Hashable {
    enum Phase: Hashable {
        case recent
        case whole
    }

    /// The number of pages in a row without news after which older pages have none either.
    static let knownPages = 2

    private(set) var phase: Phase
    /// The cursor of the next page; `nil` at the front.
    private(set) var cursor: String?
    /// Whether this phase has reached the end of the list.
    private(set) var isAtEnd = false
    private var unchanged = 0
    private var isDescending = true
    private var oldest: Instant?

    /// Creates the plan of a first attempt, or of one that continues.
    ///
    /// - Parameters:
    ///   - checkpoint: the checkpoint of an earlier attempt of the run. One from an earlier version
    ///     consists of the cursor only.
    ///   - record: the store's record of earlier pulls.
    init(checkpoint: String?, record: PullRecord) {
        if let checkpoint {
            // The text after the words is the backend's own cursor, including any spaces.
            let parts = checkpoint.split(
                separator: " ", maxSplits: 2, omittingEmptySubsequences: false
            ).map(String.init)
            if parts.count == 3, parts[0] == "recent", let count = Int(parts[1]) {
                (phase, cursor, unchanged) = (.recent, parts[2], count)
            } else {
                phase = .whole
                cursor =
                    parts.count > 1 && parts[0] == "whole"
                    ? String(checkpoint.dropFirst(6)) : checkpoint
            }
        } else {
            // Before the first pull, the whole list is news.
            phase = record == PullRecord() ? .whole : .recent
            cursor = nil
        }
    }

    /// Whether a whole phase is due: because `span` has passed since the last one, there was none,
    /// or one is unfinished.
    static func isWholeDue(_ record: PullRecord, every span: Duration, at now: Instant) -> Bool {
        guard record.place == nil, let last = record.wholeAt else { return true }
        // After the clock was set back, the last one may be later than now.
        return now - last >= span || last > now
    }

    /// Begins the whole phase where the last one stopped.
    mutating func beginWhole(at place: String?) {
        self = PullPlan(phase: .whole, cursor: place)
    }

    private init(phase: Phase, cursor: String?) {
        self.phase = phase
        self.cursor = cursor
    }

    /// The checkpoint from which the next attempt continues; `nil` at the front.
    var checkpoint: String? {
        cursor.map { phase == .whole ? "whole \($0)" : "recent \(unchanged) \($0)" }
    }

    /// Takes a page into account.
    ///
    /// - Parameters:
    ///   - times: the instants of its rows, in order.
    ///   - hasNews: whether any row is new or changed.
    ///   - next: the cursor of the next page; `nil` on the last page.
    /// - Returns: whether the phase continues.
    mutating func take(_ times: [Instant], hasNews: Bool, next: String?) -> Bool {
        for time in times {
            if let oldest, time > oldest { isDescending = false }
            oldest = time
        }
        if hasNews {
            unchanged = 0
        } else if !times.isEmpty {
            unchanged += 1
        }
        guard let next else {
            isAtEnd = true
            return false
        }
        cursor = next
        return phase == .whole || !isDescending || unchanged < PullPlan.knownPages
    }
}
