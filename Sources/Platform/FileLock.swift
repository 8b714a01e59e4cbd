@preconcurrency import Glibc

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
