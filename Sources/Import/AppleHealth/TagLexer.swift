/// How a tag ends.
enum TagEnd {
    /// The index after `>`, and whether the tag is an empty element.
    case complete(Int, isEmptyElement: Bool)
    /// The index of the `<` of the next tag, which begins before this one has ended.
    case unclosed(Int)
    case incomplete
}

/// Finds the attributes and the end of one tag.
///
/// It accepts what exports are known to hold, not what XML allows: `>` and `<` in values, names
/// with spaces, values without quotes, the same attribute twice. A tag that does not end in the
/// given bytes is lexed again from its beginning when there are more of them. So its notes count
/// only once the tag has ended.
struct TagLexer<Attributes: TagAttributes> {
    private(set) var attributes = Attributes(start: 0)
    /// The malformations in the last tag, with their indices in the given bytes.
    private(set) var notes = MalformationTally()
    /// Whether every byte of the last tag was checked and XML forbids none; `TagAudit` then has
    /// nothing to find in it.
    private(set) var isPlain = true

    /// Lexes from `start`, the byte after the element's name.
    mutating func lex(_ bytes: Bytes, from start: Int) -> TagEnd {
        attributes = Attributes(start: start)
        if !notes.isEmpty { notes = MalformationTally() }
        isPlain = true
        var index = start
        while true {
            index = usual(bytes, index)
            index = TagLexer.skipSpace(bytes, index)
            guard index < bytes.count else { return .incomplete }
            switch bytes[index] {
            case .greaterThan:
                return .complete(index + 1, isEmptyElement: false)
            case .slash:
                guard index + 1 < bytes.count else { return .incomplete }
                if bytes[index + 1] == .greaterThan {
                    return .complete(index + 2, isEmptyElement: true)
                }
                note(.strayCharacter, index)
                index += 1
            default:
                isPlain = false
                switch attribute(bytes, index) {
                case .next(let next): index = next
                case .end(let end): return end
                }
            }
        }
    }

    /// Reads the attributes at `start` that are written as nearly all are: a known name between a
    /// space and an equals sign, and a value in double quotes. It leaves anything else, and what is
    /// near the end of the bytes, to `attribute`, which would read these attributes in the same
    /// way.
    @inline(__always)
    private mutating func usual(_ bytes: Bytes, _ start: Int) -> Int {
        var index = start
        while let usual = UsualName(bytes, index) {
            var value = PlainRun(bytes, from: usual.valueStart)
            guard value.reachesQuote(bytes) else { return index }
            isPlain = isPlain && value.isPlain
            let isNew = attributes.keep(
                bytes, usual.field, name: ByteRange(start: index + 1, end: usual.valueStart - 2),
                value: ByteRange(start: usual.valueStart, end: value.end))
            if !isNew { note(.duplicateAttribute, index + 1) }
            index = value.end + 1
        }
        return index
    }

    private enum Step {
        case next(Int)
        case end(TagEnd)
    }

    private mutating func attribute(_ bytes: Bytes, _ start: Int) -> Step {
        let equals: Int
        switch self.equals(bytes, start) {
        case .next(let found): equals = found
        case .end(let end): return .end(end)
        }
        let name = ByteRange(start: start, end: TagLexer.trimEnd(bytes, start, equals))
        let index = TagLexer.skipSpace(bytes, equals + 1)
        guard index < bytes.count else { return .end(.incomplete) }
        let quote = bytes[index]
        var range = ByteRange(start: index + 1, end: 0)
        let next: Int
        if quote == .quote || quote == .apostrophe {
            guard let end = bytes.firstIndex(of: quote, from: index + 1) else {
                return .end(.incomplete)
            }
            range.end = end
            next = end + 1
        } else {
            range.start = index
            range.end = index
            while range.end < bytes.count, !bytes[range.end].isXMLSpace,
                bytes[range.end] != .greaterThan
            { range.end += 1 }
            guard range.end < bytes.count else { return .end(.incomplete) }
            if bytes[range.end] == .greaterThan, range.end > index,
                bytes[range.end - 1] == .slash
            {
                range.end -= 1
            }
            note(.unquotedValue, index)
            next = range.end
        }
        let field = TagLexer.field(bytes, name.start, name.end)
        if !attributes.keep(bytes, field, name: name, value: range) {
            note(.duplicateAttribute, start)
        }
        return .next(next)
    }

    /// Finds the `=` of the attribute that begins at `start`, and checks the name before it.
    private mutating func equals(_ bytes: Bytes, _ start: Int) -> Step {
        var index = start
        while index < bytes.count, bytes[index] != .equals {
            switch bytes[index] {
            case .greaterThan:
                let isEmptyElement = bytes[index - 1] == .slash
                note(.missingValue, start)
                return .end(.complete(index + 1, isEmptyElement: isEmptyElement))
            case .lessThan:
                return .end(.unclosed(index))
            case .quote, .apostrophe:
                note(.strayCharacter, index)
            default: break
            }
            index += 1
        }
        guard index < bytes.count else { return .end(.incomplete) }
        let end = TagLexer.trimEnd(bytes, start, index)
        if end == start { note(.strayCharacter, start) }
        if bytes[start..<end].contains(where: \.isXMLSpace) { note(.spacedName, start) }
        return .next(index)
    }

    private mutating func note(_ malformation: Malformation, _ index: Int) {
        notes.note(malformation, at: Int64(index))
    }

    @inline(__always)
    private static func skipSpace(_ bytes: Bytes, _ start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        return index
    }

    private static func trimEnd(_ bytes: Bytes, _ start: Int, _ end: Int) -> Int {
        var end = end
        while end > start, bytes[end - 1].isXMLSpace { end -= 1 }
        return end
    }

    private static func field(_ bytes: Bytes, _ start: Int, _ end: Int) -> RecordFields.Field? {
        RecordFields.Field.allCases.first { bytes.matches($0.name, start, end) }
    }
}

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
