import HealthModel

/// Decides what happens to a new value of a day, a night or another aggregate, given the rows that
/// the outbox has for the same time (`AggregateTime`).
///
/// | existing row | new value is the same | new value differs |
/// |---|---|---|
/// | none | | queued |
/// | one that is true as of a later instant | known | known |
/// | one that the backend does not have: queued, rejected, set aside | known | replaced in place |
/// | one that is being sent or was sent | known | corrected: gets a row of its own |
/// | one that is possibly sent and queued again | known | set aside, and corrected |
/// | the day of another time zone, sent or possibly sent | kept as sent | kept as sent |
///
/// The id of a value is derived from the value (`MetricID`). The backend refuses an id that it has
/// and never removes a value, so it keeps a correction beside the former value. Rows of former
/// values that the backend does not have are removed, so that none of them is sent after a later
/// value. If a source returns to a value that was sent and then corrected, that value counts as
/// known.
struct AggregateRuling: Hashable {
    /// A row of the outbox.
    struct Former: Hashable {
        var id: Int64
        /// Whether it has the new value, with the same start and end.
        var isSame: Bool
        /// Whether it is the same day in another time zone.
        var isShifted = false
        var state: OutboxState
        /// The number of sends of it that got no answer and may have arrived.
        var possibleSends: Int64
        /// The instant as of which it is true, in seconds since 1970; `nil` for a measurement,
        /// which is only here if `isSame`.
        var asOf: Int64?

        /// Whether the backend does not have the value, and must not get it after a later one.
        fileprivate var isOutdated: Bool {
            [.queued, .rejected, .setAside].contains(state) && possibleSends == 0
        }
        /// Whether it is possibly sent and would be resent, although the later value has its own
        /// row.
        fileprivate var isPossiblySent: Bool { state == .queued && possibleSends > 0 }

        /// Whether this value supersedes the other's: it is true as of a later instant, or of the
        /// same instant and has the larger id.
        func isLater(than other: Former) -> Bool {
            guard let asOf, let otherAsOf = other.asOf else { return false }
            return (asOf, id) > (otherAsOf, other.id)
        }
    }

    enum Fate: Hashable {
        /// The outbox had no row for this time.
        case queued
        /// The outbox has the value, or one that is true as of a later instant.
        case known
        /// The value takes the place of one that was not sent.
        case replaced
        /// The value follows one that was sent, or possibly sent.
        case corrected
        /// The day was sent in another time zone and stays as it is: otherwise the backend would
        /// have both.
        case keptAsSent
    }

    var fate: Fate
    /// The existing row that takes the value; `nil` if the value gets a new row or needs none.
    var target: Int64?
    /// The row that already has the value and is now true as of a later instant.
    var moved: Int64?
    /// The rows of former values to remove.
    var removed: [Int64] = []
    /// The possibly sent rows of former values to set aside for a person.
    var possiblySent: [Int64] = []
    /// Whether the value gets a new row.
    var needsRow = false

    /// - Parameter asOf: the instant as of which the new value is true, in seconds since 1970.
    init(_ formers: [Former], asOf: Int64) {
        if formers.contains(where: { $0.asOf ?? .min > asOf }) {
            fate = .known
            return
        }
        let sent = formers.filter { !$0.isOutdated }
        if sent.contains(where: \.isShifted), sent.allSatisfy(\.isShifted) {
            fate = .keptAsSent
            return
        }
        let same = formers.first(where: \.isSame)
        let others = formers.filter { !$0.isSame }
        var outdated = others.filter(\.isOutdated).map(\.id)
        possiblySent = others.filter(\.isPossiblySent).map(\.id)
        moved = same?.id
        if same != nil {
            fate = outdated.isEmpty ? .known : .replaced
        } else if let first = outdated.first {
            (fate, target) = (.replaced, first)
            outdated.removeFirst()
        } else {
            fate = others.isEmpty ? .queued : .corrected
        }
        removed = outdated
        needsRow = same == nil && target == nil
    }
}

/// The kind and the time of an aggregate, used to find other rows of the same aggregate.
///
/// Two nights match if they share more than half of the shorter one, because a late record moves
/// the bounds of a night. Two days match if they share at least half of the shorter one, because
/// another time zone moves the bounds of a day. Aggregates of any other kind match if start and end
/// are equal.
struct AggregateTime: Hashable {
    /// The most that the starts of two matching days or nights can be apart, in seconds.
    static let reach: Int64 = 48 * 3600

    /// The possible lengths of a day in a time zone, in seconds.
    static let dayLengths: ClosedRange<Int64> = 23 * 3600...25 * 3600
    /// Clocks change by multiples of half an hour, here in seconds.
    private static let clockStep: Int64 = 1800

    let kind: SampleKind
    let start: Int64
    let end: Int64

    /// Whether it is a day or a night. Its source may change from one reading to the next.
    var isWhole: Bool { kind == .sleep || kind == .activity }

    /// The range in which other rows of the same aggregate can start.
    var starts: ClosedRange<Int64> {
        guard isWhole else { return start...start }
        let length = min(max(0, end - start), AggregateTime.reach)
        return start - AggregateTime.reach...start + length
    }

    /// Whether an aggregate of the same kind, with these bounds, is the same aggregate.
    func matches(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        if start == otherStart, end == otherEnd { return true }
        guard isWhole, starts.contains(otherStart) else { return false }
        let common = min(end, otherEnd) - max(start, otherStart)
        let shorter = min(end - start, otherEnd - otherStart)
        return 2 * common > shorter || kind == .activity && common > 0 && 2 * common == shorter
    }

    /// Whether a matching activity is the day of another time zone. An activity that is not a whole
    /// day, such as the day so far, is not.
    func isShifted(start otherStart: Int64, end otherEnd: Int64) -> Bool {
        kind == .activity && (start, end) != (otherStart, otherEnd)
            && AggregateTime.isDay(end - start) && AggregateTime.isDay(otherEnd - otherStart)
    }

    /// Whether this is an instant at which a day begins, given the bounds of another aggregate.
    func begins(_ otherStart: Int64, _ otherEnd: Int64) -> Bool {
        start == otherStart && start == end && AggregateTime.isDay(otherEnd - otherStart)
    }

    private static func isDay(_ length: Int64) -> Bool {
        dayLengths.contains(length) && length % clockStep == 0
    }
}
