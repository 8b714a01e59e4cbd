/// Why a text is not JSON, and at which byte.
public struct JSONFault: Error, Hashable, Sendable {
    /// The byte, counted from 0, at which the parser stopped.
    public var offset: Int
    /// The fault found there, such as `a name should stand here`.
    public var reason: String

    /// Creates a fault.
    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }
}

/// Parses one JSON text (RFC 8259) and nothing after it.
///
/// It is strict: it refuses a byte order mark, comments, trailing commas, raw control characters,
/// invalid UTF-8, half a surrogate pair, and numbers that do not fit in a double. Arrays and
/// objects nest at most 64 deep.
public struct JSONParser {
    private static let deepest = 64

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the value in `bytes`, which may be at most `limit` bytes long (64 MiB by default).
    ///
    /// - Throws: `JSONFault` for anything but one valid text within the limits.
    public static func parse(
        _ bytes: [UInt8], limit: Int = 64 << 20
    ) throws(JSONFault) -> JSON {
        guard bytes.count <= limit else {
            throw JSONFault(offset: limit, reason: "more than \(limit) bytes")
        }
        var parser = JSONParser(bytes)
        parser.skipSpace()
        let value = try parser.value()
        parser.skipSpace()
        if parser.position < bytes.count { throw parser.fault("text after the value") }
        return value
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ reason: String) -> JSONFault {
        JSONFault(offset: position, reason: reason)
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONFault) -> JSON {
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte):
            return try number()
        case nil: throw fault("the text ends where a value should be")
        default: throw fault("no value starts like this")
        }
    }

    private mutating func word(_ word: String, _ value: JSON) throws(JSONFault) -> JSON {
        guard bytes[position...].starts(with: word.utf8) else { throw fault("unknown word") }
        position += word.utf8.count
        return value
    }

    private mutating func enter() throws(JSONFault) {
        depth += 1
        position += 1
        if depth > JSONParser.deepest { throw fault("nested deeper than \(JSONParser.deepest)") }
        skipSpace()
    }

    private mutating func object() throws(JSONFault) -> JSON {
        try enter()
        defer { depth -= 1 }
        var members: [JSON.Member] = []
        if take("}") { return .object(members) }
        while true {
            guard next == UInt8(ascii: "\"") else { throw fault("a name should stand here") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw fault("`:` should stand here") }
            skipSpace()
            members.append(JSON.Member(name: name, value: try value()))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw fault("`,` or `}` should stand here") }
            skipSpace()
        }
    }

    private mutating func array() throws(JSONFault) -> JSON {
        try enter()
        defer { depth -= 1 }
        var values: [JSON] = []
        if take("]") { return .array(values) }
        while true {
            values.append(try value())
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { throw fault("`,` or `]` should stand here") }
            skipSpace()
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func number() throws(JSONFault) -> JSON {
        let start = position
        var isWhole = true
        _ = take("-")
        let leadsWithZero = next == UInt8(ascii: "0")
        let count = digits()
        guard count == 1 || (count > 1 && !leadsWithZero) else { throw fault("no number") }
        if take(".") {
            isWhole = false
            guard digits() > 0 else { throw fault("a digit should stand here") }
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("-") { _ = take("+") }
            guard digits() > 0 else { throw fault("a digit should stand here") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            throw JSONFault(offset: start, reason: "the number is too large")
        }
        return .number(number)
    }

    private mutating func string() throws(JSONFault) -> String {
        let start = position
        position += 1
        var content: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: content, as: UTF8.self) else {
                    throw JSONFault(offset: start, reason: "the string is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): content += try escape()
            case 0..<0x20:
                position -= 1
                throw fault("a control character must be escaped")
            default: content.append(byte)
            }
        }
        throw fault("the text ends inside a string")
    }

    private mutating func escape() throws(JSONFault) -> [UInt8] {
        guard let byte = next else { throw fault("the text ends inside a string") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return try unicode()
        default: throw fault("unknown escape")
        }
    }

    private mutating func unicode() throws(JSONFault) -> [UInt8] {
        var code = try fourDigits()
        if (0xD800..<0xDC00).contains(code) {
            guard take("\\"), take("u") else { throw fault("half a surrogate pair") }
            let low = try fourDigits()
            guard (0xDC00..<0xE000).contains(low) else { throw fault("half a surrogate pair") }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw fault("half a surrogate pair") }
        return Array(String(scalar).utf8)
    }

    private mutating func fourDigits() throws(JSONFault) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("four hexadecimal digits should stand here")
            }
            position += 1
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
