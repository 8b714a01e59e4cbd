import ClarityScheduler

/// Writes one JSON document into bytes, without spaces, in the order of the calls.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Creates a writer with room for `capacity` bytes.
    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func object(_ key: String? = nil, _ body: (inout JSONWriter) -> Void) {
        open("{", key)
        body(&self)
        close("}")
    }

    package mutating func array(_ key: String, _ body: (inout JSONWriter) -> Void) {
        open("[", key)
        body(&self)
        close("]")
    }

    package mutating func field(_ key: String, _ text: String) {
        start(key)
        string(text)
    }

    package mutating func field(_ key: String, _ flag: Bool) {
        start(key)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    /// Writes an instant as RFC 3339 in UTC.
    mutating func field(_ key: String, _ instant: Instant) {
        start(key)
        append(instant)
    }

    /// Writes the shortest digits that read back as the same number; the number must be finite.
    mutating func field(_ key: String, number: Double) {
        start(key)
        bytes.append(contentsOf: number.description.utf8)
    }

    package mutating func field(_ key: String, number: Int) {
        start(key)
        bytes.append(contentsOf: number.description.utf8)
    }

    mutating func null(_ key: String) {
        start(key)
        bytes.append(contentsOf: "null".utf8)
    }

    mutating func element(_ number: Int) {
        start(nil)
        bytes.append(contentsOf: number.description.utf8)
    }

    mutating func element(_ text: String) {
        start(nil)
        string(text)
    }

    mutating func element(_ instant: Instant) {
        start(nil)
        append(instant)
    }

    private mutating func append(_ instant: Instant) {
        bytes.append(UInt8(ascii: "\""))
        instant.append(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func open(_ bracket: Unicode.Scalar, _ key: String?) {
        start(key)
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    private mutating func start(_ key: String?) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        if let key {
            string(key)
            bytes.append(UInt8(ascii: ":"))
        }
    }

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        // A variable, which `withUTF8` needs; it shares the storage of the text.
        var text = text
        text.withUTF8 { text in
            if needsEscape(text) {
                for byte in text { escape(byte) }
            } else {
                bytes.append(contentsOf: text)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a byte of `text` must be escaped. The loop has no early exit, so that many bytes are
    /// checked in one step.
    private func needsEscape(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var found = false
        for byte in text {
            found =
                found || byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
        }
        return found
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            for digit in [byte >> 4, byte & 15] {
                bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            }
        default: bytes.append(byte)
        }
    }
}
