import ClarityTestSupport
import Database
import Glibc
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import Platform
@testable import ClarityScheduler

// One after the other: the databases of all tests share the role whose password changes, and the
// server refuses two changes of it at the same time.
@Suite(
    "A master key of data in PostgreSQL", .serialized,
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerKeyRotationTests {
    private struct Killed: Error {}

    /// Data on the server with a row in every table, and the environment that names it.
    private struct Bed {
        let filled: FilledStore
        let server: ServerAddress
        let environment: [String: String]

        var folder: StateFolder { filled.folder }

        init() async throws {
            filled = try HealthServer.$current.withValue(try await HealthServer.shared()) {
                try FilledStore()
            }
            var server = try #require(try filled.folder.place()).address
            server.user = "clarity"
            self.server = server
            environment = ServerAccount.variables(for: AccountID("ada"), at: server)
        }

        func rotation(
            to key: NewKey = .made,
            after: @escaping (ServerKeyRotation.Step) throws -> Void = { _ in }
        ) -> ServerKeyRotation {
            var rotation = ServerKeyRotation(
                server: server, account: "ada",
                keys: RotationKeys(
                    file: HealthFile(in: folder.path),
                    source: MasterKeySource(
                        stateDirectory: folder.path, environment: environment), newKey: key),
                actor: AuditActor(program: "key rotate"), clock: FixedClock(noon))
            // Less than most tables have, so that a cursor is read several times.
            rotation.portion = 2
            rotation.patience = .seconds(60)
            rotation.after = after
            return rotation
        }

        func status() throws -> KeyStatus? {
            try KeyStatus.read(stateDirectory: folder.path, environment: environment)
        }

        /// Counts the encrypted values that a key opens in their rows.
        func opened(by key: MasterKey) throws -> Int {
            let connection = try #require(try folder.place()).open(keyID: "")
            let cipher = try Cipher(key)
            var count = 0
            try connection.transaction {
                for table in EncryptedTable.all + [.formerKeys] {
                    try table.forEachOnServer(portion: 99, connection) { entry in
                        guard let encrypted = entry.encrypted else { return }
                        let row = table.identity(of: entry)
                        count += cipher.opened(encrypted, for: row) == nil ? 0 : 1
                    }
                }
            }
            let log = AuditLog(connection: connection, cipher: cipher)
            return try count + log.links(after: 0, limit: 99).count { log.entry(of: $0) != nil }
        }

        func ownKey() throws -> MasterKey {
            let place = try #require(try folder.place(of: "ada", wrapsKeys: true))
            let given = try #require(try given())
            return try #require(try place.ownKey(given, place.connect()))
        }

        func given() throws -> MasterKey? {
            try MasterKeySource(stateDirectory: folder.path, environment: [:]).find()?.key
        }
    }

    @Test func `everything is as before under the new keys, and the former ones open nothing`()
        async throws
    {
        let bed = try await Bed()
        let given = try #require(try bed.given())
        let before = try bed.opened(by: given)

        let report = try bed.rotation().run()
        let own = try bed.ownKey()
        let again = try bed.rotation().run()

        #expect(before > 15)
        #expect(report.damaged == 0 && report.resumedFrom == nil)
        #expect(
            report.placeToFill
                == "`\(bed.folder.path)/keys/master.key` of each other machine")
        #expect(again.rows == report.rows + 1)
        #expect(try bed.opened(by: given) == 0 && bed.opened(by: own) == 0)
        // The log's entries about the changes, and two copies of each former index key.
        #expect(try bed.opened(by: bed.ownKey()) == before + 6)
        let status = try #require(try bed.status())
        #expect(status.changes == 2 && status.rotation == nil)
        #expect(status.place.hasSuffix("which wraps the key in the database"))
        try bed.filled.expectWhole(bed.environment)
    }

    @Test(arguments: [ServerKeyRotation.Step.keyKept, .encrypted, .committed])
    func `a change that is cut short leaves one key, and the next call does the rest`(
        step: ServerKeyRotation.Step
    ) async throws {
        let bed = try await Bed()
        let given = try #require(try bed.given())

        let killed = #expect(throws: HealthStoreError.self) {
            try bed.rotation { if $0 == step { throw Killed() } }.run()
        }
        #expect(killed?.description.contains("Killed") == true, "\(killed as Any)")
        let isUnfinished: Bool
        do {
            _ = try bed.folder.open(bed.environment)
            isUnfinished = false
        } catch let error as HealthStoreError {
            isUnfinished = error.isUnfinishedRotation
            #expect(error.description.hasSuffix("finish it with `clarity-jobs key rotate`"))
        }
        let report = try bed.rotation().run()

        #expect(isUnfinished == (step == .committed))
        #expect(report.resumedFrom == (step == .committed ? noon : nil))
        #expect(report.rows > 15 && report.damaged == 0)
        #expect(try bed.status()?.changes == 1)
        #expect(try bed.given()?.bytes != given.bytes)
        #expect(!bed.folder.names.contains("keys/master.key.new"))
        try bed.filled.expectWhole(bed.environment)
    }

    @Test func `a key that is named wraps a new one, also when the call was cut short`()
        async throws
    {
        let bed = try await Bed()
        let key = "\(bed.folder.path)/named"
        bed.folder.write(Array(String(repeating: "e1", count: 32).utf8), to: "named")
        chmod(key, 0o600)
        let killed = #expect(throws: HealthStoreError.self) {
            try bed.rotation(to: .file(key)) { if $0 == .committed { throw Killed() } }.run()
        }
        #expect(killed?.description.contains("Killed") == true, "\(killed as Any)")

        let report = try bed.rotation(to: .file(key)).run()

        #expect(report.resumedFrom == noon)
        #expect(report.placeToFill == "a credential or a variable of each machine")
        // The former key is gone, and nothing opens without the new one.
        #expect(try bed.given() == nil)
        #expect(throws: HealthStoreError.self) { try bed.folder.open(bed.environment) }
        let named = ["CLARITY_JOBS_KEY": String(repeating: "e1", count: 32)]
        try bed.filled.expectWhole(bed.environment.merging(named) { $1 })
        #expect(throws: HealthStoreError.self) {
            try ServerKeyRotation(
                server: bed.server, account: "ada",
                keys: RotationKeys(
                    file: HealthFile(in: bed.folder.path),
                    source: MasterKeySource(
                        stateDirectory: bed.folder.path,
                        environment: bed.environment.merging(named) { $1 }),
                    newKey: .file(key)), actor: AuditActor(), clock: FixedClock(noon)
            ).run()
        }
    }

    @Test func `a machine with the former key changes nothing and is told to copy the new one`()
        async throws
    {
        let bed = try await Bed()
        let other = StateFolder()
        other.write(bed.folder.bytes(of: "keys/master.key"), to: "keys/master.key")
        chmod("\(other.path)/keys/master.key", 0o600)
        var user: HealthStore? = try other.open(bed.environment)
        var busy = bed.rotation()
        busy.patience = .zero
        let inUse = #expect(throws: HealthStoreError.self) { try busy.run() }
        var late: HealthStore?

        withExtendedLifetime(user) {}
        user = nil
        _ = try bed.rotation { step in
            // After the others were ended, and before the commit.
            if step == .encrypted { late = try other.open(bed.environment) }
        }.run()
        let store = try #require(late)
        let write = #expect(throws: HealthStoreError.self) {
            try store.audit.record(.exported, ["steps": 1])
        }
        let open = #expect(throws: HealthStoreError.self) { try other.open(bed.environment) }
        let rotate = #expect(throws: HealthStoreError.self) {
            try KeyRotation(
                stateDirectory: other.path, environment: bed.environment, to: .made,
                actor: AuditActor(), clock: FixedClock(noon)
            ).run()
        }

        #expect(inUse?.description.contains("is in use by other processes") == true)
        for error in [write, open] {
            #expect(
                error?.description.hasSuffix(
                    "has another master key than this machine; if `clarity-jobs key rotate` has "
                        + "changed it, copy the new key to this machine") == true)
            #expect(error?.failure.category == .configuration)
        }
        #expect(rotate?.description == open?.description)
        try bed.filled.expectWhole(bed.environment)
        other.write(bed.folder.bytes(of: "keys/master.key"), to: "keys/master.key")
        #expect(try other.open(bed.environment).audit.verify().broken == nil)
    }
}
