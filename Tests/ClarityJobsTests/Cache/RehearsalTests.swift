@preconcurrency import Glibc
import SQLite
import Testing

@testable import ClarityJobs
@testable import ClarityScheduler

@Suite struct RehearsalTests {
    private let folder = StateFolder()

    private func rehearse() throws -> HealthStore {
        try HealthStore.rehearsal(of: folder.path, environment: [:])
    }

    @Test func `a rehearsal starts as the store is and changes nothing of it`() throws {
        _ = try folder.open().enqueue(heartRates(0..<3))
        let before = folder.contents

        let rehearsal = try rehearse()
        _ = try rehearsal.enqueue(heartRates(3..<5))
        let batch = try rehearsal.nextBatch(limit: 9, at: noon)

        #expect(batch?.samples == heartRates(0..<5))
        #expect(before.keys.sorted() == ["health.db", "master.key"])
        #expect(folder.contents == before)
    }

    @Test func `a rehearsal sees what a killed process left in the log`() throws {
        let source = StateFolder()
        let writer = try source.open()
        _ = try writer.enqueue(heartRates(0..<3))
        // The files as a kill leaves them: the log was never made part of the file. The `-shm` is
        // left out on purpose, as after a restart of a machine that keeps it in memory.
        for name in ["health.db", "health.db-wal", "master.key"] {
            folder.write(source.bytes(of: name), to: name)
        }
        let before = folder.contents

        let states = try rehearse().states()

        #expect(states == [.queued: 3])
        #expect(folder.contents == before)
        withExtendedLifetime(writer) {}
    }

    @Test func `a rehearsal beside a living writer sees what was committed`() throws {
        let writer = try folder.open()
        _ = try writer.enqueue(heartRates(0..<3))
        let before = folder.contents

        let states = try rehearse().states()

        #expect(states == [.queued: 3])
        #expect(folder.contents == before)
        _ = try writer.enqueue(heartRates(3..<4))
        #expect(try rehearse().states() == [.queued: 4])
    }

    @Test func `without a store a rehearsal is empty and writes not even a key`() throws {
        let rehearsal = try rehearse()
        _ = try rehearsal.enqueue(heartRates(0..<2))

        #expect(try rehearsal.states() == [.queued: 2])
        #expect(folder.names == [])
    }

    @Test func `a rehearsal of a directory that is not there makes none`() throws {
        let missing = "\(folder.path)/none"

        _ = try HealthStore.rehearsal(of: missing, environment: [:])

        #expect(access(missing, F_OK) == -1)
    }

    @Test func `a rehearsal leaves no temporary folder behind`() throws {
        let writer = try folder.open()
        _ = try writer.enqueue(heartRates(0..<3))

        let rehearsal = try rehearse()
        let open = openFiles()

        #expect(!open.contains { $0.hasPrefix("/tmp/clarity-jobs.") && !$0.contains("(deleted)") })
        withExtendedLifetime((writer, rehearsal)) {}
    }

    /// What this process has open, by name.
    private func openFiles() -> [String] {
        (0..<256).compactMap { descriptor in
            var buffer = [CChar](repeating: 0, count: 512)
            let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
