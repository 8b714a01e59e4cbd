/// Stores runs and the clocks of jobs, shared by many processes.
///
/// Used by one task at a time; may block for as long as a commit takes.
public protocol RunStore: AnyObject {
    /// Passes the ledger to `decide` and writes the changes that it returns, in one transaction
    /// that excludes every other process from the read to the write.
    ///
    /// - Parameter starts: the starts of attempts that the ledger has to have; `nil` for none.
    /// - Throws: `RunStoreError`; in that case nothing was written.
    func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError)

    /// Returns the current ledger, for questions that change nothing.
    ///
    /// - Parameter starts: the starts of attempts that the ledger has to have; `nil` for none.
    func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger

    /// Gives up this process's leases, whoever still refers to the store. It must not be used
    /// afterwards.
    func end()

    /// Does deferred maintenance; called when nothing runs and nothing is due for
    /// `RunStoreRest.shortest`.
    func tidy()
}

extension RunStore {
    /// Makes a decision that needs no starts of attempts.
    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        try self.decide(recalling: nil, decide)
    }

    /// Returns the current ledger without starts of attempts.
    public func ledger() throws(RunStoreError) -> Ledger { try ledger(recalling: nil) }
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
    /// A version of the program wrote the file that this one cannot read.
    case otherVersion(String)
    /// A rule of the schema refused a change: a bug in this program.
    case refused(String)
}

extension RunStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let text), .disk(let text), .unusable(let text),
            .otherVersion(let text), .refused(let text):
            text
        }
    }
}

/// Tells the time and waits.
public protocol WallClock: Sendable {
    /// The instant that the machine's clock shows; may step forward and back.
    var now: Instant { get }

    /// The time since some fixed instant, including suspend; never steps.
    var elapsed: Duration { get }

    /// Returns after `span` of elapsed time, or at once when the task is cancelled.
    func sleep(for span: Duration) async
}

extension WallClock {
    /// Both clocks, read together.
    public var moment: Moment { Moment(wall: now, elapsed: elapsed) }
}

/// Observes the machine's conditions.
public protocol ConditionMonitor: Sendable {
    /// Asks for what may take longer than `conditions(of:)`. Called before each decision, because a
    /// decision holds the store.
    func prepare()

    /// Returns the current conditions within a few milliseconds; slower answers are unknown.
    ///
    /// - Parameter accounts: those whose login and sources are wanted as well.
    func conditions(of accounts: Set<AccountID>) -> Conditions

    /// Returns those of the accounts of which a source exists on this machine.
    func withSources(_ accounts: Set<AccountID>) -> Set<AccountID>

    /// Asks the checks with these names, unless they are being asked already; `changes()` reports
    /// when one has answered. An unknown name gets the answer "unknown", and its run waits.
    func ask(_ checks: Set<String>)

    /// Returns a stream of notices that the conditions may have changed, or that the wall clock was
    /// set. A wait for a span of elapsed time does not notice a set clock. The stream ends when its
    /// consumer ends.
    func changes() -> AsyncStream<Void>
}

extension ConditionMonitor {
    /// Nothing takes longer.
    public func prepare() {}

    /// No account has a source.
    public func withSources(_ accounts: Set<AccountID>) -> Set<AccountID> { [] }

    /// Returns the current conditions of the machine.
    public func conditions() -> Conditions { conditions(of: []) }
}

/// Receives how many of how many units an attempt has done.
public typealias ProgressHandler = @Sendable (_ done: Int64, _ total: Int64) -> Void

/// Does a job's work, one attempt at a time.
public protocol Worker: Sendable {
    /// Runs one attempt to its end.
    ///
    /// Never throws: a worker that breaks ends with `AttemptEnd.Result.broke`. `progress` is called
    /// for each `AttemptReport.progress`. `signals` carries requests from the scheduler: `warn`
    /// asks the worker to finish, `kill` ends it at once. An early end of the stream requests
    /// nothing.
    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd
}

/// Provides the data of time zones.
public protocol ZoneSource: Sendable {
    /// Returns the TZif file (RFC 8536) of a zone such as `Europe/London`; `nil` for no such zone.
    func tzif(for identifier: String) -> [UInt8]?
}

extension ZoneSource {
    /// Whether there are zones besides UTC.
    public var hasZones: Bool { tzif(for: "Europe/London") != nil }

    /// Returns why a name has no zone.
    ///
    /// - Parameter shown: the name as messages show it, in backticks; the path of a file for a zone
    ///   without a name.
    public func absence(of shown: String) -> String {
        guard hasZones else { return "time zone \(shown) is not installed" }
        return shown.hasPrefix("`/")
            ? "no installed time zone equals \(shown)" : "unknown time zone \(shown)"
    }

    /// What to do about a name without a zone.
    public var remedy: String {
        hasZones
            ? "write it as `Europe/London` or `UTC`"
            : "install the time zones (Debian's package tzdata)"
    }
}
