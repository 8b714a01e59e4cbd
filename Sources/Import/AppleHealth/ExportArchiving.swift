import HealthStore
import JSON

/// Takes everything of an export that the archive keeps, and all that decides what becomes of it.
///
/// On its own it makes nothing else of an export, so that a reading can first find out which months
/// are known. Its digest then is that of the whole reading.
struct ExportArchiving: ExportHandler {
    private var records: RecordArchiving
    private var elements = ElementArchiving()
    private(set) var facts = ExportFacts()

    init(_ collector: ArchiveCollector) { records = RecordArchiving(collector) }

    /// Notes when the export was made; the first date counts.
    mutating func exportDate(_ value: Bytes) {
        facts.exportDate = facts.exportDate ?? Reference.decoded(value, HealthKitDate.init)
    }

    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleHandler
    ) {
        if endsElements() { endElements() }
        _ = add(bytes, fields, span(bytes, fields), isOpen: isOpen)
    }

    /// Reads when a record began and ended; `nil` if it has no dates that can be read.
    @inline(__always)
    mutating func span(_ bytes: Bytes, _ fields: RecordFields) -> RecordArchiving.Span? {
        records.span(bytes, fields)
    }

    /// Adds a record of the top level.
    @inline(__always)
    mutating func add(
        _ bytes: Bytes, _ fields: RecordFields, _ span: RecordArchiving.Span?, isOpen: Bool
    ) -> RecordArchiving.Outcome {
        return records.add(bytes, fields, span, isOpen: isOpen)
    }

    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        records.add(bytes, key: key, value: value)
    }

    mutating func beat(_ bytes: Bytes, rate: ByteRange, time: ByteRange) {
        records.add(bytes, rate: rate, time: time)
    }

    mutating func unknownPart(_ bytes: Bytes, _ attributes: AttributeList) {
        records.add(unknownPart: bytes, attributes)
    }

    mutating func endRecord(_ each: SampleHandler) { records.end() }

    mutating func refuse(_ refusal: RecordRefusal) { records.noteRefused() }

    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?) {
        guard let fields else { return records.noteRefused() }
        elements.addRecord(bytes, fields)
        records.note(nested: bytes, fields)
    }

    mutating func closeCorrelation() {}

    mutating func begin(_ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList) {
        elements.begin(element, bytes, attributes, exportedAt: facts.exportDate)
    }

    mutating func elementMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        elements.addMetadata(bytes, key: key, value: value)
    }

    mutating func end(_ element: ExportElement) { _ = ended(element) }

    mutating func endElements() { _ = endedElements() }

    /// How many elements that nobody knows are not kept.
    var unknownRefused: Int64 { elements.unknownRefused }

    /// Notes a record of the top level; returns whether it ends the elements that are open.
    @inline(__always)
    mutating func endsElements() -> Bool { elements.isOpen && !elements.noteRecord() }

    /// Ends an element and returns the record that it became.
    mutating func ended(_ element: ExportElement) -> UnplacedRecord? { add(elements.end(element)) }

    /// Ends the open elements and returns the record that they became.
    mutating func endedElements() -> UnplacedRecord? { add(elements.endAll()) }

    private mutating func add(_ record: UnplacedRecord?) -> UnplacedRecord? {
        guard let record else { return nil }
        records.add(record)
        facts.note(record)
        return record
    }

    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields) {}

    mutating func finish(isWhole: Bool, _ each: SampleHandler) {
        records.end()
        records.note(facts.exportDate?.seconds ?? .min)
        records.note(elements.refused.values.reduce(0, +))
    }

    func write(to report: inout SourceReport) {
        report.records = records.collector
        report.elementsRefused = elements.refused
    }
}

/// What the text of an export says about the files beside it.
struct ExportFacts: Hashable, Sendable {
    /// The most files whose dates are known.
    private static let mostFiles = 1 << 16

    /// When the export was made.
    var exportDate: HealthKitDate?
    /// When each file of a clinical record was received, by the path in the text.
    private(set) var received: [String: HealthKitDate] = [:]

    /// Notes the date of the file that a clinical record names.
    fileprivate mutating func note(_ record: UnplacedRecord) {
        guard record.type == "\(ExportElement.clinicalRecord.name)",
            received.count < ExportFacts.mostFiles,
            let path = record.members.first(where: { $0.name == "resourceFilePath" })?.value.text
        else { return }
        received[path] = HealthKitDate(
            seconds: record.record.start, offset: record.record.offsets.start)
    }
}
