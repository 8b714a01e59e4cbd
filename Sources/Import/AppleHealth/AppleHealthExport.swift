import HealthStore
import ClarityScheduler

/// An Apple Health export: the zip archive that the phone makes, the folder in it, or its xml file.
///
/// The export is read as a stream, and nothing is written to disk. Memory is bounded: about 1 MiB,
/// plus the longest tag, some 15 MB for 65,536 blood pressures and some 15 MB for ten years of days
/// and nights. Measurements come in the order of the text, which may hold the same sample more than
/// once. Blood pressures, days and nights come last, because their parts are spread over the text.
struct AppleHealthExport: Sendable {
    /// The file or folder.
    let path: String
    /// The instant after which no sample can have begun.
    let now: Instant
    /// How days and nights are made.
    var rules = AggregationRules()
    /// The earliest start of a wanted sample; `nil` means any.
    var since: Instant?
    /// The months that an earlier reading brought.
    var known = KnownMonths()
    /// Where links in `path` are followed.
    var links = SourcePlace.Links.followed

    /// The file or folder.
    private var root: SourcePlace { SourcePlace(path, links) }

    /// The file that is read: the export in the folder, otherwise `path` itself, whatever it is.
    var place: SourcePlace {
        do throws(SourceError) { return try ExportSource.file(at: root) } catch { return root }
    }

    /// Passes each sample to `each` and returns the report of all records.
    ///
    /// A source that breaks off (a truncated archive, a wrong checksum) is not an error: everything
    /// read before counts, and `SourceReport.brokeAt` says where it broke off.
    ///
    /// - Parameters:
    ///   - progress: Called after each piece of 256 KiB or less.
    ///   - each: Called for each sample.
    /// - Throws: `SourceError` if there is nothing to read; the errors of `progress` and `each`,
    ///   which stop the reading.
    func read(progress: ProgressHandler? = nil, _ each: SampleHandler) throws -> SourceReport {
        var reading = ExportReading(
            source: try ExportSource.open(root),
            mapper: RecordMapper(
                now: now, rules: rules,
                collector: ArchiveCollector(key: known.key, known: .months(known.months))),
            progress: progress)
        var report = try reading.run(each)
        try addFiles(to: &report, reading.facts, progress)
        return report
    }

    /// Makes the fingerprints of the records, and nothing else.
    ///
    /// - Parameter key: the key of the fingerprints.
    /// - Returns: `nil` if the source breaks off.
    /// - Throws: as `read`.
    func lookThrough(_ key: [UInt8], progress: ProgressHandler?) throws -> ArchiveCollector? {
        var reading = ExportReading(
            source: try ExportSource.open(root),
            mapper: ExportArchiving(ArchiveCollector(key: key, known: .all)), progress: progress)
        var report = try reading.run { _, _ in }
        try addFiles(to: &report, reading.facts, progress)
        return report.brokeAt == nil ? report.records : nil
    }

    /// Adds what is in the files beside the text to the archive's records. They are read after the
    /// text, which says whether there are any, and when clinical records were received.
    private func addFiles(
        to report: inout SourceReport, _ facts: ExportFacts, _ progress: ProgressHandler?
    ) throws {
        let hasFiles = report.attachments.keys.contains {
            Attachments(rawValue: $0)?.isKept == true
        }
        guard report.brokeAt == nil, hasFiles, let records = report.records else { return }
        report.records = nil
        var archiving = FileArchiving(records, facts)
        let done = SourceProgress(
            bytesRead: report.bytesRead, bytesTotal: report.bytesRead,
            recordsRead: report.recordsRead)
        try ExportFiles(place: root).forEach { sort, name, text in
            try progress?(done)
            archiving.add(text, of: sort, name)
        }
        archiving.write(to: &report)
    }
}

/// The longest tag that is read: 16 MiB.
let longestTag = 16 << 20

/// Feeds a scanner from a source, through one window of memory.
///
/// The window has 256 KiB and grows only for a longer tag, up to `tagLimit`; a tag that is still
/// longer is skipped.
struct ExportReading<Mapper: ExportHandler> {
    private let source: any ByteSource
    private let tagLimit: Int
    private let progress: ProgressHandler?
    private var scanner: ExportScanner<Mapper>
    private var window: ByteWindow
    private var bytesRead: Int64 = 0
    /// What the text so far says about the files beside it.
    var facts: ExportFacts { scanner.facts }

    init(
        source: any ByteSource, mapper: Mapper, windowSize: Int = 1 << 18,
        tagLimit: Int = longestTag, progress: ProgressHandler? = nil
    ) {
        self.source = source
        self.tagLimit = tagLimit
        self.progress = progress
        scanner = ExportScanner(mapper: mapper)
        window = ByteWindow(capacity: min(windowSize, tagLimit))
    }

