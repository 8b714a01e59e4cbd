/// The elements of an export.
enum ExportElement: Int, CaseIterable {
    case record
    case metadata
    case beat
    case beats
    case correlation
    case root
    case exportDate
    case me
    case workout
    case workoutActivity
    case workoutEvent
    case workoutStatistics
    case workoutRoute
    case fileReference
    case activitySummary
    case clinicalRecord
    case audiogram
    case sensitivityPoint
    case visionPrescription
    case rightEye
    case leftEye
    case attachment
    case other

    /// The name in the text; the last one stands for all others in a report.
    var name: StaticString {
        switch self {
        case .record: "Record"
        case .metadata: "MetadataEntry"
        case .beat: "InstantaneousBeatsPerMinute"
        case .beats: "HeartRateVariabilityMetadataList"
        case .correlation: "Correlation"
        case .root: "HealthData"
        case .exportDate: "ExportDate"
        case .me: "Me"
        case .workout: "Workout"
        case .workoutActivity: "WorkoutActivity"
        case .workoutEvent: "WorkoutEvent"
        case .workoutStatistics: "WorkoutStatistics"
        case .workoutRoute: "WorkoutRoute"
        case .fileReference: "FileReference"
        case .activitySummary: "ActivitySummary"
        case .clinicalRecord: "ClinicalRecord"
        case .audiogram: "Audiogram"
        case .sensitivityPoint: "SensitivityPoint"
        case .visionPrescription: "VisionPrescription"
        case .rightEye: "RightEye"
        case .leftEye: "LeftEye"
        case .attachment: "Attachment"
        case .other: "(other elements)"
        }
    }

    /// Whether the element is beside records and correlations and never inside them.
    var isSibling: Bool {
        switch self {
        case .exportDate, .me, .workout, .activitySummary, .clinicalRecord, .audiogram,
            .visionPrescription:
            true
        default: false
        }
    }

    /// The most unknown names that are told apart.
    static let mostUnknown = 64

    /// Returns the name in the tag of an unknown element if it is plain, else the one for all others.
    static func printable(_ name: Bytes) -> String {
        guard name.count <= 80 else { return "\(ExportElement.other.name)" }
        let text = String(decoding: name, as: UTF8.self)
        return text.isPlainName() ? text : "\(ExportElement.other.name)"
    }

    /// Finds the element whose name is the bytes from `start` to `end`.
    init(_ bytes: Bytes, _ start: Int, _ end: Int) {
        self =
            ExportElement.allCases.first {
                $0 != .other && bytes.matches($0.name, start, end)
            } ?? .other
    }
}

/// The number of elements of each name.
struct ElementTally {
    private var counts = [Int64](repeating: 0, count: ExportElement.allCases.count)
    /// The elements that no export is known to have, by name.
    private var unknown: [String: Int64] = [:]

    @inline(__always)
    mutating func count(_ element: ExportElement) { counts[element.rawValue] += 1 }

    /// Counts an element by the name in its tag.
    mutating func count(_ element: ExportElement, named name: Bytes) {
        guard element == .other else { return count(element) }
        let name = ExportElement.printable(name)
        let isRoom = unknown[name] != nil || unknown.count < ExportElement.mostUnknown
        guard isRoom, name != "\(element.name)" else { return count(element) }
        unknown[name, default: 0] += 1
    }

    /// The number of elements counted so far.
    subscript(element: ExportElement) -> Int64 { counts[element.rawValue] }

    func write(to report: inout SourceReport) {
        for element in ExportElement.allCases where counts[element.rawValue] > 0 {
            report.elements["\(element.name)"] = counts[element.rawValue]
        }
        report.elements.merge(unknown, uniquingKeysWith: +)
    }
}

/// A known name of an attribute, as the phone writes it: ` name="`.
struct UsualName {
    let field: RecordFields.Field
    /// The index after the quote.
    let valueStart: Int

    /// The bytes that are needed to recognise a name; the longest is ` sourceVersion="`.
    private static let longest = 16

    /// Reads a name at `index`; `nil` for anything else, and near the end of the bytes.
    @inline(__always)
    init?(_ bytes: Bytes, _ index: Int) {
        guard bytes.count - index >= UsualName.longest, bytes[index] == 0x20 else { return nil }
        let start = index + 1
        switch bytes[start] {
        case UInt8(ascii: "s") where bytes.reads("startDate=\"", at: start):
            self.init(.start, start + 11)
        case UInt8(ascii: "s") where bytes.reads("sourceName=\"", at: start):
            self.init(.source, start + 12)
        case UInt8(ascii: "s") where bytes.reads("sourceVersion=\"", at: start):
            self.init(.version, start + 15)
        case UInt8(ascii: "t") where bytes.reads("type=\"", at: start):
            self.init(.type, start + 6)
        case UInt8(ascii: "t") where bytes.reads("time=\"", at: start):
            self.init(.time, start + 6)
        case UInt8(ascii: "d") where bytes.reads("device=\"", at: start):
            self.init(.device, start + 8)
        case UInt8(ascii: "e") where bytes.reads("endDate=\"", at: start):
            self.init(.end, start + 9)
        case UInt8(ascii: "c") where bytes.reads("creationDate=\"", at: start):
            self.init(.created, start + 14)
        case UInt8(ascii: "v") where bytes.reads("value=\"", at: start):
            self.init(.value, start + 7)
        case UInt8(ascii: "u") where bytes.reads("unit=\"", at: start):
            self.init(.unit, start + 6)
        case UInt8(ascii: "k") where bytes.reads("key=\"", at: start):
            self.init(.key, start + 5)
        case UInt8(ascii: "b") where bytes.reads("bpm=\"", at: start):
            self.init(.rate, start + 5)
        default: return nil
        }
    }

    @inline(__always)
    private init(_ field: RecordFields.Field, _ valueStart: Int) {
        self.field = field
        self.valueStart = valueStart
    }
}

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
