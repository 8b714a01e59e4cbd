import ClarityScheduler
import Database

/// A reading of a source in the ledger, while it is in progress.
public struct Reading: Hashable, Sendable {
    let id: Int64
}

// The ledger of readings. Its sums hold at every instant: a portion counts as read in the
// transaction that brings it, and records that became nothing are added when the reading ends.

extension Outbox {
    /// The number of readings that keep a row of their own; older ones are summed up.
    static let readingsKept: Int64 = 64
    /// The number of sources that keep a sum of their own; older ones are merged.
    static let sourcesKept: Int64 = 256
    /// The time after which an open reading of any source counts as cut short.
    private static let readingPatience = Duration.seconds(86_400)

    /// Opens a reading of a source. One that was left open because its process ended is closed as
    /// interrupted: what its portions brought counts as read, and the rest is read again.
    ///
    /// - Parameters:
    ///   - source: a name for the source, such as a path; stored as a keyed hash.
    ///   - version: the state of its file, if another state is another source.
    public func beginReading(
        of source: String, _ version: SourceStamp? = nil
    ) throws(HealthStoreError) -> Reading {
        try store.change { connection in
            let now = store.clock.now
            let name = version.map { "\(source) \($0.inDoubt.text)" } ?? source
            let blindIndex = cipher.blindIndex(of: name, in: "readings")
            try connection.run(
                """
                UPDATE readings SET state = 'interrupted', interrupted = 1, finished_at_ms = ?1
                WHERE state = 'open' AND (tag = ?2 OR begun_at_ms < ?3)
                """, .instant(now), .blob(blindIndex),
                .instant(now - Outbox.readingPatience))
            try sumUp(connection)
            return Reading(
                id: try connection.insert(
                    "INSERT INTO readings (tag, begun_at_ms) VALUES (?, ?) RETURNING id",
                    .blob(blindIndex), .instant(now)))
        }
    }

    /// Ends a reading, counts what its portions did not bring, and notes in the same transaction
    /// that the file need not be read again.
    ///
    /// If another process closed the reading and summed it up while it ran, the counts are added to
    /// that sum, which still counts the reading as cut short.
    ///
    /// - Parameters:
    ///   - counts: the records, and the days and nights, that became nothing. `read` and `made` are
    ///     the source's own totals.
    ///   - noted: the file's path, its stamp and what is stored about the reading.
    public func end(
        _ reading: Reading, _ counts: ReadingCounts, _ reasons: ReadingReasons,
        noted: (path: String, stamp: SourceStamp, reading: LastReading)? = nil
    ) throws(HealthStoreError) {
        try store.change { connection in
            let names = ReadingCounts.ofNothing + [.read, .made]
            var limited = ReadingReasons()
            limited += reasons
            let changed = try connection.change(
                """
                UPDATE readings SET state = 'ended', interrupted = 0, finished_at_ms = ?, sealed = ?,
                    \(names.map { "\($0.rawValue) = ?" }.joined(separator: ", "))
                WHERE id = ? AND state IN ('open', 'interrupted')
                """,
                with: [
                    .instant(store.clock.now),
                    .blob(cipher.encrypt(limited.encryptedForm, for: .reading(reading.id))),
                ] + names.map { .integer(counts[$0]) } + [.integer(reading.id)])
            if changed == 0 { try endSummedUp(reading, counts, limited, connection) }
            if let noted { try note(noted.path, noted.stamp, noted.reading, connection) }
        }
    }

    /// Adds what became nothing to the row that has counted the reading's portions since it was
    /// summed up.
    private func endSummedUp(
        _ reading: Reading, _ counts: ReadingCounts, _ reasons: ReadingReasons,
        _ connection: Connection
    ) throws {
        var rest = ReadingCounts()
        for name in ReadingCounts.ofNothing { rest[name] = counts[name] }
        rest[.read] = rest.sum(ReadingCounts.ofRead)
        rest[.made] = rest.sum(ReadingCounts.ofMade)
        try count(rest, of: reading, connection)
        let sum = try ledgerRow(reading.id, connection) ?? rowWithoutSource(connection)
        guard let sum else { return }
        var all = sum.reasons ?? ReadingReasons()
        all += reasons
        try connection.run(
            "UPDATE readings SET sealed = ? WHERE id = ?",
            .blob(cipher.encrypt(all.encryptedForm, for: .reading(sum.id))), .integer(sum.id))
    }

    private func rowWithoutSource(_ connection: Connection) throws -> LedgerRow? {
        try connection.integer("SELECT id FROM readings WHERE tag IS NULL")
            .flatMap { try ledgerRow($0, connection) }
    }

    /// Ends a reading that an error cut short. What its portions brought counts as read.
    public func interrupt(_ reading: Reading) throws(HealthStoreError) {
        try store.run(
            """
            UPDATE readings SET state = 'interrupted', interrupted = 1, finished_at_ms = ?
            WHERE id = ? AND state = 'open'
            """, .instant(store.clock.now), .integer(reading.id))
    }

    /// Counts what a portion brought, in the portion's transaction. Without a reading, the counts
    /// go to the row of what no reading brought.
    func count(_ counts: ReadingCounts, of reading: Reading?, _ connection: Connection) throws {
        if let reading, try add(counts, to: reading.id, connection) { return }
        if try add(counts, to: nil, connection) { return }
        try connection.run(
            """
            INSERT INTO readings (state, begun_at_ms, finished_at_ms, readings)
            VALUES ('sum', 0, 0, 0)
            """)
        _ = try add(counts, to: nil, connection)
    }

