import CSodium

/// Returns the BLAKE2b-256 hash of the bytes as 64 lower-case hex digits, to compare two contents.
public func contentDigest(_ bytes: [UInt8]) -> String { hexEncoded(blake2b(bytes)) }

/// Returns the BLAKE2b-256 hash of the bytes.
package func blake2b(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
    return hash
}

/// Returns the bytes as lower-case hex digits.
package func hexEncoded(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes { text.append(hexDigitsOf: byte) }
    return String(decoding: text, as: UTF8.self)
}

extension [UInt8] {
    /// Appends the two lower-case hex digits of a byte.
    package mutating func append(hexDigitsOf byte: UInt8) {
        let digits = byte.hexDigits
        append(digits.0)
        append(digits.1)
    }
}

extension UInt8 {
    /// Its two hexadecimal digits in ASCII, in lower case.
    package var hexDigits: (UInt8, UInt8) {
        func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }
        return (digit(self >> 4), digit(self & 0x0F))
    }
}
