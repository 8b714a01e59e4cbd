import ClaritySystem
@preconcurrency import Glibc

/// Proves that the holder of leases or one of its workers is alive, by a lock that the kernel
/// releases.
///
/// A file in `owners/` stays locked with flock(2) while any process has its open file description:
/// the scheduler, and every worker that inherited it. The leases of a killed scheduler therefore
/// lapse as soon as its last worker is gone, and not before. A reused process id cannot be mistaken
/// for the owner.
public final class LeaseLock {
    /// The name under which this process holds leases: its process id and a random number.
    public let owner: String
    /// The locked descriptor, for workers to inherit.
    public let descriptor: Int32
    /// The path of the locked file. Other processes write to the file after a change that its owner
    /// should look at.
    public let path: String

    /// Creates and locks the file of a new owner.
    ///
    /// - Throws: `StateDirectoryError` if the folder cannot be written.
    init(folder: String, uniqueNumber: UInt64) throws(StateDirectoryError) {
        owner = "\(getpid())-\(String(uniqueNumber, radix: 36))"
        path = "\(folder)/\(owner)"
        // Lock the file before it gets its name, so that nobody sees it unlocked while this process
        // lives.
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
