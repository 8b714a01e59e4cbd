public import ClarityScheduler

/// A question on which jobs may depend, and how it is asked.
public struct CheckDeclaration: Hashable, Sendable {
    /// Who answers.
    public enum Question: Hashable, Sendable {
        /// A program and its arguments, of which there is at least the program: a name that `PATH`
        /// leads to, or an absolute path. Status 0 is a yes.
        case command([String])
        /// A URL of http or https. A status from 200 to 299 is a yes.
        case url(String)
    }

    /// 1 to 64 letters, digits, `-`, `_` and `.`.
    public var name: String
    public var question: Question
    /// How long an answer is waited for, 100 ms to 5 min.
    public var timeout: Duration
    /// How long an answer stands, 1 s to a day.
    public var validFor: Duration

    /// How long an answer is waited for unless the job file says otherwise: 10 s.
    public static let standardTimeout: Duration = .seconds(10)
    /// The name of the question that the job file's `probe` is.
    public static let probeName = "probe"

    /// Creates a declaration, unchecked.
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
