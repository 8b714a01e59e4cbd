import ClarityScheduler
import ClaritySystem

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
