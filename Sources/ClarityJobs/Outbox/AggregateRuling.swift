import ClarityScheduler
import SQLite

/// What becomes of a day or a night that is handed over, by what the outbox has of it already: rows of
/// the same kind, start and end.
///
/// | what is there | the value is the same | it is another |
/// |---|---|---|
/// | nothing | | queued |
/// | a row that the backend does not have: queued, rejected, set aside | known | replaced in place |
/// | one that is sent or was | known | a row of its own follows it: corrected |
/// | one that may have arrived and waits to be sent again | known | set aside, and corrected |
///
/// The backend knows a value by an id that is made of it, refuses an id that it has and takes no value
/// back: a correction is one value more there. Rows of former values that it does not have are removed
/// with whatever comes after them, so that none is sent when a later one was; a value that came back
/// after it was corrected at the backend stays known.
struct AggregateRuling: Hashable {
    /// A row of the outbox.
    struct Former: Hashable {
        var id: Int64
        /// Whether it has the value that is handed over.
        var isSame: Bool
        var state: OutboxState
        /// The sends of it that may have arrived.
        var doubts: Int64

        /// Whether the backend does not have the value, and shall not get it after a later one.
        fileprivate var isOutdated: Bool {
            [.queued, .rejected, .setAside].contains(state) && doubts == 0
        }
        /// Whether it would be sent again although a later value goes its own way.
        fileprivate var isDoubtful: Bool { state == .queued && doubts > 0 }
    }

    enum Fate: Hashable {
        /// Nothing was there.
        case queued
        /// The value is there.
        case known
        /// It takes the place of one that was not sent.
        case replaced
        /// It follows one that was sent.
        case corrected
    }

    var fate: Fate
    /// The row that takes the value; `nil` for a new one, or none when the value is there.
    var target: Int64?
    /// The rows of other values that are removed.
    var removed: [Int64] = []
    /// The rows of other values that are set aside for a person.
    var doubtful: [Int64] = []

    init(_ formers: [Former]) {
        let others = formers.filter { !$0.isSame }
        var outdated = others.filter(\.isOutdated).map(\.id)
        doubtful = others.filter(\.isDoubtful).map(\.id)
        if formers.count > others.count {
            fate = outdated.isEmpty ? .known : .replaced
        } else if let first = outdated.first {
            (fate, target) = (.replaced, first)
            outdated.removeFirst()
        } else {
            fate = formers.isEmpty ? .queued : .corrected
        }
        removed = outdated
        needsRow = formers.count == others.count && target == nil
    }

    /// Whether the value gets a new row.
    let needsRow: Bool
}

extension HealthStore {
    /// Puts a day or a night into the outbox.
    func place(
        _ row: OutboxPortion.Row, _ bytes: [UInt8], _ counts: inout EnqueueCounts,
        _ connection: Connection
    ) throws {
        let ruling = AggregateRuling(try formers(of: row, connection))
        for id in ruling.removed {
            try connection.run("DELETE FROM outbox WHERE id = ?", .integer(id))
        }
        for id in ruling.doubtful {
            try connection.run(
                "UPDATE outbox SET state = 'setAside', hold = 'doubt', reason = ? WHERE id = ?",
                "it may have arrived, and a later value has followed it", .integer(id))
        }
        if let id = ruling.target {
            try connection.run(
                """
                UPDATE outbox SET tag = ?, sealed = ?, state = 'queued', failures = 0, hold = NULL,
                    reason = NULL
                WHERE id = ?
                """, .blob(row.tagBytes), .blob(Array(bytes[row.sealed])), .integer(id))
        } else if ruling.needsRow {
            try connection.run(
                "INSERT INTO outbox (kind, start_s, end_s, tag, sealed) VALUES (?, ?, ?, ?, ?)",
                .text(row.kind.rawValue), .integer(row.start), .integer(row.end),
                .blob(row.tagBytes), .blob(Array(bytes[row.sealed])))
        }
        switch ruling.fate {
        case .queued: counts.metricsQueued += 1
        case .known: counts.metricsKnown += 1
        case .replaced: counts.replaced += 1
        case .corrected: counts.corrected += 1
        }
    }

    private func formers(
        of row: OutboxPortion.Row, _ connection: Connection
    ) throws -> [AggregateRuling.Former] {
        try connection.all(
            """
            SELECT id, tag, state, doubts FROM outbox
            WHERE kind = ? AND start_s = ? AND end_s = ? ORDER BY id
            """, .text(row.kind.rawValue), .integer(row.start), .integer(row.end)
        ) { found in
            AggregateRuling.Former(
                id: found.integer(0),
                isSame: OutboxPortion.Row.tag(of: found, 1) == row.tag,
                // A state of a later version is one that must not be touched.
                state: OutboxState(rawValue: found.text(2)) ?? .sending,
                doubts: found.integer(3))
        }
    }
}

extension OutboxPortion.Row {
    fileprivate var tagBytes: [UInt8] { withUnsafeBytes(of: tag) { Array($0) } }
}
