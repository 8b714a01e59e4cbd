/// A message from a worker about its running attempt; `outcome` is the last one.
public enum AttemptReport: Hashable, Sendable {
    /// `done` of `total` units are done; `total` is 0 while it is unknown.
    case progress(done: Int64, total: Int64)
    /// The new value of a named count; it replaces the value in an earlier report of that name.
    case count(name: String, Int64)
    /// Something that is true at the end of the attempt; it replaces an earlier one of its name.
    case fact(AttemptFact)
    /// A note for the person who reads the run's history; free of secrets and health values.
    case note(String)
    /// The checkpoint that the run's next attempt gets as `AttemptOrder.checkpoint`.
    case checkpoint(String)
    /// An event that jobs may wait for with `on:`. They start when the attempt has ended, however
    /// it ends. A repeated name counts once, and the attempt's own job does not react to it.
    case happened(EventName)
    case outcome(Outcome)
}

/// A named number that holds at the end of an attempt, such as how much is left to do.
///
/// The facts of an attempt that reports an outcome replace all former ones of its job's account.
public struct AttemptFact: Hashable, Sendable {
    /// The maximum length of a name, in bytes.
    public static let longestName = 100

    /// Any text without a blank or a line feed, 1 to `longestName` bytes long.
    public var name: String
    /// A count or a time in milliseconds since 1970, not below 0; `nil` if there is none yet.
    public var value: Int64?
    /// When the worker looked.
    public var at: Instant

    /// Creates a fact.
    public init(_ name: String, _ value: Int64?, at instant: Instant) {
        self.name = name
        self.value = value
        at = instant
    }
}

/// A request to a running attempt.
public enum AttemptSignal: Hashable, Sendable {
    /// Finish soon, or leave a checkpoint, and return.
    case warn
    /// End now.
    case kill
}

/// The outcome that a worker reports at the end of an attempt.
public enum Outcome: Hashable, Sendable {
    /// The work is done.
    case success
    /// The work is not done but may be later. `after` is the wait that the worker asks for; `nil`
    /// leaves the wait to the job's `RetryPolicy`.
    case retry(after: Duration?, Failure)
    /// The work went as far as it can for now and continues after a known span, such as the rest of
    /// an hour whose requests are used up. Nothing has failed, and the attempt does not count
    /// against the retry policy.
    case snooze(after: Duration, Failure)
    /// The work starts or continues when a condition holds that it needs beyond those of its job,
    /// such as external power for a large upload. Nothing has failed, and the attempt does not
    /// count against the retry policy.
    case awaits(NeededCondition, Failure)
    /// The work failed for good; a retry cannot help.
    case failure(Failure)
}

/// Why an attempt did not succeed: a category to act on and a sentence for people.
public struct Failure: Error, Hashable, Sendable {
    /// The kind of failure, by what it needs from the operator; determines the exit status.
    public enum Category: String, CaseIterable, Sendable {
        /// The work itself cannot be done.
        case work
        /// The backend did not answer or is not working.
        case unreachable
        /// The backend refused the credential, or there is none.
        case credential
        /// A setting, key or file that the work needs is missing or wrong.
        case configuration
        /// A disk is full or fails.
        case disk
        /// The worker broke: a bug in this program.
        case internalFault = "internal"
    }

    public var category: Category
    /// A lowercase fragment without final period, free of secrets and health values.
    public var reason: String

    /// Creates a failure; `reason` is shown to people unchanged.
    public init(_ category: Category, _ reason: String) {
        self.category = category
        self.reason = reason
    }
}

/// A condition that a run itself needs, beyond the constraints of its job.
public enum NeededCondition: String, CaseIterable, Sendable {
    /// The machine runs on external power.
    case externalPower = "external_power"
    /// The connection is not metered.
    case unmetered = "network_unmetered"
    /// Somebody is logged in. If the worker has failed because the backend is `unreachable`, and not
    /// because of the `credential`, the job's next occurrence ends this need.
    case login
    /// A source file that the job file names exists. The job's next occurrence ends this need,
    /// because there may be other work.
    case source

    /// Whether a person has to make the condition hold; the others change by themselves.
    public var isUpToSomebody: Bool {
        switch self {
        case .externalPower, .unmetered: false
        case .login, .source: true
        }
    }
}

/// The machine's conditions that a worker gets when an attempt starts.
///
/// `nil` means that the answer is unknown or does not count: a forced run needs no condition, and a
/// late run no longer needs what its job's `relax` drops.
public struct OrderConditions: Hashable, Sendable {
    /// Whether the connection is metered.
    public var metered: Bool?
    /// Whether the machine runs on external power.
    public var externalPower: Bool?

    /// Creates conditions; a value that is not given is unknown.
    public init(metered: Bool? = nil, externalPower: Bool? = nil) {
        self.metered = metered
        self.externalPower = externalPower
    }
}
