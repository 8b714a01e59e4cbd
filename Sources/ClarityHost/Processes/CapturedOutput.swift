import ClarityScheduler
import Platform

/// Keeps the beginning and the end of a program's output, however long it is.
///
/// Output counts as progress: a job's `stall` is measured from the last output.
struct CapturedOutput: AttemptListener {
    private let headLimit: Int
    private let tailLimit: Int
    private var head: [UInt8] = []
    /// The last bytes; may grow beyond its limit, so that not every read moves it.
    private var tail: [UInt8] = []
    private var total: Int64 = 0

    /// Creates an empty capture.
    ///
    /// - Parameter limit: the maximum number of bytes to keep.
    init(limit: Int) {
        headLimit = limit / 2
        tailLimit = limit - limit / 2
    }

    var fault: String? { nil }
    var hasOutcome: Bool { false }

    mutating func read(
        _ bytes: ArraySlice<UInt8>, progress: (_ done: Int64, _ total: Int64) -> Void
    ) {
        let first = bytes.prefix(headLimit - head.count)
        head += first
        tail += bytes.dropFirst(first.count)
        if tail.count > 2 * tailLimit { tail.removeFirst(tail.count - tailLimit) }
        total += Int64(bytes.count)
        progress(total, 0)
    }

    mutating func finish() {}

    /// The captured output; `nil` if the program wrote nothing.
    var output: AttemptOutput? {
        guard total > 0 else { return nil }
        let tail = tail.suffix(tailLimit)
        return AttemptOutput(
            head: head, leftOutBytes: total - Int64(head.count) - Int64(tail.count),
            tail: Array(tail))
    }

    func end(of process: ProcessEnd) -> AttemptEnd {
        AttemptEnd(CommandExit(process).result(lastLine: output?.lastLine), output: output)
    }
}

extension AttemptOutput {
    /// The last line that is not blank, without terminal control characters and at most 200
    /// characters long; `nil` if there is none.
    var lastLine: String? {
        let bytes = tail.isEmpty ? head : leftOutBytes == 0 ? head + tail : tail
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let line = lines.last(where: { !$0.allSatisfy(isBlank) }) else { return nil }
        let text = String(decoding: line.drop(while: isBlank), as: UTF8.self)
        return printable(text, atMost: 200)
    }
}

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
