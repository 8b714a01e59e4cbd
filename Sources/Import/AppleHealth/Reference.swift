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
