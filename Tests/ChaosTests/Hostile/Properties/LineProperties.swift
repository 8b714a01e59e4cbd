@testable import ClarityHost
@testable import ClarityScheduler

/// Checks lines that other programs write: reports of workers, orders to workers, and traces of
/// conditions.
enum LineProperties {
    static func makeCheck() -> FuzzTarget.Check {
        { bytes in
            guard let (draw, text) = bytes.drawn else { return }
            switch draw % 3 {
            case 0: try reports(Array(text), piece: Int(draw) / 3 % 13 + 1)
            case 1: try order(text)
            default: try trace(Array(text))
            }
        }
    }

    /// Checks that a worker's reports are the same in pieces of any size, and within bounds.
    private static func reports(_ bytes: [UInt8], piece: Int) throws {
        var whole = ReportReader()
        var progress: [Int64] = []
        whole.read(bytes[...]) { progress += [$0, $1] }
        whole.finish()
        var pieced = ReportReader()
        var piecedProgress: [Int64] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            pieced.read(rest.prefix(piece)) { piecedProgress += [$0, $1] }
            rest = rest.dropFirst(piece)
        }
        pieced.finish()
        try require(whole.fault == pieced.fault, "pieces change the fault")
        try require(whole.outcome == pieced.outcome, "pieces change the outcome")
        try require(whole.notes == pieced.notes, "pieces change the notes")
        try require(whole.tally == pieced.tally, "pieces change the counts")
        try require(progress == piecedProgress, "pieces change the progress")
        try require(whole.notes.count <= ReportReader.mostNotes, "notes without end")
        for line in bytes.split(separator: 0x0A) {
            let text = String(decoding: line, as: UTF8.self)
            do throws(MalformedLine) {
                let line = try AttemptReport(line: text).line
                try again(line == text, "a report that is written otherwise")
            } catch {
                try demandHarmless(error.expected, "what is expected")
                try require(error.expected.utf8.count < 200, "what is expected quotes the line")
            }
        }
    }

    private static func order(_ text: UnsafeBufferPointer<UInt8>) throws {
        let lines = text.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        let order: AttemptOrder
        do throws(MalformedLine) {
            order = try AttemptOrder(lines: lines)
        } catch {
            return try demandHarmless(error.expected, "what is expected")
        }
        try require(
            order.lines.allSatisfy { !$0.unicodeScalars.contains("\n") }, "a line in two lines")
        try require(try AttemptOrder(lines: order.lines) == order, "an order read otherwise")
    }

    private static func trace(_ bytes: [UInt8]) throws {
        let trace: ConditionTrace
        do throws(TraceFault) {
            trace = try TraceReader().read(bytes, path: "trace.ndjson")
        } catch {
            return try demandHarmless("\(error)", "a fault of a trace")
        }
        var writer = TraceWriter()
        for entry in trace.entries {
            guard let line = writer.line(for: entry.conditions, at: entry.at) else { continue }
            try demandHarmless(line, "a line of a trace")
            let again = try TraceReader().read(Array(line.utf8), path: "again")
            try require(again.entries[0].at == entry.at, "an instant that is written otherwise")
        }
    }

    /// Reports a broken property from code that throws only `MalformedLine`.
    private static func again(_ holds: Bool, _ property: String) throws(MalformedLine) {
        if !holds { throw MalformedLine(expected: "\u{0}\(property)") }
    }
}
