import HealthModel
import Database

/// A violation of a rule in the outbox or its ledger, and where it is.
public struct OutboxFinding: Hashable, Sendable {
    /// A rule that must hold; the raw value is its name for programs.
    public enum Rule: String, CaseIterable, Sendable {
        /// Every record of a reading is counted in exactly one place.
        case records
        /// Every day and night of a reading is counted in exactly one place.
        case metrics
        /// The records that a reading did not take are accounted for by type and reason.
        case reasons
        /// The outbox has as many rows as the ledger counts.
        case rows
        /// As many packed samples open as were packed.
        case packed
        /// Every row is in a known state and has what that state requires.
        case states
        /// Every batch in progress has a sample in the same state.
        case batches
        /// The state of every sample agrees with the state of its batch.
        case members
        /// There are as many rows of each type and month as were counted under the key.
        case counts
    }

    public let rule: Rule
    /// A sentence about the violation, without values.
    public let what: String
}

/// The result of checking the outbox's sums, and that every sample agrees with its batch.
public struct OutboxProof: Hashable, Sendable {
    public internal(set) var findings: [OutboxFinding] = []
    /// The numbers of rows and of readings that were checked.
    public internal(set) var rows: Int64 = 0
    public internal(set) var readings: Int64 = 0

    /// Whether somebody without the key changed what is counted under it.
    public var contradictsCounts: Bool { findings.contains { $0.rule == .counts } }
}

extension Outbox {
    /// The most findings of one rule that are listed one by one.
    static let findingLimit = 100

    /// Checks every page of the file and the whole outbox, in one snapshot.
    ///
    /// - Throws: `damaged` for a damaged file.
    public func prove() throws(HealthStoreError) -> OutboxProof {
        try store.snapshot { connection in
            // A server checks its own pages.
            if let file = connection as? FileConnection {
                try file.requireSoundness(HealthSchema.migrations.form())
            }
            var proof = OutboxProof()
            try proveLedger(&proof, connection)
            try proveStates(&proof, connection)
            try proveBatches(&proof, connection)
            try proveCounts(&proof, connection)
            return proof
        }
    }

    private func proveLedger(_ proof: inout OutboxProof, _ connection: Connection) throws {
        var all = ReadingCounts()
        for row in try ledgerRows(connection) {
            let (id, counts) = (row.id, row.counts)
            all += counts
            proof.readings += row.readings
            func check(_ rule: OutboxFinding.Rule, _ noun: String, _ whole: Int64, _ parts: Int64) {
                guard whole != parts else { return }
                proof.add(rule, "entry \(id) tells of \(whole) \(noun) and accounts for \(parts)")
            }
            check(.records, "records", counts[.read], counts.sum(ReadingCounts.ofRead))
            check(
                .metrics, "days, nights and workouts", counts[.made],
                counts.sum(ReadingCounts.ofMade))
            guard let reasons = row.reasons else {
                proof.add(.reasons, "the reasons of entry \(id) are damaged")
                continue
            }
            func sum(_ counts: [String: Int64]) -> Int64 { counts.values.reduce(0, +) }
            check(.reasons, "records without a field", counts[.unmapped], sum(reasons.unmapped))
            check(.reasons, "refused records", counts[.refused], sum(reasons.refused))
            check(
                .reasons, "refused days, nights and workouts", counts[.madeRefused],
                sum(reasons.madeRefused))
        }
        proof.rows = try connection.integer("SELECT count(*) FROM outbox") ?? 0
        proof.rows += try provePacked(&proof, connection)
        guard proof.rows != all.rows else { return }
        proof.add(
            .rows,
            "the outbox has \(proof.rows) samples, and the ledger tells of \(all.rows)")
    }

