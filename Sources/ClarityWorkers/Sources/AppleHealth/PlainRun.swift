/// The way from the beginning of a value to its double quote, eight bytes at a time.
///
/// Almost all bytes of an export lie in such values, so what XML forbids in them is looked for on
/// the same way: control characters, `<`, a raw `&`, bytes that are no UTF-8. Here they are only
/// seen, not named: `TagAudit` does that for the tags in which there is one.
struct PlainRun {
    /// How far it has come; in the end the place of the quote.
    private(set) var end: Int
    /// Whether nothing is wrong so far.
    private(set) var isPlain = true

    @inline(__always)
    init(_ bytes: Bytes, from start: Int) { end = start }

    /// Goes to the quote; false when it does not lie clearly before the end of the bytes.
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

    /// Passes over what may be wrong at `end`, before which at least eight bytes lie.
    private mutating func pass(_ bytes: Bytes) {
        let length =
            switch bytes[end] {
            case .ampersand: PlainRun.reference(bytes, end)
            case 0xC2...0xDF: PlainRun.isContinued(bytes, end, 1) ? 2 : 0
            // Those whose second byte has no narrower bounds.
            case 0xE1...0xEC, 0xEE, 0xEF: PlainRun.isContinued(bytes, end, 2) ? 3 : 0
            case 0x09, 0x0A, 0x0D: 1
            default: 0
            }
        // The rarer sequences of four bytes and numeric references are left to the audit.
        if length == 0 { isPlain = false }
        end += max(length, 1)
    }

    /// The length of one of the five references by name; 0 for any other.
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

    /// The top bit of each byte that is a control character, beyond ASCII, `<` or `&`; exact for
    /// the lowest, and 0 where there is none.
    @inline(__always)
    var suspects: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // A byte of `x` is below n exactly where `x - n` borrows into the top bit and x has none;
        // "below 1" finds the zero bytes that the exclusive or has left.
        let less = word ^ (ones &* 0x3C)
        let ampersand = word ^ (ones &* 0x26)
        let found =
            word | ((word &- ones &* 0x20) & ~word) | ((less &- ones) & ~less)
            | ((ampersand &- ones) & ~ampersand)
        return found & (ones &* 0x80)
    }

    /// The same with the double quotes.
    @inline(__always)
    var marks: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        return suspects | ((quote &- ones) & ~quote & (ones &* 0x80))
    }
}
