/// Where identifiers, tokens and salts come from.
struct Identifiers {
    private var generator: any RandomNumberGenerator

    /// Draws from `generator`; the system's for a real server, a seeded one for a test.
    init(_ generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) {
        self.generator = generator
    }

    /// `count` random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// A random UUID (version 4) in lower case.
    mutating func uuid() -> String { UUIDText.make(bytes(16)) }

    /// An opaque token of 256 bits, in 64 hexadecimal digits.
    mutating func token() -> String { bytes(32).hexadecimal }

    /// A code of six digits.
    mutating func code() -> String { String(Int.random(in: 100_000...999_999, using: &generator)) }
}

/// UUIDs as text.
enum UUIDText {
    /// The UUID (version 4) that 16 bytes make.
    static func make(_ bytes: [UInt8]) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            .joined(separator: "-")
    }

    /// The UUID in lower case; `nil` when `text` is none.
    static func canonical(_ text: String) -> String? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12],
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit } })
        else { return nil }
        return text.lowercased()
    }
}

extension [UInt8] {
    /// Two digits a byte, in lower case.
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
