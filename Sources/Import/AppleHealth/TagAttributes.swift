/// The attributes that are kept of a tag.
protocol TagAttributes {
    /// Creates an empty value for a tag whose attributes begin at `start`.
    init(start: Int)

    /// Adds an attribute; returns `false` if the tag already has it, and the first one stays.
    ///
    /// - Parameter field: The meaning of its name in a record, if it has one.
    mutating func keep(
        _ bytes: Bytes, _ field: RecordFields.Field?, name: ByteRange, value: ByteRange
    ) -> Bool
}

/// The ranges of the needed attributes in the tag of a record or of metadata.
struct RecordFields: TagAttributes {
    enum Field: UInt16, CaseIterable {
        case type = 0x01
        case source = 0x02
        case unit = 0x04
        case value = 0x08
        case start = 0x10
        case end = 0x20
        case device = 0x40
        /// The key of metadata.
        case key = 0x80
        case created = 0x100
        case version = 0x200
        /// The attributes of a beat.
        case rate = 0x400
        case time = 0x800
        /// The names in iOS 8 of the source and, in records that it had averaged, of the value.
        case formerSource = 0x1000
        case average = 0x2000

        /// The attribute's name.
        var name: StaticString {
            switch self {
            case .type: "type"
            case .source: "sourceName"
            case .unit: "unit"
            case .value: "value"
            case .start: "startDate"
            case .end: "endDate"
            case .device: "device"
            case .key: "key"
            case .created: "creationDate"
            case .version: "sourceVersion"
            case .rate: "bpm"
            case .time: "time"
            case .formerSource: "source"
            case .average: "average"
            }
        }
    }

    /// The bit of an attribute that no record is known to have.
    private static let unknown: UInt16 = 0x8000

    private var seen: UInt16 = 0
    /// The byte after the element's name, where its attributes begin.
    let tagStart: Int
    private(set) var type = ByteRange()
    private(set) var source = ByteRange()
    private(set) var unit = ByteRange()
    private(set) var value = ByteRange()
    private(set) var start = ByteRange()
    private(set) var end = ByteRange()
    private(set) var device = ByteRange()
    private(set) var key = ByteRange()
    private(set) var created = ByteRange()
    private(set) var version = ByteRange()
    private(set) var rate = ByteRange()
    private(set) var time = ByteRange()

    init(start: Int = 0) { tagStart = start }

    @inline(__always)
    func has(_ field: Field) -> Bool { seen & field.rawValue != 0 }

    /// Whether there is a value, under the name of any version.
    @inline(__always)
    var hasValue: Bool { seen & (Field.value.rawValue | Field.average.rawValue) != 0 }

    /// Whether there is an attribute that no record is known to have.
    @inline(__always)
    var hasUnknown: Bool { seen & RecordFields.unknown != 0 }

    /// Whether there is a source, under the name of any version.
    @inline(__always)
    var hasSource: Bool { seen & (Field.source.rawValue | Field.formerSource.rawValue) != 0 }

    @inline(__always)
    mutating func keep(
        _ bytes: Bytes, _ field: Field?, name: ByteRange, value range: ByteRange
    ) -> Bool {
        guard let field else {
            seen |= RecordFields.unknown
            return true
        }
        guard !has(field) else { return false }
        seen |= field.rawValue
        switch field {
        case .type: type = range
        case .source: source = range
        case .unit: unit = range
        case .value: value = range
        case .start: start = range
        case .end: end = range
        case .device: device = range
        case .key: key = range
        case .formerSource: if !has(.source) { source = range }
        case .average: if !has(.value) { value = range }
        case .created: created = range
        case .version: version = range
        case .rate: rate = range
        case .time: time = range
        }
        return true
    }
}

/// All attributes of a tag, for rare elements.
///
/// The first 64 are kept. No element of an export has half of that, and a hostile one must not make
/// the list grow.
struct AttributeList: TagAttributes {
    static let capacity = 64

    private(set) var attributes: [(name: ByteRange, value: ByteRange)] = []
    /// The byte after the element's name.
    private let start: Int

    init(start: Int = 0) { self.start = start }

    /// Returns the name of the element in the tag.
    func elementName(in bytes: Bytes) -> Bytes {
        var first = start
        while first > 0, bytes[first - 1] != .lessThan { first -= 1 }
        return bytes.slice(ByteRange(start: first, end: start))
    }

    mutating func keep(
        _ bytes: Bytes, _ field: RecordFields.Field?, name: ByteRange, value: ByteRange
    ) -> Bool {
        guard attributes.count < AttributeList.capacity else { return true }
        let isKnown = attributes.contains { bytes.isSame($0.name, name) }
        if !isKnown { attributes.append((name, value)) }
        return !isKnown
    }

    /// Returns the range of the value of the attribute `name`; `nil` if the tag has none.
    func value(of name: StaticString, in bytes: Bytes) -> ByteRange? {
        attributes.first { bytes.matches(name, $0.name.start, $0.name.end) }?.value
    }
}

/// Checks every byte of a tag for what XML forbids.
///
/// It reads eight bytes at a time, because almost all of them are ordinary ASCII. For the frequent
/// tags it runs only if the lexer has not ruled out a fault.
enum TagAudit {
    /// Audits the bytes from `start`, the one after `<`, to `end`, and notes what it finds;
    /// `position` is the offset of the bytes in the text.
    static func audit(
        _ bytes: Bytes, from start: Int, to end: Int, position: Int64,
        into tally: inout MalformationTally
    ) {
        var index = start
        while index < end {
            if index + 8 <= end, ByteWord(bytes, at: index).suspects == 0 {
                index += 8
            } else {
                let stop = min(index + 8, end)
                while index < stop {
                    let (length, found) = examine(bytes, index, end)
                    if let found { tally.note(found, at: position + Int64(index)) }
                    index += length
                }
            }
        }
    }

    /// Examines the character at `index`; returns its length, and what is wrong with it.
    private static func examine(
        _ bytes: Bytes, _ index: Int, _ end: Int
    ) -> (length: Int, found: Malformation?) {
        let byte = bytes[index]
        switch byte {
        case .lessThan: return (1, .rawLessThan)
        case .ampersand:
            switch Reference.parse(bytes, at: index, end: end) {
            case .character(_, let length): return (length, nil)
            case .illegal(let length): return (length, .illegalReference)
            case .unknown: return (1, .unknownEntity)
            case .raw, .none: return (1, .rawAmpersand)
            }
        case 0x00..<0x20 where !byte.isXMLSpace: return (1, .controlCharacter)
        case 0x80...:
            let length = sequenceLength(bytes, index, end)
            return length == 0 ? (1, .badUTF8) : (length, nil)
        default: return (1, nil)
        }
    }

    /// Returns the length of the well-formed UTF-8 sequence at `index`, by table 3-7 of the Unicode
    /// standard; 0 if there is none.
    private static func sequenceLength(_ bytes: Bytes, _ index: Int, _ end: Int) -> Int {
        let lead = bytes[index]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            length = 4
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: return 0
        }
        guard index + length <= end, second.contains(bytes[index + 1]) else { return 0 }
        for next in index + 2..<max(index + 2, index + length)
        where !(0x80...0xBF).contains(bytes[next]) { return 0 }
        return length
    }
}
