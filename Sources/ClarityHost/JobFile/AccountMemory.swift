@preconcurrency import Glibc
import Synchronization

/// Remembers the accounts of a folder, so that after a change of one file only that file is read.
///
/// It forgets everything when the job file is another, and whenever there is a fault, so that a
/// report is always that of a whole reading.
public final class AccountMemory: Sendable {
    /// What tells that a file has not changed since it was read.
    struct Stamp: Hashable, Sendable {
        private let inode: UInt64
        private let size: Int
        private let changedNanoseconds: Int64

        /// Returns `nil` if there is no such file.
        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            inode = UInt64(status.st_ino)
            size = Int(status.st_size)
            changedNanoseconds =
                Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        }

        /// The nanoseconds since the last change.
        var age: Int64 {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - changedNanoseconds
        }
    }

    private struct State {
        /// The job file of which the accounts are.
        var jobFile: [UInt8] = []
        var accounts: [String: (stamp: Stamp, account: AccountDeclaration)] = [:]
    }

    private let state = Mutex(State())
    private let settlingTime: Int64

    /// Creates a memory that knows nothing.
    ///
    /// - Parameter settlingTime: the nanoseconds after a change from which on another one is sure
    ///   to get another time: the kernel's clock of changes ticks every few milliseconds. A file
    ///   that changed later than that is not remembered.
    public init(settlingTime: Int64 = 100_000_000) { self.settlingTime = settlingTime }

    /// Forgets all accounts.
    public func forget() { state.withLock { $0 = State() } }

    /// Forgets the accounts of another job file.
    func begin(_ jobFile: [UInt8]) {
        state.withLock { state in
            if state.jobFile != jobFile { state = State(jobFile: jobFile) }
        }
    }

    /// Whether any account is known.
    var isEmpty: Bool { state.withLock { $0.accounts.isEmpty } }

    /// Returns the account of a file that is as it was when it was read.
    func account(of name: String, _ stamp: Stamp) -> AccountDeclaration? {
        state.withLock { state in
            state.accounts[name].flatMap { $0.stamp == stamp ? $0.account : nil }
        }
    }

    /// Replaces what is known.
    func remember(_ accounts: [(name: String, stamp: Stamp, account: AccountDeclaration)]) {
        state.withLock { state in
            state.accounts = [:]
            state.accounts.reserveCapacity(accounts.count)
            for (name, stamp, account) in accounts where stamp.age > settlingTime {
                state.accounts[name] = (stamp, account)
            }
        }
    }
}
