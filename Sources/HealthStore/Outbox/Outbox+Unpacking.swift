import HealthModel
import ClarityScheduler
import Database

// How packed samples get rows again, because a person sends them once more.

extension Outbox {
    /// Counts the packed samples that `unpackStored` would put back into the queue, by kind.
    func packedShares(
        _ selection: OutboxSelection, _ connection: Connection
    ) throws -> [OutboxShare] {
        let packed = PackedSamples(sealer: sealer, connection: connection)
        return try unpackable(selection, connection).compactMap { kind in
            let count = try packed.months(of: kind).reduce(Int64(0)) { count, month in
                let found = try packed.samples(of: kind, in: month)
                guard !found.isDamaged else { return count }
                return count + Int64(found.sound.count { selection.means($0, kind) })
            }
            return count == 0
                ? nil : OutboxShare(kind: kind.rawValue, state: .stored, count: count)
        }
    }

    /// Puts the selected packed samples back into the queue, one month in a transaction. Their
    /// values that were removed cannot come back, and samples of a damaged month stay.
    ///
    /// - Returns: how many samples.
    func unpackStored(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        let months = try store.access { connection in
            let packed = PackedSamples(sealer: sealer, connection: connection)
            return try unpackable(selection, connection).flatMap { kind in
                try packed.months(of: kind).map { (kind, $0) }
            }
        }
        var count: Int64 = 0
        for (kind, month) in months {
            count += try store.change { connection in
                try unpack(kind, month, selection, connection)
            }
        }
        return count
    }

    /// Returns the kinds whose packed samples are all stored. Where some are confirmed, nothing
    /// tells which.
    private func unpackable(
        _ selection: OutboxSelection, _ connection: Connection
    ) throws -> [SampleKind] {
        guard selection.state == .stored, selection.ids.isEmpty, selection.reason == nil else {
            return []
        }
        let totals = try PackedSamples(sealer: sealer, connection: connection).totals()
        return SampleKind.allCases.filter { kind in
            guard selection.kind == nil || selection.kind == kind, let total = totals[kind] else {
                return false
            }
            return total.confirmed == 0 && total.stored > 0
        }
    }

    private func unpack(
        _ kind: SampleKind, _ month: Int, _ selection: OutboxSelection, _ connection: Connection
    ) throws -> Int64 {
        let packed = PackedSamples(sealer: sealer, connection: connection)
        let samples = try packed.take(of: kind, in: month, at: store.clock.now) {
            selection.means($0, kind)
        }
        guard !samples.isEmpty, var totals = try packed.totals(of: kind) else { return 0 }
        var sealing = PortionSealing(sealer)
        let nonces = Sealer.nonces(samples.count)
        for (index, sample) in samples.enumerated() {
            var row = sealing.row(sample)
            var bytes: [UInt8] = []
            sealing.seal(sample, for: &row, nonces, index, onto: &bytes)
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, sealed, doubts)
                VALUES (?, ?, ?, ?, ?, 1)
                """, .text(kind.rawValue), .integer(row.start), .integer(row.end),
                .blob(row.tagBytes), .blob(bytes))
            try countInserted([row], 1, after: 0, connection)
        }
        let count = Int64(samples.count)
        totals.stored -= count
        (totals.firstStart, totals.lastStart) = try packed.valued(kind)
        try packed.write(totals, of: kind)
        try store.audit.record(
            .requeued, [kind.rawValue: count], detail: Outbox.resentReason, connection)
        return count
    }
}

extension OutboxSelection {
    /// Whether it selects a packed sample, which must have its value.
    fileprivate func means(_ sample: PackedSample, _ kind: SampleKind) -> Bool {
        guard sample.sample(kind) != nil else { return false }
        return before.map { sample.start < $0.secondsSince1970 } ?? true
    }
}
