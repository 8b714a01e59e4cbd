import HealthModel
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler
@testable import Platform

@Suite struct EncryptedDamageTests {
    private struct Encrypted {
        let table: EncryptedTable
        let entry: EncryptedTable.Entry
        let value: [UInt8]
    }

    private func encrypted(_ connection: Connection) throws -> [Encrypted] {
        try (EncryptedTable.all + [.formerKeys]).flatMap { table in
            try table.entries(after: 0, limit: 99, connection).compactMap { entry in
                entry.encrypted.map { Encrypted(table: table, entry: entry, value: $0) }
            }
        }
    }

    @Test func `every column under the key is known to the change of the key`() throws {
        let store = try StateFolder().open()
        var found: Set<String> = []

        try store.access { connection in
            let tables = try connection.all(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
            ) { $0.text(0) }
            for table in tables {
                let blobs = try connection.all(
                    "SELECT name FROM pragma_table_info(?) WHERE type = 'BLOB'", .text(table)
                ) { $0.text(0) }
                for column in blobs { found.insert("\(table).\(column)") }
            }
        }

        var known: Set<String> = [
            // The last transaction encrypts or chains these anew; other columns `blindIndex` and
            // `hash` do not depend on the key.
            "canary.sealed", "rotation.proof", "rotation.former_hash", "audit.sealed",
            "audit.hash", "audit_head.anchor_hash", "audit_head.last_hash", "audit_head.mac",
            "counts.mac",
        ]
        for table in EncryptedTable.all + [.formerKeys] {
            if table.isEncrypted { known.insert("\(table.name).sealed") }
            if let blindIndex = table.blindIndex { known.insert("\(table.name).\(blindIndex)") }
        }
        #expect(found == known)
    }