    /// Reads to the end of the source, or to where it breaks off.
    ///
    /// - Throws: the errors of `progress` and `each`, unchanged, and nothing else.
    mutating func run(_ each: SampleHandler) throws -> SourceReport {
        var broken: ByteSourceBreak?
        var unfinished = 0
        reading: while true {
            do throws(ByteSourceBreak) {
                let count = try source.read(into: window.free)
                guard count > 0 else { break reading }
                window.append(count)
                bytesRead += Int64(count)
            } catch {
                broken = error
                break reading
            }
            try progress?(
                SourceProgress(
                    bytesRead: bytesRead, bytesTotal: source.total, recordsRead: scanner.records))
            // An unfinished tag is lexed from its beginning, so wait until it has doubled.
            // Otherwise a long tag in small pieces would cost the square of its length.
            guard window.isFull || window.bytes.count >= 2 * unfinished else { continue }
            window.remove(try scanner.consume(window.bytes, each))
            unfinished = window.bytes.count
            if window.isFull, !window.grow(upTo: tagLimit) {
                try scanner.abandonTag(window.bytes, each)
                window.remove(window.bytes.count)
            }
        }
        window.remove(try scanner.consume(window.bytes, each))
        var report = try scanner.finish(
            rest: window.bytes.count, isBroken: broken != nil, each)
        report.attachments = source.attachments
        if let broken {
            report.brokeAt = SourceBreak(
                byteOffset: bytesRead, reason: broken.reason, isOfDisk: broken.isOfDisk)
        }
        return report
    }
}

/// The piece of the text that is in memory: filled at its end, consumed at its front.
final class ByteWindow {
    private var storage: UnsafeMutableRawBufferPointer
    private var count = 0

    init(capacity: Int) {
        storage = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { storage.deallocate() }

    /// The bytes that were read and not yet consumed; valid until the window changes.
    var bytes: Bytes {
        Bytes(start: storage.baseAddress?.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// The room behind `bytes`.
    var free: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[count...])
    }

    var isFull: Bool { count == storage.count }

    /// Counts `added` bytes of `free` as read.
    func append(_ added: Int) { count += added }

    /// Removes the first `consumed` bytes and moves the rest to the front.
    func remove(_ consumed: Int) {
        guard consumed > 0, let base = storage.baseAddress else { return }
        count -= consumed
        base.copyMemory(from: base + consumed, byteCount: count)
    }

    /// Doubles the room, to at most `limit`; returns `false` if it already has that size.
    func grow(upTo limit: Int) -> Bool {
        guard storage.count < limit else { return false }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(storage.count * 2, limit), alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
        storage.deallocate()
        storage = larger
        return true
    }
}

/// A fault in the text of an export that leaves its records readable.
///
/// The raw value is the name in the report.
enum Malformation: String, CaseIterable {
    /// A declaration that is not closed before the next one begins, as in every export of iOS 16.
    case documentType = "malformed document type"
    /// A declared entity; none is ever expanded.
    case entityDeclaration = "entity declaration"
    case controlCharacter = "control character"
    case badUTF8 = "bad UTF-8"
    case rawAmpersand = "raw ampersand"
    case rawLessThan = "raw less-than sign"
    /// A numeric reference to a character that XML does not allow, such as `&#x0B;`.
    case illegalReference = "illegal character reference"
    case unknownEntity = "unknown entity"
    /// The first one counts.
    case duplicateAttribute = "duplicate attribute"
    case spacedName = "attribute name with a space"
    case unquotedValue = "attribute value without quotes"
    case missingValue = "attribute without a value"
    case strayCharacter = "stray character in a tag"
    case strayText = "text between elements"
    /// A tag that has not ended where the next one begins.
    case unclosedTag = "unclosed tag"
    case unclosedCorrelation = "unclosed correlation"
    case unclosedRecord = "unclosed record"
    /// A tag longer than the window may become; it is skipped.
    case oversizedTag = "oversized tag"
    /// A second `HealthData`; its records count like those of the first.
    case secondRoot = "second root"
}

/// The counts of the malformations, and the offsets at which they were found.
struct MalformationTally {
    /// The most offsets that are kept for each malformation: those of the first 8.
    static let places = 8

    private struct Entry {
        var count: Int64 = 0
        /// Ascending.
        var offsets: [Int64] = []

        mutating func keep(_ offset: Int64) {
            guard offsets.count < MalformationTally.places || offset < offsets[offsets.count - 1]
            else { return }
            let place = offsets.lastIndex { $0 <= offset }.map { $0 + 1 } ?? 0
            offsets.insert(offset, at: place)
            if offsets.count > MalformationTally.places { offsets.removeLast() }
        }
    }

    private var entries: [Malformation: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    mutating func note(_ malformation: Malformation, at offset: Int64) {
        entries[malformation, default: Entry()].count += 1
        entries[malformation, default: Entry()].keep(offset)
    }

    /// Adds the notes of `other` about a piece of the text that begins at `position`.
    mutating func add(_ other: MalformationTally, position: Int64) {
        for (malformation, entry) in other.entries {
            entries[malformation, default: Entry()].count += entry.count
            for offset in entry.offsets {
                entries[malformation, default: Entry()].keep(offset + position)
            }
        }
    }

    func write(to report: inout SourceReport) {
        for (malformation, entry) in entries {
            report.malformations[malformation.rawValue] = entry.count
            report.offsets[malformation.rawValue] = entry.offsets
        }
    }
}
