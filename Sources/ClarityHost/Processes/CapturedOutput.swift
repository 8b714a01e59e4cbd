import ClarityScheduler

/// Keeps the beginning and the end of what a program writes, whatever the amount.
///
/// What it writes is a sign of life, so that a job's `stall` counts from the last of it.
struct CapturedOutput: AttemptListener {
    private let headLimit: Int
    private let tailLimit: Int
    private var head: [UInt8] = []
    /// Longer than its limit now and then, so that it is not moved with each byte.
    private var tail: [UInt8] = []
    private var total: Int64 = 0

    /// Begins with nothing.
    ///
    /// - Parameter limit: how many bytes are kept at most.
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

    /// What is kept; `nil` where nothing was written.
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
    /// The last line that is not empty, without what steers a terminal and at most 200 characters of
    /// it; `nil` where there is none.
    var lastLine: String? {
        let bytes = tail.isEmpty ? head : leftOutBytes == 0 ? head + tail : tail
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let line = lines.last(where: { !$0.allSatisfy(isBlank) }) else { return nil }
        let text = String(decoding: line.drop(while: isBlank), as: UTF8.self)
        return printable(text, atMost: 200)
    }
}
