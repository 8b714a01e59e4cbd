import HealthModel
public import ClarityScheduler
import Database

// How a batch is settled after it was sent. Nothing here touches a batch that another attempt has
// taken over or settled in the meantime. Each sample keeps the number of its sends that may have
// arrived without an answer, wherever it goes.

extension Outbox {
    /// Settles a batch that the backend accepted.
    ///
    /// Samples that the backend already had become `confirmed`, unless it said last that it could
    /// not process them. Those go back into the queue with one more failure, and at 5 failures they
    /// are set aside. Samples that it refused become `rejected` with the reason. The others become
    /// `stored` if the answer proves that, else `accepted` until their processing ends, or
    /// `unconfirmed` if there is no `processingID` to ask about. Indices are those of
    /// `batch.samples`; others are ignored.
    ///
    /// - Parameter words: what the backend said about samples that it refused.
    /// - Returns: how many rows changed.
    @discardableResult
    public func settle(
        _ taken: TakenBatch, duplicates: [Int] = [], rejected: [Int: String] = [:],
        words: [Int: String] = [:], at now: Instant
    ) throws(HealthStoreError) -> Settlement {
        try store.change { connection in
            try settle(
                taken, duplicates: duplicates, rejected: rejected, words: words, connection,
                at: now)
        }
    }

    /// Settles batches of which the backend took every sample, in one transaction.
    public func settle(
        _ taken: [TakenBatch], at now: Instant
    ) throws(HealthStoreError) -> [Settlement] {
        try store.change { connection in
            try taken.map { try settle($0, connection, at: now) }
        }
    }

    /// As the first one, for an answer that does not prove that the samples are stored.
    @discardableResult
    public func settle(
        _ batch: OutboxBatch, processingID: String?, duplicates: [Int] = [],
        rejected: [Int: String] = [:], words: [Int: String] = [:], at now: Instant
    ) throws(HealthStoreError) -> Settlement {
        try settle(
            TakenBatch(batch, processingID: processingID), duplicates: duplicates,
            rejected: rejected, words: words, at: now)
    }

    func settle(
        _ taken: TakenBatch, duplicates: [Int] = [], rejected: [Int: String] = [:],
        words: [Int: String] = [:], _ connection: Connection, at now: Instant
    ) throws -> Settlement {
        let batch = taken.batch
        guard try isSending(batch, connection) else { return Settlement() }
        let isCarried = try carryPossibleSends(of: batch.id, lastArrived: false, connection)
        try record(.sent, batch, detail: "the backend took it", connection)
        var settlement = try settleNamed(batch, duplicates, rejected, words, connection)
        if batch.hasFailedProcessing {
            try connection.run(
                """
                UPDATE outbox SET processing_failed = 0
                WHERE batch_id = ? AND state = 'batched' AND processing_failed = 1
                """, .integer(batch.id))
        }
        settlement.accepted = try memberCount(of: batch.id, connection)
        if settlement.accepted + settlement.known + settlement.rejected == 0 {
            try finishBatch(
                batch.id, as: "failed", reason: Outbox.failedReason, at: now, connection)
        } else if settlement.accepted == 0 {
            try finishBatch(batch.id, as: "confirmed", reason: nil, at: now, connection)
        } else if let processingID = taken.processingID {
            try connection.run(
                """
                UPDATE batches SET state = 'accepted', processing_id = ?, accepted_at_ms = ?
                WHERE id = ?
                """,
                .text(processingID), .instant(now), .integer(batch.id))
            if taken.isStored {
                try finishBatch(batch.id, as: "stored", reason: nil, at: now, connection)
            }
        } else {
            try finishBatch(
                batch.id, as: "unconfirmed", reason: "the backend named no processing", at: now,
                connection)
        }
        // The answered send stays counted, in case the samples are sent again.
        try connection.run(
            "UPDATE batches SET sends = min(sends, 1) WHERE id = ? AND sends > 1",
            .integer(batch.id))
        if isCarried || batch.isInDoubt {
            settlement.doubled =
                try connection.integer(
                    "SELECT count(*) FROM outbox WHERE batch_id = ? AND doubts > 0",
                    .integer(batch.id)) ?? 0
        }
        return settlement
    }

    /// Records that the batch surely did not arrive this time. It stays as it is and is sent again.
    ///
    /// A batch that may have arrived needs no call: the send was recorded before it began.
    public func notArrived(_ batch: OutboxBatch) throws(HealthStoreError) {
        try store.change { connection in
            guard try isSending(batch, connection) else { return }
            try connection.run(
                "UPDATE batches SET sends = max(0, sends - 1) WHERE id = ?", .integer(batch.id))
        }
    }

