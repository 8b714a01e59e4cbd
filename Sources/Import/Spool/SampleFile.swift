import HealthModel
import ClarityScheduler
import JSON

/// Reads a file of samples: a JSON list, one object, or one sample a line.
///
/// A bad sample is skipped and noted; the good ones are passed on. NDJSON is read as a stream, with
/// lines of at most 64 KiB; other files are read whole. A file has at most 64 MiB.
struct SampleFile {
    /// The most bytes of a file.
    static let largestFile = 64 << 20
    /// The most bytes of a line or of a list's element.
    static let longestLine = JSONParser.largestPart
    /// The most faults that are kept; further ones are only counted.
    static let mostFaults = 100

    /// A bad sample, and where it begins.
    struct Fault: Hashable, CustomStringConvertible {
        /// The line, counted from 1.
        var line: Int
        var what: String

        var description: String { "line \(line): \(what)" }
    }

    /// The result of reading a file.
    struct Outcome {
        var report = SourceReport()
        /// The first faults, in the order of the file.
        var faults: [Fault] = []
        /// The number of all faults.
        var faultCount = 0
    }

    let now: Instant
    var progress: ProgressHandler?
    private var outcome = Outcome()
    private var archiving = ObjectArchiving()
    /// When the file was written.
    private var writtenAt: Instant?

    init(now: Instant, progress: ProgressHandler? = nil) {
        self.now = now
        self.progress = progress
    }

    /// Reads `file` to its end.
    ///
    /// - Parameter isList: whether the file is read whole, as a list or one object, and not line by
    ///   line.
    /// - Throws: `SourceError.tooLarge`, `unreadable`; the errors of `progress` and `each`.
    mutating func read(
        _ file: RegularFile, path: String, isList: Bool,
        _ each: SampleHandler
    ) throws -> Outcome {
        writtenAt = file.writtenAt
        guard file.size <= SampleFile.largestFile else {
            throw SourceError.tooLarge(path: path, limit: SampleFile.largestFile)
        }
        if isList {
            try readWhole(try file.bytes(atMost: SampleFile.largestFile), each)
        } else {
            try readLines(file, each)
        }
        outcome.report.records = archiving.collector
        return outcome
    }

    // MARK: Line by line

    private mutating func readLines(
        _ file: RegularFile, _ each: SampleHandler
    ) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var line: [UInt8] = []
        var number = 1
        var isTooLong = false
        while true {
            let count = try file.read(into: &buffer)
            guard count > 0 else { break }
            outcome.report.bytesRead += Int64(count)
            // A file that grows while it is read could go on without end.
            guard outcome.report.bytesRead <= SampleFile.largestFile else {
                note("the file grows while it is read", line: number)
                break
            }
            var rest = buffer[..<count]
            while let end = rest.firstIndex(of: 0x0A) {
                if !isTooLong { line += rest[..<end] }
                try take(line, isTooLong: isTooLong, number: number, each)
                line.removeAll(keepingCapacity: true)
                isTooLong = false
                number += 1
                rest = rest[(end + 1)...]
            }
            if line.count + rest.count > SampleFile.longestLine + 1 {
                line.removeAll(keepingCapacity: true)
                isTooLong = true
            } else {
                line += rest
            }
            try tellProgress(of: file.size)
        }
        if !line.isEmpty || isTooLong {
            try take(line, isTooLong: isTooLong, number: number, each)
        }
    }

    private mutating func take(
        _ line: [UInt8], isTooLong: Bool, number: Int,
        _ each: SampleHandler
    ) throws {
        var text = line[...]
        if number == 1, text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        if text.last == 0x0D { text = text.dropLast() }
        guard isTooLong || text.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
        outcome.report.recordsRead += 1
        guard !isTooLong, text.count <= SampleFile.longestLine else {
            refuse(
                "the line has more than \(SampleFile.longestLine) bytes", number, "line too long")
            return
        }
        let json: JSON
        do throws(JSONFault) {
            json = try JSONParser.parse(Array(text))
        } catch {
            return refuse("no JSON: \(error.reason) (byte \(error.offset + 1))", number, "no JSON")
        }
        try take(json, line: number, each)
    }

    // MARK: Whole

    private mutating func readWhole(
        _ bytes: [UInt8], _ each: SampleHandler
    ) throws {
        outcome.report.bytesRead = Int64(bytes.count)
        var lines = LineCount(bytes: bytes)
        var cursor = JSONParser(bytes)
        do {
            if cursor.next == UInt8(ascii: "[") {
                try cursor.enter("[")
                while try cursor.nextElement() { try takeElement(&cursor, &lines, each) }
            } else {
                try takeElement(&cursor, &lines, each)
            }
            try cursor.end()
        } catch let fault as JSONFault {
            outcome.report.recordsRead += 1
            refuse("no JSON: \(fault.reason)", lines.line(at: fault.offset), "no JSON")
        }
        try tellProgress(of: Int64(bytes.count))
    }

    private mutating func takeElement(
        _ cursor: inout JSONParser, _ lines: inout LineCount,
        _ each: SampleHandler
    ) throws {
        _ = cursor.next
        let line = lines.line(at: cursor.position)
        let piece = try cursor.piece()
        outcome.report.recordsRead += 1
        if outcome.report.recordsRead % 1024 == 0 {
            try tellProgress(Int64(cursor.position), of: outcome.report.bytesRead)
        }
        switch piece {
        case .success(let json): try take(json, line: line, each)
        case .failure(let fault):
            refuse("no JSON: \(fault.reason)", lines.line(at: fault.offset), "no JSON")
        }
    }

    // MARK: A sample

    private mutating func take(
        _ json: JSON, line: Int, _ each: SampleHandler
    ) throws {
        let read: SpoolSample
        do throws(FieldFault) {
            read = try SpoolSample(json, now: now, asOf: min(writtenAt ?? now, now))
        } catch {
            return refuse("\(error)", line, "bad sample")
        }
        archiving.add(
            json, type: read.sample.kind.rawValue, start: read.sample.start, end: read.sample.end,
            source: read.sample.source, unit: json["unit"]?.text, numberName: "value",
            besides: ["kind", "start", "end", "source", "unit"])
        outcome.report.count(read.sample, read.nature)
        if let source = read.sample.source {
            outcome.report.bySource.add(to: source, atMost: 512, else: "(other sources)")
        }
        try each(read.sample, read.nature)
    }

    /// Counts a record as refused. `what` is for the author of the file, `reason` for the report.
    private mutating func refuse(_ what: String, _ line: Int, _ reason: String) {
        outcome.report.refused[reason, default: 0] += 1
        note(what, line: line)
    }

    private mutating func note(_ what: String, line: Int) {
        outcome.faultCount += 1
        guard outcome.faults.count < SampleFile.mostFaults else { return }
        outcome.faults.append(Fault(line: line, what: what))
    }

    private func tellProgress(_ bytesRead: Int64? = nil, of total: Int64) throws {
        try progress?(
            SourceProgress(
                bytesRead: bytesRead ?? outcome.report.bytesRead, bytesTotal: total,
                recordsRead: outcome.report.recordsRead))
    }
}

/// Counts the lines before positions that only move forward.
private struct LineCount {
    let bytes: [UInt8]
    var position = 0
    var line = 1

    /// Returns the line of a byte, counted from 1.
    mutating func line(at offset: Int) -> Int {
        let end = min(max(offset, position), bytes.count)
        for byte in bytes[position..<end] where byte == 0x0A { line += 1 }
        position = end
        return line
    }
}
