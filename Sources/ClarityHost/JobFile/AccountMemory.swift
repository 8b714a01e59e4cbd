import Synchronization

/// Remembers the accounts of a folder, so that after a change of one file only that file is read.
///
/// It forgets everything when the job file is another, and whenever there is a fault, so that a
/// report is always that of a whole reading.
public final class AccountMemory: Sendable {
    private struct State {
        /// The job file of which the accounts are.
        var jobFile: [UInt8] = []
        var accounts: [String: (stamp: FileStamp, account: AccountDeclaration)] = [:]
    }

    private let state = Mutex(State())
    private let settlingTime: Int64

    /// Creates a memory that knows nothing.
    ///
    /// - Parameter settlingTime: the nanoseconds after its last change from which on a file is
    ///   remembered.
    public init(settlingTime: Int64 = FileStamp.settlingTime) { self.settlingTime = settlingTime }

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
    func account(of name: String, _ stamp: FileStamp) -> AccountDeclaration? {
        state.withLock { state in
            state.accounts[name].flatMap { $0.stamp == stamp ? $0.account : nil }
        }
    }

    /// Replaces what is known.
    func remember(_ accounts: [(name: String, stamp: FileStamp, account: AccountDeclaration)]) {
        state.withLock { state in
            state.accounts = [:]
            state.accounts.reserveCapacity(accounts.count)
            for (name, stamp, account) in accounts where stamp.age > settlingTime {
                state.accounts[name] = (stamp, account)
            }
        }
    }
}
