import HealthStore
import JSON

/// Keeps the records of an export for the archive, with everything that the text says of each.
struct RecordArchiving {
    /// What many records have in common: the type's number and the index of the rest.
    private struct Origin {
        var type: Int
        var text: UInt32
    }

    /// The longest text of metadata that is kept of a record; no phone writes a tenth of it.
    private static let longestMetadata = 1 << 16

    /// When a record began and ended.
    typealias Span = (start: HealthKitDate, end: HealthKitDate)

    /// What became of a record.
    enum Outcome {
        case kept
        /// It is in a month of which everything is known.
        case known
        case refused(RecordRefusal)
    }

    private(set) var collector: ArchiveCollector
    /// By the attributes in front of the dates, which most records repeat byte for byte.
    private var origins = RecordArchiving.noOrigins
    /// The indices of values that are no numbers.
    private var words = RecordArchiving.noWords
    /// The indices of metadata.
    private var metadata = RecordArchiving.noMetadata
    private var dates = DateReader()
    /// The record whose metadata may follow.
    private var open: (record: ArchivedRecord, type: Int)?
    /// Its metadata so far, as in the text: names and values, each with a byte 0 behind it.
    private var openMetadata: [UInt8] = []
    /// Its beats so far.
    private var beats: Heartbeats?

    init(_ collector: ArchiveCollector = ArchiveCollector()) { self.collector = collector }

    private static var noOrigins: InternTable<Origin> {
        InternTable(capacity: 65_536, limit: 4096)
    }
    private static var noWords: InternTable<UInt32> { InternTable(capacity: 1024) }
    private static var noMetadata: InternTable<UInt32> { InternTable(capacity: 4096) }

    /// Adds a record of the top level.
    ///
    /// - Parameters:
    ///   - span: when it began and ended, as `span` reads it.
    ///   - isOpen: whether its metadata may follow; `end` then follows too.
    @inline(__always)
    mutating func add(
        _ bytes: Bytes, _ fields: RecordFields, _ span: Span?, isOpen: Bool
    ) -> Outcome {
        end()
        guard fields.has(.type) else { return refuse(.noType) }
        guard fields.has(.start), fields.has(.end) else { return refuse(.noDate) }
        guard let span else { return refuse(.badDate) }
        let (record, type) = record(bytes, fields, span)
        let isKnown = collector.isKnown(record.start, type: type)
        if isOpen || fields.hasUnknown {
            open = (record, type)
            if fields.hasUnknown { addUnknownAttributes(bytes, fields) }
            if !isOpen { end() }
        } else {
            keep(record, type: type)
        }
        return isKnown ? .known : .kept
    }

    /// Adds the attributes of a tag that no record is known to have to the open record's metadata.
    private mutating func addUnknownAttributes(_ bytes: Bytes, _ fields: RecordFields) {
        var lexer = TagLexer<AttributeList>()
        _ = lexer.lex(bytes, from: fields.tagStart)
        for (name, value) in lexer.attributes.attributes {
            let isKnown = RecordFields.Field.allCases.contains {
                bytes.matches($0.name, name.start, name.end)
            }
            if !isKnown { add(bytes, key: name, value: value) }
        }
    }

    /// Adds an element inside the open record that nobody knows to its metadata: its attributes, as
    /// an object of JSON under its name.
    mutating func add(unknownPart bytes: Bytes, _ attributes: AttributeList) {
        guard open != nil, openMetadata.count < RecordArchiving.longestMetadata else { return }
        let members = attributes.attributes.map { name, value in
            ElementArchiving.member(Reference.text(bytes.slice(name)), bytes.slice(value))
        }
        openMetadata += ExportElement.printable(attributes.elementName(in: bytes)).utf8 + [0]
        // Like all metadata it is decoded when the record ends.
        openMetadata += JSON.object(members).line.replacing("&", with: "&amp;").utf8 + [0]
    }

    private mutating func refuse(_ refusal: RecordRefusal) -> Outcome {
        noteRefused()
        return .refused(refusal)
    }

    /// Notes a record that cannot be kept.
    mutating func noteRefused() { collector.noteRefused() }

    /// Notes a record inside a correlation, which the top level repeats.
    mutating func note(nested bytes: Bytes, _ fields: RecordFields) {
        guard fields.has(.type), fields.has(.start), fields.has(.end),
            let span = span(bytes, fields)
        else { return noteRefused() }
        let (record, type) = record(bytes, fields, span)
        collector.note(record, type: type)
    }

    /// Notes what else decides what a reading makes of the records.
    mutating func note(_ number: Int64) { collector.note(number) }

    /// Reads when a record began and ended; `nil` if it has no dates that can be read.
    @inline(__always)
    mutating func span(_ bytes: Bytes, _ fields: RecordFields) -> Span? {
        guard fields.has(.start), fields.has(.end),
            let start = dates.date(bytes.slice(fields.start)),
            let end = dates.date(bytes.slice(fields.end))
        else { return nil }
        return (start, end)
    }

