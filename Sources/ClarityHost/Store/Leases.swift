public import ClarityScheduler
public import Platform
@preconcurrency import Glibc
import Database

/// Determines whether the leases in the store are held, lapsed or this process's own.
///
/// A lease is held for as long as its scheduler or the process of its attempt lives, as locks show
/// that the kernel releases. Time plays no part: a scheduler that is stopped, or slow to decide,
/// keeps the runs whose attempts go on beside it.
struct Leases {
    private let folder: String
    private let attempts: AttemptLocks
    let ownOwner: String?

    /// - Parameter directory: the path of the state directory.
    init(inDirectory directory: String, ownOwner: String?) {
        folder = "\(directory)/owners"
        attempts = AttemptLocks(folder: "\(directory)/attempts")
        self.ownOwner = ownOwner
    }

    func state(of attempt: HeldAttempt) -> Lease.State {
        if attempt.owner == ownOwner { return .mine }
        return isAlive(attempt.owner) ? .held : attempts.state(of: attempt)
    }

    /// Removes the lock files of owners that are gone.
    ///
    /// After a scheduler dies, its last workers get one second to notice. They end as soon as their
    /// order's descriptor closes, but that takes a moment. This runs once, before the first
    /// decision, because a decision keeps every other process waiting.
    func removeLapsed() {
        for name in Leases.names(in: folder) {
            let isGone =
                name.hasPrefix(".") ? isLeftDraft(name) : name != ownOwner && !isAlive(name)
            if isGone { unlink("\(folder)/\(name)") }
        }
        attempts.settle(patience: .seconds(1)) { isAlive($0) }
    }

    /// Returns the loops that run now, the oldest first.
    func loops() -> [RunningLoop] {
        Leases.names(in: folder).compactMap { name in
            guard !name.hasPrefix("."), isAlive(name),
                let process = name.split(separator: "-").first.flatMap({ Int32($0) }),
                let since = LeaseLock.startOfLoop("\(folder)/\(name)")
            else { return nil }
            return RunningLoop(process: process, since: since)
        }.sorted { $0.since < $1.since }
    }

    /// Whether a name belongs to a draft lock file whose process died before it renamed the file
    /// (`LeaseLock`).
    ///
    /// Renaming takes no time, so a draft is abandoned if it is more than a minute old and its
    /// process is gone. A process in another container looks gone from here, which is why the age
    /// counts as well.
    private func isLeftDraft(_ name: String) -> Bool {
        guard let processID = name.dropFirst().split(separator: "-").first.flatMap({ pid_t($0) }),
            Leases.hasEnded(processID)
        else { return false }
        return secondsSinceWritten("\(folder)/\(name)") ?? 0 > 60
    }

    /// Whether the scheduler that is named `owner` holds its lock.
    private func isAlive(_ owner: String) -> Bool {
        do throws(SystemError) {
            return try !FileLock(
                opening: "\(folder)/\(owner)", O_RDONLY | O_NONBLOCK | O_NOFOLLOW
            ).isFree()
        } catch {
            return false
        }
    }

    /// Whether a process is gone, or has ended and only waits to be reaped.
    ///
    /// Its parent may reap it late or never, like the first process of many containers.
    static func hasEnded(_ process: pid_t) -> Bool {
        if kill(process, 0) != 0 { return errno == ESRCH }
        do throws(WholeFile.Fault) {
            let fields = try WholeFile.bytes(of: "/proc/\(process)/stat", atMost: 4096)
            // The line is `pid (name) state ...`, and the name may contain anything (proc(5)).
            guard let name = fields.lastIndex(of: UInt8(ascii: ")")) else { return false }
            let state = fields[name...].dropFirst(2).first
            return state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
        } catch {
            // If the process is gone meanwhile, it has ended; if it is hidden from us, it counts as
            // running.
            return error == .refused(ENOENT) && kill(process, 0) != 0
        }
    }

    /// Returns the names of the files of owners; none if the folder cannot be read.
    fileprivate static func names(in folder: String) -> [String] {
        WholeFile.readableNames(in: folder) ?? []
    }
}

/// Proves that a scheduler is alive, by a lock that the kernel releases.
///
/// A file in `owners/` stays locked with flock(2) while the scheduler has it open. Its attempts have
/// locks of their own (`AttemptLocks`). A reused process id cannot be mistaken for the owner.
public final class LeaseLock {
    /// The name under which this process holds leases: its process id and a random number.
    public let owner: String
    /// The path of the locked file. Other processes write to the file after a change that its owner
    /// should look at.
    public let path: String
    /// `nil` once released.
    private var lock: FileLock?

