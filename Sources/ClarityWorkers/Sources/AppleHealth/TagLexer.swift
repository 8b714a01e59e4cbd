/// How a tag ends.
enum TagEnd {
    /// The byte after `>`, and whether the tag is an empty element.
    case complete(Int, isEmptyElement: Bool)
    /// The `<` of the next tag, which begins before this one has ended.
    case unclosed(Int)
    case incomplete
}

/// Finds the attributes and the end of one tag.
///
/// It takes what an export has been seen to hold, not what XML allows: `>` and `<` in values, names
/// with spaces, values without quotes, the same attribute twice. A tag that does not end in the
/// given bytes is lexed again from its beginning when there are more of them, so that what it
/// notes must be taken only from a tag that ended.
struct TagLexer<Attributes: TagAttributes> {
    private(set) var attributes = Attributes(start: 0)
    /// What was odd in the last tag, by its index in the given bytes.
    private(set) var notes = MalformationTally()

    /// Lexes from `start`, the byte after the element's name.
    mutating func lex(_ bytes: Bytes, from start: Int) -> TagEnd {
        attributes = Attributes(start: start)
        if !notes.isEmpty { notes = MalformationTally() }
        var index = start
        while true {
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
                switch attribute(bytes, index) {
                case .next(let next): index = next
                case .end(let end): return end
                }
            }
        }
    }

    private enum Step {
        case next(Int)
        case end(TagEnd)
    }

    private mutating func attribute(_ bytes: Bytes, _ start: Int) -> Step {
        var equals = bytes.firstIndex(of: .equals, from: start) ?? bytes.count
        let field = TagLexer.field(bytes, start, equals)
        if field == nil {
            switch unknownName(bytes, start, equals) {
            case .next(let found): equals = found
            case .end(let end): return .end(end)
            }
        }
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
        let name = ByteRange(start: start, end: TagLexer.trimEnd(bytes, start, equals))
        let known = field ?? TagLexer.field(bytes, name.start, name.end)
        if !attributes.keep(bytes, known, name: name, value: range) {
            note(.duplicateAttribute, start)
        }
        return .next(next)
    }

    /// Looks closer at a name that is not one of the known ones, and finds its `=`.
    private mutating func unknownName(_ bytes: Bytes, _ start: Int, _ equals: Int) -> Step {
        for index in start..<equals {
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
        }
        guard equals < bytes.count else { return .end(.incomplete) }
        let end = TagLexer.trimEnd(bytes, start, equals)
        if end == start { note(.strayCharacter, start) }
        if bytes[start..<end].contains(where: \.isXMLSpace) { note(.spacedName, start) }
        return .next(equals)
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

    @inline(__always)
    private static func field(_ bytes: Bytes, _ start: Int, _ end: Int) -> RecordFields.Field? {
        switch end - start {
        case 3: return bytes.matches("key", start, end) ? .key : nil
        case 4:
            if bytes.matches("type", start, end) { return .type }
            return bytes.matches("unit", start, end) ? .unit : nil
        case 5: return bytes.matches("value", start, end) ? .value : nil
        case 6: return bytes.matches("device", start, end) ? .device : nil
        case 7: return bytes.matches("endDate", start, end) ? .end : nil
        case 9: return bytes.matches("startDate", start, end) ? .start : nil
        case 10: return bytes.matches("sourceName", start, end) ? .source : nil
        case 12: return bytes.matches("creationDate", start, end) ? .created : nil
        case 13: return bytes.matches("sourceVersion", start, end) ? .version : nil
        default: return nil
        }
    }
}
