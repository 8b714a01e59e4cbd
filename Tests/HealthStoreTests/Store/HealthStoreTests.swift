@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite struct HealthStoreTests {
    private let key = ["CLARITY_JOBS_KEY": String(repeating: "0f", count: 32)]

    @Test func `a new store makes its directory, key and file for the owner alone`() throws {
        let folder = StateFolder()
        let nested = "\(folder.path)/state"
        defer {
            for name in ["health.db", "health.lock", "keys/master.key"] {
                unlink("\(nested)/\(name)")
            }
            rmdir("\(nested)/keys")
            rmdir(nested)
        }

        try withExtendedLifetime(HealthStore(stateDirectory: nested, environment: [:])) { _ in
            #expect(folder.mode(of: "state") == 0o700)
            for name in [
                "health.db", "health.db-wal", "health.db-shm", "health.lock", "keys/master.key",
            ] {
                #expect(folder.mode(of: "state/\(name)") == 0o600, "\(name)")
            }
        }
    }

    @Test func `a store that was open to others is closed to them`() throws {
        let folder = StateFolder()
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))
        chmod("\(folder.path)/health.db", 0o664)
        chmod(folder.path, 0o755)

        try withExtendedLifetime(folder.open()) { _ in
            #expect(folder.mode(of: ".") == 0o700)
            for name in ["health.db", "health.db-wal", "health.db-shm"] {
                #expect(folder.mode(of: name) == 0o600, "\(name)")
            }
        }
    }

    @Test func `a store is found again with its key`() throws {
        let folder = StateFolder()
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))

        let states = try folder.open().outbox.states()

        #expect(states == [.queued: 3])
    }

    @Test func `another key is refused before anything is read`() throws {
        let folder = StateFolder()
        _ = try folder.open(key).outbox.enqueue(heartRates(0..<3))

        let error = #expect(throws: HealthStoreError.self) {
            try folder.open(["CLARITY_JOBS_KEY": String(repeating: "aa", count: 32)])
        }

        #expect(
            error?.description
                == "`\(folder.path)/health.db` was encrypted with another master key")
        #expect(error?.failure.category == .configuration)
    }

    @Test func `no new key is made for a store that has lost its own`() throws {
        let folder = StateFolder()
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))
        unlink("\(folder.path)/keys/master.key")

        let error = #expect(throws: HealthStoreError.self) { try folder.open() }
        let dryRun = #expect(throws: HealthStoreError.self) {
            try HealthStore.dryRun(of: folder.path, environment: [:])
        }

        let text =
            "there is no master key for `\(folder.path)/health.db`; restore `keys/master.key` beside "
            + "it, or set `CLARITY_JOBS_KEY`"
        #expect(error?.description == text)
        #expect(dryRun?.description == text)
        #expect(error?.failure.category == .configuration)
        #expect(folder.names == ["health.db", "health.lock"])
    }

    @Test func `an empty file, left by a kill at the very start, counts as no store`() throws {
        let folder = StateFolder()
        folder.write([], to: "health.db")

        _ = try folder.open()

        #expect(folder.names.contains("keys/master.key"))
    }

    @Test func `another program's file is refused and left as it is`() throws {
        let folder = StateFolder()
        try FileConnection(path: "\(folder.path)/health.db").execute("CREATE TABLE theirs (v)")
        let before = folder.bytes(of: "health.db")

        let error = #expect(throws: HealthStoreError.self) { try folder.open(key) }

        #expect(
            error?.description
                == "`\(folder.path)/health.db` is not a health database of this program")
        #expect(folder.bytes(of: "health.db") == before)
    }

    @Test func `a newer version's file is refused`() throws {
        let folder = StateFolder()
        try folder.open(key).sql("PRAGMA user_version = 99")

        let error = #expect(throws: HealthStoreError.self) { try folder.open(key) }

        #expect(
            error?.description
                == "`\(folder.path)/health.db` has version 99, this program knows "
                + "\(HealthSchema.migrations.newest); use a newer clarity-jobs")
    }

    @Test func `a file in the place of the directory is an error`() throws {
        let folder = StateFolder()
        folder.write([], to: "state")

        let error = #expect(throws: HealthStoreError.self) {
            try HealthStore(stateDirectory: "\(folder.path)/state", environment: key)
        }

        #expect(
            error?.description
                == "cannot use state directory `\(folder.path)/state`: it is no folder")
        #expect(error?.failure.category == .unreachable)
    }

    @Test func `a full disk is a disk failure, a held file is busy`() {
        let full = HealthStoreError.database(
            DatabaseError(code: 13, message: "database or disk is full"), path: "/s/health.db")
        let busy = HealthStoreError.database(
            DatabaseError(code: 5, message: "database is locked"), path: "/s/health.db")

        #expect(
            full.failure
                == Failure(
                    .disk, "cannot use `/s/health.db`: database or disk is full (SQLite 13)"))
        #expect(busy.isBusy && !full.isBusy)
    }

    @Test func `no value, source, token or pulled row is in the files`() throws {
        let folder = StateFolder()
        let marker = "MARKER-73914"
        let store = try folder.open()
        var sample = heartRates(0..<1, source: marker)[0]
        sample.value = .single(73_914.25)
        _ = try store.outbox.enqueue([sample])
        try store.sessions.save(
            Session(
                userID: "u-\(marker)", email: marker, accessToken: Secret(marker),
                refreshToken: Secret(marker), expiresAt: noon))
        let row = CachedRow(
            id: "1", type: "heart_rate", timestamp: noon, json: Array(#"{"v":"\#(marker)"}"#.utf8))
        _ = try store.cache.upsert([row], into: .metrics, syncedAt: noon)
        _ = try store.cache.upsert([row], into: .insights, syncedAt: noon)
        try store.cache.storeProfile(Array(marker.utf8), syncedAt: noon)
        let stamp = try #require(
            SourceStamp(path: "\(folder.path)/health.db", reader: "1", at: noon + .seconds(1 << 31))
        )
        try store.outbox.noteRead("/home/\(marker)/export.zip", stamp, at: noon)

        var number: [UInt8] = []
        number.append(littleEndian: 73_914.25.bitPattern)
        for (name, bytes) in folder.contents {
            for needle in [Array(marker.utf8), number, Array("73914".utf8)] {
                #expect(!bytes.contains(needle), "\(name)")
            }
        }
        #expect(folder.contents.values.contains { $0.contains(Array("heart_rate".utf8)) })
    }
}
