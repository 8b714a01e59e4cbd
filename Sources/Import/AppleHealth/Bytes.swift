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

/// Parses the numbers of an export: decimal, with a point, finite.
enum DecimalNumber {
    /// Parses `72`, `0.0110599`, `-1.5e-05`; returns `nil` for `nan`, `inf`, `0x48`, `72,5`,
    /// `72 bpm`, empty text, and numbers beyond the range of `Double`.
    ///
    /// The result is the nearest `Double`. For up to 15 digits without an exponent, that is one
    /// division of two exact numbers (Clinger's fast path); the standard library parses the rest.
    static func parse(_ bytes: Bytes) -> Double? {
        var index = 0
        var isNegative = false
        if let first = bytes.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            index = 1
        }
        var digits = 0
        var decimals = 0
        var mantissa: UInt64 = 0
        var hasPoint = false
        while index < bytes.count {
            let digit = bytes[index] &- 0x30
            if digit <= 9 {
                mantissa = mantissa &* 10 &+ UInt64(digit)
                digits += 1
                if hasPoint { decimals += 1 }
            } else if bytes[index] == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else {
                break
            }
            index += 1
        }
        guard digits > 0 else { return nil }
        if index == bytes.count, digits <= 15 {
            let number = Double(mantissa) / powersOfTen[decimals]
            return isNegative ? -number : number
        }
        guard index == bytes.count || isExponent(bytes, index),
            let number = Double(String(decoding: bytes, as: UTF8.self)), number.isFinite
        else { return nil }
        return number
    }

    private static func isExponent(_ bytes: Bytes, _ start: Int) -> Bool {
        guard bytes[start] | 0x20 == UInt8(ascii: "e") else { return false }
        var index = start + 1
        if index < bytes.count,
            bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+")
        {
            index += 1
        }
        return index < bytes.count && bytes[index...].allSatisfy { $0 &- 0x30 <= 9 }
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]
}

/// Remembers what was made from a text, so that it is made once and not for every record.
///
/// Neighbouring records nearly always have the same type, unit and source. So the table tries the
/// last entry first, then, for a short text, the earliest ones, then an index. It holds at most
/// `capacity` entries of at most `limit` bytes, so no file can make it grow.
struct InternTable<Value> {
    /// The longest text that is remembered: 256 bytes. No type, unit or source has half of that.
    static var longest: Int { 256 }

    /// Comparing a longer text with a few entries takes longer than hashing it.
    private static var longestTried: Int { 64 }

    private let capacity: Int
    private let limit: Int
    private var keys: [[UInt8]] = []
    /// The places by hash, so that no key is made of a text that is only looked up.
    private var index: [Int: Int] = [:]
    private var last = 0
    var values: [Value] = []

    /// - Parameter limit: the longest text in bytes that is remembered.
    init(capacity: Int, limit: Int = InternTable.longest) {
        self.capacity = capacity
        self.limit = limit
    }

    /// Returns the index of the entry for `bytes`, which `make` creates if they are new; `nil` if
    /// the table is full or the text is too long.
    mutating func place(of bytes: Bytes, make: (Bytes) -> Value) -> Int? {
        if last < keys.count, bytes.isEqual(to: keys[last]) { return last }
        if bytes.count <= InternTable.longestTried {
            for place in 0..<min(8, keys.count) where bytes.isEqual(to: keys[place]) {
                last = place
                return place
            }
        }
        guard bytes.count <= limit else { return nil }
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        let hash = hasher.finalize()
        if let known = index[hash] {
            // Of two texts with one hash, which is next to impossible, the second is not remembered.
            guard bytes.isEqual(to: keys[known]) else { return nil }
            last = known
            return known
        }
        guard keys.count < capacity else { return nil }
        last = keys.count
        keys.append(Array(bytes))
        index[hash] = last
        values.append(make(bytes))
        return last
    }
}
