import HealthStore
import ClarityScheduler
import JSON

/// Makes one record for the archive of each workout, correlation, summary of a day, hearing test,
/// prescription and clinical record, of the facts about the person, and of each element that nobody
/// knows, with everything inside it.
///
/// What every record has stands in columns. The other attributes and the metadata are its metadata,
/// and so are the elements inside it: a list of JSON objects for each name, such as `WorkoutEvent`.
/// Dates inside are written in UTC: another export of the same workout writes them with another
/// offset, and it would seem to be another workout.
///
/// A file must not fill the memory, whatever it never closes or has millions of. Of more than fits,
/// the last elements of the longest list are left out, so that the events of a workout leave room
/// for its statistics. They are counted.
struct ElementArchiving {
    private struct Open {
        let element: ExportElement
        let name: String
        private(set) var attributes: [JSON.Member] = []
        private(set) var metadata: [JSON.Member] = []
        /// The elements inside that have ended, by name, and the bytes of their text.
        private var parts: [(name: String, objects: [JSON], size: Int)] = []
        /// The bytes of text.
        private var size: Int

        init(_ element: ExportElement, _ name: String) {
            (self.element, self.name) = (element, name)
            size = name.utf8.count + 16
        }

        /// Whether its own attributes alone are too long.
        private(set) var isTooLong = false

        /// As a part of another element.
        var object: JSON {
            let entries: [JSON.Member] =
                metadata.isEmpty ? [] : [.init(name: "MetadataEntry", value: .object(metadata))]
            return .object(attributes + entries + lists)
        }

        var lists: [JSON.Member] {
            parts.map { JSON.Member(name: $0.name, value: .array($0.objects)) }
        }

        mutating func addAttribute(_ name: String, _ value: Bytes) {
            size += name.utf8.count + value.count
            isTooLong = isTooLong || size > ElementArchiving.longest
            if !isTooLong { attributes.append(ElementArchiving.member(name, value)) }
        }

        /// Adds an entry of metadata; returns whether there is room for it.
        mutating func addMetadata(_ key: String, _ value: Bytes) -> Bool {
            let added = key.utf8.count + value.count
            guard !isTooLong, size + added <= ElementArchiving.longest else { return false }
            size += added
            metadata.append(ElementArchiving.member(key, value))
            return true
        }

        /// Adds an element inside that has ended; returns whether there is room for it.
        mutating func add(_ inner: Open) -> Bool {
            let index = parts.firstIndex { $0.name == inner.name }
            let list = (index.map { parts[$0].size } ?? 0) + inner.size
            guard !inner.isTooLong, list <= ElementArchiving.longestList,
                size + inner.size <= ElementArchiving.longest
            else { return false }
            size += inner.size
            guard let index else {
                parts.append((inner.name, [inner.object], list))
                return true
            }
            parts[index].objects.append(inner.object)
            parts[index].size = list
            return true
        }
    }

    /// The longest text that is kept of an element: 1 MiB, of which few workouts have a tenth.
    private static let longest = 1 << 20
    /// The longest text of a list of the elements inside it.
    private static let longestList = longest / 4 * 3
    /// Exports nest three deep.
    private static let deepest = 8
    /// The most records inside an element; a workout has one or two. More stand behind an element
    /// that never ends.
    private static let mostRecords = 64

    /// The open elements, the outermost first.
    private var open: [Open] = []
    /// The open elements as they were in front of a record, and how many records followed. What came
    /// since is of an element only if its end comes too.
    private var certain: (open: [Open], records: Int)?
    /// How many elements are open inside that nest too deep to be kept.
    private var tooDeep = 0
    /// The outermost one's columns.
    private var columns: Columns?
    /// The language and region of the phone, as the root has it.
    private var locale: [UInt8]?
    /// Elements that are not kept, because they have no date, are too long or are too many inside
    /// another one, by name.
    private(set) var refused: [String: Int64] = [:]
    /// How many of those are elements that nobody knows.
    private(set) var unknownRefused: Int64 = 0

    var isOpen: Bool { !open.isEmpty }