    /// Counts rows that were removed outside of a reading.
    func countRemoved(_ rows: Int64, _ connection: Connection) throws {
        guard rows > 0 else { return }
        var counts = ReadingCounts()
        counts[.rowsRemoved] = rows
        try count(counts, of: nil, connection)
    }

    /// Adds counts to a row, or to the row without a source.
    ///
    /// - Returns: whether there is such a row.
    private func add(
        _ counts: ReadingCounts, to id: Int64?, _ connection: Connection
    ) throws -> Bool {
        let names = ReadingCounts.Name.allCases
        let changed = try connection.change(
            """
            UPDATE readings SET
                \(names.map { "\($0.rawValue) = \($0.rawValue) + ?" }.joined(separator: ", "))
            WHERE \(id == nil ? "tag IS NULL" : "id = ?")
            """, with: names.map { .integer(counts[$0]) } + (id.map { [.integer($0)] } ?? []))
        return changed > 0
    }

    /// Merges old rows: all readings but the last 64 into one row per source, and all but 256 of
    /// those into the row without a source.
    private func sumUp(_ connection: Connection) throws {
        let old = try connection.all(
            """
            SELECT id, tag FROM readings WHERE state IN ('ended', 'interrupted')
            ORDER BY id DESC LIMIT \(Int64.max) OFFSET ?
            """, .integer(Outbox.readingsKept)
        ) { ($0.integer(0), $0.blob(1)) }
        for (id, blindIndex) in old {
            let sum = try connection.integer(
                "SELECT id FROM readings WHERE state = 'sum' AND tag = ?", .blob(blindIndex))
            guard let sum else {
                try connection.run("UPDATE readings SET state = 'sum' WHERE id = ?", .integer(id))
                continue
            }
            try merge(id, into: sum, connection)
        }
        let sources = try connection.all(
            """
            SELECT id FROM readings WHERE state = 'sum' AND tag IS NOT NULL
            ORDER BY finished_at_ms DESC LIMIT \(Int64.max) OFFSET ?
            """, .integer(Outbox.sourcesKept)
        ) { $0.integer(0) }
        guard !sources.isEmpty else { return }
        try count(ReadingCounts(), of: nil, connection)
        let rest = try connection.integer("SELECT id FROM readings WHERE tag IS NULL")
        guard let rest else { return }
        for id in sources { try merge(id, into: rest, connection) }
    }

    private func merge(_ id: Int64, into sum: Int64, _ connection: Connection) throws {
        let (old, all) = (try ledgerRow(id, connection), try ledgerRow(sum, connection))
        guard let old, let all else { return }
        var distinct = DistinctRecords()
        for row in [old, all].sorted(by: { $0.id < $1.id }) { distinct.add(row) }
        var more = distinct.counts
        for name in ReadingCounts.Name.allCases { more[name] -= all.counts[name] }
        _ = try add(more, to: sum, connection)
        let reasons = distinct.reasons
        try connection.run(
            """
            UPDATE readings SET sealed = ?, readings = readings + ?, interrupted = interrupted + ?,
                finished_at_ms = max(finished_at_ms, ?) WHERE id = ?
            """, .blob(cipher.encrypt(reasons.encryptedForm, for: .reading(sum))),
            .integer(old.readings), .integer(old.interrupted),
            .integer(old.finishedAt ?? 0), .integer(sum))
        try connection.run("DELETE FROM readings WHERE id = ?", .integer(id))
    }
}

/// A row of the ledger, decrypted.
struct LedgerRow {
    let id: Int64
    /// The keyed hash of its source's name; `nil` for what is not of one source.
    let blindIndex: [UInt8]?
    let state: String
    let finishedAt: Int64?
    let readings: Int64
    let interrupted: Int64
    var counts = ReadingCounts()
    /// Empty if the row has none; `nil` if they cannot be decrypted, which `prove` reports.
    let reasons: ReadingReasons?
}

extension Outbox {
    /// Returns every row of the ledger, oldest first.
    func ledgerRows(_ connection: Connection) throws -> [LedgerRow] {
        try rows(nil, connection)
    }

    private func ledgerRow(_ id: Int64, _ connection: Connection) throws -> LedgerRow? {
        try rows(id, connection).first
    }

    /// - Parameter id: the row to return; `nil` for all.
    private func rows(_ id: Int64?, _ connection: Connection) throws -> [LedgerRow] {
        let names = ReadingCounts.Name.allCases
        return try connection.all(
            """
            SELECT id, state, finished_at_ms, readings, interrupted, sealed,
                \(names.map(\.rawValue).joined(separator: ", ")), tag
            FROM readings WHERE id = coalesce(?, id) ORDER BY id
            """, .integer(id)
        ) { found in
            let id = found.integer(0)
            let reasons =
                found.isNull(5)
                ? ReadingReasons()
                : cipher.opened(found.blob(5), for: .reading(id))
                    .flatMap(ReadingReasons.init(encryptedForm:))
            let place = Int32(6 + names.count)
            var row = LedgerRow(
                id: id, blindIndex: found.isNull(place) ? nil : found.blob(place),
                state: found.text(1),
                finishedAt: found.optionalInteger(2),
                readings: found.integer(3), interrupted: found.integer(4), reasons: reasons)
            for (index, name) in names.enumerated() {
                row.counts[name] = found.integer(Int32(6 + index))
            }
            return row
        }
    }
}

extension RowIdentity {
    fileprivate static func reading(_ id: Int64) -> RowIdentity {
        RowIdentity("readings", number: id)
    }
}
