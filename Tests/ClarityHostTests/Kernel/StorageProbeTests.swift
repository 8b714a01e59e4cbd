import CLinux
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Synchronization
import Testing

@testable import ClarityHost

@Suite(.timeLimit(.minutes(5))) struct StorageProbeTests {
    /// An upper bound on the bytes that other programs write during a test.
    static let tolerance: Int64 = 1 << 30

    static func free(_ path: String) -> Int64 {
        var status = statvfs()
        #expect(statvfs(path, &status) == 0)
        return Int64(status.f_bavail) * Int64(status.f_frsize)
    }

    @Test func `free space is what the file system leaves to its user`() async throws {
        let folder = try TemporaryFolder()

        let state = StorageProbe.state(folder.path)
        let named = try await blocking { StorageProbe().free(at: folder.path) }

        for reading in [state, named] {
            let measured = try #require(reading.value)
            #expect(abs(measured - Self.free(folder.path)) < Self.tolerance)
            #expect(reading.source == folder.path)
        }
    }

    @Test func `a state directory that is not made yet has the space of the folder above it`()
        throws
    {
        let folder = try TemporaryFolder()

        let reading = StorageProbe.state("\(folder.path)/not/yet")

        #expect(reading.value ?? 0 > 0)
        #expect(reading.source == folder.path)
    }

    @Test func `a named path that does not exist is unknown`() async throws {
        let folder = try TemporaryFolder()

        let reading = try await blocking { StorageProbe().free(at: "\(folder.path)/no") }

        #expect(reading == .sampledUnknown("\(folder.path)/no: No such file or directory"))
    }

    @Test func `a path that the kernel knows on a local disk is measured without a thread`() throws
    {
        let folder = try TemporaryFolder()
        try #require(access(folder.path, F_OK) == 0)
        try #require(access("\(folder.path)/no", F_OK) != 0)
        let file = clinux_open_cached(folder.path)
        // Some machines have their temporary files in memory, or on a file server.
        guard file >= 0 else { return }
        close(file)
        let asked = Mutex(0)
        let probe = StorageProbe(measure: { path in
            asked.withLock { $0 += 1 }
            return .sampledUnknown("\(path): asked a thread")
        })

        let (there, absent) = (probe.free(at: folder.path), probe.free(at: "\(folder.path)/no"))

        #expect(there.source == folder.path)
        #expect(abs(try #require(there.value) - Self.free(folder.path)) < Self.tolerance)
        #expect(absent == .sampledUnknown("\(folder.path)/no: No such file or directory"))
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func `a link is followed on a thread`() throws {
        let folder = try TemporaryFolder()
        try #require(symlink("/proc", "\(folder.path)/link") == 0)

        #expect(StorageProbe.cached("\(folder.path)/link") == nil)
        #expect(StorageProbe.cached("/proc/self") == nil)
    }

    /// A file system that answers only when the test allows it, and counts the requests.
    private final class SlowDisk: Sendable {
        let gate: (read: Int32, write: Int32)
        let asked = Mutex(0)

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw TemporaryFolder.Errno(code: errno) }
            gate = (ends[0], ends[1])
        }

        deinit {
            close(gate.read)
            close(gate.write)
        }

        /// Lets one request return this many bytes.
        func letGo(_ answer: UInt8) {
            var answer = answer
            #expect(write(gate.write, &answer, 1) == 1)
        }

        func measure(_ path: String) -> Conditions.Reading<Int64> {
            asked.withLock { $0 += 1 }
            var answer: UInt8 = 0
            guard read(gate.read, &answer, 1) == 1 else { return .sampledUnknown("gone") }
            return .init(Int64(answer), source: path, isSampled: true)
        }
    }

    @Test func `a file system that hangs is asked once and holds nobody up`() async throws {
        let disk = try SlowDisk()
        let probe = StorageProbe(measure: { disk.measure($0) }, atOnce: { _ in nil })

        let answers = try await blocking {
            (0..<50).map { _ in probe.free(at: "/mnt/nas") }
        }

        #expect(answers.allSatisfy { $0 == .sampledUnknown("/mnt/nas: no answer within 250ms") })
        #expect(disk.asked.withLock { $0 } == 1)
        disk.letGo(0)
    }

    @Test func `what was told last stands with its time while there is no answer`() async throws {
        let disk = try SlowDisk()
        let clock = SteppingClock()
        let probe = StorageProbe(
            clock: clock, measure: { disk.measure($0) }, atOnce: { _ in nil })
        disk.letGo(42)

        let first = try await blocking { probe.free(at: "/mnt/nas") }
        clock.advance(by: .seconds(60))
        let second = try await blocking { probe.free(at: "/mnt/nas") }

        #expect(first == .init(42, source: "/mnt/nas", isSampled: true))
        #expect(
            second
                == .init(
                    42, source: "/mnt/nas, which does not answer now", at: .noon,
                    isSampled: true))
        disk.letGo(0)
    }

    @Test func `what was told last is forgotten after a quarter of an hour`() async throws {
        let disk = try SlowDisk()
        let clock = SteppingClock()
        let probe = StorageProbe(
            clock: clock, measure: { disk.measure($0) }, atOnce: { _ in nil })
        disk.letGo(42)

        _ = try await blocking { probe.free(at: "/mnt/nas") }
        clock.advance(by: .seconds(901))
        let late = try await blocking { probe.free(at: "/mnt/nas") }

        #expect(late == .sampledUnknown("/mnt/nas: no answer within 250ms"))
        disk.letGo(0)
    }

    @Test
    func `a table of mounts with a stranger's line is read, and one that cannot be is a fault`()
        throws
    {
        let stranger = Array("\n50 22 0:60 / /home/eve/".utf8) + [0xE9, 0x0A]
        let captured = try CapturedTree([
            "/etc/fstab": .text(MountPointsTests.table),
            "/proc/self/mountinfo": .bytes(Array(MountPointsTests.mounts.utf8) + stranger),
        ])
        let folder = try CapturedTree(["/etc/fstab": .folder, "/proc/self/mountinfo": ""])

        var points = try StorageProbe.mountPoints(captured.tree)

        #expect(try points?.missing(above: "/mnt/nas/x") == "/mnt/nas")
        #expect(throws: HostTree.Fault.self) { try StorageProbe.mountPoints(folder.tree) }
    }

    @Test func `one path that hangs does not hold up another`() async throws {
        let disk = try SlowDisk()
        let probe = StorageProbe(
            measure: { path in
                path == "/mnt/nas" ? disk.measure(path) : .init(7, source: path, isSampled: true)
            }, atOnce: { _ in nil })
        _ = try await blocking { probe.free(at: "/mnt/nas") }

        let other = try await blocking { probe.free(at: "/srv") }

        #expect(other == .init(7, source: "/srv", isSampled: true))
        disk.letGo(0)
    }
}
