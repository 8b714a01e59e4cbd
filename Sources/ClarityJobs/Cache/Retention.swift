public import ClarityScheduler
import SQLite

/// What a cleanup removed, or would remove.
public struct PruneCounts: Hashable, Sendable {
    /// Confirmed samples whose values were removed; that they were sent stays known.
    public var samples: Int64 = 0
    /// Finished batches without a sample.
    public var batches: Int64 = 0
    /// Metrics that the backend has not listed since.
    public var metrics: Int64 = 0
    /// Insights that the backend has not listed since.
    public var insights: Int64 = 0
    /// Versions that lost against later ones.
    public var archived: Int64 = 0

    /// Creates counts of nothing.
    public init() {}
}

// What is kept no longer than a retention. Nothing that the backend has not confirmed is touched.

extension HealthStore {
    /// Removes some of what is older than `cutoff`, at most `limit` rows of each kind, so that no
    /// other process waits for long; nothing is left when the counts are all 0.
    ///
    /// A sample goes by the instant at which its upload was confirmed; only its value is removed,
    /// so that it is not sent again from the next export. A pulled row goes when both its own time
    /// and the last time that the backend listed it are before `cutoff`. An archived version goes by
    /// when it was archived.
    public func prune(
        before cutoff: Instant, limit: Int = 10_000
    ) throws(HealthStoreError) -> PruneCounts {
        try change { connection in
            var counts = PruneCounts()
            let before = Value.integer(cutoff.millisecondsSince1970)
            let most = Value.integer(Int64(limit))
            // CROSS keeps the batches outside: from the samples each portion would pass over all
            // whose values are gone already.
            try connection.run(
                """
                UPDATE outbox SET sealed = NULL, batch_id = NULL WHERE id IN (
                    SELECT outbox.id FROM batches CROSS JOIN outbox ON batch_id = batches.id
                    WHERE finished_at_ms < ? AND outbox.state = 'confirmed' LIMIT ?)
                """, before, most)
            counts.samples = Int64(connection.changes)
            try connection.run(
                """
                DELETE FROM batches WHERE id IN (
                    SELECT id FROM batches WHERE finished_at_ms < ? AND NOT EXISTS
                        (SELECT 1 FROM outbox WHERE batch_id = batches.id) LIMIT ?)
                """, before, most)
            counts.batches = Int64(connection.changes)
            for (table, count) in [("metrics", \PruneCounts.metrics), ("insights", \.insights)] {
                try connection.run(
                    """
                    DELETE FROM \(table) WHERE id IN (
                        SELECT id FROM \(table) WHERE timestamp_ms < ? AND synced_at_ms < ? LIMIT ?)
                    """, before, before, most)
                counts[keyPath: count] = Int64(connection.changes)
            }
            try connection.run(
                """
                DELETE FROM archive WHERE id IN (
                    SELECT id FROM archive WHERE archived_at_ms < ? LIMIT ?)
                """, before, most)
            counts.archived = Int64(connection.changes)
            let removed = [
                "samples": counts.samples, "metrics": counts.metrics, "insights": counts.insights,
                "versions": counts.archived,
            ].filter { $0.value > 0 }
            if !removed.isEmpty {
                try record(.removed, removed, detail: "their retention is over", connection)
            }
            return counts
        }
    }

    /// Brings the write-ahead log into the file and gives unused pages back to the file system.
    ///
    /// Another process that reads meanwhile keeps a part of both back for the next time.
    ///
    /// - Returns: the bytes by which the file shrank.
    public func compact() throws(HealthStoreError) -> Int64 {
        try access { connection in
            func size() throws(SQLiteError) -> Int64 {
                try connection.first(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                ) { $0.integer(0) } ?? 0
            }
            let before = try size()
            try connection.execute("PRAGMA incremental_vacuum")
            let after = try size()
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return max(0, before - after)
        }
    }
}
