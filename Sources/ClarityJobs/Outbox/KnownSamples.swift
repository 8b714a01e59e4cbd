import ClarityScheduler
import SQLite

/// Which samples of a portion are in the outbox already.
///
/// An export comes in the order of time, kind by kind, and so does the index of the outbox: what a
/// portion can meet is one stretch of it, read once. Where the outbox has far more in that stretch
/// than the portion has, as when a source has no order, each sample is looked up alone.
///
/// It is no more than what was there when it was looked at: the unique index decides when the rows are
/// written.
struct KnownSamples {
    /// A sample's unsealed columns. The tag is a keyed hash over all of them.
    private struct Key: Hashable {
        let kind: SampleKind
        let start: Int64
        let end: Int64
        let tag: UInt64

        func hash(into hasher: inout Hasher) { hasher.combine(tag) }
    }

    fileprivate struct Stretch {
        var start: Int64
        var end: Int64
        var count: Int
    }

    private var keys: Set<Key> = []
    /// The kinds of which too much is there to be read at once.
    private var crowded: Set<SampleKind> = []

    /// Looks at what the outbox has where `rows` are.
    init(_ rows: [OutboxPortion.Row], _ connection: Connection) throws(SQLiteError) {
        var stretches: [SampleKind: Stretch] = [:]
        for row in rows {
            stretches[row.kind, default: Stretch(start: row.start, end: row.start, count: 0)]
                .add(row.start)
        }
        keys.reserveCapacity(2 * rows.count)
        for (kind, stretch) in stretches { try look(for: kind, in: stretch, connection) }
    }

    /// The most rows that are read of a kind of which `count` samples came.
    static func limit(for count: Int) -> Int { max(1024, 2 * count) }

    private mutating func look(
        for kind: SampleKind, in stretch: Stretch, _ connection: Connection
    ) throws(SQLiteError) {
        let limit = KnownSamples.limit(for: stretch.count)
        var found: [Key] = []
        try connection.forEach(
            """
            SELECT start_s, end_s, tag FROM outbox
            WHERE kind = ? AND start_s BETWEEN ? AND ? LIMIT ?
            """,
            [
                .text(kind.rawValue), .integer(stretch.start), .integer(stretch.end),
                .integer(Int64(limit) + 1),
            ]
        ) { row in
            found.append(
                Key(
                    kind: kind, start: row.integer(0), end: row.integer(1),
                    tag: OutboxPortion.Row.tag(of: row, 2)))
        }
        if found.count > limit { crowded.insert(kind) } else { keys.formUnion(found) }
    }

    /// Notes a sample, and tells whether it is news: neither in the outbox nor earlier in the portion.
    mutating func isNew(
        _ row: OutboxPortion.Row, _ connection: Connection
    ) throws -> Bool {
        let key = Key(kind: row.kind, start: row.start, end: row.end, tag: row.tag)
        guard keys.insert(key).inserted else { return false }
        return try !crowded.contains(row.kind) || !isThere(row, connection)
    }

    private func isThere(
        _ row: OutboxPortion.Row, _ connection: Connection
    ) throws -> Bool {
        try connection.withStatement(
            "SELECT 1 FROM outbox WHERE kind = ? AND start_s = ? AND end_s = ? AND tag = ?"
        ) { statement in
            try row.bind(to: statement) { try statement.run() }
        }
    }
}

extension KnownSamples.Stretch {
    fileprivate mutating func add(_ instant: Int64) {
        start = min(start, instant)
        end = max(end, instant)
        count += 1
    }
}