    /// Puts the samples of a batch back into the queue after the batch was stopped on its way,
    /// perhaps because of its size.
    ///
    /// They stay as they were, except for values that a later one has followed (`retireFollowed`).
    /// The next batch has the size that is wanted then.
    public func putBack(
        _ batch: OutboxBatch, reason: String, at now: Instant
    ) throws(HealthStoreError) {
        try store.change { connection in
            guard try isSending(batch, connection) else { return }
            try carryPossibleSends(of: batch.id, lastArrived: false, connection)
            try record(.sent, batch, detail: "it was stopped on its way", connection)
            try requeue(batch.id, reason, connection, at: now)
        }
    }

    /// Settles a batch that the backend refused because of samples that it named.
    ///
    /// Those samples become `rejected`. The others go into a new batch that is sent next.
    ///
    /// - Returns: how many rows changed.
    @discardableResult
    public func refuse(
        _ batch: OutboxBatch, _ rejected: [Int: String], words: [Int: String] = [:], at now: Instant
    ) throws(HealthStoreError) -> Settlement {
        try store.change { connection in
            guard try isSending(batch, connection) else { return Settlement() }
            try carryPossibleSends(of: batch.id, lastArrived: false, connection)
            try record(.sent, batch, detail: "the backend refused some", connection)
            let settlement = try settleNamed(batch, [], rejected, words, connection)
            try regroup([try sending(batch, connection)], batch, connection, at: now)
            try finishBatch(
                batch.id, as: "failed", reason: "refused for some of its samples", at: now,
                connection)
            return settlement
        }
    }

    /// Splits a batch that the backend refused, wholly or in part, without naming every sample at
    /// fault.
    ///
    /// The samples that it named are settled as by `settle`. The halves of the rest become new
    /// batches that are sent next. A sample that is refused alone becomes `rejected` with `reason`.
    /// A batch of n with one bad sample therefore takes at most 2 log2(n) + 1 more requests.
    ///
    /// - Parameters:
    ///   - mayHaveArrived: whether the backend may have stored some of the rest.
    ///   - wordsOfAll: what the backend said about the batch; stored for a sample that is refused
    ///     alone.
    /// - Returns: how many rows changed.
    @discardableResult
    public func split(
        _ batch: OutboxBatch, duplicates: [Int] = [], rejected: [Int: String] = [:],
        words: [Int: String] = [:], mayHaveArrived: Bool = false, wordsOfAll: String? = nil,
        reason: String, at now: Instant
    ) throws(HealthStoreError) -> Settlement {
        try store.change { connection in
            guard try isSending(batch, connection) else { return Settlement() }
            try carryPossibleSends(of: batch.id, lastArrived: mayHaveArrived, connection)
            try record(.sent, batch, detail: "the backend refused some", connection)
            var settlement = try settleNamed(batch, duplicates, rejected, words, connection)
            let rest = try sending(batch, connection)
            if batch.rows.count == 1 {
                for row in rest {
                    settlement.rejected += try reject(row, reason, connection)
                    if let wordsOfAll { try storeWords(wordsOfAll, of: row, connection) }
                }
            } else {
                let middle = (rest.count + 1) / 2
                try regroup(
                    [Array(rest[..<middle]), Array(rest[middle...])], batch, connection, at: now)
            }
            try finishBatch(batch.id, as: "failed", reason: reason, at: now, connection)
            return settlement
        }
    }

    /// Puts the samples of a failed batch, which may be the cause, back into the queue. Each has
    /// one more failure, and at 5 failures it is set aside.
    ///
    /// Do not call it for a network failure: then the batch stays as it is and is sent again.
    ///
    /// - Parameters:
    ///   - mayHaveArrived: whether the backend may have stored the batch all the same.
    ///   - words: what the backend said; stored for the samples that are set aside.
    /// - Returns: how many samples were set aside.
    public func release(
        _ batch: OutboxBatch, mayHaveArrived: Bool = false, words: String? = nil, reason: String,
        at now: Instant
    ) throws(HealthStoreError) -> Int64 {
        try store.change { connection in
            guard try isSending(batch, connection) else { return 0 }
            try carryPossibleSends(of: batch.id, lastArrived: mayHaveArrived, connection)
            let setAside =
                try sendBack(batch.id, from: .sending, reason, at: now, connection).setAside
            guard let words, setAside > 0 else { return setAside }
            for row in batch.rows where try isGivenUp(row, connection) {
                try storeWords(words, of: row, connection)
            }
            return setAside
        }
    }

