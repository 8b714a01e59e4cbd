public import ClarityScheduler

/// A check that jobs may depend on, and how to run it.
public struct CheckDeclaration: Hashable, Sendable {
    /// The command or URL that answers the check.
    public enum Question: Hashable, Sendable {
        /// A program and its arguments. The program is required: a name to find in `PATH`, or an
        /// absolute path. Exit status 0 means yes.
        case command([String])
        /// An http or https URL. A status from 200 to 299 means yes.
        case url(String)
    }

    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`.
    public var name: String
    public var question: Question
    /// The time within which an answer must arrive, 100 ms to 5 min.
    public var timeout: Duration
    /// The time for which an answer remains valid, 1 s to 1 day.
    public var validFor: Duration

    /// The default timeout: 10 s.
    public static let standardTimeout: Duration = .seconds(10)
    /// The name of the check that stands for the job file's `probe`.
    public static let probeName = "probe"

    /// Creates a declaration without checking it.
    public init(
        name: String, question: Question, timeout: Duration = CheckDeclaration.standardTimeout,
        validFor: Duration = Check.standardValidity
    ) {
        self.name = name
        self.question = question
        self.timeout = timeout
        self.validFor = validFor
    }
}
