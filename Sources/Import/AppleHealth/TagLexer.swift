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
