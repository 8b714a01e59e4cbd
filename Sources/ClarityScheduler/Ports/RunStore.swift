/// Stores runs and the clocks of jobs, shared by many processes.
///
/// Used by one task at a time; may block for as long as a commit takes.
public protocol RunStore: AnyObject {
    /// Passes the ledger to `decide` and writes the changes that it returns, in one transaction
    /// that excludes every other process from the read to the write.
    ///
    /// - Throws: `RunStoreError`; in that case nothing was written.
    func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError)

    /// Returns the current ledger, for questions that change nothing.
    func ledger() throws(RunStoreError) -> Ledger

    /// Does deferred maintenance; called when nothing runs and nothing is due for
    /// `RunStoreRest.shortest`.
    func tidy()
}

/// When a store may do deferred maintenance.
public enum RunStoreRest {
    /// The shortest idle time that is worth it.
    public static let shortest: Duration = .milliseconds(30)
}

/// Why the store could not be read or written.
public enum RunStoreError: Error, Hashable, Sendable {
    /// The store cannot be opened or reached: a missing permission, or a path that is not a folder.
    case unreachable(String)
    /// The disk is full or fails.
    case disk(String)
    /// The file is corrupt, or belongs to something else.
    case unusable(String)
    /// A newer version of the program wrote the file, and only that version can use it.
    case newer(String)
    /// A rule of the schema refused a change: a bug in this program.
    case refused(String)
}

extension RunStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let text), .disk(let text), .unusable(let text), .newer(let text),
            .refused(let text):
            text
        }
    }
}