    /// Compares the totals of packed samples with the segments, and returns how many there are by
    /// the totals.
    private func provePacked(_ proof: inout OutboxProof, _ connection: Connection) throws -> Int64 {
        let packed = PackedSamples(cipher: cipher, connection: connection)
        let totals = try packed.totals()
        for kind in SampleKind.allCases {
            if try packed.areTotalsDamaged(of: kind) {
                proof.add(.packed, "the number of packed samples of \(kind.rawValue) is damaged")
            }
            var count: Int64 = 0
            for month in try packed.months(of: kind) {
                let found = try packed.samples(of: kind, in: month)
                count += Int64(found.sound.count)
                if found.isDamaged {
                    let month = TypeMonth(type: kind.rawValue, month: month)
                    proof.add(.packed, "packed samples of \(month) are damaged")
                }
            }
            let wanted = totals[kind]?.count ?? 0
            guard count != wanted else { continue }
            proof.add(.packed, "\(count) packed samples of \(kind.rawValue) open, of \(wanted)")
        }
        return totals.values.reduce(0) { $0 + $1.count }
    }

    private func proveStates(_ proof: inout OutboxProof, _ connection: Connection) throws {
        try connection.forEach(
            """
            SELECT count(*), min(id) FROM outbox WHERE state NOT IN
                ('queued', 'batched', 'confirmed', 'stored', 'rejected', 'setAside')
            """
        ) { proof.add($0, "are in no state") }
        // The schema refuses these rows, but a damaged file may have them.
        for (condition, what) in [
            (
                "state IN ('queued', 'rejected', 'setAside') AND batch_id IS NOT NULL",
                "wait and are in a batch"
            ),
            ("state = 'batched' AND batch_id IS NULL", "are under way and in no batch"),
            (
                "state NOT IN ('confirmed', 'stored') AND sealed IS NULL",
                "are not known to be at the backend and have no value"
            ),
            (
                "failures >= \(OutboxState.failureLimit) AND state <> 'setAside'",
                "have failed too often and are not set aside"
            ),
        ] {
            try connection.forEach(
                "SELECT count(*), min(id) FROM outbox WHERE \(condition)"
            ) { proof.add($0, what) }
        }
    }

    private func proveBatches(_ proof: inout OutboxProof, _ connection: Connection) throws {
        // A confirmed sample may belong to a batch in which others failed, or to no batch any more.
        try connection.forEach(
            """
            SELECT outbox.id, outbox.state, batch_id, batches.state
            FROM outbox LEFT JOIN batches ON batch_id = batches.id
            WHERE batch_id IS NOT NULL AND CASE outbox.state
                WHEN 'confirmed' THEN batches.id IS NULL OR batches.state = 'sending'
                WHEN 'batched' THEN batches.id IS NULL OR batches.state = 'failed'
                ELSE batches.state IS DISTINCT FROM outbox.state END
            ORDER BY outbox.id LIMIT \(Outbox.findingLimit)
            """
        ) { row in
            let batch =
                row.isNull(3)
                ? "which there is not" : "which is `\(row.text(3))`"
            proof.add(
                .members,
                "sample \(row.integer(0)) is `\(row.text(1))` in batch \(row.integer(2)), \(batch)")
        }
        try connection.forEach(
            """
            SELECT id, state FROM batches WHERE state IN ('sending', 'accepted') AND NOT EXISTS (
                SELECT 1 FROM outbox WHERE batch_id = batches.id AND state = 'batched')
            ORDER BY id LIMIT \(Outbox.findingLimit)
            """
        ) {
            proof.add(
                .batches,
                "batch \($0.integer(0)) is `\($0.text(1))` and has no sample that is")
        }
    }
}

extension OutboxProof {
    mutating func add(_ rule: OutboxFinding.Rule, _ what: String) {
        findings.append(OutboxFinding(rule: rule, what: what))
    }

    /// Adds a finding for a row with a count of samples and the first one's id; none for a count of
    /// 0.
    fileprivate mutating func add(_ row: borrowing Row, _ what: String) {
        guard row.integer(0) > 0 else { return }
        add(.states, "\(row.integer(0)) samples \(what), the first is \(row.integer(1))")
    }
}
