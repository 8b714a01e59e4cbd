extension JSON {
    /// The value as UTF-8 on one line, without spaces.
    ///
    /// The result may be shown on a terminal. It therefore escapes every control character,
    /// including U+007F to U+009F, and every character that changes the direction of text or
    /// separates lines. A number that is not finite, which JSON cannot express, becomes null.
    public var bytes: [UInt8] {
        var writer = JSONWriter(isIndented: false)
        writer.write(self)
        return writer.bytes
    }

    /// The value on one line, without spaces; escaped like `bytes`.
    public var line: String { String(decoding: bytes, as: UTF8.self) }

    /// The value with each element and member on its own line, indented by two spaces for each
    /// level; escaped like `bytes`.
    public var page: String {
        var writer = JSONWriter(isIndented: true)
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// Writes values according to RFC 8259.
private struct JSONWriter {
    var bytes: [UInt8] = []
    private let isIndented: Bool
    private var level = 0

    init(isIndented: Bool) { self.isIndented = isIndented }

    mutating func write(_ value: JSON) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += String(value).utf8
        case .number(let value): bytes += (value.isFinite ? String(value) : "null").utf8
        case .string(let value): write(value)
        case .array(let values):
            begin("[")
            for (index, value) in values.enumerated() {
                separate(isFirst: index == 0)
                write(value)
            }
            end("]", isEmpty: values.isEmpty)
        case .object(let members):
            begin("{")
            for (index, member) in members.enumerated() {
                separate(isFirst: index == 0)
                write(member.name)
                bytes += (isIndented ? ": " : ":").utf8
                write(member.value)
            }
            end("}", isEmpty: members.isEmpty)
        }
    }

    private mutating func begin(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        level += 1
    }

    private mutating func separate(isFirst: Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        breakLine()
    }

    private mutating func end(_ bracket: Unicode.Scalar, isEmpty: Bool) {
        level -= 1
        if !isEmpty { breakLine() }
        bytes.append(UInt8(ascii: bracket))
    }

    private mutating func breakLine() {
        guard isIndented else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: level * 2)
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var place = 0
            while place < utf8.count { place += write(utf8[place...]) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes the first character of `rest`, which is valid UTF-8, or only its first byte if the
    /// character needs no escape.
    ///
    /// - Returns: the number of bytes of `rest` that were consumed.
    private mutating func write(_ rest: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        let (byte, start) = (rest[rest.startIndex], rest.startIndex)
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x0A: bytes += #"\n"#.utf8
        case 0x0D: bytes += #"\r"#.utf8
        case 0x09: bytes += #"\t"#.utf8
        case 0..<0x20, 0x7F: escape(UInt16(byte))
        // U+0080 to U+009F.
        case 0xC2 where rest[start + 1] < 0xA0:
            escape(UInt16(rest[start + 1]))
            return 2
        // The Arabic letter mark.
        case 0xD8 where rest[start + 1] == 0x9C:
            escape(0x061C)
            return 2
        case 0xE2:
            let code = 0x2000 | UInt16(rest[start + 1] & 0x3F) << 6 | UInt16(rest[start + 2] & 0x3F)
            guard JSONWriter.turns(code) else {
                bytes += rest.prefix(3)
                return 3
            }
            escape(code)
            return 3
        default: bytes.append(byte)
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
        bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
    }
}
