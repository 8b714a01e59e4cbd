/// Keeps runs and clocks, shared by many processes.
///
/// Used by one task at a time; may block for as long as a commit takes.
public protocol RunStore: AnyObject {
    /// Lets `decide` see the ledger and writes the changes that it returns, all in one transaction
    /// that shuts out every other process from the reading to the writing.
    ///
    /// - Throws: `RunStoreError`; nothing was written then.
    func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError)

    /// The ledger as it is, for questions that change nothing.
    func ledger() throws(RunStoreError) -> Ledger

    /// Does what it has put off while there was more to do; called when nothing runs and nothing is
    /// due for `RunStoreRest.shortest`.
    func tidy()
}

/// When a store may do what it has put off.
public enum RunStoreRest {
    /// The least span without anything to do that is worth it.
    public static let shortest: Duration = .milliseconds(30)
}

/// Why the store could not be read or written.
public enum RunStoreError: Error, Hashable, Sendable {
    /// It cannot be opened or reached: a missing permission, a path that is no folder.
    case unreachable(String)
    /// The disk is full or fails.
    case disk(String)
    /// The file is damaged or foreign.
    case unusable(String)
    /// A newer program wrote the file, and only that can use it.
    case newer(String)
    /// A rule of the schema refused a change: a fault of this program.
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