    /// Makes the record of a tag with a type.
    @inline(__always)
    private mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, _ span: Span
    ) -> (record: ArchivedRecord, type: Int) {
        let (start, end) = span
        let created = fields.has(.created) ? dates.date(bytes.slice(fields.created)) : nil
        let origin = RecordArchiving.origin(bytes, fields, &origins, &collector)
        let record = ArchivedRecord(
            start: start.seconds, end: end.seconds, created: created?.seconds,
            offsets: ClockOffsets(
                start: start.offset, end: end.offset, created: created?.offset ?? 0),
            origin: origin.text,
            value: fields.hasValue
                ? RecordArchiving.value(bytes.slice(fields.value), &words, &collector) : .none)
        return (record, origin.type)
    }

    private mutating func keep(_ record: ArchivedRecord, type: Int) {
        let epoch = collector.epoch
        collector.add(record, type: type)
        guard collector.epoch != epoch else { return }
        origins = RecordArchiving.noOrigins
        words = RecordArchiving.noWords
        metadata = RecordArchiving.noMetadata
    }

    /// Adds metadata to the open record.
    mutating func add(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        guard open != nil, openMetadata.count < RecordArchiving.longestMetadata else { return }
        for range in [key, value] {
            openMetadata += bytes.slice(range)
            openMetadata.append(0)
        }
    }

    /// Adds a beat to the open record.
    mutating func add(_ bytes: Bytes, rate: ByteRange, time: ByteRange) {
        guard let open else { return }
        var beats = self.beats ?? Heartbeats(since: open.record.start)
        self.beats = nil
        beats.add(rate: bytes.slice(rate), time: bytes.slice(time))
        self.beats = beats
    }

    /// Adds a record that the export does not have in this form.
    mutating func add(_ unplaced: UnplacedRecord) {
        end()
        let number = unplaced.type.isPlainName() ? collector.type(unplaced.type) : nil
        var origin = unplaced.origin
        if number == nil { origin.type = unplaced.type }
        var record = unplaced.record
        record.origin = collector.texts.index(of: origin.bytes)
        if let value = unplaced.value { record.value = .text(collector.texts.index(of: value)) }
        let metadata = unplaced.metadata
        if !metadata.isEmpty { record.metadata = collector.texts.index(of: metadata) }
        keep(record, type: number ?? ArchiveCollector.otherType)
    }

    /// Ends the open record.
    mutating func end() {
        guard var ended = open else { return }
        open = nil
        if !openMetadata.isEmpty {
            ended.record.metadata = openMetadata.withUnsafeBufferPointer {
                RecordArchiving.index(of: $0, &metadata, &collector)
            }
            openMetadata.removeAll(keepingCapacity: true)
        }
        let series = beats?.record(beside: ended.record, collector.texts)
        beats = nil
        keep(ended.record, type: ended.type)
        if let series { add(series) }
    }

    private static func value(
        _ text: Bytes, _ words: inout InternTable<UInt32>, _ collector: inout ArchiveCollector
    ) -> ArchivedRecord.Value {
        if let number = RecordNumber.parse(text) {
            return .number(mantissa: number.mantissa, decimals: number.decimals)
        }
        return .text(index(of: text, &words, &collector))
    }

    /// Returns the index of a text with its references decoded.
    private static func index(
        of text: Bytes, _ known: inout InternTable<UInt32>, _ collector: inout ArchiveCollector
    ) -> UInt32 {
        let place = known.place(of: text) { collector.texts.index(of: decoded($0)) }
        if let place { return known.values[place] }
        return collector.texts.index(of: decoded(text))
    }

    /// Decodes the parts of a text between the bytes 0 that `add` put there.
    private static func decoded(_ text: Bytes) -> [UInt8] {
        var decoded: [UInt8] = []
        for (index, part) in text.split(separator: 0, omittingEmptySubsequences: false).enumerated()
        {
            if index > 0 { decoded.append(0) }
            decoded += Reference.decode(Bytes(rebasing: part))
        }
        return decoded
    }

    private static func origin(
        _ bytes: Bytes, _ fields: RecordFields, _ origins: inout InternTable<Origin>,
        _ collector: inout ArchiveCollector
    ) -> Origin {
        let from = fields.tagStart
        let to = fields.has(.created) ? fields.created.start : fields.start.start
        // In another order of attributes the run would not have everything.
        let isRun =
            from <= to && fields.type.end <= to && fields.source.end <= to
            && fields.version.end <= to && fields.device.end <= to && fields.unit.end <= to
        if isRun {
            let place = origins.place(of: Bytes(rebasing: bytes[from..<to])) { _ in
                newOrigin(bytes, fields, &collector)
            }
            if let place { return origins.values[place] }
        }
        return newOrigin(bytes, fields, &collector)
    }

    private static func newOrigin(
        _ bytes: Bytes, _ fields: RecordFields, _ collector: inout ArchiveCollector
    ) -> Origin {
        func text(_ range: ByteRange, _ isThere: Bool) -> String? {
            isThere ? Reference.text(bytes.slice(range)) : nil
        }
        let type = Reference.text(bytes.slice(fields.type))
        let number = type.isPlainName() ? collector.type(type) : nil
        let origin = RecordOrigin(
            source: text(fields.source, fields.hasSource),
            version: text(fields.version, fields.has(.version)),
            device: text(fields.device, fields.has(.device)).map(withoutPointer),
            unit: text(fields.unit, fields.has(.unit)), type: number == nil ? type : nil)
        return Origin(
            type: number ?? ArchiveCollector.otherType,
            text: collector.texts.index(of: origin.bytes))
    }

    /// Returns a device's description without the address in the phone's memory, which each export
    /// has another of: `<<HKDevice: 0x28304a0d0>, name:Apple Watch>`.
    static func withoutPointer(_ device: String) -> String {
        let prefix = "<<HKDevice: "
        guard device.hasPrefix(prefix + "0x") else { return device }
        return prefix + device.dropFirst(prefix.count + 2).drop { $0.isHexDigit }
    }
}
