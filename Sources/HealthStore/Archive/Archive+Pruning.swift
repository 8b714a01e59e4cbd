public import ClarityScheduler
import Database

// Records leave the archive only by a rule of the person, whole months of a type at a time, and the
// archive remembers which, so that the next reading of the same export does not bring them back.

/// Which records of the archive go; without a limit none do.
public struct RecordRetention: Hashable, Sendable {
    /// Months that ended before this go; `nil` for none.
    public var cutoff: Instant?
    /// The most bytes that the records may take; the oldest months go first. `nil` for any.
    public var mostBytes: Int64?
    /// The types that the rule is about, as a person names them; empty for all.
    public var types: [String]

    /// Creates a rule.
    public init(cutoff: Instant? = nil, mostBytes: Int64? = nil, types: [String] = []) {
        self.cutoff = cutoff
        self.mostBytes = mostBytes
        self.types = types
    }

    fileprivate func concerns(_ type: String) -> Bool {
        let type = ArchivedType(name: type, months: [])
        return types.isEmpty || types.contains { type.isMeant(by: $0) }
    }

    /// Whether all of a month is too old.
    fileprivate func isExpired(_ month: Int) -> Bool {
        guard let cutoff else { return false }
        return TypeMonth.start(of: month + 1) <= cutoff.secondsSince1970
    }

    /// Whether a month that went would stay gone by this rule.
    ///
    /// - Parameter bound: the limit in bytes by which it went; `nil` if it went for its age.
    fileprivate func excludes(_ month: TypeMonth, bound: Int64?) -> Bool {
        guard concerns(month.type) else { return false }
        if isExpired(month.month) { return true }
        guard let bound, let mostBytes else { return false }
        return mostBytes <= bound
    }
}

/// A month of a type that went from the archive.
public struct PrunedMonth: Hashable, Sendable {
    public let type: String
    /// The month, such as `2024-05`.
    public let name: String
    /// When the month began, in UTC.
    public let start: Instant
    /// The records that could be read.
    public let records: Int64
    /// The size of the content, without the overhead of the file.
    public let bytes: Int64

    /// The type without what HealthKit puts in front of it.
    public var shortName: String { ArchivedType.shortName(of: type) }
}

extension Archive {
    /// Removes months that a rule excludes, oldest first, with the sums of their days.
    ///
    /// The removal, the note that keeps the months away, and the entry in the audit log are one
    /// transaction.
    ///
    /// - Parameters:
    ///   - limit: the most months to remove.
    ///   - detail: returns the detail of the entry in the audit log; called within the transaction.
    /// - Returns: whether there is more to remove.
    public func prune(
        _ rule: RecordRetention, limit: Int = 64, detail: ([PrunedMonth]) -> String
    ) throws(HealthStoreError) -> Bool {
        try store.change { connection in
            let due = try due(rule, connection)
            var removed: [PrunedMonth] = []
            let decompressor = try Decompressor()
            for month in due.prefix(limit) {
                removed.append(try remove(month, rule, decompressor, connection))
            }
            guard !removed.isEmpty else { return false }
            var counts: [String: Int64] = [:]
            for month in removed {
                counts["records of \(month.shortName)", default: 0] += month.records
            }
            try store.audit.record(.removed, counts, detail: detail(removed), connection)
            return due.count > limit
        }
    }

    /// Lets months come back that went by an earlier rule and that this one does not exclude. The
    /// next reading of a source that has them brings them.
    ///
    /// - Returns: how many months.
    public func readmit(_ rule: RecordRetention) throws(HealthStoreError) -> Int64 {
        try store.change { connection in
            let back = try connection.all(
                "SELECT id, type, month, bound FROM pruned_months WHERE is_back = 0"
            ) {
                (
                    id: $0.integer(0),
                    month: TypeMonth(type: $0.text(1), month: Int($0.integer(2))),
                    bound: $0.optionalInteger(3)
                )
            }.filter { !rule.excludes($0.month, bound: $0.bound) }
            guard !back.isEmpty else { return 0 }
            for month in back {
                try connection.run(
                    "UPDATE pruned_months SET is_back = 1 WHERE id = ?", .integer(month.id))
            }
            try forgetReadings(connection)
            return Int64(back.count)
        }
    }

    /// Returns the months that stay away.
    func prunedMonths(
        _ connection: Connection
    ) throws -> [TypeMonth: (generation: Int64, isBack: Bool)] {
        let months = try connection.all(
            "SELECT type, month, generation, is_back FROM pruned_months"
        ) { row in
            (
                TypeMonth(type: row.text(0), month: Int(row.integer(1))),
                (generation: row.integer(2), isBack: row.integer(3) == 1)
            )
        }
        return Dictionary(months) { $0.generation > $1.generation ? $0 : $1 }
    }

    /// Returns the last generation that a removed segment of a month had; 0 if none was removed.
    func prunedGeneration(_ month: TypeMonth, _ connection: Connection) throws -> Int64 {
        try connection.integer(
            "SELECT generation FROM pruned_months WHERE type = ? AND month = ?", .text(month.type),
            .integer(Int64(month.month))) ?? 0
    }

    private struct DueMonth {
        var key: TypeMonth
        var bytes: Int64
    }

    /// Returns the months that the rule excludes, oldest first.
    private func due(_ rule: RecordRetention, _ connection: Connection) throws -> [DueMonth] {
        let months = try connection.all(
            """
            SELECT type, month, sum(size) FROM (
                SELECT type, month, length(sealed) AS size FROM segments
                UNION ALL SELECT type, month, length(sealed) FROM segment_days) AS kept
            GROUP BY month, type ORDER BY month, type
            """
        ) {
            DueMonth(
                key: TypeMonth(type: $0.text(0), month: Int($0.integer(1))), bytes: $0.integer(2))
        }.filter { rule.concerns($0.key.type) }
        var total = months.reduce(0) { $0 + $1.bytes }
        return months.filter { month in
            let isTooMuch = rule.mostBytes.map { total > $0 } ?? false
            guard rule.isExpired(month.key.month) || isTooMuch else { return false }
            total -= month.bytes
            return true
        }
    }

    private func remove(
        _ due: DueMonth, _ rule: RecordRetention, _ decompressor: Decompressor,
        _ connection: Connection
    ) throws -> PrunedMonth {
        let month = due.key
        var records: Int64 = 0
        let parts = try encrypted(month, connection)
        for part in parts {
            do {
                records += Int64(try opened(part, month).segment(decompressor).records.count)
            } catch is EncryptionError {
                // Nobody can tell how many it had.
            }
        }
        let place = [Value.text(month.type), .integer(Int64(month.month))]
        for table in ["segments", "segment_days"] {
            try connection.run("DELETE FROM \(table) WHERE type = ? AND month = ?", with: place)
        }
        let bound = rule.isExpired(month.month) ? nil : rule.mostBytes
        let generation =
            try parts.last?.generation ?? prunedGeneration(month, connection)
        try connection.run(
            """
            INSERT INTO pruned_months (type, month, bound, generation) VALUES (?, ?, ?, ?)
            ON CONFLICT (type, month) DO UPDATE
                SET bound = excluded.bound, generation = excluded.generation, is_back = 0
            """, with: place + [.integer(bound), .integer(generation)])
        return PrunedMonth(
            type: month.type, name: month.monthName,
            start: Instant(secondsSince1970: TypeMonth.start(of: month.month)), records: records,
            bytes: due.bytes)
    }
}
