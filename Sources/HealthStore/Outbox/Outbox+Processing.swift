import HealthModel
public import ClarityScheduler
import Database

// How accepted uploads end.

extension Outbox {
    /// Returns the uploads whose processing has not ended, and those that were given up after the
    /// backend had last said `received`, oldest first.
    public func openUploads() throws(HealthStoreError) -> [OpenUpload] {
        try store.all(
            """
            SELECT id, processing_id, accepted_at_ms, route,
                (SELECT count(*) FROM outbox
                 WHERE batch_id = batches.id AND state = 'batched'), state
            FROM batches WHERE state = 'accepted'
                OR state = 'unconfirmed' AND last_word LIKE 'received%'
                    AND processing_id IS NOT NULL AND accepted_at_ms IS NOT NULL
            ORDER BY id
            """
        ) {
            OpenUpload(
                id: $0.integer(0), processingID: $0.text(1),
                acceptedAt: $0.instant(2),
                route: UploadRoute(rawValue: $0.text(3)) ?? .metrics,
                sampleCount: $0.integer(4), isGivenUp: $0.text(5) == "unconfirmed")
        }
    }

    /// Marks the samples of an upload as `confirmed`, because the backend has processed it.
    ///
    /// - Returns: how many samples changed; `nil` if the upload had ended already. `store` and
    ///   `giveUp` return the same.
    @discardableResult
    public func confirm(
        _ upload: OpenUpload, at now: Instant
    ) throws(HealthStoreError) -> Int64? {
        try finish(upload, as: .confirmed, reason: nil, at: now)
    }

    /// Marks the samples of an upload as `stored`, because the backend has it and says no more.
    @discardableResult
    public func store(
        _ upload: OpenUpload, at now: Instant
    ) throws(HealthStoreError) -> Int64? {
        try finish(upload, as: .stored, reason: nil, at: now)
    }

    /// Marks the samples of an upload as `unconfirmed`, because the backend never said what became
    /// of it.
    @discardableResult
    public func giveUp(
        _ upload: OpenUpload, reason: String, at now: Instant
    ) throws(HealthStoreError) -> Int64? {
        try finish(upload, as: .unconfirmed, reason: reason, at: now)
    }

    /// Puts the samples of an upload that the backend could not process back into the queue. Each
    /// has one more failure, and at 5 failures it is set aside.
    ///
    /// If the backend does not deduplicate, it may have stored the samples although it did not
    /// process them, so they also count as in doubt.
    ///
    /// - Returns: what became of the samples.
    public func returnToQueue(
        _ upload: OpenUpload, reason: String, at now: Instant
    ) throws(HealthStoreError) -> SentBack {
        try store.change { connection in
            guard try isOpen(upload, connection) else { return SentBack() }
            try connection.run(
                """
                UPDATE outbox SET doubts = doubts + 1 WHERE batch_id = ? AND state = 'batched'
                    AND (SELECT sends FROM batches WHERE id = batch_id) > 0
                """, .integer(upload.id))
            try connection.run(
                """
                UPDATE outbox SET processing_failed = 1 WHERE batch_id = ? AND state = 'batched'
                """, .integer(upload.id))
            return try sendBack(upload.id, from: .accepted, reason, at: now, connection)
        }
    }

    private func finish(
        _ upload: OpenUpload, as state: OutboxState, reason: String?, at now: Instant
    ) throws(HealthStoreError) -> Int64? {
        try store.change { connection in
            guard try isOpen(upload, connection) else { return nil }
            try finishBatch(upload.id, as: state.rawValue, reason: reason, at: now, connection)
            return try memberCount(of: upload.id, connection)
        }
    }

    private func isOpen(_ upload: OpenUpload, _ connection: Connection) throws -> Bool {
        try connection.integer(
            "SELECT state = ? FROM batches WHERE id = ?",
            .text(upload.isGivenUp ? "unconfirmed" : "accepted"), .integer(upload.id)) == 1
    }
}
