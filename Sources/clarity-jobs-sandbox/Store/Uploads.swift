import SQLite

extension Store {
    /// Counts metrics or samples that were sent but not stored.
    func noteLoss(_ fate: Fate, _ reason: String, _ count: Int) throws {
        guard count > 0 else { return }
        try database.run(
            """
            INSERT INTO losses (fate, reason, count) VALUES (?, ?, ?)
            ON CONFLICT (fate, reason) DO UPDATE SET count = count + excluded.count
            """, .text(fate.rawValue), .text(reason), .integer(Int64(count)))
    }

    /// What happened to a metric that was not stored.
    enum Fate: String, Sendable {
        /// The client was told that the metric was accepted.
        case dropped
        /// The client was told that the metric was refused.
        case refused
    }

    /// Returns how many were lost, sorted by reason.
    func losses(_ fate: Fate) throws -> [(name: String, count: Int)] {
        try counts(
            "SELECT reason, count FROM losses WHERE fate = ? ORDER BY reason",
            .text(fate.rawValue))
    }

    /// Returns the number of uploaded metrics of each type, including copies.
    func metricsByType() throws -> [(name: String, count: Int)] {
        try counts(
            """
            SELECT type, count(*) FROM metrics WHERE work_id IS NOT NULL
            GROUP BY type ORDER BY type
            """)
    }

    /// Removes an upload of metrics with all its metrics; `false` if the user has no such upload.
    func deleteUpload(_ id: String, of user: String) throws -> Bool {
        guard try work(.metrics, id, of: user) != nil else { return false }
        try database.run("DELETE FROM metrics WHERE work_id = ?", .text(id))
        try database.run("DELETE FROM work WHERE id = ?", .text(id))
        return true
    }
}
