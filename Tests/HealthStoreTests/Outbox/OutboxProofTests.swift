import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Damages a sound outbox by hand, once for each rule.
@Suite(.onBothEngines) struct OutboxProofTests {
    private let folder = StateFolder()

    /// Makes an outbox with samples in six states, and a reading.
    private func filled() throws -> HealthStore {
        let store = try folder.open()
        let reading = try store.outbox.beginReading(of: "/export.zip")
        _ = try store.outbox.commit(try store.outbox.prepare(heartRates(0..<20)), of: reading)
        var counts = ReadingCounts()
        counts[.read] = 23
        counts[.unmapped] = 2
        counts[.refused] = 1
        var reasons = ReadingReasons()
        reasons.unmapped = ["BodyMass": 2]
        reasons.refused = ["bad date": 1]
        try store.outbox.end(reading, counts, reasons)
        func batch(_ limit: Int) throws -> OutboxBatch {
            try #require(try store.outbox.nextBatch(limit: limit, at: noon))
        }
        try store.outbox.settle(try batch(4), processingID: "p", at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        try store.outbox.settle(try batch(3), processingID: "q", at: noon)
        try store.outbox.settle(try batch(2), processingID: nil, at: noon)
        _ = try store.outbox.split(try batch(1), reason: "refused", at: noon)
        _ = try batch(5)
        return store
    }

    @Test func `a sound outbox has no finding`() throws {
        let proof = try filled().outbox.prove()

        #expect(proof.findings == [])
        #expect(proof.rows == 20 && proof.readings == 1)
    }

    private static let damages: [(OutboxFinding.Rule, String, String)] = [
        (
            .records, "UPDATE readings SET known = known + 1 WHERE tag NOT NULL",
            "entry 1 tells of 23 records and accounts for 24"
        ),
        (
            .metrics, "UPDATE readings SET made = made + 1 WHERE tag NOT NULL",
            "entry 1 tells of 1 days, nights and workouts and accounts for 0"
        ),
        (
            .reasons, "UPDATE readings SET sealed = x'00' WHERE tag NOT NULL",
            "the reasons of entry 1 are damaged"
        ),
        (
            .reasons,
            "UPDATE readings SET unmapped = unmapped + 1, refused = refused - 1 WHERE tag NOT NULL",
            "entry 1 tells of 3 records without a field and accounts for 2"
        ),
        (
            .rows,
            "DELETE FROM outbox WHERE id = (SELECT min(id) FROM outbox WHERE state = 'queued')",
            "the outbox has 19 samples, and the ledger tells of 20"
        ),
        (
            .rows, "DELETE FROM readings WHERE tag NOT NULL",
            "the outbox has 20 samples, and the ledger tells of 0"
        ),
        (
            .states, "UPDATE outbox SET state = 'lost' WHERE state = 'queued'",
            "5 samples are in no state, the first is "
        ),
        (
            .states, "UPDATE outbox SET batch_id = 1 WHERE state = 'queued'",
            "5 samples wait and are in a batch, the first is "
        ),
        (
            .states, "UPDATE outbox SET batch_id = NULL WHERE batch_id = 2",
            "3 samples are under way and in no batch, the first is "
        ),
        (
            .states, "UPDATE outbox SET sealed = NULL WHERE state = 'rejected'",
            "1 samples are not known to be at the backend and have no value, the first is "
        ),
        (
            .states, "UPDATE outbox SET failures = 5 WHERE state = 'queued'",
            "5 samples have failed too often and are not set aside, the first is "
        ),
        (
            .members, "UPDATE outbox SET state = 'stored' WHERE batch_id = 2",
            "is `stored` in batch 2, which is `accepted`"
        ),
        (
            .members, "UPDATE batches SET state = 'failed' WHERE state = 'accepted'",
            "is `batched` in batch 2, which is `failed`"
        ),
        (
            .members, "DELETE FROM batches WHERE state = 'confirmed'",
            "is `batched` in batch 1, which there is not"
        ),
        (
            .batches,
            "UPDATE outbox SET state = 'queued', batch_id = NULL WHERE batch_id = 5",
            "batch 5 is `sending` and has no sample that is"
        ),
    ]

    @Test(.onFilesAlone, arguments: damages.indices)
    func `each rule finds what breaks it`(index: Int) throws {
        let (rule, damage, words) = Self.damages[index]
        let store = try filled()
        try store.access { connection in
            try connection.execute(
                "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; \(damage)")
        }

        let findings = try store.outbox.prove().findings

        #expect(
            findings.contains { $0.rule == rule && $0.what.contains(words) },
            "\(findings.map(\.what))")
    }
}
