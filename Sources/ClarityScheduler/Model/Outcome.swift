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
