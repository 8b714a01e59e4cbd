extension JSON {
    /// The value as UTF-8 on one line, without spaces.
    ///
    /// The result may be shown on a terminal. It therefore escapes every control character,
    /// including U+007F to U+009F, and every character that changes the direction of text or
    /// separates lines. A number that is not finite, which JSON cannot express, becomes null.
    public var bytes: [UInt8] { JSONWriter(showing: self, isIndented: false).bytes }

    /// The value on one line, without spaces; escaped like `bytes`.
    public var line: String { String(decoding: bytes, as: UTF8.self) }

    /// The value with each element and member on its own line, indented by two spaces for each
    /// level; escaped like `bytes`.
    public var page: String {
        String(decoding: JSONWriter(showing: self, isIndented: true).bytes, as: UTF8.self)
    }
}

/// Writes one JSON document (RFC 8259) into bytes, in the order of the calls.
///
/// Equal calls make equal bytes, so a message that is sent again is the same to the byte.
public struct JSONWriter {
    // What makes a message is inlined into its caller: a message has some ten fields a sample.
    @usableFromInline var buffer: [UInt8] = []
    @usableFromInline let isShown: Bool
    @usableFromInline let isIndented: Bool
    @usableFromInline var level = 0
    @usableFromInline var needsComma = false

    /// The document so far.
    public var bytes: [UInt8] { buffer }

    /// Creates a writer of a message, with room for `capacity` bytes: without spaces, and with
    /// escapes only where JSON requires them.
    @inlinable public init(capacity: Int = 256) {
        (isShown, isIndented) = (false, false)
        buffer.reserveCapacity(capacity)
    }

    /// Writes a value that may be shown on a terminal.
    fileprivate init(showing value: JSON, isIndented: Bool) {
        (isShown, self.isIndented) = (true, isIndented)
        write(value, nil)
    }

    @inlinable public mutating func object(_ key: String? = nil, _ body: (inout JSONWriter) -> Void)
    {
        open("{", key)
        body(&self)
        close("}")
    }

    @inlinable public mutating func array(_ key: String? = nil, _ body: (inout JSONWriter) -> Void)
    {
        open("[", key)
        body(&self)
        close("]")
    }

    @inlinable public mutating func field(_ key: String, _ text: String) {
        start(key)
        string(text)
    }

    @inlinable public mutating func field(_ key: String, _ flag: Bool) {
        word(flag ? "true" : "false", key)
    }

    /// Writes the shortest digits that read back as the same number; the number must be finite.
    @inlinable public mutating func field(_ key: String, number: Double) {
        word(number.description, key)
    }

    @inlinable public mutating func field(_ key: String, number: Int) {
        word(number.description, key)
    }

    @inlinable public mutating func element(_ number: Int) { word(number.description, nil) }

    /// Writes a text that needs no escape; `append` appends its bytes.
    ///
    /// - Parameter key: the name of a member; `nil` for an element.
    @inlinable public mutating func plain(_ key: String?, _ append: (inout [UInt8]) -> Void) {
        start(key)
        buffer.append(UInt8(ascii: "\""))
        append(&buffer)
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func write(_ value: JSON, _ key: String?) {
        switch value {
        case .null: word("null", key)
        case .bool(let value): word(value ? "true" : "false", key)
        case .integer(let value): word(value.description, key)
        case .number(let value): word(value.isFinite ? value.description : "null", key)
        case .string(let value):
            start(key)
            string(value)
        case .array(let elements):
            array(key) { json in
                for element in elements { json.write(element, nil) }
            }
        case .object(let members):
            object(key) { json in
                for member in members { json.write(member.value, member.name) }
            }
        }
    }

    @inlinable mutating func word(_ word: String, _ key: String?) {
        start(key)
        buffer.append(contentsOf: word.utf8)
    }

    @inlinable mutating func open(_ bracket: Unicode.Scalar, _ key: String?) {
        start(key)
        buffer.append(UInt8(ascii: bracket))
        level += 1
        needsComma = false
    }

    @inlinable mutating func close(_ bracket: Unicode.Scalar) {
        level -= 1
        // Nothing stands between the brackets of an empty list or object.
        if needsComma { breakLine() }
        buffer.append(UInt8(ascii: bracket))
        needsComma = true
    }

    @inlinable mutating func start(_ key: String?) {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
        if level > 0 { breakLine() }
        if let key {
            string(key)
            buffer.append(UInt8(ascii: ":"))
            if isIndented { buffer.append(UInt8(ascii: " ")) }
        }
    }

    @inlinable mutating func breakLine() {
        guard isIndented else { return }
        buffer.append(UInt8(ascii: "\n"))
        buffer += repeatElement(UInt8(ascii: " "), count: level * 2)
    }
}

// MARK: - Texts

extension JSONWriter {
    @inlinable mutating func string(_ text: String) {
        buffer.append(UInt8(ascii: "\""))
        // A variable, which `withUTF8` needs; it shares the storage of the text.
        var text = text
        text.withUTF8 { text in
            if needsEscape(text) {
                var place = 0
                while place < text.count { place += writeCharacter(text[place...]) }
            } else {
                buffer.append(contentsOf: text)
            }
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// Whether a byte of `text` may have to be escaped. The loop has no early exit, so that many
    /// bytes are checked in one step.
    @inlinable func needsEscape(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // Every character that only a terminal needs escaped begins at or above U+007F.
        let end: UInt8 = isShown ? 0x7E : 0xFF
        var found = false
        for byte in text {
            found =
                found || byte < 0x20 || byte > end || byte == UInt8(ascii: "\"")
                || byte == UInt8(ascii: "\\")
        }
        return found
    }

    /// Writes the first character of `rest`, which is valid UTF-8, or only its first byte if the
    /// character needs no escape.
    ///
    /// - Returns: the number of bytes of `rest` that were consumed.
    @usableFromInline mutating func writeCharacter(_ rest: Slice<UnsafeBufferPointer<UInt8>>) -> Int
    {
        let (byte, start) = (rest[rest.startIndex], rest.startIndex)
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer += [UInt8(ascii: "\\"), byte]
        case 0x0A where isShown: buffer += #"\n"#.utf8
        case 0x0D where isShown: buffer += #"\r"#.utf8
        case 0x09 where isShown: buffer += #"\t"#.utf8
        case 0..<0x20: escape(UInt16(byte))
        case 0x7F where isShown: escape(UInt16(byte))
        // U+0080 to U+009F.
        case 0xC2 where isShown && rest[start + 1] < 0xA0:
            escape(UInt16(rest[start + 1]))
            return 2
        // The Arabic letter mark.
        case 0xD8 where isShown && rest[start + 1] == 0x9C:
            escape(0x061C)
            return 2
        case 0xE2 where isShown:
            let code = 0x2000 | UInt16(rest[start + 1] & 0x3F) << 6 | UInt16(rest[start + 2] & 0x3F)
            guard JSONWriter.turns(code) else {
                buffer += rest.prefix(3)
                return 3
            }
            escape(code)
            return 3
        default: buffer.append(byte)
        }
        return 1
    }

    /// Whether a character from U+2000 to U+2FFF changes the direction of text or separates lines.
    private static func turns(_ code: UInt16) -> Bool {
        switch code {
        case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private mutating func escape(_ code: UInt16) {
        let digits = String(code, radix: 16)
        buffer += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
    }
}
