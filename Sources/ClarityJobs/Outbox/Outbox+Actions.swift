import ClarityScheduler
import Database

// A person's actions on samples that did not arrive.

extension Outbox {
    /// The reason given for a sample that a person discarded.
    public static var discardedReason: String { "discarded by a person" }

    /// The states from which a person can put samples back into the queue.
    public static var retriable: [OutboxState] { [.rejected, .setAside, .unconfirmed] }
    /// The states from which a person can discard samples. Samples that are being sent, and samples
    /// that the backend accepted, cannot be discarded.
    public static var discardable: [OutboxState] { [.queued, .rejected, .setAside] }

    private static let portion: Int64 = 5000

    /// Selects the samples that a person gave up for this reason; without one, those that nobody
    /// gave up.
    static func isGivenUp(_ reason: String?) -> String {
        reason.map { "coalesce(reason, '') = '\($0)'" }
            ?? "coalesce(reason, '') NOT IN ('\(discardedReason)', '\(erasedReason)')"
    }

    /// Selects what a retry means: samples that a person gave up count only if the selection names
    /// them.
    private static func isRetried(_ selection: OutboxSelection) -> String {
        if selection.meansDiscarded { return isGivenUp(discardedReason) }
        return isGivenUp(selection.meansErased ? erasedReason : nil)
    }

    /// Counts the samples that `retry` would put back into the queue. Discarded and erased samples
    /// count only if the selection names them.
    public func retryShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try store.access { connection in
            try shares(
                selection, in: Outbox.retriable,
                and: Outbox.isRetried(selection), connection)
        }
    }

    /// Counts, among the samples that `retry` would put back into the queue, those that the backend
    /// has or may have, and those of which it could then store one more copy.
    public func retryCost(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> (there: Int64, doubled: Int64) {
        try store.access { connection in
            let (sql, values) = selection.condition(in: Outbox.retriable)
            var cost: (there: Int64, doubled: Int64) = (0, 0)
            try connection.forEach(
                """
                SELECT count(*), coalesce(sum(doubts > 0 OR sends > 0), 0) FROM (
                    SELECT doubts, state, coalesce(
                        (SELECT sends FROM batches WHERE id = batch_id), 0) AS sends
                    FROM samples WHERE \(sql)
                        AND \(Outbox.isRetried(selection))) AS chosen
                WHERE doubts > 0 OR sends > 0 OR state = 'unconfirmed'
                """, values
            ) { cost = ($0.integer(0), $0.integer(1)) }
            return cost
        }
    }

    /// Counts the samples that `discard` would discard.
    public func discardShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try store.access { connection in
            try shares(
                selection, in: Outbox.discardable, and: Outbox.isGivenUp(nil),
                connection)
        }
    }

    /// Puts samples that are `rejected`, `setAside` or `unconfirmed` back into the queue and resets
    /// their failures.
    ///
    /// The backend accepted an `unconfirmed` sample once. If it does not deduplicate, it may then
    /// store the sample twice. Discarded and erased samples come back only if the selection names
    /// them by their reason. The values of discarded ones are gone, so their rows are removed and all sources are read once
    /// more.
    ///
    /// - Returns: how many samples.
    public func retry(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        if selection.meansDiscarded { return try forget(selection) }
        return try inPortions(
            selection, Outbox.retriable, Outbox.isRetried(selection), .requeued,
            "sent again by a person"
        ) { connection, ids in
            try connection.run(
                """
                UPDATE outbox SET state = 'queued', failures = 0, batch_id = NULL, reason = NULL,
                    hold = NULL, doubts = doubts + coalesce(
                        (SELECT min(sends, 1) FROM batches WHERE id = batch_id), 0)
                WHERE id IN (\(ids))
                """)
            try connection.run("DELETE FROM server_words WHERE id IN (\(ids))")
        }
    }

    /// Discards samples that are `queued`, `rejected` or `setAside`. Their values are removed.
    /// Their rows stay, so that no later export brings the samples back.
    ///
    /// If a later export has another value for a day or a night, that value counts as another
    /// sample.
    ///
    /// - Returns: how many samples.
    public func discard(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        try inPortions(
            selection, Outbox.discardable, Outbox.isGivenUp(nil), .removed,
            Outbox.discardedReason
        ) { connection, ids in
            let rows = try connection.all(
                "SELECT \(SampleRow.Column.list) FROM outbox WHERE id IN (\(ids))",
                map: SampleRow.init)
            for row in rows {
                // An empty value is encrypted like any other, so that the row opens when the master
                // key is changed.
                try connection.run(
                    """
                    UPDATE outbox SET state = 'rejected', failures = 0, hold = NULL, reason = ?,
                        sealed = ? WHERE id = ?
                    """, .text(Outbox.discardedReason),
                    .blob(sealer.seal([], for: row.identity)), .integer(row.id))
            }
            try connection.run("DELETE FROM server_words WHERE id IN (\(ids))")
        }
    }

    /// Removes discarded samples, so that the next reading of their source finds them new.
    private func forget(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        try inPortions(
            selection, [.rejected], Outbox.isGivenUp(Outbox.discardedReason), .requeued,
            "a person wants back what was discarded"
        ) { connection, ids in
            // Done in each portion, so that the removed samples are read again even if this ends
            // early.
            try connection.run("DELETE FROM sources")
            try connection.run("DELETE FROM segment_marks")
            // A reading does not merge a day again unless a source's contribution has changed.
            try mergeAllDaysAgain(connection)
            let removed = try connection.change("DELETE FROM outbox WHERE id IN (\(ids))")
            try countRemoved(removed, connection)
        }
    }

    /// Changes the selected samples in portions, each with its entry in the audit log, until none
    /// is left.
    ///
    /// - Parameter change: gets a query for the ids of the rows.
    private func inPortions(
        _ selection: OutboxSelection, _ states: [OutboxState], _ condition: String,
        _ action: AuditAction, _ detail: String,
        _ change: (Connection, _ ids: String) throws -> Void
    ) throws(HealthStoreError) -> Int64 {
        try store.change(inPortionsOf: Outbox.portion) { connection in
            let (sql, values) = selection.condition(in: states)
            var ids: [Int64] = []
            var kinds: [String: Int64] = [:]
            try connection.forEach(
                "SELECT id, kind FROM samples WHERE \(sql) AND \(condition) LIMIT ?",
                values + [.integer(Outbox.portion)]
            ) { row in
                ids.append(row.integer(0))
                kinds[row.text(1), default: 0] += 1
            }
            guard !ids.isEmpty else { return 0 }
            try connection.execute(
                "CREATE TEMP TABLE IF NOT EXISTS meant (id INTEGER PRIMARY KEY);"
                    + "DELETE FROM meant;")
            for id in ids {
                try connection.run("INSERT INTO meant (id) VALUES (?)", .integer(id))
            }
            try change(connection, "SELECT id FROM meant")
            try store.audit.record(action, kinds, detail: detail, connection)
            return Int64(ids.count)
        }
    }
}
