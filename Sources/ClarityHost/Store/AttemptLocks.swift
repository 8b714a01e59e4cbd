import ClarityScheduler
public import Platform
@preconcurrency import Glibc

/// The locks of attempts, one each, in the folder `attempts` of a state directory.
///
/// The process of an attempt holds its lock (flock(2)) until it has ended, also after its scheduler
/// is gone: until then nobody takes the run over. The lock is a file in which the keeper of a
/// command writes the exit status, so that what ended well while nobody was left to record it does
/// not run again.
public struct AttemptLocks: Sendable {
    private let folder: String
    private let owner: String

    /// Creates the folder if it is missing.
    ///
    /// - Parameter owner: the name of a scheduler's `LeaseLock`.
    /// - Throws: `StateDirectoryError` if the folder cannot be used.
    public init(
        in directory: StateDirectory, owner: String
    ) throws(StateDirectoryError) {
        folder = try directory.makeFolder("attempts")
        self.owner = owner
    }

    /// What the attempts of this scheduler have written and how far they are.
    public var live: LiveAttempts { LiveAttempts(folder: folder, owner: owner) }

    /// The locks of a state directory, for looking at them.
    init(folder: String) { (self.folder, owner) = (folder, "") }

    /// Makes and takes the lock of an attempt of this scheduler, for its process to inherit.
    ///
    /// - Returns: the locked file, open; the caller closes it.
    /// - Throws: `StateDirectoryError`, also if a process still has the lock.
    func take(_ order: AttemptOrder) throws(StateDirectoryError) -> Int32 {
        let path = path(owner, order.run, order.attempt)
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StateDirectoryError(path: path, errno: errno) }
        do throws(SystemError) {
            guard try FileLock.lock(file, LOCK_EX) else { throw SystemError(code: EWOULDBLOCK) }
            return file
        } catch {
            close(file)
            throw StateDirectoryError(path: path, errno: error.code)
        }
    }

    /// Returns the state of a lease whose scheduler is gone.
    func state(of attempt: HeldAttempt) -> Lease.State {
        guard let file = AttemptLocks.file(path(attempt.localOwner, attempt.run, attempt.number))
        else { return .lapsed }
        guard file.isFree() else { return .held }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(file.descriptor, &bytes, bytes.count, 0)
        return count > 0 && bytes[..<count].elementsEqual("exit 0\n".utf8) ? .succeeded : .lapsed
    }

    /// Removes the files of attempts whose end has been recorded, whoever started them.
    func remove(ended changes: [LedgerChange]) {
        for case .putAttempt(let attempt) in changes where attempt.result != .running {
            let own = path(owner, attempt.run, attempt.number)
            let endings = LiveAttempts.endings
            for ending in endings { unlink(own + ending) }
            guard unlink(own) != 0, errno == ENOENT else { continue }
            let end = ".\(attempt.run).\(attempt.number)"
            let ends = [end] + endings.map { end + $0 }
            for name in names where ends.contains(where: name.hasSuffix) {
                unlink("\(folder)/\(name)")
            }
        }
    }

    /// Waits for attempts to end whose scheduler has died: they notice, but that takes a moment.
    ///
    /// Also removes files that nobody has asked about for a day.
    ///
    /// - Parameter isAlive: whether a scheduler lives.
    func settle(patience: Duration, isAlive: (_ owner: String) -> Bool) {
        let deadline = ContinuousClock.now + patience
        for name in names {
            let owner = String(name.prefix { $0 != "." })
            guard !isAlive(owner) else { continue }
            let path = "\(folder)/\(name)"
            guard let file = AttemptLocks.file(path) else { continue }
            let isFree = file.isFree(within: deadline - .now)
            if isFree, secondsSinceWritten(path) ?? 0 > 86_400 { unlink(path) }
        }
    }

    /// Opens the file of a lock; `nil` if there is none.
    private static func file(_ path: String) -> FileLock? {
        do throws(SystemError) {
            return try FileLock(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        } catch {
            return nil
        }
    }

    private var names: [String] { WholeFile.readableNames(in: folder) ?? [] }

    private func path(_ owner: String, _ run: RunID, _ number: Int) -> String {
        "\(folder)/\(owner).\(run).\(number)"
    }
}

/// A running attempt, and who started it.
struct HeldAttempt: Hashable {
    var run: RunID
    var number: Int
    /// As `Lease.owner`.
    var owner: String

    /// The name of the scheduler's lock on its machine.
    var localOwner: String { owner.split(separator: "/").last.map(String.init) ?? owner }
}