    /// Whether a sample is set aside because of its failures.
    private func isGivenUp(_ row: Int64, _ connection: Connection) throws -> Bool {
        try connection.integer(
            "SELECT 1 FROM outbox WHERE id = ? AND state = 'setAside' AND failures >= ?",
            .integer(row), .integer(Int64(OutboxState.failureLimit))) != nil
    }

    /// Releases every batch that no other living attempt is sending, as `release` does one batch.
    ///
    /// - Parameter answered: the batch whose last send was refused.
    /// - Returns: how many samples were set aside.
    public func releaseAll(
        answered: OutboxBatch, reason: String, at now: Instant
    ) throws(HealthStoreError) -> Int64 {
        try store.change { connection in
            guard try isSending(answered, connection) else { return 0 }
            let batches = try connection.all(
                "SELECT id, owner FROM batches WHERE state = 'sending' ORDER BY id"
            ) { ($0.integer(0), $0.optionalInteger(1)) }
            .filter { try $0.1 == answered.owner || !store.isSent(by: $0.1, connection) }
            .map(\.0)
            var setAside: Int64 = 0
            for batch in batches {
                try carryPossibleSends(of: batch, lastArrived: batch != answered.id, connection)
                let sentBack = try sendBack(batch, from: .sending, reason, at: now, connection)
                setAside += sentBack.setAside
            }
            return setAside
        }
    }

    /// What became of the samples of a failed batch.
    public struct SentBack: Hashable, Sendable {
        /// The samples that wait to be sent again.
        public var requeued: Int64 = 0
        /// The samples that wait for a person.
        public var setAside: Int64 = 0
        /// The samples that were removed because a later value has followed them.
        public var removed: Int64 = 0
    }

    func sendBack(
        _ batch: Int64, from state: OutboxState, _ reason: String, at now: Instant,
        _ connection: Connection
    ) throws -> SentBack {
        if state == .sending {
            try record(.sent, batch: batch, detail: "the backend did not settle it", connection)
        }
        var sentBack = SentBack()
        (sentBack.removed, sentBack.setAside) = try retireFollowed(in: batch, connection)
        sentBack.setAside += try connection.change(
            """
            UPDATE outbox SET failures = failures + 1, reason = ?, batch_id = NULL,
                state = 'setAside'
            WHERE batch_id = ? AND state = 'batched' AND failures + 1 >= ?
            """, .text(reason), .integer(batch), .integer(Int64(OutboxState.failureLimit)))
        sentBack.requeued = try connection.change(
            """
            UPDATE outbox SET failures = failures + 1, reason = ?, batch_id = NULL,
                state = 'queued'
            WHERE batch_id = ? AND state = 'batched'
            """, .text(reason), .integer(batch))
        try finishBatch(batch, as: "failed", reason: reason, at: now, connection)
        return sentBack
    }

    func finishBatch(
        _ id: Int64, as state: String, reason: String?, at now: Instant, _ connection: Connection
    ) throws {
        try connection.run(
            "UPDATE batches SET state = ?, reason = ?, finished_at_ms = ? WHERE id = ?",
            .text(state), .text(reason), .instant(now), .integer(id))
    }

    /// Records the result of a batch, within the transaction that settles it and before its samples
    /// leave it.
    func record(
        _ action: AuditAction, batch: Int64, detail: String, _ connection: Connection
    ) throws {
        let counts = try connection.counts(
            "SELECT kind, count(*) FROM outbox WHERE batch_id = ? GROUP BY kind", .integer(batch))
        try store.audit.record(action, counts, detail: detail, connection)
    }

    /// Records the result of a batch whose samples are at hand.
    private func record(
        _ action: AuditAction, _ batch: OutboxBatch, detail: String, _ connection: Connection
    ) throws {
        let counts = batch.samples.reduce(into: [String: Int64]()) {
            $0[$1.kind.rawValue, default: 0] += 1
        }
        try store.audit.record(action, counts, detail: detail, connection)
    }

    /// Adds the unanswered sends of a batch to each of its samples, because the samples leave the
    /// batch or its last send was answered.
    ///
    /// - Parameter lastArrived: whether the last send counts too: it may have arrived, and no
    ///   answer settled it.
    /// - Returns: whether there were any.
    @discardableResult
    func carryPossibleSends(
        of batch: Int64, lastArrived: Bool, _ connection: Connection
    ) throws -> Bool {
        let sends =
            try connection.integer("SELECT sends FROM batches WHERE id = ?", .integer(batch)) ?? 0
        let possible = lastArrived ? sends : sends - 1
        guard possible > 0 else { return false }
        try connection.run(
            "UPDATE outbox SET doubts = doubts + ? WHERE batch_id = ? AND state = 'batched'",
            .integer(possible), .integer(batch))
        return true
    }

