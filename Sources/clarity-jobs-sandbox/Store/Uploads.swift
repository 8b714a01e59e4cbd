import JSON
import SQLite

/// A metric and its upload.
struct ListedMetric: Hashable, Sendable {
    var metric: StoredMetric
    /// The upload; `nil` for a metric of the seed.
    var upload: String?
}

/// A filter for a list of a user's metrics.
struct MetricFilter: Hashable, Sendable {
    var type: String?
    /// The earliest instant; `end` is the latest. Both are included.
    var start: Timestamp?
    var end: Timestamp?
}

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
    func losses(_ fate: Fate) throws -> [(reason: String, count: Int)] {
        try database.all(
            "SELECT reason, count FROM losses WHERE fate = ? ORDER BY reason",
            .text(fate.rawValue)
        ) { ($0.text(0), Int($0.integer(1))) }
    }

    /// Returns the number of uploaded metrics of each type, including copies.
    func metricsByType() throws -> [(type: String, count: Int)] {
        try database.all(
            """
            SELECT type, count(*) FROM metrics WHERE work_id IS NOT NULL
            GROUP BY type ORDER BY type
            """
        ) { ($0.text(0), Int($0.integer(1))) }
    }

    /// Removes an upload of metrics with all its metrics; `false` if the user has no such upload.
    func deleteUpload(_ id: String, of user: String) throws -> Bool {
        guard try work(.metrics, id, of: user) != nil else { return false }
        try database.run("DELETE FROM metrics WHERE work_id = ?", .text(id))
        try database.run("DELETE FROM work WHERE id = ?", .text(id))
        return true
    }

    /// Returns a page of the user's metrics, newest first.
    func listedMetrics(
        of user: String, _ filter: MetricFilter, limit: Int, offset: Int
    ) throws -> [ListedMetric] {
        try database.all(
            """
            SELECT sequence, metric_id, type, created_at_ms, body, work_id FROM metrics
            WHERE user_id = ?1 AND (?2 IS NULL OR type = ?2) AND created_at_ms BETWEEN ?3 AND ?4
            ORDER BY created_at_ms DESC, sequence DESC LIMIT ?5 OFFSET ?6
            """,
            .text(user), .text(filter.type), .integer(filter.start?.milliseconds ?? .min),
            .integer(filter.end?.milliseconds ?? .max), .integer(Int64(limit)),
            .integer(Int64(offset))
        ) { row in
            let upload = row.optionalText(5)
            return Store.metric(row).map { ListedMetric(metric: $0, upload: upload) }
        }.map { try $0.get() }
    }
}
