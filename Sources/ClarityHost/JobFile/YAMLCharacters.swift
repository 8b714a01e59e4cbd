import ClaritySystem

/// Checks that a file contains only characters that a job file may have, and returns the position
/// after the last one.
///
/// This happens before libyaml sees the bytes, so that the position is always known. The check is
/// stricter than YAML: it also refuses the line separators of Unicode, which editors do not count
/// as lines, so that every later line number is the one that an editor shows.
///
/// - Throws: a fault at the first invalid byte or character.
func checkCharacters(_ bytes: [UInt8]) throws(JobFileFault) -> YAMLNode.Position {
    var position = YAMLNode.Position(line: 1, column: 1)
    // Most files are ASCII to the end, and need no decoding.
    var ascii = 0
    for byte in bytes {
        guard (0x20...0x7E).contains(byte) || byte == 0x0A else { break }
        ascii += 1
        if byte == 0x0A {
            position = YAMLNode.Position(line: position.line + 1, column: 1)
        } else {
            position.column += 1
        }
    }
    var iterator = bytes[ascii...].makeIterator()
    var decoder = UTF8()
    var previous: Unicode.Scalar?
    while true {
        switch decoder.decode(&iterator) {
        case .emptyInput:
            return position
        case .error:
            throw JobFileFault(
                position, "the file is not UTF-8 from here on", help: "save it as UTF-8")
        case .scalarValue(let scalar):
            switch scalar {
            case "\n" where previous == "\r":
                break
            case "\n", "\r":
                position = YAMLNode.Position(line: position.line + 1, column: 1)
            case "\u{FEFF}" where previous == nil && ascii == 0:
                // A byte order mark is not a character of the text.
                break
            default:
                guard isAllowed(scalar) else {
                    throw JobFileFault(
                        position, "character \(codePoint(scalar)) is not allowed in a job file")
                }
                position.column += 1
            }
            previous = scalar
        }
    }
}

private func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x20...0x7E: true
    case 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: false
    default: scalar.value >= 0xA0
    }
}
