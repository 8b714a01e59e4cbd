// The byte format of encrypted values: numbers are little-endian, texts have their length in front.

extension [UInt8] {
    mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(field text: String) {
        append(littleEndian: UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// Appends counts with their names, sorted by name.
    mutating func append(counts: [String: Int64]) {
        append(littleEndian: UInt32(counts.count))
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            append(field: name)
            append(littleEndian: count)
        }
    }
}

/// Reads what the functions above wrote; returns `nil` if the bytes end too early.
struct ByteReader {
    private var unread: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { unread = bytes[...] }

    var isAtEnd: Bool { unread.isEmpty }

    /// The bytes that were not read yet.
    var rest: [UInt8] { Array(unread) }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _: Number.Type
    ) -> Number? {
        guard let bytes = take(MemoryLayout<Number>.size) else { return nil }
        return bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    mutating func field() -> String? {
        guard let count = number(UInt32.self), let bytes = take(Int(count)) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func counts(atMost limit: Int = .max) -> [String: Int64]? {
        guard let amount = number(UInt32.self), amount <= limit else { return nil }
        var counts: [String: Int64] = [:]
        for _ in 0..<amount {
            guard let name = field(), let count = number(Int64.self) else { return nil }
            counts[name] = count
        }
        return counts
    }

    mutating func bytes(_ count: Int) -> [UInt8]? { take(count).map { Array($0) } }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard unread.count >= count else { return nil }
        defer { unread = unread.dropFirst(count) }
        return unread.prefix(count)
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

/// Pads a value before encryption, so that the encrypted length does not reveal the value.
///
/// The padding is a byte 0x80 and as many zeros as needed (ISO/IEC 7816-4). It is always at least
/// one byte, so the end of the value is unambiguous. Each table has a floor, larger than the longest
/// ordinary value, so that values of one kind share one size. A longer value is padded to the floor
/// times a power of two. The archive is most of a large state, and to fill a power of two costs 40 %
/// of it: its longer values have one more size between two of them, in the middle. That costs half as
/// much, and such a size tells how much was measured in a month within a factor of 1.5. Finer sizes, as those of
/// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with
/// PURBs", 2019), cost 2 %, and let anybody compare the months.
///
/// | table | floor in bytes | what fits |
/// |---|---|---|
/// | outbox, one number or two | 64 | a source's name up to 50 bytes |
/// | outbox, other values | 128 | all fields without notes, and a name up to 50 bytes |
/// | metrics | 512 | a metric of one group of fields as JSON |
/// | insights, insight_requests, profile | 4096 | a text of about 600 words |
/// | minutes | 8192 | always |
/// | analyses | 16384 | an embedding of 128 numbers |
/// | server_words, audit | 256 | a sentence; four kinds |
/// | others | 1024 | tokens, reasons of a reading |
enum Padding {
    static let mark: UInt8 = 0x80

    /// The sizes to which the values of a table are padded.
    struct Sizes: Hashable {
        /// The smallest one.
        var floor: Int
        /// Whether there is another one in the middle between the floor times two powers of two.
        var haveMiddles = false
    }

    /// Returns the padded size for `count` bytes: the smallest that is larger.
    static func size(of count: Int, in sizes: Sizes) -> Int {
        var size = sizes.floor
        while size <= count { size *= 2 }
        let middle = size / 4 * 3
        return sizes.haveMiddles && size > sizes.floor && count < middle ? middle : size
    }

    /// Returns the padded sizes in a table.
    ///
    /// - Parameter plain: in the outbox its first byte is the kind of value, which the row's kind
    ///   reveals anyway.
    static func sizes(of plain: [UInt8], in table: String) -> Sizes {
        let isArchive = table == "segments" || table == "segment_days"
        return Sizes(floor: floor(of: plain, in: table), haveMiddles: isArchive)
    }

    private static func floor(of plain: [UInt8], in table: String) -> Int {
        switch table {
        case "outbox": (plain.first ?? 0) < 3 ? 64 : 128
        case "owner", "canary", "day_zone", "former_keys", "rotation", "pulls", "packed_totals",
            "account_key":
            64
        case "server_words", "audit": 256
        case "metrics": 512
        case "insights", "insight_requests", "profile": 4096
        case "minutes": 8192
        case "analyses": 16_384
        default: 1024
        }
    }

    /// Removes the padding; returns `false` if there is none.
    static func remove(from padded: inout [UInt8]) -> Bool {
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == mark else {
            return false
        }
        padded.removeLast(padded.count - end)
        return true
    }
}

/// The encrypted form of a pulled metric: the backend's id, then the numbers and the JSON.
///
/// It consists of a byte 2, the length of the id (16 bits), the id, and the rest, which never
/// begins with a byte 2. The form of an insight is the rest alone.
enum MetricForm {
    private static let mark: UInt8 = 2
    /// The number of bytes before the id.
    private static let head = 3

    /// Puts the id in front of the rest, unless there is one already.
    static func adding(_ id: String, to rest: [UInt8]) -> [UInt8] {
        guard rest.first != mark else { return rest }
        let name = Array(id.utf8.prefix(Int(UInt16.max)))
        var form: [UInt8] = [mark]
        form.reserveCapacity(head + name.count + rest.count)
        form.append(littleEndian: UInt16(name.count))
        return form + name + rest
    }

    /// Returns where the rest begins: 0 in a form without an id.
    static func restStart(in form: UnsafeRawBufferPointer) -> Int {
        guard form.count >= head, form[0] == mark else { return 0 }
        return min(form.count, head + Int(form[1]) + Int(form[2]) << 8)
    }

    /// Returns the id and the rest; the id is `nil` in a form without one.
    static func parts(of form: [UInt8]) -> (id: String?, rest: [UInt8]) {
        let start = form.withUnsafeBytes { restStart(in: $0) }
        guard start > 0 else { return (nil, form) }
        return (String(decoding: form[head..<start], as: UTF8.self), Array(form[start...]))
    }
}
