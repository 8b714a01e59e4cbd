import ClarityScheduler
import SQLite

// What a person wants done with samples that did not arrive.

extension HealthStore {
    /// What is said of a sample that a person gave up.
    public static var discardedReason: String { "discarded by a person" }

    /// Where samples are that a person may have sent again.
    public static var retriable: [OutboxState] { [.rejected, .setAside, .unconfirmed] }
    /// Where samples are that a person may give up: what the backend may have is not theirs.
    public static var discardable: [OutboxState] { [.queued, .rejected, .setAside] }

    private static let portion: Int64 = 5000

    static func isDiscarded(_ isWanted: Bool) -> String {
        "coalesce(reason, '') \(isWanted ? "=" : "<>") '\(discardedReason)'"
    }

    /// What `retry` would bring back: of what was discarded only what is named as such.
    public func retryShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try access { connection in
            try shares(
                selection, in: HealthStore.retriable,
                and: HealthStore.isDiscarded(selection.meansDiscarded), connection)
        }
    }

    /// Of what `retry` would bring back: how many samples the backend has or may have, and of how many
    /// it would then have one copy more.
    public func retryCost(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> (there: Int64, doubled: Int64) {
        try access { connection in
            let (sql, values) = selection.condition(in: HealthStore.retriable)
            var cost: (there: Int64, doubled: Int64) = (0, 0)
            try connection.forEach(
                """
                SELECT count(*), coalesce(sum(doubts > 0 OR sends > 0), 0) FROM (
                    SELECT doubts, state, coalesce(
                        (SELECT sends FROM batches WHERE id = batch_id), 0) AS sends
                    FROM outbox WHERE \(sql)
                        AND \(HealthStore.isDiscarded(selection.meansDiscarded)))
                WHERE doubts > 0 OR sends > 0 OR state = 'unconfirmed'
                """, values
            ) { cost = ($0.integer(0), $0.integer(1)) }
            return cost
        }
    }

    /// What `discard` would give up.
    public func discardShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try access { connection in
            try shares(
                selection, in: HealthStore.discardable, and: HealthStore.isDiscarded(false),
                connection)
        }
    }

    /// Puts samples that are `rejected`, `setAside` or `unconfirmed` back into the queue, without
    /// their failures.
    ///
    /// What is `unconfirmed` was taken once; where sending again doubles, it is then possibly doubled.
    /// What was discarded comes back only when the selection names it by its reason: its value is gone,
    /// so that it is forgotten, and all sources are read once more.
    ///
    /// - Returns: how many.
    public func retry(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        if selection.meansDiscarded { return try forget(selection) }
        return try inPortions(
            selection, HealthStore.retriable, HealthStore.isDiscarded(false), .requeued,
            "sent again by a person"
        ) { connection, ids in
            try connection.forEach(
                """
                UPDATE outbox SET state = 'queued', failures = 0, batch_id = NULL, reason = NULL,
                    hold = NULL, doubts = doubts + coalesce(
                        (SELECT min(sends, 1) FROM batches WHERE id = batch_id), 0)
                WHERE id IN (\(ids))
                """
            ) { _ in }
            try connection.forEach("DELETE FROM server_words WHERE id IN (\(ids))") { _ in }
        }
    }

    /// Gives up samples that are `queued`, `rejected` or `setAside`: their values are removed, and they
    /// stay known, so that no later export brings them back.
    ///
    /// A day or a night of which a later export has another value is another sample.
    ///
    /// - Returns: how many.
    public func discard(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        try inPortions(
            selection, HealthStore.discardable, HealthStore.isDiscarded(false), .removed,
            HealthStore.discardedReason
        ) { connection, ids in
            let rows = try connection.all(
                "SELECT id, kind, start_s, end_s, tag FROM outbox WHERE id IN (\(ids))"
            ) {
                (
                    $0.integer(0),
                    SampleRow(
                        kind: $0.text(1), start: $0.integer(2), end: $0.integer(3), tag: $0.blob(4))
                )
            }
            for (id, row) in rows {
                // Sealed like a value, so that the file does not tell and the key can be changed.
                try connection.run(
                    """
                    UPDATE outbox SET state = 'rejected', failures = 0, hold = NULL, reason = ?,
                        sealed = ? WHERE id = ?
                    """, .text(HealthStore.discardedReason),
                    .blob(sealer.seal([], for: row.identity)), .integer(id))
            }
            try connection.forEach("DELETE FROM server_words WHERE id IN (\(ids))") { _ in }
        }
    }

    /// Forgets what was discarded, so that the next reading of its source finds it new.
    private func forget(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        try inPortions(
            selection, [.rejected], HealthStore.isDiscarded(true), .requeued,
            "a person wants back what was discarded"
        ) { connection, ids in
            // With each portion: whatever ends this early, what is gone is read again.
            try connection.run("DELETE FROM sources")
            // A reading makes no day anew of which no source says anything else.
            try mergeAllDaysAgain(connection)
            try connection.forEach("DELETE FROM outbox WHERE id IN (\(ids))") { _ in }
            try countRemoved(Int64(connection.changes), connection)
        }
    }

    /// Changes what is meant in portions, each with its entry of the audit log, until nothing is left.
    ///
    /// - Parameter change: gets the rows' numbers as SQL has them.
    private func inPortions(
        _ selection: OutboxSelection, _ states: [OutboxState], _ condition: String,
        _ action: AuditAction, _ detail: String,
        _ change: (Connection, _ ids: String) throws -> Void
    ) throws(HealthStoreError) -> Int64 {
        var total: Int64 = 0
        while true {
            let count: Int64 = try self.change { connection in
                let (sql, values) = selection.condition(in: states)
                var ids: [Int64] = []
                var kinds: [String: Int64] = [:]
                try connection.forEach(
                    "SELECT id, kind FROM outbox WHERE \(sql) AND \(condition) LIMIT ?",
                    values + [.integer(HealthStore.portion)]
                ) { row in
                    ids.append(row.integer(0))
                    kinds[row.text(1), default: 0] += 1
                }
                guard !ids.isEmpty else { return 0 }
                try connection.execute(
                    "CREATE TEMP TABLE IF NOT EXISTS meant (id INTEGER PRIMARY KEY);"
                        + "DELETE FROM temp.meant;")
                for id in ids {
                    try connection.run("INSERT INTO temp.meant (id) VALUES (?)", .integer(id))
                }
                try change(connection, "SELECT id FROM temp.meant")
                try record(action, kinds, detail: detail, connection)
                return Int64(ids.count)
            }
            total += count
            if count < HealthStore.portion { return total }
        }
    }
}
