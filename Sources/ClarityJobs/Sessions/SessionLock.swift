import ClaritySystem
@preconcurrency import Glibc

/// The exclusive right to renew the session.
///
/// It is a flock(2) lock on the state directory itself, so it leaves no file behind and a dry run
/// can take it too. It ends with the last reference to it; if the process dies, the kernel releases
/// it.
public final class SessionLock: Sendable {
    private let descriptor: Int32

    /// Returns `nil` while somebody else holds the lock.
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

extension Sessions {
    /// Takes the right to renew the session; returns `nil` while another process, or another caller
    /// in this one, has it.
    public func lock() throws(HealthStoreError) -> SessionLock? {
        try SessionLock(directory: store.folder)
    }
}
