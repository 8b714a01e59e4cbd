import ClarityJobs
import ClarityScheduler

/// Which pages of metrics a pull asks for next, and when it may stop.
///
/// | phase | begins | stops |
/// |---|---|---|
/// | recent | at the front of the list | after 2 pages in a row that brought nothing new, where the list runs from new to old; else at its end |
/// | whole | where the last one stopped, else at the front | at the end of the list |
///
/// The recent phase comes first, so that a stretch of time which is short of going through everything
/// has what is new. The whole phase follows when it is due: what was measured long ago and came or
/// changed since stands far from the front, so that the recent phase never sees it. It is also due when
/// a recent phase found news and was cut off: the next one would take its first pages for the end.
struct PullPlan: Hashable {
    enum Phase: Hashable {
        case recent
        case whole
    }

    /// Pages in a row that brought nothing new, after which older ones bring nothing either.
    static let knownPages = 2

    private(set) var phase: Phase
    /// Where the next page begins; `nil` at the front.
    private(set) var cursor: String?
    /// Whether this phase has come to the end of the list.
    private(set) var isAtEnd = false
    private var unchanged = 0
    private var isDescending = true
    private var oldest: Instant?

    /// The plan of a first attempt, or of one that goes on.
    ///
    /// - Parameters:
    ///   - checkpoint: what an earlier attempt of the run has left; one of an earlier version is the
    ///     place alone.
    ///   - record: what is known of former runs.
    init(checkpoint: String?, record: PullRecord) {
        if let checkpoint {
            // What stands behind the words is the backend's own, blanks and all.
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
            // Before anything was gone through the whole list is news.
            phase = record == PullRecord() ? .whole : .recent
            cursor = nil
        }
    }

    /// A whole phase is due from `wholeEvery` after the last one on, and while one is under way.
    static func isWholeDue(_ record: PullRecord, every span: Duration, at now: Instant) -> Bool {
        guard record.place == nil, let last = record.wholeAt else { return true }
        // A clock that was put back leaves an instant later than now.
        return now - last >= span || last > now
    }

    /// The whole phase, from where the last one stopped.
    mutating func beginWhole(at place: String?) {
        self = PullPlan(phase: .whole, cursor: place)
    }

    private init(phase: Phase, cursor: String?) {
        self.phase = phase
        self.cursor = cursor
    }

    /// What the next attempt goes on from; `nil` at the front.
    var checkpoint: String? {
        cursor.map { phase == .whole ? "whole \($0)" : "recent \(unchanged) \($0)" }
    }

    /// Notes a page.
    ///
    /// - Parameters:
    ///   - times: the instants of its rows, in their order.
    ///   - hasNews: whether any of them was not known as it is.
    ///   - next: where the next page begins; `nil` on the last.
    /// - Returns: whether the phase goes on.
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