    @Test func `a flipped byte of any encrypted value is noticed and named`() throws {
        let filled = try FilledStore(firstKey)
        let cipher = try cipher(firstKey)
        let connection = try FileConnection(path: "\(filled.folder.path)/health.db")
        let all = try encrypted(connection)

        #expect(
            Set(all.map(\.table.name)) == Set(EncryptedTable.all.filter(\.isEncrypted).map(\.name)))
        for one in all {
            let row = one.table.identity(of: one.entry)
            #expect(cipher.opened(one.value, for: row) != nil, "\(one.table.name)")
            for index in places(in: one.value) {
                var changed = one.value
                changed[index] ^= 0x80
                let error = #expect(throws: EncryptionError.self) {
                    try cipher.open(changed, for: row)
                }
                #expect(error?.table == row.table && error?.row == row.label)
            }
        }
    }

    /// Returns every position of the nonce, the blind index and a short value, and positions spread
    /// over a long value: every authenticated byte is treated alike.
    private func places(in value: [UInt8]) -> [Int] {
        let ends = Array(value.indices.prefix(64)) + value.indices.suffix(64)
        let between = stride(from: 0, to: value.count, by: max(1, value.count / 256))
        return Set(ends + between).sorted()
    }

    @Test func `an encrypted value opens in no other row of any table`() throws {
        let filled = try FilledStore(firstKey)
        let cipher = try cipher(firstKey)
        let all = try encrypted(FileConnection(path: "\(filled.folder.path)/health.db"))

        for one in all {
            let homes = all.filter { other in
                cipher.opened(one.value, for: other.table.identity(of: other.entry)) != nil
            }
            #expect(homes.map(\.table.name) == [one.table.name], "\(one.table.name)")
            #expect(homes.map(\.entry.number) == [one.entry.number])
        }
    }

    @Test(arguments: [
        ("UPDATE outbox SET kind = 'steps' WHERE kind = 'heart_rate' AND start_s = (SELECT min(start_s) FROM outbox WHERE sealed NOT NULL)"),
        ("UPDATE outbox SET start_s = start_s + 1 WHERE id = (SELECT min(id) FROM outbox WHERE sealed NOT NULL)"),
        ("UPDATE outbox SET end_s = end_s + 1 WHERE id = (SELECT min(id) FROM outbox WHERE sealed NOT NULL)"),
        ("UPDATE outbox SET tag = x'0102030405060708' WHERE id = (SELECT min(id) FROM outbox WHERE sealed NOT NULL)"),
        ("UPDATE outbox SET sealed = zeroblob(length(sealed)) WHERE id = (SELECT min(id) FROM outbox WHERE sealed NOT NULL)"),
        ("UPDATE outbox SET sealed = (SELECT sealed FROM outbox ORDER BY id DESC LIMIT 1) WHERE id = (SELECT min(id) FROM outbox WHERE sealed NOT NULL)"),
    ])
    func `a changed sample is set aside and the others are sent`(change: String) throws {
        let filled = try FilledStore()
        let store = try filled.folder.open()
        try store.sql(change)

        let batch = try store.outbox.nextBatch(limit: 99, at: noon)

        #expect(batch?.samples == Array(filled.waiting.dropFirst()))
        #expect(try store.outbox.counts()[.setAside] == 1)
        #expect(try store.outbox.review().map(\.reason) == ["its encrypted value is damaged"])
    }

    @Test(arguments: [
        "UPDATE insights SET type = 'other' WHERE id = 'a'",
        "UPDATE insights SET timestamp_ms = timestamp_ms + 1 WHERE id = 'a'",
        "UPDATE insights SET sealed = zeroblob(9) WHERE id = 'a'",
        "UPDATE insights SET sealed = (SELECT sealed FROM metrics LIMIT 1) WHERE id = 'a'",
        "UPDATE insights SET sealed = (SELECT sealed FROM insights WHERE id = 'b') WHERE id = 'a'",
    ])
    func `a changed row is named and the others are read`(change: String) throws {
        let filled = try FilledStore()
        let store = try filled.folder.open()
        try store.sql(change)

        let rows = try store.cache.rows(of: .insights, limit: 9)

        #expect(rows.map(\.row.id) == ["b"])
        #expect(
            rows.damaged.map(\.description) == [
                "the encrypted value of row `a` in `insights` is damaged"
            ])
        #expect(try store.cache.rows(of: .metrics, limit: 9).count == 2)
    }

    @Test func `a damaged login asks for another one`() throws {
        let filled = try FilledStore()
        let store = try filled.folder.open()
        try store.sql("UPDATE session SET sealed = (SELECT sealed FROM owner)")

        let error = #expect(throws: HealthStoreError.self) { try store.sessions.load() }
        try store.sessions.save(filled.session)

        #expect(
            error?.description
                == "the login that was kept is damaged; run `clarity-jobs auth login`")
        #expect(error?.failure.category == .credential)
        #expect(try store.sessions.load() == filled.session)
    }

    @Test func `a damaged owner is known from the login, and kept anew with the next`() throws {
        let filled = try FilledStore()
        let store = try filled.folder.open()
        try store.sql("UPDATE owner SET sealed = zeroblob(43)")
        var other = filled.session
        other.userID = "eve"

        let owner = try store.sessions.owner()
        let refusal = #expect(throws: HealthStoreError.self) { try store.sessions.save(other) }
        try store.sessions.save(filled.session)
        try store.sql("UPDATE session SET sealed = zeroblob(99)")

        #expect(owner == "ada")
        #expect(refusal?.failure.category == .configuration)
        #expect(try store.sessions.owner() == "ada")
        try store.sql("UPDATE owner SET sealed = zeroblob(43)")
        let error = #expect(throws: HealthStoreError.self) { try store.sessions.owner() }
        #expect(
            error?.description
                == "`\(filled.folder.path)/health.db`: an encrypted value in `owner` is damaged")
    }

    @Test func `a damaged key check is replaced when something else proves the key`() throws {
        let filled = try FilledStore(firstKey)
        let keyCheck = try #require(
            try filled.folder.open(firstKey).access { connection in
                try connection.first("SELECT sealed FROM canary") { $0.blob(0) }
            })

        for index in stride(from: 0, to: keyCheck.count, by: 5) {
            var changed = keyCheck
            changed[index] ^= 4
            try filled.folder.open(firstKey).sql("UPDATE canary SET sealed = ?", .blob(changed))
            let wrong = #expect(throws: HealthStoreError.self) {
                try filled.folder.open(secondKey)
            }
            #expect(wrong?.description.hasSuffix("encrypted with another master key") == true)
            #expect(try filled.folder.open(firstKey).sessions.load() == filled.session)
        }

        // If the head of the audit log is missing too, the owner proves the key.
        try filled.folder.open(firstKey).sql("UPDATE canary SET sealed = zeroblob(41)")
        try FileConnection(path: "\(filled.folder.path)/health.db").execute(
            "DELETE FROM audit_head")
        let store = try filled.folder.open(firstKey)
        #expect(try store.sessions.load() == filled.session)
        #expect(try store.audit.verify().broken?.reason == "the head of the log is missing")
    }

    @Test(arguments: [Int64(1), 2])
    func `one damaged copy of a former key does no harm, two are named`(copy: Int64) throws {
        let filled = try FilledStore()
        for _ in 0..<2 {
            _ = try KeyRotation(
                stateDirectory: filled.folder.path, environment: [:], to: .made,
                actor: AuditActor(), clock: FixedClock(noon)
            ).run()
        }
        let damage = "UPDATE former_keys SET sealed = zeroblob(72) WHERE copy = ?"
        try filled.folder.open().sql(damage, .integer(copy))

        try filled.expectWhole()

        try filled.folder.open().sql(damage, .integer(3 - copy))
        let error = #expect(throws: HealthStoreError.self) { try filled.folder.open() }
        #expect(
            error?.description
                == "`\(filled.folder.path)/health.db`: the encrypted value of row `1/1` in "
                + "`former_keys` is damaged")
    }

    @Test func `a file without its key check takes no other key`() throws {
        let filled = try FilledStore(firstKey)
        try filled.folder.open(firstKey).sql("DELETE FROM canary")
        let before = filled.folder.digests

        let error = #expect(throws: HealthStoreError.self) { try filled.folder.open(secondKey) }

        #expect(error?.description.hasSuffix("was encrypted with another master key") == true)
        #expect(filled.folder.digests == before)
        #expect(try filled.folder.open(firstKey).sessions.load() == filled.session)
        #expect(try filled.folder.open(firstKey).audit.verify().broken == nil)
    }
}
