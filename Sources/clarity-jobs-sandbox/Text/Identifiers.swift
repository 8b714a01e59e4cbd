import JSON

/// A source of identifiers, tokens and salts.
struct Identifiers {
    private var generator: any RandomNumberGenerator

    /// Creates a source that uses `generator`: the system's for a real server, a seeded one for a
    /// test.
    init(_ generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) {
        self.generator = generator
    }

    /// Returns `count` random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Returns a random UUID (version 4) in lower case.
    mutating func uuid() -> String { UUIDText.make(bytes(16)) }

    /// Returns an opaque token of 256 bits as 64 hexadecimal digits.
    mutating func token() -> String { bytes(32).hexadecimal }

    /// Returns a code of six digits, the first of which is not 0.
    mutating func code() -> String { String(Int.random(in: 100_000...999_999, using: &generator)) }
}

/// UUIDs as text.
enum UUIDText {
    /// Returns the UUID (version 4) made from 16 bytes.
    static func make(_ bytes: [UInt8]) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            .joined(separator: "-")
    }

    /// Returns the UUID in lower case, or `nil` if `text` is not a UUID.
    static func canonical(_ text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12],
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit } })
        else { return nil }
        return text.lowercased()
    }
}

extension [UInt8] {
    /// The bytes as two lower-case hexadecimal digits each.
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A decoder for Base64 (RFC 4648).
enum Base64 {
    /// The characters of both alphabets.
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)

    /// Decodes `text` in either alphabet; `nil` if it is not Base64.
    static func decode(_ text: String) -> [UInt8]? {
        var bits: UInt32 = 0
        var count = 0
        var bytes: [UInt8] = []
        for byte in text.utf8.reversed().drop(while: { $0 == UInt8(ascii: "=") }).reversed() {
            guard let index = alphabet.firstIndex(of: byte) else { return nil }
            // The last two characters are the other alphabet's names for the two before them.
            let value = index < 64 ? index : index - 2
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return count == 6 ? nil : bytes
    }

    /// Decodes and parses `text`; `nil` if it does not contain JSON.
    static func jsonText(_ text: String) -> JSON? {
        guard let bytes = decode(text) else { return nil }
        do {
            return try JSONParser.parse(bytes)
        } catch {
            return nil
        }
    }
}
