import ClarityScheduler
import SQLite

extension HealthStore {
    /// Returns the ids of all stored insights, in no order.
    public func insightIDs() throws(HealthStoreError) -> [String] {
        try access { connection in
            try connection.all("SELECT id FROM insights") { $0.text(0) }
        }
    }

    /// Returns the insight with this id, or the only one whose id has this prefix.
    ///
    /// - Returns: `nil` if there is none, or more than one with the prefix.
    /// - Throws: `sealing` if it does not decrypt.
    public func insight(named name: String) throws(HealthStoreError) -> SyncedRow? {
        guard !name.isEmpty else { return nil }
        return try access { connection in
            let found = try connection.all(
                """
                SELECT id, type, timestamp_ms, sealed, synced_at_ms FROM insights
                WHERE substr(id, 1, ?) = ? ORDER BY id <> ?2, id LIMIT 2
                """, .integer(Int64(name.unicodeScalars.count)), .text(name)
            ) { row in
                SyncedRow(
                    row: CachedRow(
                        id: row.text(0), type: row.text(1),
                        timestamp: Instant(millisecondsSince1970: row.integer(2)),
                        json: row.blob(3)),
                    syncedAt: Instant(millisecondsSince1970: row.integer(4)))
            }
            guard let first = found.first, first.row.id == name || found.count == 1 else {
                return nil
            }
            var row = first.row
            row.json = MetricNumbers.json(
                of: try sealer.open(row.json, for: identity(row, in: .insights)))
            return SyncedRow(row: row, syncedAt: first.syncedAt)
        }
    }
}
