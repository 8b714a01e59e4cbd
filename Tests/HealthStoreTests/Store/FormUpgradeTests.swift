import CSodium
import ClarityTestSupport
import Dispatch
import Database
import Synchronization
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Tests a file that release 0.1.0 wrote, with unpadded values and metric ids in plain text.
@Suite struct FormUpgradeTests {
    private struct Kill: Error {}

    private let filled: FilledStore
    private let id = "9f2d6e0a-6a3b-8c1d-9e2f-0a1b2c3d4e5f"

    init() throws {
        filled = try FilledStore(firstKey)
        try pull()
        try makeFormer()
    }

    /// Stores two versions of a metric, with an id of the form that this program makes.
    private func pull() throws {
        let store = try filled.folder.open(firstKey)
        for seconds in [0, 60] as [Int64] {
            let row = CachedRow(
                id: id, type: "steps", timestamp: noon + .seconds(seconds - 9999), json: [7])
            _ = try store.cache.upsert([row], into: .metrics, syncedAt: noon)
        }
    }

    /// Changes the file back to the form that the former release wrote.
    private func makeFormer() throws {
        let connection = try FileConnection(path: "\(filled.folder.path)/health.db")
        let sealer = try sealer(firstKey)
        for table in SealedTable.all where table.isSealed && table.name != "pulls" {
            for entry in try table.entries(after: 0, limit: 99, connection) {
                guard let sealed = entry.sealed else { continue }
                var plain = try sealer.open(sealed, for: table.identity(of: entry))
                var former: String?
                if table.hexTag == "id" || table.hexTag == "row_id" {
                    let parts = MetricForm.parts(of: plain)
                    (former, plain) = (parts.id, parts.rest)
                }
                let row = table.identity(of: entry, hexTag: former)
                try connection.run(
                    "UPDATE \(table.name) SET sealed = ? WHERE rowid = ?",
                    .blob(unpadded(plain, for: row, sealer)), .integer(entry.number))
                if let former, let column = table.hexTag {
                    try connection.run(
                        "UPDATE \(table.name) SET \(column) = ? WHERE rowid = ?", .text(former),
                        .integer(entry.number))
                }
            }
        }
        let stamp = try #require(
            SourceStamp(
                path: "/proc/self/exe", reader: "1", at: Instant(secondsSince1970: 1 << 33)))
        try connection.run("UPDATE sources SET stamp = ?", .text(stamp.text))
        var head = try #require(try AuditHead.read(connection, sealer)).head
        head.counts = AuditHead.Counts()
        try head.write(connection, sealer)
        filled.folder.write(AuditMark(head).content(sealer), to: "health.lock")
        for column in ["generation", "rows", "sum", "floor"] {
            try connection.execute("ALTER TABLE audit_head DROP COLUMN count_\(column)")
        }
        try connection.execute(
            """
            UPDATE pulls SET sealed = NULL, place = 'eyJpZCI6MTU0MjB9' WHERE name = 'metrics';
            ALTER TABLE pulls DROP COLUMN sealed;
            DROP TABLE form_upgrade;
            DROP TABLE counts;
            DROP TABLE contributions;
            DROP TABLE notice_deliveries;
            DROP TABLE notices;
            DROP TABLE segments;
            DROP TABLE segment_marks;
            DROP TABLE segment_days;
            DROP TABLE pruned_months;
            DROP TABLE packed_samples;
            DROP TABLE packed_totals;
            DROP VIEW samples;
            ALTER TABLE metrics DROP COLUMN is_packed;
            ALTER TABLE restorations DROP COLUMN is_held;
            PRAGMA user_version = \(HealthSchema.formVersion - 1);
            """)
    }

    private func unpadded(_ plain: [UInt8], for row: RowIdentity, _ sealer: Sealer) -> [UInt8] {
        let nonce = Sealer.nonces(1)
        var sealed = [UInt8](repeating: 0, count: plain.count + 16)
        crypto_aead_xchacha20poly1305_ietf_encrypt(
            &sealed, nil, plain, UInt64(plain.count), row.bytes, UInt64(row.bytes.count), nil,
            nonce, sealer.unpaddedKey)
        return nonce + sealed
    }

    private func contains(_ text: String, _ folder: StateFolder) -> Bool {
        folder.contents.contains { name, bytes in
            name.hasPrefix("health.db") && bytes.firstRange(of: Array(text.utf8)) != nil
        }
    }

    private func upgrade(_ folder: StateFolder) throws -> (FormUpgrade, Connection) {
        let connection = try FileConnection(path: "\(folder.path)/health.db")
        try HealthFilePlace.prepare(connection) { _ in }
        return (FormUpgrade(connection: connection, sealer: try sealer(firstKey)), connection)
    }

    @Test func `a file of the former release loses nothing and keeps no id in the clear`() throws {
        #expect(contains(id, filled.folder) && contains("eyJpZCI6MTU0MjB9", filled.folder))

        let store = try filled.folder.open(firstKey)

        #expect(store.wasUpgraded)
        #expect(try store.cache.rows(of: .metrics, limit: 9).map(\.row.id) == ["a", "b", id])
        #expect(!contains(id, filled.folder) && !contains("eyJpZCI6MTU0MjB9", filled.folder))
        #expect(try store.audit.records(limit: 99).last?.entry?.action == .resealed)
        try store.sql("DELETE FROM metrics WHERE type = 'steps'")
        try store.sql("DELETE FROM archive WHERE type = 'steps'")
        try filled.expectWhole(firstKey, hasContributions: false)
        #expect(try !filled.folder.open(firstKey).wasUpgraded)
    }

    @Test func `a kill at any step is finished by the next process`() throws {
        var kills = 0
        while true {
            let copy = filled.copy()
            var (upgrade, connection) = try upgrade(copy.folder)
            upgrade.portion = 3
            var steps = 0
            upgrade.after = { _ in
                steps += 1
                if steps > kills { throw Kill() }
            }
            do {
                try upgrade.run(actor: AuditActor(), at: noon)
                break
            } catch is Kill {}
            // After a kill, another process reads the files as they are.
            let left = copy.copy()
            withExtendedLifetime(connection) {}
            let store = try left.folder.open(firstKey)
            #expect(try store.cache.rows(of: .metrics, limit: 9).map(\.row.id) == ["a", "b", id])
            #expect(!contains(id, left.folder), "killed at step \(kills)")
            try store.sql("DELETE FROM metrics WHERE type = 'steps'")
            try store.sql("DELETE FROM archive WHERE type = 'steps'")
            try left.expectWhole(firstKey, hasContributions: false)
            kills += 1
        }
        #expect(kills > 10)
    }

    @Test func `several processes that open the file at once upgrade it once`() throws {
        let opened = Mutex<[Bool]>([])
        let path = filled.folder.path

        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            do {
                let store = try HealthStore(stateDirectory: path, environment: firstKey)
                opened.withLock { $0.append(store.wasUpgraded) }
            } catch {
                Issue.record(error)
            }
        }

        #expect(opened.withLock { $0.filter(\.self).count } == 1)
        #expect(opened.withLock(\.count) == 4)
    }

    @Test func `a process of the former release that uses the file is waited for`() throws {
        let file = HealthFile(in: filled.folder.path)
        let former = try StoreLock.share(of: file, makesFile: true)

        let error = #expect(throws: HealthStoreError.self) {
            try StoreOpening(
                filled.folder.path, firstKey, actor: AuditActor(), clock: ManualClock(noon),
                patience: .milliseconds(30))
        }

        withExtendedLifetime(former) {}
        #expect(error?.isBusy == true && error?.failure.category == .unreachable)
        #expect(
            error?.description
                == "this release has to seal `\(file.path)` anew once, and other processes use it; "
                + "try again when they have ended")
    }

    @Test func `a change of the key upgrades the file first`() throws {
        _ = try KeyRotation(
            stateDirectory: filled.folder.path,
            environment: firstKey.merging(["NEW": String(repeating: "aa", count: 32)]) { $1 },
            to: .variable("NEW"), actor: AuditActor(), clock: ManualClock(noon)
        ).run()

        let store = try filled.folder.open(secondKey)
        #expect(!store.wasUpgraded && !contains(id, filled.folder))
        #expect(try store.cache.rows(of: .metrics, limit: 9).map(\.row.id) == ["a", "b", id])
    }

    @Test func `a change of the key that the former release began is finished first`() throws {
        let (_, connection) = try upgrade(filled.folder)
        let former = try Canary.sealer(
            #require(
                try MasterKeySource(stateDirectory: "/none", environment: firstKey).load()),
            connection)
        let key = try #require(
            try MasterKeySource(stateDirectory: "/none", environment: secondKey).load())
        let next = try former.followed(by: key)
        var state = RotationState(
            begunAt: noon, proof: next.seal([], for: RotationState.proofRow), isNewInFile: false,
            wasFormerInFile: false)
        let resealing = Resealing(
            connection: connection, former: former, next: next, portion: 2)
        for _ in 0..<12 { _ = try resealing.work(&state) }

        _ = try KeyRotation(
            stateDirectory: filled.folder.path,
            environment: firstKey.merging(["NEW": String(repeating: "aa", count: 32)]) { $1 },
            to: .variable("NEW"), actor: AuditActor(), clock: ManualClock(noon)
        ).run()
        let store = try filled.folder.open(secondKey)

        #expect(store.wasUpgraded && !contains(id, filled.folder))
        try store.sql("DELETE FROM metrics WHERE type = 'steps'")
        try store.sql("DELETE FROM archive WHERE type = 'steps'")
        try filled.expectWhole(secondKey, hasContributions: false)
    }
}
