public import HealthModel
public import ClarityScheduler
import Database

// Samples that the rules of clarity-jobs keep back, and how they return to the queue.

extension Outbox {
    /// The changes that `sortOut` made.
    public struct Sorting: Hashable, Sendable {
        /// The number of samples that were kept back before and may be sent now.
        public var requeued: Int64 = 0
        /// The samples that may not be sent now, with the number of each.
        public var refused: RefusalCounts = [:]
    }

    /// The most rows that change in one transaction.
    private static var portion: Int64 { 10_000 }

    /// Puts samples that the rules now accept back into the queue, and sets aside every queued
    /// sample of a kind that they do not accept.
    ///
    /// Such a sample is not rejected: nothing is wrong with it, and another route or version of the
    /// backend may have a field for it. It stays counted where a person sees it, and returns to the
    /// queue without anybody's help. Changes are committed in portions of 10,000. After an error or
    /// a kill, the same call does the rest.
    ///
    /// - Parameter endpoints: the endpoint of every route. The first one for new batches that
    ///   accepts a kind applies to it.
    public func sortOut(
        by endpoints: [UploadEndpoint], at now: Instant
    ) throws(HealthStoreError) -> Sorting {
        var sorting = Sorting()
        let endpoints = endpoints.filter(\.takesNew)
        guard !endpoints.isEmpty else { return sorting }
        let held = try kindsHeld()
        for kind in SampleKind.allCases {
            if !endpoints.contains(where: { $0.metricType(of: kind) != nil }) {
                let refusal = UploadRefusal.kindNotAccepted
                let count = try inPortions(
                    """
                    UPDATE outbox SET state = 'setAside', hold = 'kind', reason = ?
                    WHERE id IN (
                        SELECT id FROM outbox WHERE \(Outbox.isAlone(.queued)) AND kind = ? LIMIT ?)
                    """, .text(refusal.description), .text(kind.rawValue))
                if count > 0 { sorting.refused[refusal, default: [:]][kind] = count }
            } else if held.contains(kind.rawValue) {
                sorting.requeued += try inPortions(
                    """
                    UPDATE outbox SET state = 'queued', hold = NULL, reason = NULL
                    WHERE id IN (SELECT id FROM outbox WHERE hold = 'kind' AND kind = ? LIMIT ?)
                    """, .text(kind.rawValue))
            }
        }
        sorting.requeued += try checkAnew(.outOfRange, endpoints, at: now)
        sorting.requeued += try checkAnew(.inFuture, endpoints, at: now)
        return sorting
    }

    /// Returns the kinds of which samples are kept back because the backend takes none.
    private func kindsHeld() throws(HealthStoreError) -> Set<String> {
        try store.access { connection in
            var kinds: Set<String> = []
            var last = ""
            // From one kind to the next by the index: many samples may be kept back of each.
            while let next = try connection.first(
                "SELECT kind FROM outbox WHERE hold = 'kind' AND kind > ? ORDER BY kind LIMIT 1",
                .text(last), map: { $0.text(0) })
            {
                kinds.insert(next)
                last = next
            }
            return kinds
        }
    }

    /// Puts samples that were kept back for their value or date back into the queue, if the rules
    /// now accept them.
    private func checkAnew(
        _ refusal: UploadRefusal, _ endpoints: [UploadEndpoint], at now: Instant
    ) throws(HealthStoreError) -> Int64 {
        var requeued: Int64 = 0
        var last: Int64 = 0
        while true {
            let next: Int64? = try store.change { connection in
                let rows = try connection.all(
                    """
                    SELECT \(SampleRow.Column.list) FROM outbox
                    WHERE hold = ? AND id > ? ORDER BY id LIMIT ?
                    """, .text(refusal.rule), .integer(last), .integer(Outbox.portion),
                    map: SampleRow.init)
                for row in rows {
                    guard let sample = row.opened(cipher),
                        let endpoint = endpoints.first(where: {
                            $0.metricType(of: sample.kind) != nil
                        }), endpoint.refusal(of: sample, at: now) == nil
                    else { continue }
                    try connection.run(
                        """
                        UPDATE outbox SET state = 'queued', hold = NULL, reason = NULL WHERE id = ?
                        """, .integer(row.id))
                    requeued += 1
                }
                return rows.last?.id
            }
            guard let next else { return requeued }
            last = next
        }
    }