    /// Whether this send of the batch is still the last one and has not been settled.
    func isSending(_ batch: OutboxBatch, _ connection: Connection) throws -> Bool {
        try connection.integer(
            """
            SELECT state = 'sending' AND owner IS NOT DISTINCT FROM ? AND attempts = ?
            FROM batches WHERE id = ?
            """, .integer(batch.owner), .integer(Int64(batch.attempts)), .integer(batch.id)) == 1
    }

    /// Settles the samples that an answer names.
    private func settleNamed(
        _ batch: OutboxBatch, _ duplicates: [Int], _ rejected: [Int: String],
        _ words: [Int: String], _ connection: Connection
    ) throws -> Settlement {
        var settlement = Settlement()
        for (index, reason) in rejected where batch.rows.indices.contains(index) {
            guard try reject(batch.rows[index], reason, connection) > 0 else { continue }
            settlement.rejected += 1
            guard let words = words[index] else { continue }
            try storeWords(words, of: batch.rows[index], connection)
        }
        let user =
            duplicates.isEmpty ? nil : try AuditLog(connection: connection, cipher: cipher).user()
        let ids = user.map { MetricIDs(userID: $0) }
        for index in duplicates where batch.rows.indices.contains(index) {
            // The metric may have been pulled before the sample was read here.
            if let ids {
                try connection.run(
                    "UPDATE metrics SET sample = ? WHERE id = ? AND sample IS NULL",
                    .integer(batch.rows[index]),
                    .text(cipher.metricIndex(ids(batch.samples[index]).description)))
            }
            // The backend has the sample because one of the unanswered sends arrived.
            let confirmed = try connection.change(
                """
                UPDATE outbox SET state = 'confirmed', reason = NULL, doubts = max(0, doubts - 1)
                WHERE id = ? AND state = 'batched' AND processing_failed = 0
                """, .integer(batch.rows[index]))
            settlement.known += confirmed
            if confirmed == 0 {
                try failAgain(batch.rows[index], &settlement, connection)
            }
        }
        return settlement
    }

    /// The reason given for a sample that the backend has and could not process.
    static var failedReason: String { "the backend has it and could not process it" }

    /// Counts one more failure of a sample that the backend has and could not process. The answer
    /// that it has the sample says nothing new about the processing.
    private func failAgain(
        _ row: Int64, _ settlement: inout Settlement, _ connection: Connection
    ) throws {
        let limit = Int64(OutboxState.failureLimit)
        let failures = try connection.integer(
            """
            UPDATE outbox SET failures = failures + 1, reason = ?, batch_id = NULL,
                state = iif(failures + 1 < ?, 'queued', 'setAside')
            WHERE id = ? AND state = 'batched' RETURNING failures
            """, .text(Outbox.failedReason), .integer(limit), .integer(row))
        guard let failures else { return }
        if failures < limit {
            settlement.requeued += 1
            settlement.failures = min(settlement.failures ?? failures, failures)
        } else {
            settlement.setAside += 1
        }
    }

    /// Returns the rows of a batch that no answer has settled, in their order.
    private func sending(_ batch: OutboxBatch, _ connection: Connection) throws -> [Int64] {
        try connection.all(
            "SELECT id FROM outbox WHERE batch_id = ? AND state = 'batched' ORDER BY id",
            .integer(batch.id)
        ) { $0.integer(0) }
    }

    /// Counts the samples that share the state of a batch.
    func memberCount(of batch: Int64, _ connection: Connection) throws -> Int64 {
        try connection.integer(
            "SELECT count(*) FROM outbox WHERE batch_id = ? AND state = 'batched'",
            .integer(batch)) ?? 0
    }

    private func reject(_ row: Int64, _ reason: String, _ connection: Connection) throws -> Int64 {
        try connection.change(
            """
            UPDATE outbox SET state = 'rejected', reason = ?, batch_id = NULL
            WHERE id = ? AND state = 'batched'
            """, .text(reason), .integer(row))
    }

    private func regroup(
        _ groups: [[Int64]], _ batch: OutboxBatch, _ connection: Connection, at now: Instant
    ) throws {
        for rows in groups where !rows.isEmpty {
            _ = try makeBatch(of: rows, batch.route, batch.owner, connection, at: now)
        }
    }
}
