import ClarityTestSupport
import Testing

@testable import Database
@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler
@testable import Platform

/// Tests how a restore treats samples that wait for a person or for other rules.
@Suite struct StateRestoreTests {
    private let folder: TemporaryFolder
    private var state: String { "\(folder.path)/state" }

    init() throws { folder = try TemporaryFolder() }

    private func store() throws -> HealthStore {
        try HealthStore(stateDirectory: state, environment: [:])
    }

    private func forms() throws -> StateForms {
        try StateForms(
            history: SchemaForm(applicationID: 0x434C_4A48, oldest: 2, version: 4, mark: 0))
    }

    private func backUp() throws -> Backup {
        let receipt = try StateBackup(
            stateDirectory: state, environment: [:], forms: try forms(), actor: AuditActor(),
            clock: SystemClock()
        ).make(in: nil, keep: 7)
        return try #require(receipt).backup
    }

    private func restore(_ backup: Backup, isHeld: Bool = false) throws -> HealthSettling {
        let report = try StateRestore(
            stateDirectory: state, environment: [:], forms: try forms(), actor: AuditActor(),
            clock: SystemClock(), doubling: { _ in .init(isPossible: true, isHeld: isHeld) }
        ).run(backup.path)
        return try #require(report.health)
    }

    @Test func `a backup of before 0.1.0 is refused, and nothing changes`() throws {
        _ = try store()
        let history = try FileConnection(path: "\(state)/history.db")
        try history.execute(
            "CREATE TABLE runs (id); PRAGMA application_id = 0x434C4A48; PRAGMA user_version = 1")
        let backup = try backUp()

        let error = #expect(throws: RestoreError.self) { try restore(backup) }

        #expect(
            error?.description
                == "`history.db` of the backup `\(backup.name)` was written before 0.1.0: restore it "
                + "with clarity-jobs 0.1.0 and open it once, then use this version")
        #expect(try history.first("SELECT count(*) FROM runs") { $0.integer(0) } == 0)
    }

    /// Returns each sample's kind, state and hold, and how often it was in doubt.
    private func rows() throws -> [String] {
        try store().access { connection in
            try connection.all(
                """
                SELECT kind || ' ' || state || ' ' || coalesce(hold, '-') || ' ' || doubts
                FROM samples ORDER BY kind, start_s
                """
            ) { $0.text(0) }
        }
    }

    /// Stores five samples: one of a refused kind, one out of range, one of tomorrow, one that the
    /// backend did not confirm, and one that was discarded.
    private func fill() throws {
        let store = try self.store()
        let tomorrow = Sample(
            kind: .heartRate, start: noon + .seconds(86_400), end: noon + .seconds(86_400),
            value: .single(50))
        _ = try store.outbox.enqueue([sample(.steps, 0)])
        let sent = try #require(
            try store.outbox.nextBatches(limit: 9, rules: [open()], at: noon).batch)
        try store.outbox.settle(sent, processingID: nil, at: noon)
        _ = try store.outbox.enqueue([sample(.distance, 0)])
        _ = try store.outbox.discard(.init())
        _ = try store.outbox.enqueue([sample(.vo2Max, 0), sample(.heartRate, 0, 99), tomorrow])
        let strict = testRules(
            .samples, isIdempotent: false, without: [.vo2Max], ranges: [.heartRate: 0...98],
            takesFuture: false)
        _ = try store.outbox.sortOut(by: [strict], at: noon)
        let none = try store.outbox.nextBatches(limit: 9, rules: [strict], at: noon).batch
        #expect(none == nil)
    }

    /// Sends the samples that other rules accept on the next day, and the unconfirmed one again;
    /// returns how many there are.
    private func sendAll() throws -> Int {
        let store = try self.store()
        _ = try store.outbox.sortOut(by: [open()], at: noon)
        var selection = OutboxSelection()
        selection.state = .unconfirmed
        _ = try store.outbox.retry(selection)
        let batch = try #require(
            try store.outbox.nextBatches(limit: 9, rules: [open()], at: noon + .seconds(90_000))
                .batch
        )
        try store.outbox.settle(batch, processingID: "p", at: noon)
        return batch.samples.count
    }

    private func open() -> UploadEndpoint { testRules(.samples, isIdempotent: false) }

    private let kept = [
        "distance rejected - 0", "heart_rate rejected range 0", "heart_rate setAside future 0",
        "steps unconfirmed - 0", "vo2_max setAside kind 0",
    ]

    @Test(arguments: [false, true])
    func `samples that were on hold in the backup and sent since are in doubt`(isHeld: Bool) throws
    {
        try fill()
        let before = try rows()
        let backup = try backUp()
        #expect(try sendAll() == 4)

        let settling = try restore(backup, isHeld: isHeld)

        #expect(before == kept)
        #expect(settling.inDoubt == 4 && settling.onHold == 0)
        #expect(
            try rows() == [
                "distance rejected - 0", "heart_rate rejected range 1",
                "heart_rate setAside future 1", "steps unconfirmed - 1", "vo2_max setAside kind 1",
            ])
        // Each of them, queued and sent once more, is a possible duplicate.
        #expect(try sendAll() == 4)
        #expect(try self.store().outbox.possiblyDoubled().samples == 4)
    }

    @Test func `a batch under way in the backup may have been sent since`() throws {
        _ = try store().outbox.enqueue([sample(.steps, 0), sample(.steps, 1)])
        let batch = try #require(
            try store().outbox.nextBatches(limit: 9, rules: [open()], at: noon).batch)
        let backup = try backUp()
        try store().outbox.settle(batch, processingID: "p", at: noon)

        let settling = try restore(backup)

        #expect(settling.inDoubt == 2)
        #expect(try rows() == ["steps sending - 0", "steps sending - 0"])
    }

    @Test func `samples that are still unsent are not in doubt after a restore`() throws {
        try fill()
        let backup = try backUp()

        let settling = try restore(backup)

        #expect(settling.inDoubt == 0)
        #expect(try rows() == kept)
    }
}
