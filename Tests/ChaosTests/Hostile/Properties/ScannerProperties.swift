import HealthStore
import ClarityScheduler

@testable import Import

/// Checks what must hold for every text of an export, however damaged it is.
enum ScannerProperties {
    /// 2026-11-15T00:00:00Z.
    private static let now = Instant(secondsSince1970: 1_794_700_800)

    static func check(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        // The first byte selects the size of the pieces. There are not too many pieces, because an
        // unfinished tag is scanned again with each of them.
        guard let (first, text) = bytes.drawn else { return }
        let piece = max(Int(first) % 61, text.count / 32)

        let whole = try read(text, piece: text.count, windowSize: 1 << 16)
        let pieced = try read(text, piece: piece + 1, windowSize: 64)

        try require(whole.events == pieced.events, "pieces change what is found")
        try require(whole.report == pieced.report, "pieces change the report")
        let bare = try scan(text, piece: piece + 16)
        try require(whole.events == bare.events, "bare pieces change what is found")
        try require(whole.report == bare.report, "bare pieces change the report")
        try require(whole.report.bytesRead == Int64(text.count), "not all bytes are read")
        let records = whole.report.elements["Record"] ?? 0
        try require(records == whole.events.records, "a record has no event")
        for (name, count) in whole.report.malformations {
            let offsets = whole.report.offsets[name] ?? []
            try require(offsets.count == min(8, Int(count)), "a malformation has no place")
            try require(offsets == offsets.sorted(), "places out of order")
            try require(
                offsets.allSatisfy { $0 >= 0 && $0 < text.count }, "a place outside the text")
            try require(offsets.first == whole.report.firstOffsets[name], "two first places")
        }
        // Days and nights take longer than everything else, so only one text in 128 is mapped.
        if first % 128 == 0 {
            try require(mapped(text).unexplained == 0, "a record that no count explains")
        }
    }

    private static func read(
        _ text: UnsafeBufferPointer<UInt8>, piece: Int, windowSize: Int
    ) throws -> (events: EventDigest, report: SourceReport) {
        let digest = EventDigest()
        var reading = ExportReading(
            source: PieceSource(text, piece: piece), mapper: DigestHandler(digest: digest),
            windowSize: windowSize)
        return (digest, try reading.run { _, _ in })
    }

    /// Scans without a window. Each piece, together with the unread rest before it, lies in memory
    /// of exactly its length, so that the sanitizer detects a read beyond the end.
    private static func scan(
        _ text: UnsafeBufferPointer<UInt8>, piece: Int
    ) throws -> (events: EventDigest, report: SourceReport) {
        let digest = EventDigest()
        var scanner = ExportScanner(mapper: DigestHandler(digest: digest))
        var start = 0
        var end = 0
        while end < text.count {
            end = min(end + piece, text.count)
            let exact = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: end - start)
            defer { exact.deallocate() }
            _ = exact.initialize(fromContentsOf: text[start..<end])
            start += try scanner.consume(Bytes(exact)) { _, _ in }
        }
        return (digest, try scanner.finish(rest: end - start, isBroken: false) { _, _ in })
    }

    /// Reads a text and maps its records to samples.
    private static func mapped(_ text: UnsafeBufferPointer<UInt8>) throws -> SourceReport {
        var reading = ExportReading(
            source: PieceSource(text, piece: text.count), mapper: RecordMapper(now: now),
            windowSize: 1 << 16)
        return try reading.run { _, _ in }
    }
}

/// A source that returns a text in pieces.
private final class PieceSource: ByteSource {
    let attachments: [String: Int64] = [:]
    private let text: UnsafeBufferPointer<UInt8>
    private let piece: Int
    private var given = 0

    var total: Int64? { Int64(text.count) }

    init(_ text: UnsafeBufferPointer<UInt8>, piece: Int) {
        self.text = text
        self.piece = piece
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        let count = min(piece, buffer.count, text.count - given)
        buffer.copyBytes(from: text[given..<given + count])
        given += count
        return count
    }
}
