import HealthStore
import HealthModel
import ClarityScheduler
import Glibc

@testable import Import

/// A text in memory that arrives in pieces of a chosen size.
final class MemorySource: ByteSource {
    let attachments: [String: Int64] = [:]
    private let bytes: [UInt8]
    private let piece: Int
    private let breaksWith: String?
    private var given = 0
    private(set) var largestRequest = 0
    let total: Int64?

    init(_ bytes: [UInt8], piece: Int = .max, breaksWith: String? = nil) {
        self.bytes = bytes
        self.piece = piece
        self.breaksWith = breaksWith
        total = Int64(bytes.count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        largestRequest = max(largestRequest, buffer.count)
        let count = min(piece, buffer.count, bytes.count - given)
        if count == 0, let breaksWith { throw ByteSourceBreak(reason: breaksWith) }
        buffer.copyBytes(from: bytes[given..<given + count])
        given += count
        return count
    }
}

/// 2026-11-15T00:00:00Z.
let readingTime = Instant(secondsSince1970: 1_794_700_800)

struct Reading: Equatable {
    var samples: [Sample] = []
    var report = SourceReport()
}

func reading(
    _ bytes: [UInt8], piece: Int = .max, windowSize: Int = 1 << 18, tagLimit: Int = 16 << 20,
    pairing: BloodPressurePairing = BloodPressurePairing()
) throws -> Reading {
    var result = Reading()
    var reading = ExportReading(
        source: MemorySource(bytes, piece: piece),
        mapper: RecordMapper(now: readingTime, pairing: pairing), windowSize: windowSize,
        tagLimit: tagLimit)
    result.report = try reading.run { sample, _ in result.samples.append(sample) }
    return result
}

/// Reads a whole document whose root contains `body`.
func reading(body: String, tagLimit: Int = 16 << 20) throws -> Reading {
    try reading(
        Array("<HealthData locale=\"en_US\">\n\(body)</HealthData>\n".utf8), tagLimit: tagLimit)
}

/// Makes a heart rate of 61 at 2024-01-21T13:30:00Z, with parts replaced.
func heartRate(
    source: String = #"sourceName="a""#, value: String = #"value="61""#,
    dates: String =
        #"startDate="2024-01-21 08:30:00 -0500" endDate="2024-01-21 08:30:00 -0500""#,
    unit: String = #"unit="count/min""#
) -> String {
    #" <Record type="HKQuantityTypeIdentifierHeartRate" \#(source) \#(unit) \#(dates) \#(value)/>"#
        + "\n"
}

extension Sample {
    static func heartRate(_ value: Double, source: String? = "a") -> Sample {
        Sample(
            kind: .heartRate, start: Instant(secondsSince1970: 1_705_843_800),
            end: Instant(secondsSince1970: 1_705_843_800), value: .single(value), source: source)
    }
}

enum Files {
    /// The folder of the package.
    static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        .dropLast(4).joined(separator: "/")

    static func bytes(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { throw Failure(what: "cannot open `\(path)`") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count >= 0 else { throw Failure(what: "cannot read `\(path)`") }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw Failure(what: "cannot make `\(path)`") }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(what: "cannot write `\(path)`")
        }
    }

    /// Runs `body` with a new folder, and then removes it with its files.
    static func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        var template = Array("/tmp/clarity-sources-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(what: "cannot make a folder") }
        let path = template.withUnsafeBufferPointer { buffer in
            String(decoding: buffer.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        defer { remove(folder: path) }
        return try body(path)
    }

    private static func remove(folder path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { unlink("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }

    struct Failure: Error {
        var what: String
    }
}
