/// What a worker returns at the end of an attempt.
public enum Outcome: Hashable, Sendable {
    /// The work is done.
    case success
    /// The work is not done but may be later; `after` is the worker's wish, `nil` leaves the wait
    /// to the job's `RetryPolicy`.
    case retry(after: Duration?, Failure)
    /// The work went as far as it may for now and goes on after a span that is known, such as the
    /// rest of an hour whose requests are used up. Nothing has failed, and no attempt is counted.
    case snooze(after: Duration, Failure)
    /// The work is not begun, or goes on, when a condition holds that it needs beyond those of its
    /// job, such as external power for what is large. Nothing has failed, and no attempt is counted.
    case awaits(NeededCondition, Failure)
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