    /// Begins an element inside the open ones, or one of those that become a record.
    ///
    /// - Parameter exportedAt: when the export was made, which is the time of the person's own facts
    ///   and of an unknown element without a date.
    mutating func begin(
        _ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList,
        exportedAt: HealthKitDate?
    ) {
        if element == .root {
            locale =
                locale ?? attributes.value(of: "locale", in: bytes).map { Array(bytes.slice($0)) }
        }
        guard isOpen || element.isArchived else {
            if element.isPart { refuse("\(element.name)") }
            return
        }
        let name =
            element == .other
            ? ExportElement.printable(attributes.elementName(in: bytes)) : "\(element.name)"
        guard open.count < ElementArchiving.deepest else {
            tooDeep += 1
            return refuse(name)
        }
        var begun = Open(element, name)
        let columns =
            isOpen ? self.columns : Columns(element, name, bytes, attributes, exportedAt)
        for (name, value) in attributes.attributes {
            let name = Reference.text(bytes.slice(name))
            if isOpen || columns?.names.contains(name) != true {
                begun.addAttribute(name, bytes.slice(value))
            }
        }
        if element == .me, !isOpen {
            locale?.withUnsafeBufferPointer { begun.addAttribute("locale", $0) }
        }
        self.columns = columns
        open.append(begun)
    }

    /// Adds a record inside a correlation. The top level repeats it, with its metadata and device.
    mutating func addRecord(_ bytes: Bytes, _ fields: RecordFields) {
        guard isOpen else { return }
        let parts: [(RecordFields.Field, ByteRange)] = [
            (.type, fields.type), (.unit, fields.unit), (.value, fields.value),
            (.start, fields.start), (.end, fields.end),
        ]
        var record = Open(.record, "\(ExportElement.record.name)")
        for (field, value) in parts where fields.has(field) {
            record.addAttribute("\(field.name)", bytes.slice(value))
        }
        add(record)
    }

    /// Notes a record of the top level while elements are open: it is inside them, as the score of an
    /// effort is in a workout, or the elements never end. Returns `false` if it is certain that they
    /// never do.
    mutating func noteRecord() -> Bool {
        certain = (certain?.open ?? open, (certain?.records ?? 0) + 1)
        return (certain?.records ?? 0) <= ElementArchiving.mostRecords
    }

    mutating func addMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        guard isOpen, tooDeep == 0 else { return }
        let key = Reference.text(bytes.slice(key))
        if !open[open.count - 1].addMetadata(key, bytes.slice(value)) {
            refuse("\(ExportElement.metadata.name)")
        }
    }

    /// Ends the innermost open element of this name, and what is open inside it. Returns the record
    /// if it is the outermost one.
    mutating func end(_ element: ExportElement) -> UnplacedRecord? {
        if tooDeep > 0, element == .other || element != open.first?.element {
            tooDeep -= 1
            return nil
        }
        guard let index = open.lastIndex(where: { $0.element == element }) else { return nil }
        return end(downTo: index)
    }

    /// Ends what is open.
    mutating func endAll() -> UnplacedRecord? {
        if let certain { open = certain.open }
        return isOpen ? end(downTo: 0) : nil
    }

    private mutating func end(downTo index: Int) -> UnplacedRecord? {
        if index == 0 { (certain, tooDeep) = (nil, 0) }
        while open.count > max(index, 1), let inner = open.popLast() { add(inner) }
        guard index == 0, let outermost = open.popLast() else { return nil }
        guard let columns, !outermost.isTooLong else {
            refuse(outermost.name)
            unknownRefused += outermost.element == .other ? 1 : 0
            return nil
        }
        return UnplacedRecord(
            type: columns.type, record: columns.record, origin: columns.origin,
            value: columns.value, isUnknown: outermost.element == .other,
            members: outermost.attributes + outermost.metadata + outermost.lists)
    }

    /// Adds an element inside the innermost open one.
    private mutating func add(_ inner: Open) {
        if !open[open.count - 1].add(inner) { refuse(inner.name) }
    }

    private mutating func refuse(_ name: String) {
        let limit = ExportElement.allCases.count + ExportElement.mostUnknown
        refused.add(to: name, atMost: limit, else: "\(ExportElement.other.name)")
    }

    static func member(_ name: String, _ value: Bytes) -> JSON.Member {
        let isDate = name == "date" || name.hasSuffix("Date")
        if isDate, let date = Reference.decoded(value, HealthKitDate.init) {
            let instant = Instant(secondsSince1970: date.seconds)
            return JSON.Member(name: name, value: .string("\(instant)"))
        }
        let text = Reference.text(value)
        return JSON.Member(
            name: name,
            value: .string(name == "device" ? RecordArchiving.withoutPointer(text) : text))
    }
}

