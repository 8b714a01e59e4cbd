/// The bytes as lower-case hex digits.
func hexEncoded(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 0x0F)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// The bytes that hex digits of either case stand for; `nil` for anything else.
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
