@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite struct StoreOpeningTests {
    private func refusal(
        _ folder: StateFolder, _ environment: [String: String] = [:]
    ) -> HealthStoreError? {
        #expect(throws: HealthStoreError.self) { try folder.open(environment) }
    }

    @Test func `a wrong key changes no byte of the state directory`() throws {
        let filled = try FilledStore(firstKey)
        let before = filled.folder.digests

        for environment in [secondKey, ["CLARITY_JOBS_KEY": "00"], [:]] {
            let error = refusal(filled.folder, environment)
            #expect(error?.failure.category == .configuration)
        }
        let dryRun = #expect(throws: HealthStoreError.self) {
            try HealthStore.dryRun(of: filled.folder.path, environment: secondKey)
        }

        #expect(dryRun?.description.hasSuffix("was encrypted with another master key") == true)
        #expect(filled.folder.digests == before)
    }

    @Test func `a wrong key leaves a killed process's log as it is`() throws {
        let filled = try FilledStore(firstKey)
        let user = try filled.folder.open(firstKey)
        _ = try user.outbox.enqueue(heartRates(30..<35))
        let killed = filled.copy()
        withExtendedLifetime(user) {}
        let before = killed.folder.digests

        let error = refusal(killed.folder, secondKey)

        #expect(before["health.db-wal"] != nil && before["health.db-shm"] == nil)
        #expect(error?.description.hasSuffix("was encrypted with another master key") == true)
        #expect(killed.folder.digests == before)
        #expect(try killed.folder.open(firstKey).outbox.counts()[.queued] == 10)
    }

    @Test func `a wrong key does not bring a file of an earlier release up to date`() throws {
        let folder = StateFolder()
        _ = try folder.makeFirstRelease()
        let before = folder.digests

        let error = refusal(folder, secondKey)
        let after = folder.digests
        let store = try folder.open(firstKey)

        #expect(error?.description.hasSuffix("was encrypted with another master key") == true)
        #expect(after == before)
        #expect(try store.audit.verify().broken == nil)
    }

    @Test func `a file that 0.1.0 was still encrypting is refused and left as it is`() throws {
        let folder = StateFolder()
        let connection = try folder.makeFirstRelease()
        try connection.execute("INSERT INTO form_upgrade (id, table_name) VALUES (1, 'metrics')")
        let before = folder.bytes(of: "health.db")

        let error = refusal(folder, firstKey)

        #expect(
            error?.description
                == "`\(folder.path)/health.db` was written before 0.1.0: open it once with "
                + "clarity-jobs 0.1.0, then with this version")
        #expect(folder.bytes(of: "health.db") == before)
    }

    @Test(arguments: ["health.db", "health.db-wal", "health.db-shm", "health.lock"])
    func `a symbolic link is refused and not written through`(name: String) throws {
        let folder = StateFolder()
        let elsewhere = StateFolder()
        elsewhere.write([1, 2, 3], to: "target")
        symlink("\(elsewhere.path)/target", "\(folder.path)/\(name)")

        let error = refusal(folder, firstKey)
        let dryRun = #expect(throws: HealthStoreError.self) {
            try HealthStore.dryRun(of: folder.path, environment: firstKey)
        }

        let text = "cannot use `\(folder.path)/\(name)`: it is a symbolic link"
        #expect(error?.description == text && dryRun?.description == text)
        #expect(error?.failure.category == .configuration)
        #expect(elsewhere.bytes(of: "target") == [1, 2, 3])
        #expect(elsewhere.mode(of: "target") == 0o600)
        #expect(folder.names == [name])
    }

    @Test func `a link in the place of the key is refused`() throws {
        let folder = StateFolder()
        let elsewhere = StateFolder()
        elsewhere.write([UInt8](repeating: 1, count: 32), to: "key")
        mkdir("\(folder.path)/keys", 0o700)
        symlink("\(elsewhere.path)/key", "\(folder.path)/keys/master.key")

        let error = refusal(folder)

        #expect(
            error?.description
                == "cannot use the master key `\(folder.path)/keys/master.key`: it is a symbolic link"
        )
    }

    @Test func `a folder in the place of a file is refused`() throws {
        let folder = StateFolder()
        mkdir("\(folder.path)/health.lock", 0o700)
        defer { rmdir("\(folder.path)/health.lock") }

        let error = refusal(folder, firstKey)

        #expect(
            error?.description
                == "cannot use `\(folder.path)/health.lock`: it is no ordinary file")
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [
            "health.db", "health.lock", "keys/master.key",
        ])
    func `a file of another user is refused`(name: String) throws {
        let filled = try FilledStore()
        chown("\(filled.folder.path)/\(name)", 12_345, 12_345)
        let before = filled.folder.digests

        let error = refusal(filled.folder)

        #expect(error?.description.hasSuffix("it belongs to another user") == true)
        #expect(error?.failure.category == .configuration)
        #expect(filled.folder.digests == before)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give folders away"))
    func `a directory of another user is refused`() throws {
        let filled = try FilledStore()
        chown(filled.folder.path, 12_345, 12_345)

        let error = refusal(filled.folder)
        chown(filled.folder.path, geteuid(), getegid())

        #expect(
            error?.description
                == "cannot use state directory `\(filled.folder.path)`: it belongs to another user"
        )
    }

    @Test(arguments: [
        (S_IFREG, uid_t(7), nil as String?), (S_IFREG, 8, "it belongs to another user"),
        (S_IFLNK, 7, "it is a symbolic link"), (S_IFDIR, 7, "it is no ordinary file"),
        (S_IFIFO, 7, "it is no ordinary file"),
    ])
    func `only an ordinary file of an owner that is allowed is taken`(
        type: mode_t, owner: uid_t, problem: String?
    ) {
        var status = stat()
        status.st_mode = type | 0o600
        status.st_uid = owner

        #expect(ownershipProblem(of: status, owners: [7]) == problem)
    }
}
