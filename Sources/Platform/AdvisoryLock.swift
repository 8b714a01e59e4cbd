@preconcurrency import Glibc

/// A lock on a file or a folder (flock(2)).
///
/// It is released with its last reference or, by the kernel, when the process ends.
public final class AdvisoryLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        // A child that another thread has just forked still has the descriptor, until it begins its
        // program. Closing ours alone would leave the lock to it.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The system's refusal, with its `errno`.
    public struct Fault: Error {
        public var errno: Int32
    }

    /// Takes an exclusive or a shared lock.
    ///
    /// - Parameters:
    ///   - path: a folder or a file; with `makesFile`, a missing file is created.
    ///   - kind: `LOCK_EX` or `LOCK_SH`.
    /// - Returns: `nil` if others hold the lock for longer than `patience`.
    public static func take(
        _ path: String, _ kind: Int32, patience: Duration, makesFile: Bool = false
    ) throws(Fault) -> AdvisoryLock? {
        // Our own file must not be a symbolic link. A folder that the user names may be one.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (makesFile ? O_CREAT | O_NOFOLLOW : 0)
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Fault(errno: errno) }
        let lock = AdvisoryLock(descriptor)
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, kind | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // A network file system may not support flock(2). Then there is nobody to wait for.
            if [EBADF, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP].contains(errno) { return lock }
            guard errno == EWOULDBLOCK else { throw Fault(errno: errno) }
            guard ContinuousClock.now < deadline else { return nil }
            usleep(20_000)
        }
        return lock
    }
}
