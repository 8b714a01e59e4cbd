import HealthStore
import Platform
@preconcurrency import Glibc
import ClarityScheduler
import JSON

/// Writes records as lines, a file for each type, into a new or empty folder.
struct RecordFolder<Lines: RecordLines>: RecordTarget {
    private let folder: String
    private let recipient: Recipient
    private let largest: Int
    private var output: RecordOutput?

    /// - Parameter largest: the most bytes of a file; the type goes on in another one.
    init(
        _ folder: String, _ recipient: Recipient, largest: Int = .max
    ) throws(RecordExport.Fault) {
        (self.folder, self.recipient, self.largest) = (folder, recipient, largest)
        try makeFolder()
    }

    mutating func begin(_ type: ArchivedType) throws(RecordExport.Fault) {
        output = try RecordOutput("\(folder)/\(name(of: type))", largest: largest)
        output?.bytes += Lines.heading.utf8
    }

    mutating func append(
        _ segment: Segment, _ type: ArchivedType, _ range: Range<Int64>
    ) throws(RecordExport.Fault) -> Int64 {
        guard var output else { return 0 }
        // Two owners of its bytes would copy them.
        self.output = nil
        var lines = Lines(segment, type: type.name, recipient)
        var count: Int64 = 0
        for record in segment.records where range.contains(record.start) {
            count += 1
            lines.append(record, to: &output.bytes)
            try output.flushBlock()
        }
        self.output = output
        return count
    }

    mutating func end(
        _ type: ArchivedType
    ) throws(RecordExport.Fault) -> (name: String, files: Int) {
        defer { output = nil }
        return (name(of: type), try output?.finish() ?? 0)
    }

    mutating func finish() {}

    private func name(of type: ArchivedType) -> String {
        Lines.fileName(of: RecordFile.name(of: type.name))
    }

    private func makeFolder() throws(RecordExport.Fault) {
        if mkdir(folder, 0o700) == 0 { return }
        guard errno == EEXIST else { throw .system(path: folder, code: errno) }
        do throws(WholeFile.Fault) {
            if try WholeFile.names(in: folder).isEmpty { return }
        } catch .refused(let code) {
            throw .system(path: folder, code: code)
        } catch {}
        throw .notEmpty(path: folder)
    }
}

/// A file for its owner alone, which gets its name at the end.
final class RecordFile {
    /// The bytes that are collected before they are written: 256 KiB.
    static let block = 1 << 18

    private let draft: RecordDraft

    init(_ path: String) throws(RecordExport.Fault) { draft = try RecordDraft(of: path) }

    /// Returns the name of a type without special characters.
    static func name(of type: String) -> String {
        type.filter { $0.isLetter || $0.isNumber || "_- ".contains($0) }
    }

    func write(_ bytes: [UInt8]) throws(RecordExport.Fault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(draft.descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw .system(path: draft.path, code: errno)
            }
        }
    }

    func finish() throws(RecordExport.Fault) { try draft.finish() }
}

/// Lines that are written in blocks: into a file, and into further ones beside it where one would
/// become too large, as `NAME.ndjson` and `NAME.2.ndjson`.
struct RecordOutput {
    private let path: String
    private let largest: Int
    private var file: RecordFile
    private var written = 0
    private var files = 1
    /// The bytes that were not written yet: whole lines, wherever one is flushed.
    var bytes: [UInt8] = []

    /// - Parameter largest: the most bytes of a file, unless a block has more.
    init(_ path: String, largest: Int = .max) throws(RecordExport.Fault) {
        (self.path, self.largest) = (path, largest)
        file = try RecordFile(path)
    }

    /// Writes the bytes if they are a block.
    mutating func flushBlock() throws(RecordExport.Fault) {
        if bytes.count >= RecordFile.block { try flush() }
    }

    /// Writes the rest; returns how many files there are.
    mutating func finish() throws(RecordExport.Fault) -> Int {
        try flush()
        try file.finish()
        return files
    }

    private mutating func flush() throws(RecordExport.Fault) {
        if written > 0, written + bytes.count > largest {
            try file.finish()
            (written, files) = (0, files + 1)
            let dot = path.lastIndex(of: ".") ?? path.endIndex
            file = try RecordFile("\(path[..<dot]).\(files)\(path[dot...])")
        }
        try file.write(bytes)
        written += bytes.count
        bytes.removeAll(keepingCapacity: true)
    }
}

/// Writes records as CSV (RFC 4180), each with everything that its source said of it.
///
/// A missing fact is an empty field. Times have the offset of the clock that wrote them. Metadata is
/// an object of JSON with texts.
struct RecordCSV: RecordLines {
    static let heading =
        "type,source,source_version,device,unit,created,start,end,value,metadata\r\n"

    // Many records share each of them.
    private let origins: SegmentTexts<[UInt8]>
    private let words: SegmentTexts<[UInt8]>
    private let metadata: SegmentTexts<[UInt8]>
    private var times = TimeWriter()

    static func fileName(of type: String) -> String { "\(type).csv" }

    init(_ segment: Segment, type: String, _ recipient: Recipient) {
        origins = SegmentTexts(segment) { text in
            let origin = RecordOrigin(text)
            let fields = [
                origin.type ?? type, origin.source, origin.version, origin.device, origin.unit,
            ]
            return Array(
                (fields.map { CSVText.field($0 ?? "") }.joined(separator: ",") + ",").utf8)
        }
        words = SegmentTexts(segment) {
            Array(CSVText.field(String(decoding: $0, as: UTF8.self)).utf8)
        }
        metadata = SegmentTexts(segment) { Array(CSVText.field(RecordMetadata($0).json.line).utf8) }
    }

    mutating func append(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        bytes += origins[record.origin]
        if let created = record.created {
            times.append(created, record.offsets.created, to: &bytes)
        }
        bytes.append(UInt8(ascii: ","))
        times.append(record.start, record.offsets.start, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        times.append(record.end, record.offsets.end, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        switch record.value {
        case .none: break
        case .number(let mantissa, let decimals):
            bytes += RecordNumber.text(mantissa: mantissa, decimals: decimals).utf8
        case .text(let index): bytes += words[index]
        }
        bytes.append(UInt8(ascii: ","))
        if let index = record.metadata { bytes += metadata[index] }
        bytes += [0x0D, 0x0A]
    }
}
