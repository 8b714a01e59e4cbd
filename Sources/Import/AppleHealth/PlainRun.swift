/// The run from the beginning of a value to its double quote, eight bytes at a time.
///
/// Almost all bytes of an export are in such values, so the run also looks for what XML forbids in
/// them: control characters, `<`, a raw `&`, bytes that are not UTF-8. It only detects them;
/// `TagAudit` names them, in the tags that have one.
struct PlainRun {
    /// The index reached so far; in the end, the index of the quote.
    private(set) var end: Int
    /// Whether no fault was found so far.
    private(set) var isPlain = true

    @inline(__always)
    init(_ bytes: Bytes, from start: Int) { end = start }

    /// Moves to the quote; returns `false` if it is not clearly before the end of the bytes.
    @inline(__always)
    mutating func reachesQuote(_ bytes: Bytes) -> Bool {
        while bytes.count - end >= 8 {
            let marks = ByteWord(bytes, at: end).marks
            guard marks != 0 else {
                end += 8
                continue
            }
            end += marks.trailingZeroBitCount >> 3
            if bytes[end] == .quote { return true }
            guard bytes.count - end >= 8 else { return false }
            pass(bytes)
        }
        return false
    }

    /// Skips what may be a fault at `end`; at least eight bytes are left there.
    private mutating func pass(_ bytes: Bytes) {
        let length =
            switch bytes[end] {
            case .ampersand: PlainRun.reference(bytes, end)
            case 0xC2...0xDF: PlainRun.isContinued(bytes, end, 1) ? 2 : 0
            // Lead bytes whose second byte has no narrower range.
            case 0xE1...0xEC, 0xEE, 0xEF: PlainRun.isContinued(bytes, end, 2) ? 3 : 0
            case 0x09, 0x0A, 0x0D: 1
            default: 0
            }
        // The audit decides about the rarer four-byte sequences and numeric references.
        if length == 0 { isPlain = false }
        end += max(length, 1)
    }

    /// Returns the length of one of the five references by name; 0 for any other.
    private static func reference(_ bytes: Bytes, _ index: Int) -> Int {
        switch bytes[index + 1] {
        case UInt8(ascii: "l"): bytes.reads("&lt;", at: index) ? 4 : 0
        case UInt8(ascii: "g"): bytes.reads("&gt;", at: index) ? 4 : 0
        case UInt8(ascii: "q"): bytes.reads("&quot;", at: index) ? 6 : 0
        case UInt8(ascii: "a"):
            if bytes.reads("&amp;", at: index) {
                5
            } else {
                bytes.reads("&apos;", at: index) ? 6 : 0
            }
        default: 0
        }
    }

    private static func isContinued(_ bytes: Bytes, _ index: Int, _ count: Int) -> Bool {
        bytes[index + 1] & 0xC0 == 0x80 && (count == 1 || bytes[index + 2] & 0xC0 == 0x80)
    }
}

/// Eight bytes of the text, the first one lowest.
struct ByteWord {
    private let word: UInt64

    @inline(__always)
    init(_ bytes: Bytes, at index: Int) {
        precondition(bytes.count - index >= 8, "a word at \(index) of \(bytes.count) bytes")
        guard let base = bytes.baseAddress else {
            word = 0
            return
        }
        word = UInt64(
            littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
    }

    /// The top bit of each byte that is a control character, beyond ASCII, `<` or `&`. Exact for
    /// the lowest such byte; 0 if there is none.
    @inline(__always)
    var suspects: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // A byte x is below n exactly if `x - n` borrows into the top bit and x has none there.
        // "Below 1" finds the zero bytes that the exclusive or leaves.
        let less = word ^ (ones &* 0x3C)
        let ampersand = word ^ (ones &* 0x26)
        let found =
            word | ((word &- ones &* 0x20) & ~word) | ((less &- ones) & ~less)
            | ((ampersand &- ones) & ~ampersand)
        return found & (ones &* 0x80)
    }

    /// The same, with double quotes added.
    @inline(__always)
    var marks: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        return suspects | ((quote &- ones) & ~quote & (ones &* 0x80))
    }
}
