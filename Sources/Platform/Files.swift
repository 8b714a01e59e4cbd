@preconcurrency import Glibc

/// Reads files to their end, and the names in folders.
public enum WholeFile {
    /// Why a file or a folder cannot be read.
    public enum Fault: Error, Hashable, Sendable {
        /// The system refused, with its `errno`.
        case refused(Int32)
        /// The file has more bytes than its reader accepts.
        case tooLarge
    }

    /// Returns the bytes of a file, or of anything else that can be read to its end.
    ///
    /// - Parameter flags: further flags of open(2), such as `O_NONBLOCK`, with which a named pipe
    ///   is not waited for.
    public static func bytes(
        of path: String, atMost limit: Int, flags: Int32 = 0
    ) throws(Fault) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { throw .refused(errno) }
        defer { close(descriptor) }
        return try bytes(from: descriptor, atMost: limit)
    }

    /// Returns the bytes that are left at a descriptor.
    package static func bytes(from descriptor: Int32, atMost limit: Int) throws(Fault) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var code: Int32 = 0
            // Not zeroed first, which would cost more than reading a small file.
            let chunk = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
                let result = read(descriptor, buffer.baseAddress, buffer.count)
                code = result < 0 ? errno : 0
                count = max(result, 0)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw .refused(code) }
            if chunk.isEmpty { return bytes }
            bytes += chunk
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }

    /// Returns the names in a folder, sorted.
    public static func names(in folder: String) throws(Fault) -> [String] {
        guard let listing = opendir(folder) else { throw .refused(errno) }
        defer { closedir(listing) }
        return names(in: listing)
    }

    /// Returns the names that are left in an open folder, sorted.
    static func names(in listing: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the names in a folder, sorted; `nil` if it cannot be read.
    public static func readableNames(in folder: String) -> [String]? {
        do throws(Fault) { return try names(in: folder) } catch { return nil }
    }
}

/// Returns what a symbolic link leads to; `nil` if there is no such link.
public func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return nil }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// Returns the number of seconds since the last write at a path, or `nil` if nothing is there.
///
/// A symbolic link is not followed. The result is negative if the wall clock was set back.
public func secondsSinceWritten(_ path: String) -> Int? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return time(nil) - status.st_mtim.tv_sec
}

/// An open folder, which stays the same one whatever is renamed meanwhile.
///
/// A path is safe to walk where somebody else may put links if each folder is opened relative to the
/// one before it.
public final class FolderDescriptor: Sendable {
    /// Why a folder cannot be opened.
    public enum Fault: Error, Hashable, Sendable {
        case symbolicLink
        /// The system refused, with its `errno`; `ENOTDIR` for a file.
        case refused(Int32)
    }

    /// What a folder is opened for.
    public enum Access: Sendable {
        /// To list its names.
        case listing
        /// To reach what is below it; such a folder need not be readable.
        case passing

        /// O_PATH of open(2) is missing in Glibc's module; the same on all machines of Swift.
        fileprivate var flags: Int32 {
            (self == .listing ? O_RDONLY : 0o10_000_000) | O_DIRECTORY | O_CLOEXEC
        }
    }

    /// Closed with the last reference.
    public let descriptor: Int32

    /// Opens a folder wherever its path leads.
    public init(_ path: String, for access: Access) throws(Fault) {
        descriptor = open(path, access.flags)
        guard descriptor >= 0 else { throw .refused(errno) }
    }

    /// Opens the folder `name` of another one, unless it is a symbolic link.
    ///
    /// - Parameter makes: whether to create it if it is missing, accessible to its owner alone.
    public init(
        _ name: String, below folder: FolderDescriptor, for access: Access, makes: Bool = false
    ) throws(Fault) {
        if makes, mkdirat(folder.descriptor, name, 0o700) != 0, errno != EEXIST {
            throw .refused(errno)
        }
        descriptor = openat(folder.descriptor, name, access.flags | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let code = errno
            guard [ENOTDIR, ELOOP].contains(code) else { throw .refused(code) }
            var status = stat()
            let isLink =
                fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
                && status.st_mode & S_IFMT == S_IFLNK
            throw isLink ? .symbolicLink : .refused(ENOTDIR)
        }
    }

    deinit { close(descriptor) }

    /// Returns the names of the folders that a path passes, in their order.
    public static func names(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }
}

/// Normalizes paths, so that two spellings of a path compare equal.
public enum PlainPath {
    /// Returns the path without empty components, `.` and a trailing slash; it leads to the same
    /// file.
    public static func of(_ path: String) -> String { joined(parts(path), like: path) }

    /// Returns the normalized path with each `..` and the component before it removed, if the
    /// result still leads to the same file.
    ///
    /// After a symbolic link it may not; then only `of` is applied. A path to a file that does not
    /// exist is shortened too.
    public static func shortest(_ path: String) -> String {
        let short = withoutParents(path)
        // Only a `..` can make it another file.
        return short == path || isSameFile(short, path) ? short : of(path)
    }

    /// Returns the path with each `..` and the component before it removed, without reading the
    /// disk.
    static func withoutParents(_ path: String) -> String {
        var kept: [Substring] = []
        for part in parts(path) {
            if part == "..", let last = kept.last, last != ".." {
                kept.removeLast()
            } else if part != ".." || !path.hasPrefix("/") {
                kept.append(part)
            }
        }
        return joined(kept, like: path)
    }

    private static func parts(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }
    }

    private static func joined(_ parts: [Substring], like path: String) -> String {
        let text = parts.joined(separator: "/")
        if path.hasPrefix("/") { return "/\(text)" }
        return text.isEmpty && !path.isEmpty ? "." : text
    }

    private static func isSameFile(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(other, &second) == 0 else { return true }
        return stat(one, &first) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino
    }
}

