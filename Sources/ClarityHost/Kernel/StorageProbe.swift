import CLinux
import ClarityScheduler
import Platform
import Glibc
import Synchronization

/// Measures free space without waiting for a file system that does not answer.
///
/// A network file system whose server is gone blocks a caller forever. So each path that a user
/// named is measured on a thread of its own, one at a time for each path. The caller that starts
/// the thread waits at most 250 ms for it. While the thread hangs, other callers return at once.
/// The last answer then counts for a quarter of an hour. Most paths are on a local disk and known
/// to the kernel, which then answers without a thread.
final class StorageProbe: Sendable {
    typealias Reading = Conditions.Reading<Int64>

    /// The longest wait of `free(at:)`.
    static let patience = Duration.milliseconds(250)

    /// How long the last answer counts while the file system does not answer.
    static let longestSilence = Duration.seconds(15 * 60)

    private let clock: any WallClock
    private let measure: @Sendable (String) -> Reading
    private let atOnce: @Sendable (String) -> Reading?
    private let states = Mutex<[String: State]>([:])

    private struct State {
        /// Whether a thread is measuring. Its caller may have stopped waiting for it.
        var isAsked = false
        var last: (reading: Reading, at: Instant)?
    }

    /// Creates a probe. `measure` measures one path, and may block forever; `atOnce` never blocks,
    /// and returns `nil` for a path whose file system may have to be waited for.
    init(
        clock: any WallClock = SystemClock(),
        measure: @escaping @Sendable (String) -> Reading = StorageProbe.named,
        atOnce: @escaping @Sendable (String) -> Reading? = StorageProbe.cached
    ) {
        self.clock = clock
        self.measure = measure
        self.atOnce = atOnce
    }

    /// Returns the bytes free to this user at an existing path. If the file system does not answer
    /// now, returns the last answer with its time.
    ///
    /// - Parameter isPatient: whether to ask a file system that may have to be waited for.
    func free(at path: String, isPatient: Bool = true) -> Reading {
        if let reading = atOnce(path) {
            states.withLock { $0[path, default: State()].last = (reading, clock.now) }
            return reading
        }
        guard isPatient else { return late(path) }
        let mayAsk = states.withLock { states in
            defer { states[path, default: State()].isAsked = true }
            return states[path]?.isAsked != true
        }
        guard mayAsk else { return late(path) }
        let end = Latch()
        let code = DetachedThread.start { [self] in
            let reading = measure(path)
            let last = (reading, clock.now)
            states.withLock { $0[path] = State(isAsked: false, last: last) }
            end.open()
        }
        guard code == 0 else {
            states.withLock { $0[path]?.isAsked = false }
            return .sampledUnknown("\(path): \(SystemError(code: code).text)")
        }
        guard end.isOpen(within: Int32(clamping: StorageProbe.patience.milliseconds)) else {
            return late(path)
        }
        return states.withLock { $0[path]?.last?.reading } ?? late(path)
    }

    /// Returns the last answer of a path that does not answer now, or unknown if there is none that
    /// still counts.
    private func late(_ path: String) -> Reading {
        let now = clock.now
        guard let last = states.withLock({ $0[path]?.last }), let value = last.reading.value,
            last.at <= now, now - last.at <= StorageProbe.longestSilence
        else {
            return .sampledUnknown("\(path): no answer within \(StorageProbe.patience.text)")
        }
        return Reading(
            value, source: "\(path), which does not answer now", at: last.at, isSampled: true)
    }
}

// MARK: Measuring