    private func inPortions(
        _ sql: String, _ values: Value...
    ) throws(HealthStoreError) -> Int64 {
        try store.change(inPortionsOf: Outbox.portion) { connection in
            try connection.change(sql, with: values + [.integer(Outbox.portion)])
        }
    }

    /// Sets the samples of a batch in doubt aside for a person instead of resending them.
    ///
    /// - Returns: the samples that are set aside, with the number of each.
    public func hold(
        _ batch: OutboxBatch, at now: Instant
    ) throws(HealthStoreError) -> RefusalCounts {
        try store.change { connection in
            guard try isSending(batch, connection) else { return [:] }
            return try hold(batch.id, connection, at: now)
        }
    }

    /// Sets the samples of a batch aside if an earlier send may have arrived and the rules do not
    /// resend.
    ///
    /// - Returns: the samples that are set aside, with the number of each; empty if the batch is to
    ///   be sent.
    func hold(
        _ id: Int64, _ endpoint: UploadEndpoint, _ connection: Connection, at now: Instant
    ) throws -> RefusalCounts {
        guard !endpoint.resends else { return [:] }
        let sends = try connection.integer("SELECT sends FROM batches WHERE id = ?", .integer(id))
        return sends ?? 0 > 0 ? try hold(id, connection, at: now) : [:]
    }

    private func hold(
        _ id: Int64, _ connection: Connection, at now: Instant
    ) throws -> RefusalCounts {
        let refusal = UploadRefusal.inDoubt
        var held: [SampleKind: Int64] = [:]
        for member in try members(of: id, connection) {
            held[member.sample.kind, default: 0] += 1
        }
        try record(.sent, batch: id, detail: "nobody answered", connection)
        try carryPossibleSends(of: id, lastArrived: true, connection)
        try connection.run(
            """
            UPDATE outbox SET state = 'setAside', hold = 'doubt', reason = ?, batch_id = NULL
            WHERE batch_id = ? AND state = 'batched'
            """, .text(refusal.description), .integer(id))
        try finishBatch(id, as: "failed", reason: refusal.description, at: now, connection)
        return held.isEmpty ? [:] : [refusal: held]
    }

    func keepBack(_ row: Int64, _ refusal: UploadRefusal, _ connection: Connection) throws {
        try connection.run(
            """
            UPDATE outbox SET state = ?, hold = ?, reason = ?, batch_id = NULL WHERE id = ?
            """, .text((refusal.isRejection ? OutboxState.rejected : .setAside).rawValue),
            .text(refusal.rule), .text(refusal.description), .integer(row))
    }

    /// Returns whether an existing batch keeps to the current rules. If it does not, the samples
    /// that the rules refuse are kept back.
    func stays(
        _ id: Int64, _ endpoint: UploadEndpoint, _ draw: inout OutboxDraw, _ connection: Connection,
        at now: Instant
    ) throws -> Bool {
        let members = try members(of: id, connection)
        guard !members.isEmpty, !endpoint.fits(members.map(\.sample), at: now) else { return true }
        try carryPossibleSends(of: id, lastArrived: true, connection)
        for member in members {
            guard let refusal = endpoint.refusal(of: member.sample, at: now) else { continue }
            try keepBack(member.row, refusal, connection)
            draw.refused.count(member.sample.kind, refusal)
        }
        try connection.run("UPDATE batches SET sends = 0 WHERE id = ?", .integer(id))
        return false
    }

    /// Puts the samples of a batch back into the queue, as `requeue` does; an earlier send of it
    /// may have arrived.
    func dissolve(_ id: Int64, _ reason: String, _ connection: Connection, at now: Instant) throws {
        let attempts = try connection.integer(
            "SELECT attempts FROM batches WHERE id = ?", .integer(id))
        if attempts ?? 0 > 0 {
            try record(.sent, batch: id, detail: "nobody answered", connection)
        }
        try carryPossibleSends(of: id, lastArrived: true, connection)
        try requeue(id, reason, connection, at: now)
    }

    /// Ends a batch whose samples go back into the queue as they were, except for values that a
    /// later one has followed (`retireFollowed`).
    func requeue(_ id: Int64, _ reason: String, _ connection: Connection, at now: Instant) throws {
        _ = try retireFollowed(in: id, connection)
        try connection.run(
            """
            UPDATE outbox SET state = 'queued', batch_id = NULL
            WHERE batch_id = ? AND state = 'batched'
            """, .integer(id))
        try finishBatch(id, as: "failed", reason: reason, at: now, connection)
    }

    // How accepted uploads end.

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
