import HealthModel
import ClarityScheduler
import Database

// The counts of rows (`RowCounts`), as far as samples or people are concerned.

extension Outbox {
    /// Counts the samples that were inserted after a row, which no trigger does.
    ///
    /// - Parameters:
    ///   - rows: what was to be inserted.
    ///   - added: how many of them were inserted; the others were there.
    func countInserted(
        _ rows: [OutboxPortion.Row], _ added: Int64, after last: Int64, _ connection: Connection
    ) throws {
        guard added > 0 else { return }
        guard added == rows.count else {
            return try connection.run(CountedTable.outbox.additionOfNew, .integer(last))
        }
        // Samples mostly come by kind and time.
        var start = 0
        while start < rows.count {
            let (kind, month) = (rows[start].kind, CountedTable.month(of: rows[start].start))
            var (end, weight) = (start, Int64(0))
            while end < rows.count, rows[end].kind == kind,
                CountedTable.month(of: rows[end].start) == month
            {
                weight += rows[end].start
                end += 1
            }
            try connection.run(
                """
                INSERT INTO \(CountedTable.changes) (\(CountedTable.changedColumns))
                VALUES ('outbox', ?, ?, 'queued', ?, ?)
                """, .text(kind.rawValue), .integer(month), .integer(Int64(end - start)),
                .integer(weight))
            start = end
        }
    }

    /// Compares the counts of rows with the rows, and adds what differs to a proof: a line for each
    /// table, type and month.
    func proveCounts(_ proof: inout OutboxProof, _ connection: Connection) throws {
        let counts = try RowCounts(connection: connection, sealer: sealer).prove()
        for fault in counts.faults { proof.add(.counts, fault) }
        let months = Dictionary(grouping: counts.differences) { difference in
            CountedMonth(
                place: difference.key.place, type: difference.key.type, month: difference.key.month)
        }
        for (month, differences) in months.sorted(by: { $0.key < $1.key })
            .prefix(Outbox.findingLimit)
        {
            let states = differences.sorted { $0.key.state < $1.key.state }.map { key, numbers in
                let state = key.state.isEmpty ? "" : " \(key.state)"
                let doubt =
                    counts.changed.contains(key)
                    ? " by a count that was changed"
                    : numbers.got == numbers.wanted ? ", but they are others" : ""
                return "\(numbers.got)\(state), wanted \(numbers.wanted)\(doubt)"
            }
            proof.add(.counts, "\(month): got \(states.joined(separator: "; "))")
        }
        if months.count > Outbox.findingLimit {
            proof.add(.counts, "\(months.count - Outbox.findingLimit) further months differ")
        }
    }

    /// Takes the rows that are there as the right ones, and records that in the audit log.
    ///
    /// - Returns: what contradicted the counts; nothing has changed if that is empty.
    public func acceptRows() throws(HealthStoreError) -> [OutboxFinding] {
        try store.changeAnyway { connection in
            var proof = OutboxProof()
            try proveCounts(&proof, connection)
            guard !proof.findings.isEmpty else { return [] }
            try RowCounts(connection: connection, sealer: sealer).countAnew()
            try store.audit.record(
                .counted, ["contradictions": Int64(proof.findings.count)],
                detail: "the rows were taken as they are, by audit --repair", connection)
            return proof.findings
        }
    }
}

/// A table, and a type and month in it.
private struct CountedMonth: Hashable, Comparable {
    let place: String
    let type: String
    let month: Int64

    static func < (one: CountedMonth, other: CountedMonth) -> Bool {
        (one.place, one.type, one.month) < (other.place, other.type, other.month)
    }
}

extension CountedMonth: CustomStringConvertible {
    var description: String {
        let noun = CountedTable.all.first { $0.name == place }?.noun ?? place
        if type.isEmpty { return noun }
        if place == "contributions" {
            let day = CivilDay(daysSince1970: Int(clamping: month) &* 28)
            return "\(noun), \(type) in the four weeks from \(day)"
        }
        return "\(noun), \(TypeMonth(type: type, month: Int(clamping: month)))"
    }
}
