import ClaritySystem
@preconcurrency import Glibc

/// The proof that the holder of leases, or a worker of it, is alive: a lock that the kernel lets go.
///
/// A file in `owners/` is locked with flock(2) for as long as any process has its open file
/// description: the scheduler, and every worker that inherited it. So a lease of a killed scheduler
/// lapses at once, but not before the last of its workers is gone, and no process id can be taken
/// for another's.
public final class LeaseLock {
    /// The name under which this process holds leases: its process id and a drawn number.
    public let owner: String
    /// The locked descriptor, for workers to inherit.
    public let descriptor: Int32
    /// The locked file. Other processes write to it when they have changed what its owner should
    /// look at.
    public let path: String

    /// Makes and locks the file of a new owner.
    ///
    /// - Throws: `StateDirectoryError` when the folder cannot be written.
    init(folder: String, uniqueNumber: UInt64) throws(StateDirectoryError) {
        owner = "\(getpid())-\(String(uniqueNumber, radix: 36))"
        path = "\(folder)/\(owner)"
        // Locked before it gets its name, so that nobody ever sees it unlocked while it is alive.
        let draft = "\(folder)/.\(owner)"
        descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            rename(draft, path) == 0
        else { throw StateDirectoryError(path: path, errno: errno) }
    }

    deinit {
        unlink(path)
        close(descriptor)
    }
}
