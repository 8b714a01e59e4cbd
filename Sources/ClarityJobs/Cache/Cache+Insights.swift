import ClarityScheduler
import SQLite

extension Cache {
    /// Returns the ids of all stored insights, in no order.
    public func insightIDs() throws(HealthStoreError) -> [String] {
        try store.access { connection in
            try connection.all("SELECT id FROM insights") { $0.text(0) }
        }
    }

    /// Returns the insight with this id, or the only one whose id has this prefix.
    ///
    /// - Returns: `nil` if there is none, or more than one with the prefix.
    /// - Throws: `sealing` if it does not decrypt.
    public func insight(named name: String) throws(HealthStoreError) -> SyncedRow? {
        guard !name.isEmpty else { return nil }
        return try store.access { connection in
            let found = try connection.all(
                """
                SELECT \(SyncedRow.Column.list) FROM insights
                WHERE substr(id, 1, ?) = ? ORDER BY id <> ?2, id LIMIT 2
                """, .integer(Int64(name.unicodeScalars.count)), .text(name), map: SyncedRow.init)
            guard let first = found.first, first.row.id == name || found.count == 1 else {
                return nil
            }
            return try opened(first, in: .insights)
        }
    }
}
