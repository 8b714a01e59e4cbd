// The byte format of encrypted values: numbers are little-endian, texts have their length in front.

extension [UInt8] {
    mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(field text: String) {
        append(littleEndian: UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
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

    mutating func bytes(_ count: Int) -> [UInt8]? { take(count).map { Array($0) } }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard unread.count >= count else { return nil }
        defer { unread = unread.dropFirst(count) }
        return unread.prefix(count)
    }
}
