import ClarityScheduler

/// What the end of a command means for its attempt, by the words of `sysexits.h`.
///
/// | status | outcome |
/// |---|---|
/// | 0 | success |
/// | 75 (later), 69, 71, 74 | tried again as the job's `retry` says |
/// | 64 to 68, 70, 72, 73, 76, 77, 78 | failed for good |
/// | 126, 127 (a shell did not run it) | failed for good |
/// | any other | tried again as the job's `retry` says |
///
/// A signal that ended it makes a failed attempt, as of any worker.
struct CommandExit {
    private let process: ProcessEnd

    init(_ process: ProcessEnd) { self.process = process }

    /// The attempt's result; what the program wrote last is the second half of its reason.
    func result(lastLine: String?) -> AttemptEnd.Result {
        // What it was killed for, and processes that it left, count as with any other worker.
        guard process.fault == nil, !process.leftProcesses, case .status(let status) = process.exit
        else { return process.result }
        guard status != 0 else { return .reported(.success) }
        let meaning = CommandExit.meaning(of: status)
        let words = meaning.words.map { " (\($0))" } ?? ""
        let failure = Failure(
            meaning.category,
            "exited with status \(status)\(words)" + (lastLine.map { ": \($0)" } ?? ""))
        return .reported(meaning.isFinal ? .failure(failure) : .retry(after: nil, failure))
    }

    /// What a status asks of the operator.
    struct Meaning: Hashable {
        var category: Failure.Category
        /// What `sysexits.h`, or the shell, says of it; `nil` where nobody does.
        var words: String?
        /// Whether another attempt would end alike.
        var isFinal: Bool
    }

    /// The meaning of a status that is not 0.
    static func meaning(of status: Int32) -> Meaning {
        switch status {
        case 64: Meaning(category: .configuration, words: "usage", isFinal: true)
        case 65: Meaning(category: .work, words: "faulty input", isFinal: true)
        case 66: Meaning(category: .configuration, words: "no input", isFinal: true)
        case 67: Meaning(category: .configuration, words: "no such user", isFinal: true)
        case 68: Meaning(category: .configuration, words: "no such host", isFinal: true)
        case 69: Meaning(category: .unreachable, words: "unavailable", isFinal: false)
        case 70: Meaning(category: .internalFault, words: "its own fault", isFinal: true)
        case 71: Meaning(category: .work, words: "system error", isFinal: false)
        case 72: Meaning(category: .configuration, words: "system file missing", isFinal: true)
        case 73: Meaning(category: .disk, words: "cannot create output", isFinal: true)
        case 74: Meaning(category: .disk, words: "input or output error", isFinal: false)
        case 75: Meaning(category: .work, words: "later", isFinal: false)
        case 76: Meaning(category: .unreachable, words: "protocol error", isFinal: true)
        case 77: Meaning(category: .credential, words: "permission denied", isFinal: true)
        case 78: Meaning(category: .configuration, words: "configuration", isFinal: true)
        case 126: Meaning(category: .configuration, words: "cannot be run", isFinal: true)
        case 127: Meaning(category: .configuration, words: "not found", isFinal: true)
        default: Meaning(category: .work, words: nil, isFinal: false)
        }
    }
}