/// A record whose texts are in no table yet.
struct UnplacedRecord {
    var type: String
    /// Without texts.
    var record: ArchivedRecord
    var origin: RecordOrigin
    var value: [UInt8]?
    /// Whether it is of an element that nobody knows.
    var isUnknown = false
    /// Its attributes that are in no column, its metadata, and the elements inside it.
    var members: [JSON.Member]

    /// The names and values of `members`, each with a byte 0 behind it.
    var metadata: [UInt8] { members.flatMap(\.archived) }
}

/// What stands in columns of the record that an element becomes.
private struct Columns {
    let type: String
    let record: ArchivedRecord
    let origin: RecordOrigin
    let value: [UInt8]?
    /// The attributes that say all this and no more.
    let names: Set<String>

    /// Returns `nil` without a date.
    init?(
        _ element: ExportElement, _ name: String, _ bytes: Bytes, _ attributes: AttributeList,
        _ exportedAt: HealthKitDate?
    ) {
        func value(_ name: StaticString) -> Bytes? {
            attributes.value(of: name, in: bytes).map { bytes.slice($0) }
        }
        func text(_ name: StaticString) -> String? { value(name).map(Reference.text) }
        func date(_ name: StaticString) -> HealthKitDate? {
            value(name).flatMap { Reference.decoded($0, HealthKitDate.init) }
        }
        func day(_ name: StaticString) -> HealthKitDate? {
            value(name).flatMap { Reference.decoded($0, HealthKitDate.day) }
                .map { HealthKitDate(midnightOf: $0) }
        }
        var names: Set = ["sourceName", "sourceVersion", "device", "creationDate"]
        var type = name
        var what: StaticString?
        let start: HealthKitDate?
        switch element {
        case .activitySummary: start = day("dateComponents")
        case .clinicalRecord:
            start = date("receivedDate") ?? day("receivedDate")
            what = "type"
        case .visionPrescription:
            start = date("dateIssued") ?? day("dateIssued")
            what = "type"
        case .workout:
            start = date("startDate")
            what = "workoutActivityType"
        case .me: start = exportedAt
        case .other:
            start =
                date("startDate") ?? date("date") ?? date("scheduledDate") ?? day("date")
                ?? exportedAt
        default:
            start = date("startDate")
            if let name = text("type") {
                type = name
                names.insert("type")
            }
        }
        guard let start else { return nil }
        let end = date("endDate")
        if date("startDate") != nil { names.insert("startDate") }
        if end != nil { names.insert("endDate") }
        if let what { names.insert("\(what)") }
        self.type = type
        let created = date("creationDate")
        record = ArchivedRecord(
            start: start.seconds, end: (end ?? start).seconds, created: created?.seconds,
            offsets: ClockOffsets(
                start: start.offset, end: (end ?? start).offset, created: created?.offset ?? 0),
            origin: 0, value: .none)
        origin = RecordOrigin(
            source: text("sourceName"), version: text("sourceVersion"),
            device: text("device").map(RecordArchiving.withoutPointer))
        self.value = what.flatMap { value($0) }.map(Reference.decode)
        self.names = names
    }
}

extension ExportElement {
    /// Whether it is known inside one of those that become a record.
    fileprivate var isPart: Bool {
        switch self {
        case .workoutActivity, .workoutEvent, .workoutStatistics, .workoutRoute, .fileReference,
            .sensitivityPoint, .rightEye, .leftEye, .attachment:
            true
        default: false
        }
    }

    /// Whether it becomes a record of the archive, beside the records of the export.
    fileprivate var isArchived: Bool {
        switch self {
        case .correlation, .workout, .activitySummary, .clinicalRecord, .audiogram,
            .visionPrescription, .me, .other:
            true
        default: false
        }
    }
}
