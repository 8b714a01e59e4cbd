import ClarityScheduler

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
