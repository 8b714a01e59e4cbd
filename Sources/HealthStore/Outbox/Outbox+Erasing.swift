public import HealthModel
public import ClarityScheduler
import Database

/// An upload that the backend can delete by its id.
public struct ErasableUpload: Hashable, Sendable {
    /// The id of the batch.
    public let id: Int64
    /// The backend's id of the upload.
    public let processingID: String
    public let route: UploadRoute
    /// Whether its deletion was begun before, when the backend had it.
    public let isBegun: Bool
}

/// What `outbox erase` deletes at the backend, and what it cannot delete there.
public struct ErasurePlan: Hashable, Sendable {
    public var uploads: [ErasableUpload] = []
    /// The samples in these uploads that have rows of their own, by kind.
    public var samples: [String: Int64] = [:]
    /// The earliest start and the latest end of these samples.
    public var start: Instant?
    public var end: Instant?
    /// Samples that went by an endpoint without a deletion, by kind.
    public var withoutDeletion: [String: Int64] = [:]
    /// Samples that the backend has, and of whose upload this machine has no id any more.
    public var untraceable: Int64 = 0
    /// Samples with a send that had no answer: the backend may have them under an id that nobody
    /// knows.
    public var inDoubt: Int64 = 0

    /// Creates an empty plan.
    public init() {}
}

/// What became of the uploads of a plan.
public struct ErasureReceipt: Hashable, Sendable {
    /// Uploads that the backend had and no longer has.
    public var uploads: Int64 = 0
    /// Their samples, by kind.
    public var samples: [String: Int64] = [:]
    /// Uploads that the backend still has, although it reported their deletion.
    public var stillThere: Int64 = 0
    /// Uploads that the backend did not know before it was told to delete them. Nothing proves that
    /// it does not have them.
    public var unproven: Int64 = 0
    /// Uploads that were not settled because an error ended the deletion.
    public var left: Int64 = 0

    /// Creates an empty receipt.
    public init() {}

    public var isComplete: Bool { stillThere + unproven + left == 0 }
}

// How a person takes back what was uploaded.
//
// A deletion has two transactions, before and after the requests. The first one notes that the
// backend has the upload and is told to delete it. If the process is killed after that, the next
// `outbox erase` goes on, and the backend's answer that it does not know the upload proves that the
// upload was deleted.

extension Outbox {
    /// The reason given for a sample whose upload was deleted at the backend.
    public static var erasedReason: String { "erased at the backend by a person" }
    private static var erasingReason: String { "being erased at the backend by a person" }

