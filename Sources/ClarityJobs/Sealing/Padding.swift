/// The padding of a value before it is sealed, so that the sealed length does not follow from the value.
///
/// A byte 0x80 and as many zeros as it takes (ISO/IEC 7816-4): always at least one byte, so that the
/// end of the value is unambiguous. A padded value has a power of two of bytes, from a floor on. The
/// floor is chosen by the table so that values of one kind share one size: it is larger than the
/// longest ordinary value.
///
/// | table | floor in bytes | what fits |
/// |---|---|---|
/// | outbox, one number or two | 64 | a source's name up to 50 bytes |
/// | outbox, a day or a night | 128 | all fields and a name up to 50 bytes |
/// | metrics | 512 | a metric of one group of fields as JSON |
/// | insights, insight_requests, profile | 4096 | a text of about 600 words |
/// | minutes | 8192 | always |
/// | analyses | 16384 | an embedding of 128 numbers |
/// | server_words, audit | 256 | a sentence; four kinds |
/// | the others | 1024 | tokens, reasons of a reading |
enum Padding {
    static let mark: UInt8 = 0x80

    /// The size to which `count` bytes are padded: the smallest `floor` times a power of two that is
    /// larger.
    static func size(of count: Int, atLeast floor: Int) -> Int {
        var size = floor
        while size <= count { size *= 2 }
        return size
    }

    /// The smallest size in a table.
    ///
    /// - Parameter plain: of a sample its first byte says what it is, which its kind says in the clear.
    static func floor(of plain: [UInt8], in table: String) -> Int {
        switch table {
        case "outbox": (plain.first ?? 0) < 3 ? 64 : 128
        case "owner", "canary", "day_zone", "former_keys", "rotation", "pulls": 64
        case "server_words", "audit": 256
        case "metrics": 512
        case "insights", "insight_requests", "profile": 4096
        case "minutes": 8192
        case "analyses": 16_384
        default: 1024
        }
    }

    /// Removes the padding; false when there is none.
    static func remove(from padded: inout [UInt8]) -> Bool {
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == mark else {
            return false
        }
        padded.removeLast(padded.count - end)
        return true
    }
}