extension StorageProbe {
    /// Returns the bytes free to this user on the file system of the state directory, or of its
    /// nearest existing ancestor until it is created. It measures on the calling thread: the
    /// program uses this directory all the time, so it would hang in any case.
    static func state(_ path: String) -> Reading {
        // A folder that does not exist yet will be on the file system of its nearest ancestor.
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

    /// Returns the bytes free to this user at a path that a user named. The answer is unknown, with
    /// the reason, if the path does not exist, or if fstab(5) declares a file system there or above
    /// that is not mounted: the measurement would be of the wrong disk.
    @Sendable static func named(_ path: String) -> Reading {
        do throws(HostTree.Fault) {
            var points = try mountPoints(HostTree(root: "/"))
            // Check the path as written first: a link into a file system that is not mounted has no
            // target.
            if let point = try points?.missing(above: path) {
                return .sampledUnknown("\(point) is not mounted")
            }
            guard let real = realpath(path, nil) else {
                return .sampledUnknown("\(path): \(SystemError().text)")
            }
            defer { Glibc.free(real) }
            if let point = try points?.missing(above: String(cString: real)) {
                return .sampledUnknown("\(path): \(point) is not mounted")
            }
        } catch {
            return .sampledUnknown(error.text)
        }
        return reading(of: space(path), at: path)
    }

    /// Returns what `named` returns, if the kernel can answer from its cache for a local disk;
    /// `nil` if it may have to wait.
    @Sendable static func cached(_ path: String) -> Reading? {
        let file = clinux_open_cached(path)
        guard file >= 0 || errno == ENOENT else { return nil }
        defer { if file >= 0 { close(file) } }
        do throws(HostTree.Fault) {
            var points = try mountPoints(HostTree(root: "/"))
            guard try points?.missing(above: path) == nil else { return nil }
            if file < 0 { return .sampledUnknown("\(path): \(SystemError(code: ENOENT).text)") }
            // Where links lead elsewhere, another mount point counts; `named` follows them.
            guard HostTree(root: "/").target(ofLink: "/proc/self/fd/\(file)") == path else {
                return nil
            }
        } catch {
            return nil
        }
        return reading(of: space(path), at: path)
    }

    private static func reading(
        of space: Result<Int64, HostTree.Fault>, at path: String
    ) -> Reading {
        switch space {
        case .success(let bytes): Reading(bytes, source: path, isSampled: true)
        case .failure(let fault): .sampledUnknown(fault.text)
        }
    }

    /// Returns the declared and the mounted file systems; `nil` if this machine has no `/etc/fstab`.
    ///
    /// - Throws: `HostTree.Fault` if the file cannot be read.
    static func mountPoints(_ tree: HostTree) throws(HostTree.Fault) -> MountPoints? {
        guard let table = try tree.lossyTextIfPresent("/etc/fstab") else { return nil }
        return MountPoints(table: table) { () throws(HostTree.Fault) in
            try tree.lossyTextIfPresent("/proc/self/mountinfo")
        }
    }

    private static func space(_ path: String) -> Result<Int64, HostTree.Fault> {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else {
            let code = errno
            return .failure(
                HostTree.Fault(
                    path: path, reason: SystemError(code: code).text, isAbsent: code == ENOENT))
        }
        // Not `f_bfree`, which includes the blocks reserved for root.
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return .success(overflow ? .max : Int64(clamping: bytes))
    }
}

/// The file systems that should be mounted, and those that are.
struct MountPoints {
    /// The mount points that fstab(5) names, including those that are mounted on demand.
    private let declared: Set<String>
    private let mounts: () throws(HostTree.Fault) -> String?
    private var mounted: Set<String>?

    /// Parses fstab(5). `mounts` returns the text of proc(5) `mountinfo`, or `nil` if there is none;
    /// it is called at most once, and only for a path below a declared mount point: the kernel's
    /// table is long, and most paths do not need it.
    init(table: String, mounts: @escaping () throws(HostTree.Fault) -> String?) {
        declared = Set(MountPoints.fields(1, of: table).filter { $0.hasPrefix("/") && $0 != "/" })
        self.mounts = mounts
    }

    /// Returns the nearest mount point at or above `path` whose declared file system is not
    /// mounted; `nil` if nothing is missing.
    mutating func missing(above path: String) throws(HostTree.Fault) -> String? {
        let folders = MountPoints.foldersUp(from: path)
        guard let nearest = folders.firstIndex(where: declared.contains) else { return nil }
        if mounted == nil {
            guard let text = try mounts() else { return nil }
            mounted = Set(MountPoints.fields(4, of: text))
        }
        // A file system that is mounted at or below the declared point is the one of `path`.
        let isMounted = folders[...nearest].contains { mounted?.contains($0) == true }
        return isMounted ? nil : folders[nearest]
    }

    /// Returns an absolute path and the folders above it up to `/`, which is left out.
    private static func foldersUp(from path: String) -> [String] {
        var folder = path[...]
        while folder.utf8.count > 1, folder.last == "/" { folder.removeLast() }
        var folders: [String] = []
        while folder.first == "/", folder != "/" {
            folders.append(String(folder))
            guard let slash = folder.lastIndex(of: "/") else { break }
            folder = slash == folder.startIndex ? "/" : folder[..<slash]
        }
        return folders
    }

    private static func fields(_ index: Int, of text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard fields.count > index, fields[0].first != UInt8(ascii: "#") else { return nil }
            return unescaped(fields[index])
        }
    }

    /// Decodes `\040` and the like: white space in a path is written as its octal number.
    private static func unescaped(_ field: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = field[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let number = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(number)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
