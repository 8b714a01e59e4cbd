/// Returns the bytes as lower-case hex digits.
func hexEncoded(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes { text.append(hexDigitsOf: byte) }
    return String(decoding: text, as: UTF8.self)
}

extension [UInt8] {
    /// Appends the two lower-case hex digits of a byte.
    mutating func append(hexDigitsOf byte: UInt8) {
        func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }
        append(digit(byte >> 4))
        append(digit(byte & 0x0F))
    }
}

/// Returns the bytes for hex digits of either case, or `nil` for anything else.
func hexDecoded(_ digits: [UInt8]) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = Character(Unicode.Scalar(digits[index])).hexDigitValue,
            let low = Character(Unicode.Scalar(digits[index + 1])).hexDigitValue
        else { return nil }
        bytes.append(UInt8(high << 4 | low))
    }
    return bytes
}
