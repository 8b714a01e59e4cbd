import Database

// A person's actions on samples that did not arrive.

extension Outbox {
    /// The reason given for a sample that a person discarded.
    public static var discardedReason: String { "discarded by a person" }
    /// The entry of the audit log for samples that a person sends again.
    static let resentReason = "sent again by a person"
    /// The reason given for samples that the backend accepted and does not have.
    public static var unknownReason: String {
        "the backend does not know the upload, or not any more"
    }

    /// The states of samples that wait for a person, who can put them back into the queue.
    public static var retriable: [OutboxState] { [.rejected, .setAside, .unconfirmed] }

    /// The states from which a selection puts samples back into the queue. Stored samples must be
    /// named, by their state or their numbers, because the backend has them.
    static func retriable(_ selection: OutboxSelection) -> [OutboxState] {
        let meansStored = selection.state == .stored || !selection.ids.isEmpty
        return retriable + (meansStored ? [.stored] : [])
    }
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
        let reason =
            selection.meansDiscarded
            ? discardedReason : selection.meansErased ? erasedReason : nil
        return "sealed IS NOT NULL AND \(isGivenUp(reason))"
    }

    /// Counts the samples that `retry` would put back into the queue. Discarded and erased samples
    /// count only if the selection names them.
    public func retryShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try store.access { connection in
            try shares(
                selection, in: Outbox.retriable(selection), and: Outbox.isRetried(selection),
                connection) + packedShares(selection, connection)
        }
    }

    /// Counts the selected samples by state, whatever a person can do with them.
    public func stateShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try store.access { connection in
            try shares(selection, in: OutboxState.allCases, and: "true", connection)
        }
    }

    /// What sending samples again may come to at the backend.
    public struct RetryCost: Hashable, Sendable {
        /// The samples that the backend has or may have.
        public var there: Int64 = 0
        /// Those of which it could then store one more copy.
        public var doubled: Int64 = 0
        /// The samples that the backend said it does not have.
        public var unknown: Int64 = 0
    }

    /// Counts, among the samples that `retry` would put back into the queue, those that the backend
    /// has or may have, and those that it does not have.
    public func retryCost(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> RetryCost {
        try store.access { connection in
            let (sql, values) = selection.condition(in: Outbox.retriable(selection))
            var cost = RetryCost()
            try connection.forEach(
                """
                SELECT coalesce(sum(sends > 0 OR state = 'unconfirmed' AND NOT is_unknown), 0),
                    coalesce(sum(sends > 0), 0), coalesce(sum(is_unknown AND sends = 0), 0)
                FROM (SELECT state, doubts + \(Outbox.answeredSends) AS sends,
                        state = 'unconfirmed' AND coalesce(reason, '') = '\(Outbox.unknownReason)'
                            AS is_unknown
                    FROM samples WHERE \(sql) AND \(Outbox.isRetried(selection))) AS chosen
                """, values
            ) {
                cost = RetryCost(
                    there: $0.integer(0), doubled: $0.integer(1), unknown: $0.integer(2))
            }
            let packed = try packedShares(selection, connection).reduce(0) { $0 + $1.count }
            cost.there += packed
            cost.doubled += packed
            return cost
        }
    }

    /// The sends of a sample's batch that may be stored, as an SQL expression; 0 if the backend
    /// said that it does not have the upload.
    private static let answeredSends = """
        coalesce((SELECT CASE reason WHEN '\(Outbox.unknownReason)' THEN 0 ELSE min(sends, 1) END
            FROM batches WHERE id = batch_id), 0)
        """

    /// Counts the samples that `discard` would discard.
    public func discardShares(
        _ selection: OutboxSelection
    ) throws(HealthStoreError) -> [OutboxShare] {
        try store.access { connection in
            try shares(selection, in: Outbox.discardable, and: Outbox.isGivenUp(nil), connection)
        }
    }

    /// Puts samples that are `rejected`, `setAside` or `unconfirmed` back into the queue and resets
    /// their failures; also `stored` ones that the selection names by their state or numbers.
    ///
    /// The backend accepted an `unconfirmed` sample once, and has a `stored` one. If it does not
    /// deduplicate, it may then store the sample twice. Discarded and erased samples come back only
    /// if the selection names them by their reason. The values of discarded ones are gone, so their
    /// rows are removed and all sources are read once more.
    ///
    /// - Returns: how many samples.
    public func retry(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        if selection.meansDiscarded { return try forget(selection) }
        let unpacked = try unpackStored(selection)
        return try unpacked
            + inPortions(
                selection, Outbox.retriable(selection), Outbox.isRetried(selection), .requeued,
                Outbox.resentReason
            ) { connection, ids in
                try connection.run(
                    """
                    UPDATE outbox SET state = 'queued', failures = 0, batch_id = NULL, reason = NULL,
                        hold = NULL, doubts = doubts + \(Outbox.answeredSends)
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
                    .blob(cipher.encrypt([], for: row.identity)), .integer(row.id))
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
            // A reading does not merge a day again unless a source's partial aggregate has changed.
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
