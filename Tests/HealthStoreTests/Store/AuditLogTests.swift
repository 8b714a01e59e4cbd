import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler
@testable import Platform

@Suite struct AuditLogTests {
    private let folder = StateFolder()

    private func open() throws -> HealthStore {
        try HealthStore(
            stateDirectory: folder.path, environment: [:],
            actor: AuditActor(program: "attempt", job: "upload", run: 7, attempt: 2),
            clock: FixedClock(noon))
    }

    /// Makes a store with five entries: a login and four removals.
    private func five() throws -> HealthStore {
        let store = try open()
        try store.sessions.save(
            Session(
                userID: "ada", email: "ada@example.com", accessToken: Secret("a"),
                refreshToken: Secret("b"), expiresAt: noon))
        for number in 1...4 { try store.audit.record(.removed, ["steps": Int64(number)]) }
        return store
    }

    private func entries(_ store: HealthStore) throws -> [AuditEntry] {
        try store.audit.records(limit: 99).compactMap(\.entry)
    }

    @Test func `an entry tells who did what with which kinds, how many and when`() throws {
        let store = try five()

        let records = try store.audit.records(limit: 99)

        #expect(records.map(\.number) == [1, 2, 3, 4, 5])
        #expect(records.allSatisfy { $0.at == noon && $0.hash.count == 64 })
        #expect(
            records[1].entry
                == AuditEntry(
                    .removed, user: "ada",
                    actor: AuditActor(program: "attempt", job: "upload", run: 7, attempt: 2),
                    counts: ["steps": 1], detail: ""))
        #expect(records[0].entry?.action == .loggedIn)
        // The entry names the user although there was none before the login.
        #expect(records[0].entry?.user == "ada")
    }

    @Test func `each work leaves one entry a batch or page, and nothing else any`() throws {
        let store = try open()
        _ = try store.outbox.enqueue(heartRates(0..<3))
        _ = try store.outbox.enqueue(heartRates(0..<3))
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.outbox.settle(batch, processingID: nil, duplicates: [0, 1, 2], at: noon)
        // A batch that somebody else has settled does not count as sent again.
        try store.outbox.settle(batch, processingID: nil, at: noon)
        _ = try store.outbox.enqueue(heartRates(3..<5))
        let second = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        _ = try store.outbox.split(second, reason: "refused", at: noon)
        let half = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.outbox.refuse(half, [0: "refused"], at: noon)
        let other = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        _ = try store.outbox.release(other, reason: "broke", at: noon)
        let row = CachedRow(id: "1", type: "steps", timestamp: noon, json: [1])
        _ = try store.cache.upsert([row], into: .metrics, syncedAt: noon)
        _ = try store.cache.upsert([], into: .metrics, syncedAt: noon)
        _ = try store.prune(before: noon + .seconds(1))
        _ = try store.prune(before: noon + .seconds(1))
        _ = try store.cache.rows(of: .metrics, limit: 9)

        let shown = try entries(store).map { entry in
            ([entry.action.rawValue, entry.detail.replacing(/, receipt .*/, with: "")]
                + entry.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
                .joined(separator: "|")
        }

        #expect(
            shown == [
                "read|from a source, all new|heart_rate 3",
                "sent|the backend took it|heart_rate 3",
                "read|from a source, all new|heart_rate 2",
                "sent|the backend refused some|heart_rate 2",
                "sent|the backend refused some|heart_rate 1",
                "sent|the backend did not settle it|heart_rate 1",
                "read|from the backend|steps 1",
                "removed|their retention is over|samples 3",
                "removed|their retention is over|batches 4",
                "removed|their retention is over|metrics 1",
            ])
        #expect(try store.audit.verify().broken == nil)
    }

    @Test func `a login and a logout are told, a renewed session is not`() throws {
        let store = try open()
        let session = Session(
            userID: "ada", email: "ada@example.com", accessToken: Secret("a"),
            refreshToken: Secret("b"), expiresAt: noon)

        var renewed = session
        renewed.accessToken = Secret("c")

        try store.sessions.save(session)
        #expect(try store.sessions.replace(session, with: renewed, at: noon))
        try store.sessions.clear()
        try store.sessions.clear()

        #expect(try entries(store).map(\.action) == [.loggedIn, .loggedOut])
    }

    @Test func `an entry is undone with the change that it tells of`() throws {
        let store = try open()
        _ = try store.outbox.enqueue(heartRates(0..<2))
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.sql(
            "CREATE TRIGGER broken BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'no'); END")

        #expect(throws: HealthStoreError.self) {
            try store.outbox.settle(batch, processingID: "p", at: noon)
        }

        #expect(try entries(store).map(\.action) == [.read])
        #expect(try store.audit.verify().broken == nil)
    }

    @Test func `a dry run leaves nothing in the log`() throws {
        _ = try five()

        let dryRun = try HealthStore.dryRun(of: folder.path, environment: [:])
        try dryRun.audit.record(.exported)

        #expect(try dryRun.audit.records(limit: 99).count == 6)
        #expect(try open().audit.records(limit: 99).count == 5)
    }

    @Test func `entries are asked for by number and by time`() throws {
        let store = try five()
        try store.sql("UPDATE audit SET at_ms = at_ms - 5000 WHERE number < 3")

        #expect(try store.audit.records(after: 2, limit: 2).map(\.number) == [3, 4])
        #expect(try store.audit.records(since: noon, limit: 99).map(\.number) == [3, 4, 5])
        // An entry does not decrypt with a changed time.
        #expect(try store.audit.records(limit: 2).map(\.entry) == [nil, nil])
    }

    @Test func `a sound log has a count and a head that follows its last entry`() throws {
        let store = try five()

        let proof = try store.audit.verify()

        #expect(proof.broken == nil && proof.count == 5 && proof.anchor == 0)
        #expect(try proof.head == store.audit.records(limit: 99).last?.hash)
        let empty = try StateFolder().open().audit.verify()
        #expect(empty.broken == nil && empty.count == 0)
    }

    @Test(arguments: [
        (
            "UPDATE audit SET sealed = zeroblob(50) WHERE number = 2", Int64(2),
            "its hash does not follow from it and the entry before it"
        ),
        (
            "UPDATE audit SET hash = zeroblob(32) WHERE number = 3", 3,
            "its hash does not follow from it and the entry before it"
        ),
        (
            "UPDATE audit SET at_ms = at_ms + 1 WHERE number = 4", 4,
            "its hash does not follow from it and the entry before it"
        ),
        (
            "UPDATE audit SET sealed = (SELECT sealed FROM audit WHERE number = 5) WHERE number = 4",
            4, "its hash does not follow from it and the entry before it"
        ),
        ("DELETE FROM audit WHERE number = 1", 1, "it is missing"),
        ("DELETE FROM audit WHERE number = 3", 3, "it is missing"),
        (
            "DELETE FROM audit WHERE number > 3", 4,
            "it is missing: entries were cut off from the end"
        ),
        ("DELETE FROM audit", 1, "it is missing: entries were cut off from the end"),
        ("DELETE FROM audit_head", 1, "the head of the log is missing"),
        (
            "UPDATE audit_head SET uploaded_number = 2", 6, "the head of the log was changed"
        ),
        (
            "INSERT INTO audit SELECT 6, at_ms, sealed, hash FROM audit WHERE number = 5", 6,
            "its hash does not follow from it and the entry before it"
        ),
    ])
    func `what is changed from outside is found at its entry`(
        change: String, number: Int64, reason: String
    ) throws {
        let store = try five()
        try store.sql(change)

        let broken = try store.audit.verify().broken

        #expect(broken == AuditProof.Break(number: number, reason: reason))
    }

    @Test func `every flipped byte of the log is found`() throws {
        let store = try five()
        let log = try store.access { connection in
            try AuditLog(connection: connection, cipher: store.cipher).links(after: 0, limit: 9)
        }

        for link in log {
            for (column, bytes) in [("sealed", link.encrypted), ("hash", link.hash)] {
                for index in stride(from: 0, to: bytes.count, by: 7) {
                    var changed = bytes
                    changed[index] ^= 1
                    let sql = "UPDATE audit SET \(column) = ? WHERE number = ?"
                    try store.sql(sql, .blob(changed), .integer(link.number))
                    #expect(try store.audit.verify().broken?.number == link.number)
                    try store.sql(sql, .blob(bytes), .integer(link.number))
                }
            }
        }
        #expect(try store.audit.verify().broken == nil)
    }

    @Test func `a chain that was made anew without the key is found`() throws {
        let store = try five()
        // Changes everything that needs no key: replaces the text of entry 3 and corrects all
        // hashes after it.
        try store.access { connection in
            let log = AuditLog(connection: connection, cipher: store.cipher)
            var hash = try log.links(after: 1, limit: 1)[0].hash
            for link in try log.links(after: 2, limit: 9) {
                let encrypted = link.number == 3 ? [UInt8](repeating: 1, count: 60) : link.encrypted
                hash = AuditLog.hash(after: hash, link.number, link.at, encrypted)
                try connection.run(
                    "UPDATE audit SET sealed = ?, hash = ? WHERE number = ?", .blob(encrypted),
                    .blob(hash), .integer(link.number))
            }
            try connection.run("UPDATE audit_head SET last_hash = ?", .blob(hash))
        }

        let broken = try store.audit.verify().broken

        #expect(
            broken == AuditProof.Break(number: 3, reason: "its encrypted text does not open"))
    }

    @Test(arguments: [
        "DELETE FROM audit WHERE number > 3", "DELETE FROM audit", "DELETE FROM audit_head",
        "DELETE FROM audit; DELETE FROM audit_head",
        "DELETE FROM audit WHERE number = 5; UPDATE audit_head SET last_number = 4, last_hash = (SELECT hash FROM audit WHERE number = 4)",
        "INSERT INTO audit SELECT 6, at_ms, sealed, hash FROM audit WHERE number = 5",
    ])
    func `a break is not covered by what is written after it`(change: String) throws {
        let store = try five()
        try store.access { try $0.execute(change) }
        let before = try store.audit.verify().broken

        for _ in 0..<3 { try open().audit.record(.exported) }

        #expect(before != nil)
        #expect(try open().audit.verify().broken != nil)
        #expect(try open().audit.records(limit: 99).last?.entry?.action == .exported)
    }

    @Test func `only what was uploaded is pruned, and the rest is still proved`() throws {
        let store = try five()

        let early = try store.audit.prune(through: 9)
        try store.audit.confirmUpload(through: 9)
        let none = try store.audit.uploadedNumber()
        try store.audit.confirmUpload(through: 3)
        try store.audit.confirmUpload(through: 2)
        let removed = try store.audit.prune(through: 9)

        #expect(early == 0 && none == 0 && removed == 3)
        #expect(try store.audit.uploadedNumber() == 3)
        let proof = try store.audit.verify()
        #expect(proof.broken == nil && proof.count == 2 && proof.anchor == 3)
        try store.sql("DELETE FROM audit WHERE number = 4")
        #expect(try store.audit.verify().broken?.number == 4)
    }

    @Test func `an entry that was pruned and put back is found`() throws {
        let store = try five()
        try store.sql("CREATE TABLE kept AS SELECT * FROM audit")
        try store.audit.confirmUpload(through: 3)
        _ = try store.audit.prune(through: 3)
        let before = try store.audit.verify().broken

        try store.sql("INSERT INTO audit SELECT * FROM kept WHERE number = 2")

        #expect(before == nil)
        #expect(
            try store.audit.verify().broken
                == AuditProof.Break(number: 2, reason: "it was pruned, and is here again"))
    }

    @Test func `an entry is bounded whatever its kinds are`() throws {
        let store = try open()
        let counts = Dictionary(
            uniqueKeysWithValues: (100..<400).map {
                (String(repeating: "k\($0)", count: 90), Int64(1))
            })

        try store.audit.record(.read, counts, detail: String(repeating: "d", count: 9999))

        let entry = try #require(try entries(store).last)
        #expect(entry.counts.count == 65 && entry.counts["others"] == 236)
        #expect(entry.counts.keys.allSatisfy { $0.utf8.count <= 120 })
        #expect(entry.detail.count == 120)
    }

    @Test(arguments: [
        [], [0], [2], [1, 255, 255, 255, 255], [1, 0, 0, 0, 0],
        Array("\u{1}garbage that is long enough to be read as something".utf8),
    ])
    func `bytes that are no entry are none`(bytes: [UInt8]) {
        #expect(AuditEntry(encryptedForm: bytes) == nil)
    }
}
