import ClarityScheduler
import Platform

/// Collects the reports that a worker writes to its report descriptor.
///
/// It keeps a bounded amount, whatever the worker writes: 100 notes and 1,000 counts of at most one
/// line each, 100 facts, 16 events, one checkpoint and one outcome.
struct ReportReader: AttemptListener {
    static let mostNotes = 100
    static let mostCounts = 1000
    static let mostFacts = 100
    static let mostEvents = 16
    /// The most bytes that one attempt may write. A run over two million samples that reports three
    /// counts after each hundred writes 2 MB; a worker that writes eight times as much is in a
    /// loop.
    static let longestTotal = 16 << 20

    private(set) var tally = Tally()
    private(set) var facts: [AttemptFact] = []
    private(set) var checkpoint: String?
    private(set) var events: Set<EventName> = []
    private(set) var outcome: Outcome?
    /// The reason that the output is not a valid report. Nothing is read after it, and it never
    /// quotes the worker.
    private(set) var fault: String?
    var hasOutcome: Bool { outcome != nil }
    private var keptNotes: [String] = []
    private var furtherNotes = 0
    private var line: [UInt8] = []
    private var lineNumber = 1
    private var total = 0

    /// The notes in order; if there are more than 100, the first 99 and a line that counts the
    /// rest.
    var notes: [String] {
        guard furtherNotes > 0 else { return keptNotes }
        return keptNotes.dropLast() + ["\(furtherNotes + 1) further notes are not kept"]
    }

    /// Takes bytes as they arrive, with lines split anywhere.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, progress: (_ done: Int64, _ total: Int64) -> Void
    ) {
        guard fault == nil else { return }
        total += bytes.count
        guard total <= ReportReader.longestTotal else {
            fault = "more than \(ReportReader.longestTotal) bytes of reports"
            return
        }
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            take(rest[..<end])
            if fault == nil { endLine(progress) }
            guard fault == nil else { return }
            rest = rest[(end + 1)...]
        }
        take(rest)
    }

    /// A worker says everything in its reports.
    mutating func look(progress: (_ done: Int64, _ total: Int64) -> Void) {}

    /// Marks that the worker ended by itself.
    ///
    /// An unfinished line is not a report: it may be any part of the intended line.
    mutating func finish() {
        if fault == nil, !line.isEmpty { refuse("a newline at the end") }
    }

    func end(of process: ProcessEnd) -> AttemptEnd {
        var process = process
        process.outcome = outcome
        return AttemptEnd(
            process.result, tally: tally, facts: facts, notes: notes, checkpoint: checkpoint,
            events: events)
    }

    private mutating func take(_ part: ArraySlice<UInt8>) {
        guard line.count + part.count <= AttemptReport.longestLine else {
            return refuse("at most \(AttemptReport.longestLine) bytes")
        }
        line += part
    }

    private mutating func endLine(_ progress: (Int64, Int64) -> Void) {
        guard let text = String(validating: line, as: UTF8.self) else { return refuse("UTF-8") }
        guard outcome == nil else { return refuse("nothing after the outcome") }
        do throws(MalformedLine) {
            switch try AttemptReport(line: text) {
            case .progress(let done, let total): progress(done, total)
            case .count(let name, let value):
                tally[name] = value
                guard tally.names.count <= ReportReader.mostCounts else {
                    return refuse("at most \(ReportReader.mostCounts) counts")
                }
            case .fact(let fact):
                facts.removeAll { $0.name == fact.name }
                facts.append(fact)
                guard facts.count <= ReportReader.mostFacts else {
                    return refuse("at most \(ReportReader.mostFacts) different facts")
                }
            case .note(let text):
                if keptNotes.count < ReportReader.mostNotes {
                    keptNotes.append(text)
                } else {
                    furtherNotes += 1
                }
            case .checkpoint(let text): checkpoint = text
            case .happened(let name):
                events.insert(name)
                guard events.count <= ReportReader.mostEvents else {
                    return refuse("at most \(ReportReader.mostEvents) different events")
                }
            case .outcome(let word): outcome = word
            }
        } catch {
            return refuse(error.expected)
        }
        line.removeAll(keepingCapacity: true)
        lineNumber += 1
    }

    private mutating func refuse(_ expected: String) {
        fault = "line \(lineNumber): expected \(expected)"
    }
}

