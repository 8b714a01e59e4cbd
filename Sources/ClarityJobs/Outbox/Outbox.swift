import ClarityScheduler
import SQLite

/// The samples on their way to the backend.
public struct Outbox: Sendable {
    let store: HealthStore

    var sealer: Sealer { store.sealer }

    /// Returns the number of samples in each state.
    public func counts() throws(HealthStoreError) -> OutboxCounts {
        try store.access { connection in
            var counts = OutboxCounts()
            try connection.forEach("SELECT state, count(*) FROM outbox GROUP BY state") { row in
                guard let state = OutboxState(rawValue: row.text(0)) else { return }
                counts[state] = row.integer(1)
            }
            return counts
        }
    }

    /// Returns the number of outbox samples that the backend never accepted, so that a wipe loses
    /// them.
    ///
    /// Rejected samples do not count.
    public func unsentCount() throws(HealthStoreError) -> Int64 {
        try store.access { connection in
            try connection.first(
                """
                SELECT count(*) FROM outbox
                WHERE state NOT IN ('accepted', 'confirmed', 'stored', 'unconfirmed', 'rejected')
                """
            ) { $0.integer(0) } ?? 0
        }
    }
}

/// The columns of a sample that are not encrypted.
struct SampleRow {
    let kind: String
    let start: Int64
    let end: Int64
    /// A keyed hash over kind, times and value. Equal values at two times have different tags, so
    /// that the file does not even reveal how often a value occurs.
    let tag: [UInt8]

    init(kind: String, start: Int64, end: Int64, tag: [UInt8]) {
        self.kind = kind
        self.start = start
        self.end = end
        self.tag = tag
    }

    var identity: RowIdentity {
        var identity = RowIdentity("outbox")
        identity.append(kind)
        identity.append(start)
        identity.append(end)
        identity.append(tag)
        return identity
    }

    /// Returns the whole sample; `nil` if its encrypted part cannot be decrypted for this row.
    func opened(_ sealed: [UInt8], _ sealer: Sealer) -> Sample? {
        guard let kind = SampleKind(rawValue: kind) else { return nil }
        do {
            return Sample(
                kind: kind, start: Instant(secondsSince1970: start),
                end: Instant(secondsSince1970: end),
                sealedForm: try sealer.open(sealed, for: identity))
        } catch {
            // Whoever wanted to send the sample sets its row aside with a reason.
            return nil
        }
    }
}

extension HealthStore {
    /// The samples on their way to the backend.
    public var outbox: Outbox { Outbox(store: self) }
}
