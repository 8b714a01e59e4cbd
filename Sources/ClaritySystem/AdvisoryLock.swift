@preconcurrency import Glibc

/// A lock on a file or a folder (flock(2)), which ends with the last reference to it or, by the
/// kernel, with the process.
public final class AdvisoryLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The system refused; carries the reason's number.
    struct Fault: Error {
        var errno: Int32
    }

    /// Takes it alone, or a share of it.
    ///
    /// - Parameters:
    ///   - path: a folder, or a file, which is made where `makesFile` says so.
    ///   - kind: `LOCK_EX` or `LOCK_SH`.
    /// - Returns: `nil` when others hold it for longer than `patience`.
    static func take(
        _ path: String, _ kind: Int32, patience: Duration, makesFile: Bool = false
    ) throws(Fault) -> AdvisoryLock? {
        // A file of our own is no link; a folder that a person names may be one.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (makesFile ? O_CREAT | O_NOFOLLOW : 0)
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Fault(errno: errno) }
        let lock = AdvisoryLock(descriptor)
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, kind | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // A disk of another machine may know no such locks; then there is nobody to wait for.
            if [EBADF, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP].contains(errno) { return lock }
            guard errno == EWOULDBLOCK else { throw Fault(errno: errno) }
            guard ContinuousClock.now < deadline else { return nil }
            usleep(20_000)
        }
        return lock
    }
}
