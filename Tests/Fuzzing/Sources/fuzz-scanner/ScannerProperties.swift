import ClarityJobs
import ClarityScheduler
import Glibc

@testable import ClarityWorkers

/// What must hold for every text, however it is damaged; whatever does not ends the program.
enum ScannerProperties {
    /// 2026-11-15T00:00:00Z.
    private static let now = Instant(secondsSince1970: 1_794_700_800)

    static func check(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.first, bytes.count > 1 else { return }
        // The first byte says in what pieces the text comes.
        let text = UnsafeBufferPointer(rebasing: bytes.dropFirst())

        let whole = read(text, piece: text.count, windowSize: 1 << 16)
        let pieced = read(text, piece: Int(first) % 61 + 1, windowSize: 64)

        demand(whole.events == pieced.events, "pieces change what is found")
        demand(whole.report == pieced.report, "pieces change the report")
        let bare = scan(text, piece: Int(first) % 61 + 16)
        demand(whole.events == bare.events, "bare pieces change what is found")
        demand(whole.report == bare.report, "bare pieces change the report")
        demand(whole.report.bytesRead == Int64(text.count), "not all bytes are read")
        let records = whole.report.elements["Record"] ?? 0
        demand(records == whole.events.records, "a record has no event")
        for (name, count) in whole.report.malformations {
            let offsets = whole.report.offsets[name] ?? []
            demand(offsets.count == min(8, Int(count)), "a malformation has no place")
            demand(offsets == offsets.sorted(), "places out of order")
            demand(offsets.allSatisfy { $0 >= 0 && $0 < text.count }, "a place outside the text")
            demand(offsets.first == whole.report.firstOffsets[name], "two first places")
        }
        // Days and nights take longer than all else, so only one text in sixteen is mapped.
        if first % 16 == 0 {
            demand(mapped(text).unexplained == 0, "a record that no count explains")
        }
    }

    private static func read(
        _ text: UnsafeBufferPointer<UInt8>, piece: Int, windowSize: Int
    ) -> (events: EventDigest, report: SourceReport) {
        let digest = EventDigest()
        var reading = ExportReading(
            source: PieceSource(text, piece: piece), mapper: DigestHandler(digest: digest),
            windowSize: windowSize)
        do {
            let report = try reading.run { _, _ in }
            return (digest, report)
        } catch {
            demand(false, "an error where none can be")
            return (digest, SourceReport())
        }
    }

    /// Scans without a window: each piece lies with what is left before it in memory of just its
    /// length, so that the sanitizer sees a read beyond its end.
    private static func scan(
        _ text: UnsafeBufferPointer<UInt8>, piece: Int
    ) -> (events: EventDigest, report: SourceReport) {
        let digest = EventDigest()
        var scanner = ExportScanner(mapper: DigestHandler(digest: digest))
        var start = 0
        var end = 0
        do {
            while end < text.count {
                end = min(end + piece, text.count)
                let exact = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: end - start)
                defer { exact.deallocate() }
                _ = exact.initialize(fromContentsOf: text[start..<end])
                start += try scanner.consume(Bytes(exact)) { _, _ in }
            }
            return (digest, try scanner.finish(rest: end - start, isBroken: false) { _, _ in })
        } catch {
            demand(false, "an error where none can be")
            return (digest, SourceReport())
        }
    }

    /// The same with what the records mean.
    private static func mapped(_ text: UnsafeBufferPointer<UInt8>) -> SourceReport {
        var reading = ExportReading(
            source: PieceSource(text, piece: text.count), mapper: RecordMapper(now: now),
            windowSize: 1 << 16)
        do {
            return try reading.run { _, _ in }
        } catch {
            demand(false, "an error where none can be")
            return SourceReport()
        }
    }

    private static func demand(_ holds: Bool, _ property: String) {
        guard !holds else { return }
        print("does not hold: \(property)")
        fflush(nil)
        abort()
    }
}

/// A text in pieces.
private final class PieceSource: ByteSource {
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
