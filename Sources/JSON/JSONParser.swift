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

/// Reads a JSON text (RFC 8259), as one value or from its front, part by part.
///
/// Values are read strictly: the parser refuses comments, trailing commas, raw control characters,
/// invalid UTF-8, half a surrogate pair, and numbers that do not fit in a double. Arrays and
/// objects nest at most 64 deep. In the parts that are skipped, it checks only brackets and
/// strings, and nothing becomes a value.
public struct JSONParser: Sendable {
    /// The most bytes of a part that becomes one value.
    public static let largestPart = 64 << 10

    private let bytes: [UInt8]
    private let deepest: Int
    private var limit: Int
    /// The byte that is read next, counted from 0.
    public private(set) var position = 0
    private var depth = 0
    /// Whether another part of the enclosing array or object precedes this position.
    private var needsComma = false

    private init(_ bytes: [UInt8], deepest: Int) {
        self.bytes = bytes
        self.deepest = deepest
        limit = bytes.count
    }

    /// Starts at the beginning of the text, after its byte order mark if it has one.
    public init(_ bytes: [UInt8]) { self.init(marked: bytes, deepest: 64) }

    init(marked bytes: [UInt8], deepest: Int) {
        self.init(bytes, deepest: deepest)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Returns the value in `bytes`, which may be at most `limit` bytes long (64 MiB by default)
    /// and hold nothing else, not even a byte order mark.
    ///
    /// - Throws: `JSONFault` for anything but one valid text within the limits.
    public static func parse(
        _ bytes: [UInt8], limit: Int = 64 << 20
    ) throws(JSONFault) -> JSON {
        guard bytes.count <= limit else {
            throw JSONFault(offset: limit, reason: "more than \(limit) bytes")
        }
        var parser = JSONParser(bytes, deepest: 64)
        return try parser.whole()
    }

    /// The first byte of the next token; `nil` at the end.
    public var next: UInt8? {
        mutating get {
            while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
                position += 1
            }
            return peek
        }
    }

    /// Enters an array (`[`) or an object (`{`).
    public mutating func enter(_ bracket: Unicode.Scalar) throws(JSONFault) {
        guard next == UInt8(ascii: bracket) else { throw fault("`\(bracket)` should stand here") }
        position += 1
        depth += 1
        if depth > deepest { throw fault("nested deeper than \(deepest)") }
        needsComma = false
    }

    /// Moves to the next element of the array that was entered; leaves it and returns `false` at
    /// its end.
    public mutating func nextElement() throws(JSONFault) -> Bool { try nextPart(closing: "]") }

    /// Moves to the next member of the object that was entered and returns its name; leaves the
    /// object and returns `nil` at its end.
    public mutating func nextName() throws(JSONFault) -> String? {
        guard try nextPart(closing: "}") else { return nil }
        switch next {
        case nil: throw fault("the text ends where a value should be")
        case UInt8(ascii: "\""): break
        default: throw fault("a name should stand here")
        }
        let name = try string()
        guard next == UInt8(ascii: ":") else { throw fault("`:` should stand here") }
        position += 1
        return name
    }

    /// Reads the next value, of at most `largestPart` bytes.
    public mutating func value() throws(JSONFault) -> JSON { try piece().get() }

    /// Reads the next value, of at most `most` bytes, and moves past it even if the value itself is
    /// at fault.
    ///
    /// - Throws: `JSONFault` if the end of the value cannot be found.
    public mutating func piece(
        atMost most: Int = largestPart
    ) throws(JSONFault) -> Result<JSON, JSONFault> {
        var part = try part()
        guard part.limit - part.position <= most else {
            return .failure(
                JSONFault(offset: part.position + most, reason: "more than \(most) bytes"))
        }
        return Result { () throws(JSONFault) in try part.whole() }
    }

    /// Skips the next value.
    public mutating func skip() throws(JSONFault) {
        var depth = 0
        repeat {
            switch next {
            case nil: throw fault("the text ends where a value should be")
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
                if depth > deepest { throw fault("nested deeper than \(deepest)") }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw fault("no value starts like this") }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw fault("no value starts like this") }
                position += 1
            case UInt8(ascii: "\""): try skipString()
            default: skipScalar()
            }
        } while depth > 0
        needsComma = true
    }

    /// Moves past the next value. If it is an object, gives each member to `read`, which moves past
    /// its value and returns `true`, or leaves it there and returns `false`.
    public mutating func members(
        _ read: (_ name: String, inout JSONParser) throws(JSONFault) -> Bool
    ) throws(JSONFault) {
        guard next == UInt8(ascii: "{") else { return try skip() }
        try enter("{")
        while let name = try nextName() {
            if try !read(name, &self) { try skip() }
        }
    }

    /// Moves past the next value. If it is an array, `read` moves past each element.
    public mutating func elements(
        _ read: (inout JSONParser) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        guard next == UInt8(ascii: "[") else { return try skip() }
        try enter("[")
        while try nextElement() { try read(&self) }
    }

    /// Moves past the next value; returns it if it is a string.
    public mutating func text() throws(JSONFault) -> String? {
        guard next == UInt8(ascii: "\"") else {
            try skip()
            return nil
        }
        let text = try string()
        needsComma = true
        return text
    }

    /// Checks that nothing follows.
    public mutating func end() throws(JSONFault) {
        if next != nil { throw fault("text after the value") }
    }
}

