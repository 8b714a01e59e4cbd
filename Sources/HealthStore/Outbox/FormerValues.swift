import HealthModel
import Database

/// The rows of the outbox that may be former values of a portion's aggregates, read for all of them
/// at once: on a server, a round trip for each would cost more than all other work on it.
///
/// What the portion itself has written since is noted. An aggregate that it concerns reads its rows
/// again.
struct FormerValues {
    /// A row that may match.
    struct Row {
        let id: Int64
        let start: Int64
        let end: Int64
        let blindIndex: [UInt8]
        let state: OutboxState
        let possibleSends: Int64
        let asOf: Int64?
        let encrypted: [UInt8]?

        fileprivate init(_ row: borrowing Database.Row) {
            id = row.integer(0)
            (start, end) = (row.integer(1), row.integer(2))
            blindIndex = row.blob(3)
            // A state that a later version added counts as `sending`, so that the row is not touched.
            state = OutboxState(rawValue: row.text(4)) ?? .sending
            possibleSends = row.integer(5)
            asOf = row.optionalInteger(6)
            encrypted = row.isNull(7) ? nil : row.blob(7)
        }
    }

    /// A stretch of some three days in which the portion has written.
    private struct Stretch: Hashable {
        var kind: SampleKind
        var number: Int64

        static func number(of start: Int64) -> Int64 { start >> 18 }
    }

    private static let columns = "id, start_s, end_s, tag, state, doubts, as_of_s, sealed"

    /// The query for the rows of a kind that start in a span; some of them do not match.
    static let spanQuery = """
        SELECT \(columns) FROM samples WHERE kind = ? AND start_s BETWEEN ? AND ? ORDER BY id
        """

    /// The query for those that start at one of some instants.
    static let instantsQuery = """
        SELECT \(columns) FROM samples
        WHERE kind = ? AND start_s IN (SELECT value FROM json_each(?)) ORDER BY id
        """

    /// The rows of each kind by their start.
    private var rows: [SampleKind: [Row]] = [:]
    /// The rows that the portion has changed or removed.
    private var changed: Set<Int64> = []
    /// The times to which the portion has written.
    private var written: [Stretch: [AggregateTime]] = [:]

    init(_ times: [AggregateTime], _ connection: Connection) throws(DatabaseError) {
        for (kind, times) in Dictionary(grouping: times, by: \.kind) {
            let starts = times.map(\.starts)
            let found =
                if times[0].isWhole, let first = starts.map(\.lowerBound).min(),
                    let last = starts.map(\.upperBound).max()
                {
                    try Self.rows(of: kind, in: first...last, connection)
                } else {
                    try connection.all(
                        Self.instantsQuery, .text(kind.rawValue), .list(starts.map(\.lowerBound))
                    ) { Row($0) }
                }
            rows[kind] = found.sorted { ($0.start, $0.id) < ($1.start, $1.id) }
        }
    }

    /// Reads the rows of one time again.
    static func rows(
        at time: AggregateTime, _ connection: Connection
    ) throws(DatabaseError) -> [Row] {
        try rows(of: time.kind, in: time.starts, connection)
    }

    private static func rows(
        of kind: SampleKind, in starts: ClosedRange<Int64>, _ connection: Connection
    ) throws(DatabaseError) -> [Row] {
        try connection.all(
            spanQuery, .text(kind.rawValue), .integer(starts.lowerBound),
            .integer(starts.upperBound)
        ) { Row($0) }
    }

    /// Returns the rows for a time as they were before the portion, by id.
    func rows(at time: AggregateTime) -> [Row] {
        let rows = rows[time.kind, default: []]
        let first = rows.partitioningIndex { $0.start >= time.starts.lowerBound }
        return rows[first...].prefix { $0.start <= time.starts.upperBound }
            .sorted { $0.id < $1.id }
    }

    /// Notes what the portion does about an aggregate.
    mutating func note(_ decision: AggregateDecision, at time: AggregateTime) {
        changed.formUnion(decision.removed)
        changed.formUnion(decision.inDoubt)
        changed.formUnion([decision.moved, decision.target].compactMap { $0 })
        guard decision.target != nil || decision.needsRow else { return }
        let stretch = Stretch(kind: time.kind, number: Stretch.number(of: time.start))
        written[stretch, default: []].append(time)
    }

    /// Whether the portion has changed one of an aggregate's former values, or written another.
    func haveChanged(
        _ formers: [AggregateDecision.Former], at time: AggregateTime, isOfAllSources: Bool
    ) -> Bool {
        let starts = time.starts
        let stretches =
            Stretch.number(of: starts.lowerBound)...Stretch.number(of: starts.upperBound)
        return formers.contains { changed.contains($0.id) }
            || stretches.contains { number in
                written[Stretch(kind: time.kind, number: number), default: []].contains { other in
                    time.matches(start: other.start, end: other.end)
                        || isOfAllSources && time.begins(other.start, other.end)
                }
            }
    }
}
