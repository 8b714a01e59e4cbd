/// What becomes of a day, a night or another aggregate that is handed over, by what the outbox has of
/// it already (`AggregateTime`).
///
/// | what is there | the value is the same | it is another |
/// |---|---|---|
/// | nothing | | queued |
/// | one that is true as of later | known | known |
/// | a row that the backend does not have: queued, rejected, set aside | known | replaced in place |
/// | one that is sent or was | known | a row of its own follows it: corrected |
/// | one that may have arrived and waits to be sent again | known | set aside, and corrected |
/// | the day of another time zone that may have arrived | kept as it was sent | kept as it was sent |
///
/// The backend knows a value by an id that is made of it, refuses an id that it has and takes no value
/// back: a correction is one value more there. Rows of former values that it does not have are removed
/// with whatever comes after them, so that none is sent when a later one was; a value that came back
/// after it was corrected at the backend stays known.
struct AggregateRuling: Hashable {
    /// A row of the outbox.
    struct Former: Hashable {
        var id: Int64
        /// Whether it has the value that is handed over, and its start and end.
        var isSame: Bool
        /// Whether it is the same day in another time zone.
        var isShifted = false
        var state: OutboxState
        /// The sends of it that may have arrived.
        var doubts: Int64
        /// As of when it is true; `nil` for a measurement, which is only known as the same.
        var asOf: Int64?

        /// Whether the backend does not have the value, and shall not get it after a later one.
        fileprivate var isOutdated: Bool {
            [.queued, .rejected, .setAside].contains(state) && doubts == 0
        }
        /// Whether it would be sent again although a later value goes its own way.
        fileprivate var isDoubtful: Bool { state == .queued && doubts > 0 }

        /// Whether its value counts and not the other's.
        func isLater(than other: Former) -> Bool {
            guard let asOf, let otherAsOf = other.asOf else { return false }
            return (asOf, id) > (otherAsOf, other.id)
        }
    }

    enum Fate: Hashable {
        /// Nothing was there.
        case queued
        /// The value is there, or one that is true as of later.
        case known
        /// It takes the place of one that was not sent.
        case replaced
        /// It follows one that was sent.
        case corrected
        /// The day of another time zone that was sent stays in its place: the backend would have both.
        case keptAsSent
    }

    var fate: Fate
    /// The row that takes the value; `nil` for a new one, or none when the value is there.
    var target: Int64?
    /// The row that has the value, which is now true as of later.
    var moved: Int64?
    /// The rows of other values that are removed.
    var removed: [Int64] = []
    /// The rows of other values that are set aside for a person.
    var doubtful: [Int64] = []
    /// Whether the value gets a new row.
    var needsRow = false

    /// - Parameter asOf: as of when the value that is handed over is true.
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
        doubtful = others.filter(\.isDoubtful).map(\.id)
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
