/// Tracks which elements of an export are open, and passes its elements on.
///
/// Only three open elements matter: the root, a correlation, and a record of the top level. An
/// element that is never closed ends where something begins that cannot be inside it.
struct ExportNesting<Handler: ExportHandler> {
    private var handler: Handler
    private var elements = ElementTally()
    private var hasRoot = false
    private(set) var isRootOpen = false
    private var inCorrelation = false
    /// Whether a record of the top level is open.
    private var inRecord = false
    /// Whether a record inside a correlation is open.
    private var inNestedRecord = false
    /// The malformations so far, with their offsets in the text.
    var tally = MalformationTally()

    init(_ handler: Handler) { self.handler = handler }

    /// The number of records so far, wherever they are.
    var records: Int64 { elements[.record] }
    var facts: ExportFacts { handler.facts }

    @inline(__always)
    mutating func count(_ element: ExportElement) { elements.count(element) }

    /// Counts an element by the name in its tag.
    mutating func count(_ element: ExportElement, named name: Bytes) {
        elements.count(element, named: name)
    }

    /// Passes on a record whose tag begins at `offset` in the text.
    @inline(__always)
    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, at offset: Int64,
        _ each: SampleHandler
    ) throws {
        if inCorrelation {
            inNestedRecord = isOpen
            handler.nestedRecord(bytes, fields)
        } else {
            try endUnclosedRecord(offset, each)
            inRecord = isOpen
            try handler.record(bytes, fields, isOpen: isOpen, each)
        }
    }

    /// Passes on a record whose tag cannot be read.
    mutating func unreadableRecord(
        _ bytes: Bytes, _ refusal: RecordRefusal, at offset: Int64, _ each: SampleHandler
    ) throws {
        if inCorrelation {
            handler.nestedRecord(bytes, nil)
        } else {
            try endUnclosedRecord(offset, each)
            handler.refuse(refusal)
        }
    }

    @inline(__always)
    mutating func metadata(_ bytes: Bytes, _ fields: RecordFields) {
        guard fields.has(.key), fields.has(.value) else { return }
        if inRecord {
            handler.metadata(bytes, key: fields.key, value: fields.value)
        } else if !inNestedRecord {
            handler.elementMetadata(bytes, key: fields.key, value: fields.value)
        }
    }

    @inline(__always)
    mutating func beat(_ bytes: Bytes, _ fields: RecordFields) {
        guard inRecord, fields.has(.rate) else { return }
        handler.beat(bytes, rate: fields.rate, time: fields.time)
    }

    /// Opens an element that is neither a record nor part of one.
    mutating func open(
        _ element: ExportElement, isEmptyElement: Bool, at offset: Int64, _ each: SampleHandler
    ) throws {
        switch element {
        case .correlation:
            try endUnclosedRecord(offset, each)
            endUnclosedCorrelation(offset)
            handler.endElements()
            inCorrelation = !isEmptyElement
        case .root:
            try endUnclosedRecord(offset, each)
            if hasRoot { tally.note(.secondRoot, at: offset) }
            hasRoot = true
            isRootOpen = !isEmptyElement
        case let element where element.isSibling:
            try endUnclosedRecord(offset, each)
            endUnclosedCorrelation(offset)
            handler.endElements()
        default: break
        }
    }

    /// Passes on the attributes of an element.
    mutating func describe(
        _ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList, isEmptyElement: Bool
    ) {
        // Nothing but metadata and beats is known inside a record.
        if element == .other, inRecord { return handler.unknownPart(bytes, attributes) }
        handler.begin(element, bytes, attributes)
        if isEmptyElement { handler.end(element) }
        switch element {
        case .activitySummary:
            handler.activitySummary(bytes, SummaryFields(bytes, attributes))
        case .exportDate:
            if let value = attributes.value(of: "value", in: bytes) {
                handler.exportDate(bytes.slice(value))
            }
        default: break
        }
    }

    /// Handles an end tag.
    mutating func close(
        _ element: ExportElement, at offset: Int64, _ each: SampleHandler
    ) throws {
        switch element {
        case .record:
            inNestedRecord = false
            guard inRecord else { return }
            inRecord = false
            try handler.endRecord(each)
        case .correlation: if inCorrelation { closeCorrelation() }
        case .root:
            try endUnclosedRecord(offset, each)
            endUnclosedCorrelation(offset)
            handler.endElements()
            isRootOpen = false
        default: handler.end(element)
        }
    }

    /// Closes what is open at the end of the text, and passes on the samples that waited for it.
    mutating func finish(
        _ report: inout SourceReport, isWhole: Bool, _ each: SampleHandler
    ) throws {
        if inRecord { try handler.endRecord(each) }
        if inCorrelation { closeCorrelation() }
        handler.endElements()
        try handler.finish(isWhole: isWhole, each)
        handler.write(to: &report)
        tally.write(to: &report)
        elements.write(to: &report)
    }

    @inline(__always)
    private mutating func endUnclosedRecord(_ offset: Int64, _ each: SampleHandler) throws {
        guard inRecord else { return }
        inRecord = false
        tally.note(.unclosedRecord, at: offset)
        try handler.endRecord(each)
    }

    private mutating func endUnclosedCorrelation(_ offset: Int64) {
        guard inCorrelation else { return }
        tally.note(.unclosedCorrelation, at: offset)
        closeCorrelation()
    }

    private mutating func closeCorrelation() {
        handler.closeCorrelation()
        handler.end(.correlation)
        inCorrelation = false
        inNestedRecord = false
    }
}
