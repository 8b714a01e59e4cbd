import ClarityScheduler

/// Maps the exit status of a command to its attempt's outcome, following `sysexits.h`.
///
/// | status | outcome |
/// |---|---|
/// | 0 | success |
/// | 75 (later), 69, 71, 74 | retried as the job's `retry` says |
/// | 64 to 68, 70, 72, 73, 76, 77, 78 | failed for good |
/// | 126, 127 (a shell did not run it) | failed for good |
/// | any other | retried as the job's `retry` says |
///
/// As with any worker, an attempt whose program is ended by a signal has failed.
struct CommandExit {
    private let process: ProcessEnd

    init(_ process: ProcessEnd) { self.process = process }

    /// Returns the attempt's result; its reason ends with the program's last line of output.
    func result(lastLine: String?) -> AttemptEnd.Result {
        // A fault for which it was killed, and processes left behind, count as with any other
        // worker.
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

    /// The meaning of an exit status for the operator.
    struct Meaning: Hashable {
        var category: Failure.Category
        /// The words of `sysexits.h` or the shell for the status; `nil` if neither defines it.
        var words: String?
        /// Whether another attempt would end the same way.
        var isFinal: Bool
    }

    /// Returns the meaning of a status other than 0.
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