// MARK: - Parts of a text

extension JSONParser {
    /// The bytes from the position to the end.
    var rest: ArraySlice<UInt8> { bytes[position..<limit] }

    /// Skips the next value and returns a parser that stands before it and sees nothing else.
    mutating func part() throws(JSONFault) -> JSONParser {
        _ = next
        var part = self
        try skip()
        part.limit = position
        part.depth = 0
        return part
    }

    /// Reads the value at the position, after which nothing may follow.
    mutating func whole() throws(JSONFault) -> JSON {
        let value = try parsed()
        try end()
        return value
    }

    /// Moves past the next value and checks how it is put together, but not whether its texts are
    /// UTF-8 and its numbers have the right form.
    mutating func check() throws(JSONFault) {
        let first = next
        let start = position
        switch first {
        case UInt8(ascii: "{"):
            try enter("{")
            while try nextName() != nil { try check() }
        case UInt8(ascii: "["):
            try enter("[")
            while try nextElement() { try check() }
        default:
            try skip()
            let scalar = bytes[start..<position]
            let isValue =
                switch first {
                case UInt8(ascii: "\""): scalar.allSatisfy { $0 >= 0x20 }
                case let byte? where JSONParser.beginsNumber(byte):
                    scalar.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
                default: ["true", "false", "null"].contains { scalar.elementsEqual($0.utf8) }
                }
            if !isValue { throw JSONFault(offset: start, reason: "no value starts like this") }
        }
    }

    private mutating func nextPart(closing bracket: Unicode.Scalar) throws(JSONFault) -> Bool {
        let byte = next
        if byte == UInt8(ascii: bracket) {
            position += 1
            depth -= 1
            needsComma = true
            return false
        }
        if needsComma {
            guard byte == UInt8(ascii: ",") else {
                throw fault("`,` or `\(bracket)` should stand here")
            }
            position += 1
        }
        needsComma = false
        return true
    }

    private mutating func skipString() throws(JSONFault) {
        position += 1
        while position < limit {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        position = limit
        throw fault("the text ends inside a string")
    }

    /// Skips a number or a word; at least one byte, so that a stray byte cannot stop the parser.
    private mutating func skipScalar() {
        position += 1
        while position < limit {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ","), UInt8(ascii: ":"),
                UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"),
                UInt8(ascii: "\""):
                return
            default: position += 1
            }
        }
    }
}

// MARK: - Values

extension JSONParser {
    private var peek: UInt8? { position < limit ? bytes[position] : nil }

    private func fault(_ reason: String) -> JSONFault {
        JSONFault(offset: position, reason: reason)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func parsed() throws(JSONFault) -> JSON {
        let value: JSON
        switch next {
        case UInt8(ascii: "{"):
            var members: [JSON.Member] = []
            try enter("{")
            while let name = try nextName() {
                members.append(JSON.Member(name: name, value: try parsed()))
            }
            value = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSON] = []
            try enter("[")
            while try nextElement() { elements.append(try parsed()) }
            value = .array(elements)
        case UInt8(ascii: "\""): value = .string(try string())
        case UInt8(ascii: "t"): value = try word("true", .bool(true))
        case UInt8(ascii: "f"): value = try word("false", .bool(false))
        case UInt8(ascii: "n"): value = try word("null", .null)
        case let byte? where JSONParser.beginsNumber(byte): value = try number()
        case nil: throw fault("the text ends where a value should be")
        default: throw fault("no value starts like this")
        }
        needsComma = true
        return value
    }

    private mutating func word(_ word: String, _ value: JSON) throws(JSONFault) -> JSON {
        guard rest.starts(with: word.utf8) else { throw fault("unknown word") }
        position += word.utf8.count
        return value
    }

    private static func beginsNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte)
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = peek, (0x30...0x39).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func number() throws(JSONFault) -> JSON {
        let start = position
        var isWhole = true
        _ = take("-")
        let leadsWithZero = peek == UInt8(ascii: "0")
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
        // What precedes the last escape; most texts have none, and need no copy.
        var content: [UInt8] = []
        var plain = position
        var isASCII = true
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                let rest = bytes[plain..<position]
                position += 1
                // Nothing to validate, which takes longer than all the rest.
                if isASCII, content.isEmpty { return String(decoding: rest, as: UTF8.self) }
                let text =
                    content.isEmpty
                    ? String(validating: rest, as: UTF8.self)
                    : String(validating: content + rest, as: UTF8.self)
                guard let text else {
                    throw JSONFault(offset: start, reason: "the string is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"):
                content += bytes[plain..<position]
                position += 1
                content += try escape()
                plain = position
            case 0..<0x20: throw fault("a control character must be escaped")
            default:
                if byte >= 0x80 { isASCII = false }
                position += 1
            }
        }
        throw fault("the text ends inside a string")
    }

    private mutating func escape() throws(JSONFault) -> [UInt8] {
        guard let byte = peek else { throw fault("the text ends inside a string") }
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
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("four hexadecimal digits should stand here")
            }
            position += 1
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
