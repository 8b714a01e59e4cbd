public import HealthModel
public import ClarityScheduler
import Database

/// Everything that is known about one sample of the outbox.
public struct OutboxSample: Sendable {
    /// A batch as it was sent.
    public struct Batch: Hashable, Sendable {
        public let id: Int64
        /// `sending`, `accepted`, `confirmed`, `stored`, `unconfirmed` or `failed`.
        public let state: String
        public let route: String
        public let madeAt: Instant
        /// The number of times that it was taken up for sending.
        public let attempts: Int64
        /// The backend's id of the upload.
        public let processingID: String?
        public let acceptedAt: Instant?
        public let finishedAt: Instant?
        public let reason: String?
    }

    public let entry: OutboxEntry
    /// The batch that the sample is in. Batches of earlier sends are not recorded.
    public let batch: Batch?
    /// What the backend said when it refused the sample, without numbers and quotations; `nil` if
    /// it said nothing or the stored words are damaged.
    public let serverWords: String?
    /// The sample with its value; `nil` unless the value was asked for, and if it was removed or is
    /// damaged.
    public let sample: Sample?
}

extension OutboxSample.Batch {
    enum Column: String, RowColumn {
        case id, state, route, client_timestamp_ms, attempts, processing_id, accepted_at_ms
        case finished_at_ms, reason
    }

    init(_ row: borrowing Row) {
        self.init(
            id: row.integer(Column.id), state: row.text(Column.state),
            route: row.text(Column.route), madeAt: row.instant(Column.client_timestamp_ms),
            attempts: row.integer(Column.attempts),
            processingID: row.optionalText(Column.processing_id),
            acceptedAt: row.optionalInstant(Column.accepted_at_ms),
            finishedAt: row.optionalInstant(Column.finished_at_ms),
            reason: row.optionalText(Column.reason))
    }
}

extension Outbox {
    /// Returns one sample of the outbox; `nil` if there is none with this id.
    ///
    /// - Parameter withValue: whether to decrypt the value too, which the audit log then records.
    public func sample(
        _ id: Int64, withValue: Bool = false
    ) throws(HealthStoreError) -> OutboxSample? {
        let read = { (connection: Connection) in
            try self.sample(id, withValue, connection)
        }
        return withValue ? try store.change(read) : try store.snapshot(read)
    }

    private func sample(
        _ id: Int64, _ withValue: Bool, _ connection: Connection
    ) throws -> OutboxSample? {
        let entry = try connection.first(
            "SELECT \(OutboxEntry.Column.list) FROM samples WHERE id = ?", .integer(id),
            map: OutboxEntry.init)
        guard let entry else { return nil }
        var sample: Sample?
        if withValue {
            sample =
                try connection.first(
                    "SELECT \(SampleRow.Column.list) FROM outbox WHERE id = ?", .integer(id),
                    map: SampleRow.init)?.opened(sealer)
            try store.audit.record(.read, [entry.kind: 1], detail: "shown to a person", connection)
        }
        return OutboxSample(
            entry: entry, batch: try entry.batch.flatMap { try batch($0, connection) },
            serverWords: try words(of: id, connection), sample: sample)
    }

    private func batch(_ id: Int64, _ connection: Connection) throws -> OutboxSample.Batch? {
        try connection.first(
            "SELECT \(OutboxSample.Batch.Column.list) FROM batches WHERE id = ?", .integer(id),
            map: OutboxSample.Batch.init)
    }

    private func words(of id: Int64, _ connection: Connection) throws -> String? {
        try connection.blob("SELECT sealed FROM server_words WHERE id = ?", .integer(id))
            .flatMap { sealer.opened($0, for: .words(id)) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stores what the backend said about a sample. The words are encrypted, since nobody knows
    /// what they contain.
    func storeWords(_ words: String, of id: Int64, _ connection: Connection) throws {
        try connection.run(
            """
            INSERT INTO server_words (id, sealed) VALUES (?, ?)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed
            """, .integer(id), .blob(sealer.seal(Array(words.utf8), for: .words(id))))
    }
}

extension RowIdentity {
    fileprivate static func words(_ id: Int64) -> RowIdentity {
        RowIdentity("server_words", number: id)
    }
}
