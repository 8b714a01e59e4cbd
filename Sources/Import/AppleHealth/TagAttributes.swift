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

/// The meaning of an ampersand: one of the five entities of XML, a numeric reference, or none.
///
/// This reader knows no other entity, so no document can make it expand one.
enum Reference {
    case character(Unicode.Scalar, length: Int)
    /// A numeric reference to a character that XML does not allow.
    case illegal(length: Int)
    case unknown
    /// An ampersand that stands for itself.
    case raw
    /// There is no ampersand.
    case none

    static func parse(_ bytes: Bytes, at index: Int, end: Int) -> Reference {
        guard index < end, bytes[index] == .ampersand else { return .none }
        // The longest valid one is `&#x10FFFF;`; leading zeros may make it a bit longer.
        let limit = min(end, index + 24)
        var stop = index + 1
        while stop < limit, isNameByte(bytes[stop]) { stop += 1 }
        guard stop < limit, bytes[stop] == UInt8(ascii: ";"), stop > index + 1 else { return .raw }
        let length = stop + 1 - index
        if bytes[index + 1] == UInt8(ascii: "#") {
            return numeric(bytes, index + 2, stop, length)
        }
        for (name, character) in predefined where bytes.matches(name, index + 1, stop) {
            return .character(character, length: length)
        }
        return .unknown
    }

    /// Returns the text of an attribute with its references decoded.
    ///
    /// Unknown references and raw ampersands stay as they are, and bytes that are not UTF-8 become
    /// U+FFFD. Line ends, tabs, control characters and illegal references become spaces; for line
    /// ends and tabs XML 1.0 demands it (sections 2.11 and 3.3.3).
    static func text(_ bytes: Bytes) -> String { String(decoding: decode(bytes), as: UTF8.self) }

    /// Returns what `parse` makes of the bytes or, if it refuses them, of their text with
    /// references decoded. No known writer puts one into a date or a number, but it would be XML.
    static func decoded<Value>(_ bytes: Bytes, _ parse: (Bytes) -> Value?) -> Value? {
        if let value = parse(bytes) { return value }
        guard bytes.firstIndex(of: .ampersand, from: 0) != nil else { return nil }
        return decode(bytes).withUnsafeBufferPointer(parse)
    }

    static func decode(_ bytes: Bytes) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            switch parse(bytes, at: index, end: bytes.count) {
            case .character(let character, let length):
                decoded.append(contentsOf: String(character).utf8)
                index += length
            case .illegal(let length):
                decoded.append(0x20)
                index += length
            case .unknown, .raw, .none:
                if bytes[index] == 0x0D, index + 1 < bytes.count, bytes[index + 1] == 0x0A {
                    index += 1
                }
                decoded.append(bytes[index] < 0x20 ? 0x20 : bytes[index])
                index += 1
            }
        }
        return decoded
    }

    private static let predefined: [(StaticString, Unicode.Scalar)] = [
        ("lt", "<"), ("gt", ">"), ("amp", "&"), ("quot", "\""), ("apos", "'"),
    ]

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "#"), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func numeric(
        _ bytes: Bytes, _ start: Int, _ end: Int, _ length: Int
    ) -> Reference {
        let isHexadecimal = start < end && bytes[start] == UInt8(ascii: "x")
        let digits = bytes[(isHexadecimal ? start + 1 : start)..<end]
        guard !digits.isEmpty else { return .raw }
        let radix: UInt32 = isHexadecimal ? 16 : 10
        var value: UInt32 = 0
        for byte in digits {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digit < radix else {
                return .raw
            }
            value = min(value * radix + UInt32(digit), 0x11_0000)
        }
        let isAllowed = value >= 0x20 || value == 0x09 || value == 0x0A || value == 0x0D
        guard isAllowed, value != 0xFFFE, value != 0xFFFF, let scalar = Unicode.Scalar(value)
        else { return .illegal(length: length) }
        return .character(scalar, length: length)
    }
}
