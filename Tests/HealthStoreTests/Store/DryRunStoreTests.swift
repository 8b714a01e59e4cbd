@preconcurrency import Glibc
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite struct DryRunStoreTests {
    private let folder = StateFolder()

    private func dryRun() throws -> HealthStore {
        try HealthStore.dryRun(of: folder.path, environment: [:])
    }

    @Test func `a dry run starts as the store is and changes nothing of it`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))
        let before = folder.contents

        let dryRun = try dryRun()
        _ = try dryRun.outbox.enqueue(heartRates(3..<5))
        let batch = try dryRun.outbox.nextBatch(limit: 9, at: noon)

        #expect(batch?.samples == heartRates(0..<5))
        #expect(before.keys.sorted() == ["health.db", "health.lock", "keys/master.key"])
        #expect(folder.contents == before)
    }

    @Test func `a dry run sees what a killed process left in the log`() throws {
        let source = StateFolder()
        let writer = try source.open()
        _ = try writer.outbox.enqueue(heartRates(0..<3))
        // The files as a kill leaves them, with the log not yet copied into the file. The `-shm` is
        // left out on purpose, because a machine that keeps it in memory loses it at a restart.
        for name in ["health.db", "health.db-wal", "keys/master.key"] {
            folder.write(source.bytes(of: name), to: name)
        }
        let before = folder.contents

        let states = try dryRun().outbox.states()

        #expect(states == [.queued: 3])
        #expect(folder.contents == before)
        withExtendedLifetime(writer) {}
    }

    @Test func `a dry run beside a living writer sees what was committed`() throws {
        let writer = try folder.open()
        _ = try writer.outbox.enqueue(heartRates(0..<3))
        let before = folder.contents

        let states = try dryRun().outbox.states()

        #expect(states == [.queued: 3])
        #expect(folder.contents == before)
        _ = try writer.outbox.enqueue(heartRates(3..<4))
        #expect(try dryRun().outbox.states() == [.queued: 4])
    }

    @Test func `without a store a dry run is empty and writes not even a key`() throws {
        let dryRun = try dryRun()
        _ = try dryRun.outbox.enqueue(heartRates(0..<2))

        #expect(try dryRun.outbox.states() == [.queued: 2])
        #expect(folder.names == [])
    }

    @Test func `a dry run of a directory that is not there makes none`() throws {
        let missing = "\(folder.path)/none"

        _ = try HealthStore.dryRun(of: missing, environment: [:])

        #expect(access(missing, F_OK) == -1)
    }

    @Test func `a dry run leaves nothing behind among the temporary files`() throws {
        let drafts = StateFolder()
        let writer = try folder.open()
        _ = try writer.outbox.enqueue(heartRates(0..<3))

        let dryRun = try HealthStore.dryRun(
            of: folder.path, environment: ["TMPDIR": drafts.path])

        #expect(try dryRun.outbox.states() == [.queued: 3])
        #expect(drafts.names == [])
        withExtendedLifetime(writer) {}
    }

    @Test func `a dry run removes the copy of one that was killed, and no other's`() throws {
        let drafts = StateFolder()
        let writer = try folder.open()
        _ = try writer.outbox.enqueue(heartRates(0..<3))
        var (killed, living) = ("clarity-jobs-copy.aaaaaa", "clarity-jobs-copy.bbbbbb")
        (killed, living) = ("\(drafts.path)/\(killed)", "\(drafts.path)/\(living)")
        for path in [killed, living] {
            mkdir(path, 0o700)
            close(creat("\(path)/health.db", 0o600))
            close(creat("\(path)/health.db-wal", 0o600))
        }
        let lock = open(living, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        flock(lock, LOCK_EX)

        _ = try HealthStore.dryRun(of: folder.path, environment: ["TMPDIR": drafts.path])

        #expect(
            drafts.names
                == ["clarity-jobs-copy.bbbbbb/health.db", "clarity-jobs-copy.bbbbbb/health.db-wal"])
        // A child that another test starts at this moment would keep the lock.
        flock(lock, LOCK_UN)
        close(lock)
        _ = try HealthStore.dryRun(of: folder.path, environment: ["TMPDIR": drafts.path])
        #expect(drafts.names == [])
        withExtendedLifetime(writer) {}
    }

    @Test func `a dry run needs its folder for temporary files`() throws {
        let missing = "\(folder.path)/none"
        let writer = try folder.open()
        _ = try writer.outbox.enqueue(heartRates(0..<3))

        let error = #expect(throws: HealthStoreError.self) {
            try HealthStore.dryRun(of: folder.path, environment: ["TMPDIR": missing])
        }

        #expect(error?.failure.category == .disk)
        withExtendedLifetime(writer) {}
    }
}