/// The file that was at a path, whose place another one or none may take.
public struct FilePlace: Sendable {
    private let path: String
    private let file: (device: UInt64, inode: UInt64)

    /// Returns `nil` if there is no file.
    public init?(_ path: String) {
        guard let file = FilePlace.file(at: path) else { return nil }
        self.path = path
        self.file = file
    }

    /// Whether the same file is still at the path.
    public var isInPlace: Bool { FilePlace.file(at: path).map { $0 == file } ?? false }

    private static func file(at path: String) -> (device: UInt64, inode: UInt64)? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}

/// An inotify(7) descriptor, which reports changes in the folders and of the files that it watches.
public struct Inotify: Sendable {
    /// A change.
    public struct Event: Sendable {
        /// The number that `watch` returned; -1 if the kernel dropped events (`IN_Q_OVERFLOW`).
        public var watch: Int32
        public var mask: UInt32
        /// The name in the watched folder; empty if the change is of the folder or file itself.
        public var name: String

        /// Returns whether the mask has one of these bits.
        public func isAny(_ bits: Int32...) -> Bool {
            bits.contains { mask & UInt32(bitPattern: $0) != 0 }
        }
    }

    /// Non-blocking, and closed by whoever listens on it.
    public let descriptor: Int32

    /// Returns `nil` if the system gives no descriptor.
    public init?() {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    /// Watches a path, and returns the number of its watch; -1 if that fails.
    @discardableResult public func watch(_ path: String, _ mask: Int32) -> Int32 {
        inotify_add_watch(descriptor, path, UInt32(bitPattern: mask))
    }

    /// Reads the pending events.
    public func events() -> [Event] {
        var events: [Event] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return events }
            var offset = 0
            while offset + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.withUnsafeBytes {
                    $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                }
                let start = offset + MemoryLayout<inotify_event>.size
                offset = start + Int(event.len)
                let name = buffer[start..<min(offset, count)].prefix { $0 != 0 }
                events.append(
                    Event(
                        watch: event.wd, mask: event.mask,
                        name: String(decoding: name, as: UTF8.self)))
            }
        }
    }
}

/// A lock on a file or a folder (flock(2)), and the file that it is on.
///
/// It is released with its last reference or, by the kernel, when the process ends.
public final class FileLock: Sendable {
    /// The open file; closed with the lock.
    public let descriptor: Int32

    /// Opens a file without locking it yet.
    ///
    /// - Parameter flags: those of open(2); a file that `O_CREAT` creates is accessible only to its
    ///   owner.
    public init(opening path: String, _ flags: Int32) throws(SystemError) {
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError() }
    }

    deinit {
        // A child that another thread has just forked still has the descriptor, until it begins its
        // program. Closing ours alone would leave the lock to it.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Takes an exclusive or a shared lock.
    ///
    /// - Parameters:
    ///   - path: a folder or a file; with `makesFile`, a missing file is created.
    ///   - kind: `LOCK_EX` or `LOCK_SH`.
    /// - Returns: `nil` if others hold the lock for longer than `patience`.
    public static func take(
        _ path: String, _ kind: Int32, patience: Duration, makesFile: Bool = false
    ) throws(SystemError) -> FileLock? {
        // Our own file must not be a symbolic link. A folder that the user names may be one.
        let flags = O_RDONLY | O_NONBLOCK | (makesFile ? O_CREAT | O_NOFOLLOW : 0)
        let lock = try FileLock(opening: path, flags)
        do throws(SystemError) {
            return try lock.take(kind, patience: patience) ? lock : nil
        } catch {
            // A network file system may not support flock(2). Then there is nobody to wait for.
            guard [EBADF, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP].contains(error.code) else {
                throw error
            }
            return lock
        }
    }

    /// Locks the file; returns `false` if others hold the lock for longer than `patience`.
    public func take(_ kind: Int32, patience: Duration = .zero) throws(SystemError) -> Bool {
        try FileLock.lock(descriptor, kind, patience: patience)
    }

    /// Locks an open file for whoever has its descriptor, such as a process that inherits it.
    ///
    /// flock(2) has no timeout, so this tries again every 20 milliseconds.
    ///
    /// - Returns: `false` if others hold the lock for longer than `patience`.
    public static func lock(
        _ descriptor: Int32, _ kind: Int32, patience: Duration = .zero
    ) throws(SystemError) -> Bool {
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, kind | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw SystemError() }
            guard ContinuousClock.now < deadline else { return false }
            usleep(20_000)
        }
        return true
    }

    /// Returns whether nobody else holds the lock alone; `false` too if the system does not say.
    public func isFree(within patience: Duration = .zero) -> Bool {
        do throws(SystemError) {
            return try take(LOCK_SH, patience: patience)
        } catch {
            return false
        }
    }
}

/// A call that the system refused.
public struct SystemError: Error, Hashable, Sendable {
    /// What failed, to follow "cannot"; empty if whoever reports the error says it.
    public var action: String
    /// The error number, as in `errno`.
    public var code: Int32

    /// Creates the error of the call that has just failed.
    public init(_ action: String = "") { self.init(action, code: errno) }

    public init(_ action: String = "", code: Int32) { (self.action, self.code) = (action, code) }

    /// The system's text in the middle of a sentence: `no such file or directory`.
    public var reason: String { text.lowercased() }

    /// Whether the disk is full or fails.
    public var isDisk: Bool { [ENOSPC, EDQUOT, EIO].contains(code) }

    /// The system's own text: `No such file or directory`.
    public var text: String { String(cString: strerror(code)) }
}

extension SystemError: CustomStringConvertible {
    /// `cannot start /usr/bin/worker: No such file or directory`
    public var description: String { action.isEmpty ? text : "cannot \(action): \(text)" }
}
