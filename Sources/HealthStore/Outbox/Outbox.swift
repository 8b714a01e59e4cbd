public import HealthModel
import ClarityScheduler
import Database

/// The samples on their way to the backend.
public struct Outbox: Sendable {
    let store: HealthStore

    var cipher: Cipher { store.cipher }

    /// Returns the number of samples in each state.
    public func counts() throws(HealthStoreError) -> OutboxCounts {
        try store.snapshot { connection in try counts(connection) }
    }

    /// Counts all samples, packed ones too.
    func counts(_ connection: Connection) throws -> OutboxCounts {
        var counts = try stateCounts(connection)
        for totals in try PackedSamples(cipher: cipher, connection: connection).totals().values {
            counts[OutboxState.confirmed.rawValue, default: 0] += totals.confirmed
            counts[OutboxState.stored.rawValue, default: 0] += totals.stored
        }
        return OutboxCounts(counts)
    }

    /// Returns the number of samples in each state in which the backend has not confirmed them; the
    /// time grows with that number alone.
    public func backlog() throws(HealthStoreError) -> OutboxCounts {
        try store.snapshot { connection in
            OutboxCounts(
                try stateCounts(
                    connection,
                    ofAlone: "state = 'queued' OR state = 'rejected' OR state = 'setAside'",
                    inBatches: """
                        batch_id IN (SELECT id FROM batches WHERE state = 'sending'
                            OR state = 'accepted' OR state = 'unconfirmed')
                            AND outbox.state = 'batched'
                        """))
        }
    }

    /// Counts the rows by state: those that are in no batch, and those that are in one. Both are
    /// counted in an index.
    private func stateCounts(
        _ connection: Connection, ofAlone alone: String = "true", inBatches: String = "true"
    ) throws -> [String: Int64] {
        var counts = try connection.counts(
            """
            SELECT state, count(*) FROM outbox WHERE batch_id IS NULL AND (\(alone)) GROUP BY state
            """)
        let batched = try connection.counts(
            """
            SELECT iif(outbox.state = 'batched', coalesce(batches.state, 'lost'), outbox.state),
                count(*)
            FROM outbox LEFT JOIN batches ON batches.id = batch_id
            WHERE batch_id IS NOT NULL AND \(inBatches) GROUP BY 1
            """)
        counts.merge(batched, uniquingKeysWith: +)
        // Asked apart: the reasons of all rows are in no index.
        for (name, reason) in [
            (OutboxCounts.discarded, Outbox.discardedReason),
            (OutboxCounts.erased, Outbox.erasedReason),
        ] {
            let count =
                try connection.first(
                    """
                    SELECT count(*) FROM outbox
                    WHERE \(Outbox.isAlone(.rejected)) AND \(Outbox.isGivenUp(reason))
                    """
                ) { $0.integer(0) } ?? 0
            guard count > 0 else { continue }
            counts[OutboxState.rejected.rawValue, default: 0] -= count
            counts[name] = count
        }
        return counts
    }

    /// Returns the number of samples that are queued or being sent, by kind.
    public func waiting() throws(HealthStoreError) -> [SampleKind: Int64] {
        try store.snapshot { connection in
            let queued = try connection.counts(
                "SELECT kind, count(*) FROM outbox WHERE \(Outbox.isAlone(.queued)) GROUP BY kind")
            let sending = try connection.counts(
                """
                SELECT kind, count(*) FROM batches JOIN outbox ON batch_id = batches.id
                WHERE batches.state = 'sending' AND outbox.state = 'batched' GROUP BY kind
                """)
            let waiting = queued.merging(sending, uniquingKeysWith: +)
            return SampleKind.allCases.reduce(into: [:]) { $0[$1] = waiting[$1.rawValue] }
        }
    }

    /// Returns the number of samples that are queued or being sent.
    public func waitingCount() throws(HealthStoreError) -> Int64 {
        try waiting().values.reduce(0, +)
    }

    /// Returns the number of outbox samples that the backend never accepted, so that a wipe loses
    /// them.
    ///
    /// Rejected samples do not count.
    public func unsentCount() throws(HealthStoreError) -> Int64 {
        try store.snapshot { connection in
            let ended: [OutboxState] = [.accepted, .confirmed, .stored, .unconfirmed, .rejected]
            let names = Set(ended.map(\.rawValue) + [OutboxCounts.discarded, OutboxCounts.erased])
            return try stateCounts(connection).reduce(0) {
                names.contains($1.key) ? $0 : $0 + $1.value
            }
        }
    }

    /// Selects the rows of `outbox` in a state that a sample has only outside batches; an index
    /// finds them.
    static func isAlone(_ state: OutboxState) -> String {
        "state = '\(state.rawValue)' AND batch_id IS NULL"
    }
}

/// A row of the outbox, as far as it has the sample itself.
struct SampleRow {
    enum Column: String, RowColumn {
        case id, kind, start_s, end_s, blindIndex = "tag", encrypted = "sealed"
    }

    let id: Int64
    let kind: String
    let start: Int64
    let end: Int64
    /// A keyed hash over kind, times and value. Equal values at two times have different blind
    /// indexes, so that the file does not even reveal how often a value occurs.
    let blindIndex: [UInt8]
    let encrypted: [UInt8]

    var identity: RowIdentity { RowIdentity("outbox", kind, start, end, blindIndex) }

    /// Returns the whole sample; `nil` if its encrypted part cannot be decrypted for this row.
    func opened(_ cipher: Cipher) -> Sample? {
        guard let kind = SampleKind(rawValue: kind),
            let plain = cipher.opened(encrypted, for: identity)
        else { return nil }
        return Sample(
            kind: kind, start: Instant(secondsSince1970: start),
            end: Instant(secondsSince1970: end), encryptedForm: plain)
    }
}

extension SampleRow {
    /// Reads a row of `Column`.
    init(_ found: borrowing Row) {
        self.init(
            id: found.integer(Column.id), kind: found.text(Column.kind),
            start: found.integer(Column.start_s), end: found.integer(Column.end_s),
            blindIndex: found.blob(Column.blindIndex), encrypted: found.blob(Column.encrypted))
    }
}

extension HealthStore {
    /// The samples on their way to the backend.
    public var outbox: Outbox { Outbox(store: self) }
}
