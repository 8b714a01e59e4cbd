import ClaritySystem
@preconcurrency import Glibc

/// The right to renew the session, which one process has at a time.
///
/// It ends with the last reference to it or, by the kernel, with the process. A lock (flock(2)) on
/// the state directory itself: it leaves nothing there, so that a dry run may take it as well.
public final class SessionLock: Sendable {
    private let descriptor: Int32

    /// `nil` while somebody else has it.
    fileprivate init?(directory: String) throws(HealthStoreError) {
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .directory(StateDirectoryError(path: directory, errno: errno))
        }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else {
                throw .directory(StateDirectoryError(path: directory, errno: errno))
            }
            return nil
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}

extension HealthStore {
    /// Takes the right to renew the session; `nil` while another process, or somebody else in this
    /// one, has it.
    public func lockSession() throws(HealthStoreError) -> SessionLock? {
        try SessionLock(directory: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }
}
