import JSON

/// Goes through a JSON text from its front, so that only what is asked for becomes a value.
///
/// Of what is passed over, brackets and strings are checked and nothing else.
struct JSONCursor {
    /// The most bytes of a text that becomes one value.
    static let largestValue = 64 << 10
    private static let deepest = 64

    private let bytes: [UInt8]
    private(set) var position = 0
    /// Whether something of the array or object around stands before this place.
    private var needsComma = false

    /// Stands before the text, behind the mark of its order of bytes where there is one.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The first byte of what comes next; `nil` at the end.
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

    /// Goes to the next element of the array that was entered; false at its end, which it leaves.
    mutating func nextElement() throws(JSONFault) -> Bool {
        try nextPart(closing: "]")
    }

    /// Goes to the next member of the object that was entered, and reads its name; `nil` at its
    /// end, which it leaves.
    mutating func nextName() throws(JSONFault) -> String? {
        guard try nextPart(closing: "}") else { return nil }
        guard case .string(let name) = try value() else { throw fault("a name should stand here") }
        guard next == UInt8(ascii: ":") else { throw fault("`:` should stand here") }
        position += 1
        return name
    }

    /// Reads the next value, of at most `largestValue` bytes.
    mutating func value() throws(JSONFault) -> JSON { try piece().get() }

    /// Reads the next value, of at most `largestValue` bytes, and goes on behind it also when only
    /// the value itself is at fault.
    ///
    /// - Throws: `JSONFault` where the end of the value cannot be found.
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

    /// Passes over the next value.
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

    /// Makes sure that nothing follows.
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

    /// Passes over a number or a word; at least one byte, or a stray one would be stood at for ever.
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
