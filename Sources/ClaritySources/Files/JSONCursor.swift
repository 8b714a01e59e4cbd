import JSON

/// Reads a JSON text from its front, and makes values only of the parts that are requested.
///
/// In the parts that are skipped, it checks only brackets and strings.
struct JSONCursor {
    /// The most bytes of a text that becomes one value.
    static let largestValue = 64 << 10
    private static let deepest = 64

    private let bytes: [UInt8]
    private(set) var position = 0
    /// Whether another part of the enclosing array or object precedes this position.
    private var needsComma = false

    /// Starts at the beginning of the text, after its byte order mark if it has one.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The first byte of the next token; `nil` at the end.
    var next: UInt8? {
        mutating get {
            skipSpace()
            return position < bytes.count ? bytes[position] : nil
        }
    }

    /// Enters an array (`[`) or an object (`{`).
    mutating func enter(_ bracket: Unicode.Scalar) throws(JSONFault) {
        guard next == UInt8(ascii: bracket) else { throw fault("`\(bracket)` should stand here") }
        position += 1
        needsComma = false
    }

    /// Moves to the next element of the array that was entered; leaves it and returns `false` at
    /// its end.
    mutating func nextElement() throws(JSONFault) -> Bool {
        try nextPart(closing: "]")
    }

    /// Moves to the next member of the object that was entered and returns its name; leaves the
    /// object and returns `nil` at its end.
    mutating func nextName() throws(JSONFault) -> String? {
        guard try nextPart(closing: "}") else { return nil }
        guard case .string(let name) = try value() else { throw fault("a name should stand here") }
        guard next == UInt8(ascii: ":") else { throw fault("`:` should stand here") }
        position += 1
        return name
    }

    /// Reads the next value, of at most `largestValue` bytes.
    mutating func value() throws(JSONFault) -> JSON { try piece().get() }

    /// Reads the next value, of at most `largestValue` bytes, and moves past it even if the value
    /// itself is at fault.
    ///
    /// - Throws: `JSONFault` if the end of the value cannot be found.
    mutating func piece() throws(JSONFault) -> Result<JSON, JSONFault> {
        skipSpace()
        let start = position
        try skip()
        do throws(JSONFault) {
            return .success(
                try JSONParser.parse(
                    Array(bytes[start..<position]), limit: JSONCursor.largestValue))
        } catch {
            return .failure(JSONFault(offset: start + error.offset, reason: error.reason))
        }
    }

    /// Skips the next value.
    mutating func skip() throws(JSONFault) {
        var depth = 0
        repeat {
            switch next {
            case nil: throw fault("the text ends where a value should be")
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
                if depth > JSONCursor.deepest { throw fault("nested deeper than 64") }
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

    /// Checks that nothing follows.
    mutating func end() throws(JSONFault) {
        if next != nil { throw fault("text after the value") }
    }

    private mutating func nextPart(closing bracket: Unicode.Scalar) throws(JSONFault) -> Bool {
        if next == UInt8(ascii: bracket) {
            position += 1
            needsComma = true
            return false
        }
        if needsComma {
            guard next == UInt8(ascii: ",") else {
                throw fault("`,` or `\(bracket)` should stand here")
            }
            position += 1
        }
        needsComma = false
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func skipString() throws(JSONFault) {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        position = bytes.count
        throw fault("the text ends inside a string")
    }

    /// Skips a number or a word; at least one byte, so that a stray byte cannot stop the cursor.
    private mutating func skipScalar() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ","), UInt8(ascii: ":"),
                UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"),
                UInt8(ascii: "\""):
                return
            default: position += 1
            }
        }
    }

    private func fault(_ reason: String) -> JSONFault {
        JSONFault(offset: min(position, bytes.count), reason: reason)
    }
}