    /// Creates and locks the file of a new owner.
    ///
    /// - Throws: `StateDirectoryError` if the folder cannot be written.
    init(folder: String, uniqueNumber: UInt64) throws(StateDirectoryError) {
        owner = "\(getpid())-\(String(uniqueNumber, radix: 36))"
        path = "\(folder)/\(owner)"
        // Lock the file before it gets its name, so that nobody sees it unlocked while this process
        // lives.
        let draft = "\(folder)/.\(owner)"
        do throws(SystemError) {
            let lock = try FileLock(opening: draft, O_RDWR | O_CREAT | O_EXCL)
            guard try lock.take(LOCK_EX) else { throw SystemError(code: EWOULDBLOCK) }
            guard rename(draft, path) == 0 else { throw SystemError() }
            self.lock = lock
        } catch {
            throw StateDirectoryError(path: path, errno: error.code)
        }
    }

    deinit { release() }

    /// Gives up all leases that are held under this name.
    func release() {
        guard lock != nil else { return }
        unlink(path)
        lock = nil
    }

    /// Writes into the file that its owner is a loop, for people who ask what starts their jobs.
    ///
    /// The first byte is left to `ChangeSignals`. A failure changes nothing else.
    public func announceLoop(since start: Instant) {
        guard let lock else { return }
        let line = Array("\n\(LeaseLock.mark)\(start)\n".utf8)
        pwrite(lock.descriptor, line, line.count, 0)
    }

    /// Returns when the loop started that owns the file at `path`; `nil` if its owner is none.
    fileprivate static func startOfLoop(_ path: String) -> Instant? {
        do throws(WholeFile.Fault) {
            let bytes = try WholeFile.bytes(
                of: path, atMost: 256, flags: O_NONBLOCK | O_NOFOLLOW)
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first
            guard let line, line.hasPrefix(mark) else { return nil }
            return Instant(rfc3339: String(line.dropFirst(mark.count)))
        } catch {
            return nil
        }
    }

    private static let mark = "loop since "
}

/// Wakes the other processes that share a history, so that they look at it.
///
/// Writes one byte to the lock file of each owner in `owners/`. A process that watches its own file
/// wakes up (`IN_CLOSE_WRITE`, inotify(7)); the others do not notice.
struct ChangeSignals {
    let folder: String
    let ownOwner: String

    /// Signals every other owner, and ignores failures: each process eventually looks again without
    /// a signal.
    func send() {
        for name in Leases.names(in: folder) where !name.hasPrefix(".") && name != ownOwner {
            let file = open(
                "\(folder)/\(name)", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { continue }
            // Overwrite the previous byte, so that the file never grows.
            var byte: UInt8 = 0x0A
            write(file, &byte, 1)
            close(file)
        }
    }
}

/// The other processes that share a history, as the database or its folder tells of them.
protocol HistoryPeers: AnyObject {
    /// The name of this machine, where the others may be on other machines.
    var machine: String? { get }

    /// Returns a number that is another one when another process has committed a change since.
    func version(_ connection: Connection) throws(DatabaseError) -> Int64

    /// Makes `version` another number for the others; called in a transaction that has written.
    func noteWrite(_ connection: Connection) throws(DatabaseError)

    /// Returns the highest number that a run has or had.
    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64

    /// Returns whether the lease of each attempt is held, lapsed or this process's own.
    func states(
        of attempts: [HeldAttempt], _ connection: Connection
    ) throws(DatabaseError) -> [RunID: Lease.State]

    /// Adds to the ledger what loops share about their machines; called after `states`.
    ///
    /// - Parameter isDeciding: whether it must not change until the end of the transaction.
    func share(
        with ledger: inout Ledger, isDeciding: Bool, _ connection: Connection
    ) throws

    /// Returns how far an attempt is that this machine knows nothing of; `nil` if nobody has said.
    func progress(
        of run: RunID, _ number: Int, _ connection: Connection
    ) throws(DatabaseError) -> AttemptProgress?

    /// Writes a change of that.
    func write(_ change: PlacementChange, _ connection: Connection) throws(DatabaseError)
}

/// The processes of this machine that share a history in a file.
final class FilePeers: HistoryPeers {
    private let leases: Leases

    init(_ leases: Leases) { self.leases = leases }

    var machine: String? { nil }

    /// `PRAGMA data_version` changes only when another connection commits a change
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>).
    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        try connection.first("PRAGMA data_version") { $0.integer(0) } ?? 0
    }

    /// Does nothing: the commit itself changes the number.
    func noteWrite(_ connection: Connection) {}

    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64 {
        try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'runs'") {
            $0.integer(0)
        } ?? 0
    }

    /// Does nothing: there is one machine.
    func share(with ledger: inout Ledger, isDeciding: Bool, _ connection: Connection) {}

    /// Nothing: this machine knows of all.
    func progress(
        of run: RunID, _ number: Int, _ connection: Connection
    ) -> AttemptProgress? { nil }

    func write(_ change: PlacementChange, _ connection: Connection) {}

    func states(of attempts: [HeldAttempt], _ connection: Connection) -> [RunID: Lease.State] {
        attempts.reduce(into: [:]) { $0[$1.run] = leases.state(of: $1) }
    }
}

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
