import CLinux
import ClarityScheduler
import ClaritySystem
import Glibc
import Synchronization

/// Tells how much space is free, without waiting for a file system that does not answer.
///
/// A network file system whose server is gone holds whoever asks for ever. So each path that a person
/// named is asked on a thread of its own, one at a time a path, and whoever wants to know waits for it
/// no longer than 250 ms once; while the thread hangs, what was told last is the answer for a quarter
/// of an hour.
final class StorageProbe: Sendable {
    typealias Reading = Conditions.Reading<Int64>

    /// The longest that `free(at:)` waits.
    static let patience = Duration.milliseconds(250)

    /// How long the last answer counts while there is no other.
    static let longestSilence = Duration.seconds(15 * 60)

    private let clock: any WallClock
    private let measure: @Sendable (String) -> Reading
    private let standings = Mutex<[String: Standing]>([:])

    private struct Standing {
        /// Whether a thread is asking; the wait for it may be over.
        var isAsked = false
        var last: (reading: Reading, at: Instant)?
    }

    /// Creates a probe; `measure` asks for one path, and may take for ever.
    init(
        clock: any WallClock = SystemClock(),
        measure: @escaping @Sendable (String) -> Reading = StorageProbe.named
    ) {
        self.clock = clock
        self.measure = measure
    }

    /// The bytes free to this user at a path that exists; with the time at which that was told when the
    /// file system does not answer now.
    func free(at path: String) -> Reading {
        let mayAsk = standings.withLock { standings in
            defer { standings[path, default: Standing()].isAsked = true }
            return standings[path]?.isAsked != true
        }
        guard mayAsk else { return late(path) }
        guard let call = Call() else {
            let code = errno
            standings.withLock { $0[path]?.isAsked = false }
            return refused(path, code)
        }
        let code = DetachedThread.start { [self] in
            let reading = measure(path)
            let last = (reading, clock.now)
            standings.withLock { $0[path] = Standing(isAsked: false, last: last) }
            call.end()
        }
        guard code == 0 else {
            standings.withLock { $0[path]?.isAsked = false }
            return refused(path, code)
        }
        guard call.ends(within: StorageProbe.patience, clock) else { return late(path) }
        return standings.withLock { $0[path]?.last?.reading } ?? late(path)
    }

    private func refused(_ path: String, _ code: Int32) -> Reading {
        .sampledUnknown("\(path): \(String(cString: strerror(code)))")
    }

    /// The answer while the path does not answer.
    private func late(_ path: String) -> Reading {
        let now = clock.now
        guard let last = standings.withLock({ $0[path]?.last }), let value = last.reading.value,
            last.at <= now, now - last.at <= StorageProbe.longestSilence
        else {
            return .sampledUnknown("\(path): no answer within \(StorageProbe.patience.text)")
        }
        return Reading(
            value, source: "\(path), which does not answer now", at: last.at, isSampled: true)
    }

    /// A measurement under way, of which its end is told.
    private final class Call: Sendable {
        private let event: Int32

        /// `nil` when the process has no descriptor left.
        init?() {
            event = clinux_eventfd()
            if event < 0 { return nil }
        }

        deinit { if event >= 0 { close(event) } }

        func end() {
            var one: UInt64 = 1
            _ = write(event, &one, MemoryLayout<UInt64>.size)
        }

        /// Waits; whether it has ended.
        func ends(within patience: Duration, _ clock: any WallClock) -> Bool {
            let deadline = clock.elapsed + patience
            while true {
                let left = max(.zero, deadline - clock.elapsed)
                let milliseconds = left.components.attoseconds / 1_000_000_000_000_000
                var state = pollfd(fd: event, events: Int16(POLLIN), revents: 0)
                let count = poll(&state, 1, Int32(left.components.seconds * 1000 + milliseconds))
                if count >= 0 || errno != EINTR { return count > 0 }
            }
        }
    }
}

// MARK: Measuring

extension StorageProbe {
    /// The bytes free to this user for the state directory, or where it will be once it is made. It
    /// is asked directly: what uses it every moment would hang as well.
    static func state(_ path: String) -> Reading {
        // A folder that is not made yet will be on its nearest ancestor's file system.
        var folder = path
        while true {
            switch space(folder) {
            case .success(let bytes): return Reading(bytes, source: folder, isSampled: true)
            case .failure(let fault):
                guard fault.isAbsent, let slash = folder.lastIndex(of: "/") else {
                    return .sampledUnknown(fault.text)
                }
                folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            }
        }
    }

    /// The bytes free to this user at a path that somebody named; unknown with the reason when there is
    /// none, or when fstab(5) has a file system there or above that is not mounted: then it is the
    /// wrong disk that would answer.
    @Sendable static func named(_ path: String) -> Reading {
        let points: MountPoints?
        do throws(HostTree.Fault) {
            points = try mountPoints(HostTree(root: "/"))
        } catch {
            return .sampledUnknown(error.text)
        }
        // First as it is written: the end of a link into a missing file system is not there either.
        if let place = points?.missing(above: path) {
            return .sampledUnknown("\(place) is not mounted")
        }
        guard let real = realpath(path, nil) else {
            return .sampledUnknown("\(path): \(String(cString: strerror(errno)))")
        }
        defer { Glibc.free(real) }
        if let place = points?.missing(above: String(cString: real)) {
            return .sampledUnknown("\(path): \(place) is not mounted")
        }
        switch space(path) {
        case .success(let bytes): return Reading(bytes, source: path, isSampled: true)
        case .failure(let fault): return .sampledUnknown(fault.text)
        }
    }

    /// `nil` on a machine that does not declare what it mounts.
    ///
    /// - Throws: `HostTree.Fault` when it cannot be told what is mounted.
    static func mountPoints(_ tree: HostTree) throws(HostTree.Fault) -> MountPoints? {
        guard let table = try tree.lossyTextIfPresent("/etc/fstab"),
            let mounts = try tree.lossyTextIfPresent("/proc/self/mountinfo")
        else { return nil }
        return MountPoints(table: table, mounts: mounts)
    }

    private static func space(_ path: String) -> Result<Int64, HostTree.Fault> {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else {
            let code = errno
            return .failure(
                HostTree.Fault(
                    path: path, reason: String(cString: strerror(code)), isAbsent: code == ENOENT))
        }
        // Not `f_bfree`: what is kept for root is not this program's to use.
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return .success(overflow ? .max : Int64(clamping: bytes))
    }
}
