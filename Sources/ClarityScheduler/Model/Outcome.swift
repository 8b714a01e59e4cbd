/// What a worker returns at the end of an attempt.
public enum Outcome: Hashable, Sendable {
    /// The work is done.
    case success
    /// The work is not done but may be later; `after` is the worker's wish, `nil` leaves the wait
    /// to the job's `RetryPolicy`.
    case retry(after: Duration?, Failure)
    /// The work cannot be done by repeating it.
    case failure(Failure)
}

/// Why an attempt did not succeed: a category to act on and a sentence for people.
public struct Failure: Error, Hashable, Sendable {
    /// What the failure asks of the operator; decides the exit status.
    public enum Category: String, CaseIterable, Sendable {
        /// The work itself cannot be done.
        case work
        /// The backend did not answer or is out of order.
        case unreachable
        /// The backend refused the credential, or there is none.
        case credential
        /// A setting, key or file that the work needs is missing or wrong.
        case configuration
        /// A disk is full or fails.
        case disk
        /// The worker broke: a fault of this program.
        case internalFault = "internal"
    }

    public var category: Category
    /// A lowercase fragment without final period, free of secrets and health values.
    public var reason: String

    /// Creates a failure; `reason` is shown to people as it is.
    public init(_ category: Category, _ reason: String) {
        self.category = category
        self.reason = reason
    }
}

/// Why a running attempt was stopped from outside.
public enum StopReason: String, CaseIterable, Sendable {
    /// Its time was over.
    case timeout
    /// A constraint of its job no longer held.
    case constraintLost
    /// The scheduler was told to end.
    case shutdown
    /// A person cancelled the run.
    case cancelled
    /// Another process took the run over.
    case leaseLost
}

/// Counts that a worker reports, in the order in which they first appeared.
///
/// A name is lowercase words joined by `_`, such as `samples_read`.
public struct Tally: Hashable, Sendable {
    public private(set) var names: [String] = []
    private var counts: [String: Int64] = [:]

    /// Creates an empty tally.
    public init() {}

    /// The count under `name`, 0 when it was never set.
    public subscript(name: String) -> Int64 {
        get { counts[name] ?? 0 }
        set {
            if counts.updateValue(newValue, forKey: name) == nil { names.append(name) }
        }
    }

    public var isEmpty: Bool { names.isEmpty }

    /// Whether any count is above zero.
    public var hasCounted: Bool { counts.values.contains { $0 > 0 } }

    /// The counts for one line: `2041 samples read, 420 samples queued`.
    ///
    /// The first count is always there, of the others those above zero.
    public var summary: String {
        names.enumerated().filter { $0.offset == 0 || self[$0.element] > 0 }.map(\.element).map {
            "\(self[$0]) \($0.replacing("_", with: " "))"
        }.joined(separator: ", ")
    }
}
