/// Checks every byte of a tag for what XML forbids.
///
/// It reads eight bytes at a time, because almost all of them are ordinary ASCII. For the frequent
/// tags it runs only if the lexer has not ruled out a fault.
enum TagAudit {
    /// Audits the bytes from `start`, the one after `<`, to `end`, and notes what it finds;
    /// `position` is the offset of the bytes in the text.
    static func audit(
        _ bytes: Bytes, from start: Int, to end: Int, position: Int64,
        into tally: inout MalformationTally
    ) {
        var index = start
        while index < end {
            if index + 8 <= end, ByteWord(bytes, at: index).suspects == 0 {
                index += 8
            } else {
                let stop = min(index + 8, end)
                while index < stop {
                    let (length, found) = examine(bytes, index, end)
                    if let found { tally.note(found, at: position + Int64(index)) }
                    index += length
                }
            }
        }
    }

    /// Examines the character at `index`; returns its length, and what is wrong with it.
    private static func examine(
        _ bytes: Bytes, _ index: Int, _ end: Int
    ) -> (length: Int, found: Malformation?) {
        let byte = bytes[index]
        switch byte {
        case .lessThan: return (1, .rawLessThan)
        case .ampersand:
            switch Reference.parse(bytes, at: index, end: end) {
            case .character(_, let length): return (length, nil)
            case .illegal(let length): return (length, .illegalReference)
            case .unknown: return (1, .unknownEntity)
            case .raw, .none: return (1, .rawAmpersand)
            }
        case 0x00..<0x20 where !byte.isXMLSpace: return (1, .controlCharacter)
        case 0x80...:
            let length = sequenceLength(bytes, index, end)
            return length == 0 ? (1, .badUTF8) : (length, nil)
        default: return (1, nil)
        }
    }

    /// Returns the length of the well-formed UTF-8 sequence at `index`, by table 3-7 of the Unicode
    /// standard; 0 if there is none.
    private static func sequenceLength(_ bytes: Bytes, _ index: Int, _ end: Int) -> Int {
        let lead = bytes[index]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            length = 4
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: return 0
        }
        guard index + length <= end, second.contains(bytes[index + 1]) else { return 0 }
        for next in index + 2..<max(index + 2, index + length)
        where !(0x80...0xBF).contains(bytes[next]) { return 0 }
        return length
    }
}
