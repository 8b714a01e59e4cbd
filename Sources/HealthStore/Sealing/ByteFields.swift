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

    mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        guard let bytes = take(MemoryLayout<Number>.size) else { return nil }
        return bytes.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
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