/// Keeps the beginning and the end of a program's output, however long it is. Neither has a part of
/// a character of UTF-8.
///
/// Output counts as progress: a job's `stall` is measured from the last output.
struct CapturedOutput: AttemptListener {
    private let headLimit: Int
    private let tailLimit: Int
    private var head: [UInt8] = []
    /// The last bytes; may grow beyond its limit, so that not every read moves it.
    private var tail: [UInt8] = []
    private var total: Int64 = 0
    private let live: LiveOutput?
    private let heard: (@Sendable (ArraySlice<UInt8>) -> Void)?
    private var report: CommandReport?

    /// Creates an empty capture.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes to keep.
    ///   - live: gets the output as it arrives, for others.
    ///   - heard: the same for this process.
    ///   - report: what the program says of its work.
    init(
        limit: Int, live: LiveOutput? = nil,
        heard: (@Sendable (ArraySlice<UInt8>) -> Void)? = nil, report: CommandReport? = nil
    ) {
        headLimit = limit / 2
        tailLimit = limit - limit / 2
        (self.live, self.heard, self.report) = (live, heard, report)
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
        live?.append(bytes, total: total, last: tail.isEmpty ? head : tail)
        heard?(bytes)
        progress(total, 0)
    }

    mutating func look(progress: (_ done: Int64, _ total: Int64) -> Void) {
        report?.read(progress: progress)
    }

    mutating func finish() { report?.finish { _, _ in } }

    /// The captured output; `nil` if the program wrote nothing.
    var output: AttemptOutput? {
        guard total > 0 else { return nil }
        var (head, tail) = (head[...], tail.suffix(tailLimit))
        if total > head.count + tail.count {
            head = head.dropLast(CapturedOutput.bytesOfCutCharacter(endOf: head))
            // Bytes that go on with a character whose beginning is left out.
            tail = tail.dropFirst(tail.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count)
        }
        return AttemptOutput(
            head: Array(head), leftOutBytes: total - Int64(head.count) - Int64(tail.count),
            tail: Array(tail))
    }

    /// Returns how many bytes at the end begin a character of UTF-8 without its rest.
    private static func bytesOfCutCharacter(endOf bytes: ArraySlice<UInt8>) -> Int {
        for (rest, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            return rest + 1 < length ? rest + 1 : 0
        }
        return 0
    }

    func end(of process: ProcessEnd) -> AttemptEnd {
        let end = AttemptEnd(
            CommandExit(process).result(lastLine: output?.lastLine), output: output)
        return report?.applied(to: end, asksForLater: process.exit == .status(75)) ?? end
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
    /// The words before the status in a reason.
    fileprivate static let words = "exited with status "

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
            "\(CommandExit.words)\(status)\(words)" + (lastLine.map { ": \($0)" } ?? ""))
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

// The reason of a program that ended, as `CommandExit` words it: `exited with status 3: the line`. The
// engine may have put the time limit before it.
extension String {
    /// The exit status that a reason names; `nil` if it names none.
    package var exitStatus: Int64? {
        firstRange(of: CommandExit.words).flatMap { words in
            Int64(self[words.upperBound...].prefix { $0.isNumber })
        }
    }

    /// What a reason says before the last line of the program's output.
    package var withoutOutput: String {
        guard let words = firstRange(of: CommandExit.words),
            let colon = self[words.upperBound...].firstIndex(of: ":")
        else { return self }
        return String(self[..<colon])
    }
}