    /// Returns what can be erased.
    ///
    /// - Parameters:
    ///   - ids: only the uploads of these samples, each as a whole; without one, all uploads.
    ///   - route: the endpoint whose uploads the backend deletes; `nil` if there is none.
    public func erasurePlan(
        _ ids: [Int64], of route: UploadRoute?
    ) throws(HealthStoreError) -> ErasurePlan {
        try store.snapshot { connection in
            var plan = ErasurePlan()
            let route = route?.rawValue ?? ""
            let meant =
                ids.isEmpty
                ? "true" : "outbox.id IN (\(ids.map { "\($0)" }.joined(separator: ", ")))"
            let erasable = """
                batches.state <> 'sending' AND processing_id IS NOT NULL AND route = ?
                    AND coalesce(batches.reason, '') <> '\(Outbox.erasedReason)'
                """
            plan.uploads = try connection.all(
                """
                SELECT id, processing_id, route, reason FROM batches WHERE \(erasable)
                    \(ids.isEmpty ? "" : "AND id IN (SELECT batch_id FROM outbox WHERE \(meant))")
                ORDER BY id
                """, .text(route)
            ) {
                ErasableUpload(
                    id: $0.integer(0), processingID: $0.text(1),
                    route: UploadRoute(rawValue: $0.text(2)) ?? .metrics,
                    isBegun: $0.optionalText(3) == Outbox.erasingReason)
            }
            try connection.forEach(
                """
                SELECT kind, count(*), min(start_s), max(end_s)
                FROM batches CROSS JOIN outbox
                WHERE batch_id = batches.id AND outbox.state = 'batched' AND \(erasable)
                    \(ids.isEmpty
                        ? "" : "AND batch_id IN (SELECT batch_id FROM outbox WHERE \(meant))")
                GROUP BY kind
                """, [.text(route)]
            ) { row in
                plan.samples[row.text(0)] = row.integer(1)
                let (start, end) = (
                    Instant(secondsSince1970: row.integer(2)),
                    Instant(secondsSince1970: row.integer(3))
                )
                plan.start = min(plan.start ?? start, start)
                plan.end = max(plan.end ?? end, end)
            }
            let arrived = """
                FROM batches CROSS JOIN outbox WHERE batch_id = batches.id AND \(meant)
                    AND outbox.state = 'batched' AND batches.state IN
                        ('accepted', 'confirmed', 'stored', 'unconfirmed')
                """
            try connection.forEach(
                "SELECT kind, count(*) \(arrived) AND route <> ? GROUP BY kind", [.text(route)]
            ) { plan.withoutDeletion[$0.text(0)] = $0.integer(1) }
            plan.untraceable =
                try count("\(arrived) AND route = ? AND processing_id IS NULL", route, connection)
                + count(
                    "FROM outbox WHERE state IN ('confirmed', 'stored') AND \(meant)", nil,
                    connection)
            if ids.isEmpty {
                let packed = try PackedSamples(cipher: cipher, connection: connection).totals()
                plan.untraceable += packed.values.reduce(0) { $0 + $1.confirmed + $1.stored }
            }
            plan.inDoubt =
                try count("FROM outbox WHERE doubts > 0 AND \(meant)", nil, connection)
                + count(
                    """
                    FROM batches CROSS JOIN outbox WHERE batch_id = batches.id AND doubts = 0
                        AND batches.state = 'sending' AND sends > 0 AND outbox.state = 'batched'
                        AND \(meant)
                    """, nil, connection)
            return plan
        }
    }

    private func count(_ rows: String, _ value: String?, _ connection: Connection) throws -> Int64 {
        try connection.first("SELECT count(*) \(rows)", with: value.map { [.text($0)] } ?? []) {
            $0.integer(0)
        } ?? 0
    }

    /// Notes that the backend has an upload and is about to be told to delete it. Until the end is
    /// known its samples are `unconfirmed`, and no job asks about them.
    public func beginErasing(
        _ upload: ErasableUpload, at now: Instant
    ) throws(HealthStoreError) {
        try store.run(
            """
            UPDATE batches SET state = 'unconfirmed', reason = ?, last_word = 'being erased',
                finished_at_ms = coalesce(finished_at_ms, ?)
            WHERE id = ? AND processing_id = ? AND state <> 'sending'
            """, .text(Outbox.erasingReason), .instant(now), .integer(upload.id),
            .text(upload.processingID))
    }

    /// Records that the backend no longer has an upload.
    ///
    /// Its samples keep their values and become `rejected` with `erasedReason`, so that no later
    /// upload sends them again.
    ///
    /// - Returns: how many samples of each kind.
    public func erase(
        _ upload: ErasableUpload, at now: Instant
    ) throws(HealthStoreError) -> [String: Int64] {
        try store.change { connection in
            let kinds = try connection.counts(
                """
                SELECT kind, count(*) FROM outbox WHERE batch_id = ? AND state = 'batched'
                GROUP BY kind
                """, .integer(upload.id))
            try connection.run(
                """
                UPDATE outbox SET state = 'rejected', reason = ?, batch_id = NULL, failures = 0
                WHERE batch_id = ? AND state = 'batched'
                """, .text(Outbox.erasedReason), .integer(upload.id))
            try finishBatch(
                upload.id, as: "failed", reason: Outbox.erasedReason, at: now, connection)
            try store.audit.record(
                .erased, kinds, detail: "the backend deleted the upload and does not know it",
                connection)
            return kinds
        }
    }
}
