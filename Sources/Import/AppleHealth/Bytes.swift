@preconcurrency import Glibc

/// A piece of the text, valid only until its window moves.
typealias Bytes = UnsafeBufferPointer<UInt8>

/// A range in a piece of text: the bytes from `start` up to but not including `end`.
struct ByteRange {
    var start = 0
    var end = 0
}

extension Bytes {
    func slice(_ range: ByteRange) -> Bytes { Bytes(rebasing: self[range.start..<range.end]) }

    /// Returns the first `byte` at or after `start`, found by the C library at memory speed.
    @inline(__always)
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress,
            let found = memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Whether the bytes from `start` to `end` are exactly `text`.
    @inline(__always)
    func matches(_ text: StaticString, _ start: Int, _ end: Int) -> Bool {
        guard end - start == text.utf8CodeUnitCount, let base = baseAddress else { return false }
        return memcmp(base + start, text.utf8Start, end - start) == 0
    }

    /// Whether `text` is at `start`, where there must be enough bytes for it. Its length is known
    /// at compile time, so this becomes a comparison or two.
    @inline(__always)
    func reads(_ text: StaticString, at start: Int) -> Bool {
        guard let base = baseAddress else { return false }
        return memcmp(base + start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Whether `text` is at `start`, followed by anything.
    func hasPrefix(_ text: StaticString, at start: Int) -> Bool {
        let end = start + text.utf8CodeUnitCount
        return end <= count && matches(text, start, end)
    }

    /// Whether two ranges have the same bytes.
    func isSame(_ first: ByteRange, _ second: ByteRange) -> Bool {
        guard first.end - first.start == second.end - second.start, let base = baseAddress
        else { return false }
        return memcmp(base + first.start, base + second.start, first.end - first.start) == 0
    }

    func isEqual(to other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return other.withUnsafeBytes { bytes in
            guard let mine = baseAddress, let theirs = bytes.baseAddress else { return isEmpty }
            return memcmp(mine, theirs, count) == 0
        }
    }
}

extension UInt8 {
    @inline(__always)
    var isXMLSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    /// Whether an element's name can begin so: with a letter, `_`, `:` or a byte beyond ASCII.
    @inline(__always)
    var beginsName: Bool {
        let letter = self | 0x20
        return letter >= 0x61 && letter <= 0x7A || self >= 0x80 || self == 0x5F || self == 0x3A
    }

    /// Whether an element's name ends here.
    @inline(__always)
    var endsName: Bool { isXMLSpace || self == .greaterThan || self == .slash }

    static let lessThan = UInt8(ascii: "<")
    static let greaterThan = UInt8(ascii: ">")
    static let slash = UInt8(ascii: "/")
    static let equals = UInt8(ascii: "=")
    static let ampersand = UInt8(ascii: "&")
    static let quote = UInt8(ascii: "\"")
    static let apostrophe = UInt8(ascii: "'")
}
