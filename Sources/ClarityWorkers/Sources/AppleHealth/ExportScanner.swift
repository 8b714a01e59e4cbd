/// Finds the records in the text of an export, piece by piece.
///
/// The document type is never interpreted: whatever stands before `<HealthData` is passed over, since
/// the one of iOS 16 is no XML, and since no entity or default declared there can then do harm.
/// After it only tags count. Attributes are read in place and nothing is kept but counts, so the
/// memory is that of the longest tag.
struct ExportScanner<Handler: ExportHandler> {
    private enum State {
        /// Before the root, with whether a declaration is open.
        case prologue(inDeclaration: Bool)
        case body
        /// In a comment, `-->`, or a CDATA section, `]]>`; then back to before the root or to the
        /// body.
        case skipping(until: UInt8, inPrologue: Bool)
        /// In a tag too long to read, inside a value when `quote` is not 0.
        case oversized(quote: UInt8, last: UInt8, opensCorrelation: Bool)
    }

    private var state = State.prologue(inDeclaration: false)
    private var lexer = TagLexer<RecordFields>()
    private var handler: Handler
    private var tally = MalformationTally()
    private var elements = ElementTally()
    private var hasRoot = false
    private var isRootOpen = false
    private var inCorrelation = false
    /// Whether a record of the top level is open.
    private var inRecord = false
    /// Where the last word of text between elements ended, to know its continuation.
    private var strayTextEnd: Int64 = -1
    /// Where the first byte of the next piece lies in the text.
    private(set) var position: Int64 = 0

    init(mapper: Handler) { handler = mapper }

    /// Takes what is complete at the front of `bytes` and tells how much that was; the rest is to
    /// be given again, with more behind it.
    ///
    /// - Throws: what `each` throws.
    mutating func consume(_ bytes: Bytes, _ each: SampleTaker) throws -> Int {
        var index = 0
        while index < bytes.count, let next = try step(bytes, index, each) { index = next }
        position += Int64(index)
        return index
    }

    /// Passes over the tag at the front of `bytes`, which is longer than can be held; what
    /// follows of it is passed over as it comes.
    ///
    /// - Throws: what `each` throws.
    mutating func abandonTag(_ bytes: Bytes, _ each: SampleTaker) throws {
        tally.note(.oversizedTag, at: position)
        let nameEnd = bytes.firstIndex { $0.endsName } ?? bytes.count
        let element = ExportElement(bytes, 1, nameEnd)
        if bytes.count > 1, bytes[1].beginsName { elements.count(element) }
        if element == .record { try unreadableRecord(bytes, 0, .oversizedTag, each) }
        state = .oversized(quote: 0, last: 0, opensCorrelation: element == .correlation)
        position += Int64(try skipOversized(bytes, 0, each))
    }

    /// Ends the text and hands over what waited for its end.
    ///
    /// - Parameter rest: How many bytes were never consumed.
    /// - Throws: what `each` throws.
    mutating func finish(rest: Int, _ each: SampleTaker) throws -> SourceReport {
        let start = position
        position += Int64(rest)
        var report = SourceReport()
        var tagBegan = false
        if case .body = state { tagBegan = rest > 0 }
        if inRecord { try handler.endRecord(each) }
        if inCorrelation { closeCorrelation() }
        try handler.finish(each)
        handler.write(to: &report)
        tally.write(to: &report)
        elements.write(to: &report)
        report.bytesRead = position
        report.brokeAt = ending(rest: rest).map {
            SourceBreak(byteOffset: tagBegan ? start : position, reason: $0)
        }
        return report
    }

    private func ending(rest: Int) -> String? {
        switch state {
        case .skipping(until: UInt8(ascii: "-"), _): "the text ends inside a comment"
        case .skipping: "the text ends inside a CDATA section"
        case .oversized: "the text ends inside a tag"
        case .prologue: "the text ends before its root `HealthData`"
        case .body:
            if rest > 0 {
                "the text ends inside a tag"
            } else if isRootOpen {
                "the text ends before `</HealthData>`"
            } else {
                nil
            }
        }
    }

    /// Takes one token at `index`; `nil` when it does not end in these bytes.
    @inline(__always)
    private mutating func step(
        _ bytes: Bytes, _ index: Int, _ each: SampleTaker
    ) throws -> Int? {
        switch state {
        case .body: try body(bytes, index, each)
        case .prologue(let inDeclaration): prologue(bytes, index, inDeclaration)
        case .skipping(let mark, let inPrologue): skip(bytes, index, mark, inPrologue)
        case .oversized: try skipOversized(bytes, index, each)
        }
    }

    private mutating func prologue(_ bytes: Bytes, _ start: Int, _ inDeclaration: Bool) -> Int? {
        guard bytes[start] == .lessThan else {
            if bytes[start] == .greaterThan { state = .prologue(inDeclaration: false) }
            return start + 1
        }
        // The longest that must be told apart is `<HealthData` and the byte that ends the name.
        guard start + 12 <= bytes.count else { return nil }
        if bytes.hasPrefix("<HealthData", at: start), bytes[start + 11].endsName {
            state = .body
            return start
        }
        if bytes.hasPrefix("<!--", at: start) {
            state = .skipping(until: UInt8(ascii: "-"), inPrologue: true)
            return start + 4
        }
        if inDeclaration { note(.documentType, start) }
        if bytes.hasPrefix("<!ENTITY", at: start) { note(.entityDeclaration, start) }
        // The document type itself stays open around its declarations.
        state = .prologue(inDeclaration: !bytes.hasPrefix("<!DOCTYPE", at: start))
        return start + 1
    }

    private mutating func body(
        _ bytes: Bytes, _ start: Int, _ each: SampleTaker
    ) throws -> Int? {
        if bytes[start] != .lessThan { return text(bytes, start) }
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case let byte where byte.beginsName: return try startTag(bytes, start, each)
        case .slash: return try endTag(bytes, start, each)
        case UInt8(ascii: "?"):
            return bytes.firstIndex(of: .greaterThan, from: start).map { $0 + 1 }
        case UInt8(ascii: "!"): return declaration(bytes, start)
        default:
            note(.strayText, start)
            return start + 1
        }
    }

    /// Passes over the text up to the next tag: white space, or what does not belong there.
    private mutating func text(_ bytes: Bytes, _ start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        guard index < bytes.count, bytes[index] != .lessThan else { return index }
        // One note for each word, wherever the pieces of the text are cut.
        let isContinued = strayTextEnd == position + Int64(index)
        if !isContinued { note(.strayText, index) }
        while index < bytes.count, bytes[index] != .lessThan, !bytes[index].isXMLSpace {
            index += 1
        }
        strayTextEnd = position + Int64(index)
        return index
    }

    private mutating func declaration(_ bytes: Bytes, _ start: Int) -> Int? {
        guard start + 9 <= bytes.count else { return nil }
        if bytes.hasPrefix("<!--", at: start) {
            state = .skipping(until: UInt8(ascii: "-"), inPrologue: false)
            return start + 4
        }
        if bytes.hasPrefix("<![CDATA[", at: start) {
            state = .skipping(until: UInt8(ascii: "]"), inPrologue: false)
            return start + 9
        }
        guard let end = bytes.firstIndex(of: .greaterThan, from: start) else { return nil }
        note(.documentType, start)
        return end + 1
    }

    /// Passes over a comment or a CDATA section; its last two bytes are kept for the next piece.
    private mutating func skip(
        _ bytes: Bytes, _ start: Int, _ mark: UInt8, _ inPrologue: Bool
    ) -> Int? {
        var index = start
        while let end = bytes.firstIndex(of: .greaterThan, from: index) {
            if end >= start + 2, bytes[end - 1] == mark, bytes[end - 2] == mark {
                state = inPrologue ? .prologue(inDeclaration: false) : .body
                return end + 1
            }
            index = end + 1
        }
        return bytes.count - start > 2 ? bytes.count - 2 : nil
    }

    private mutating func startTag(
        _ bytes: Bytes, _ start: Int, _ each: SampleTaker
    ) throws -> Int? {
        var nameEnd = start + 2
        while nameEnd < bytes.count, !bytes[nameEnd].endsName, bytes[nameEnd] != .lessThan {
            nameEnd += 1
        }
        guard nameEnd < bytes.count else { return nil }
        let element = ExportElement(bytes, start + 1, nameEnd)
        let end: TagEnd
        switch element {
        case .record, .metadata, .beat:
            end = lexer.lex(bytes, from: nameEnd)
            if case .incomplete = end { return nil }
            if !lexer.notes.isEmpty { tally.add(lexer.notes, position: position) }
        default:
            var rare = TagLexer<AttributeList>()
            end = rare.lex(bytes, from: nameEnd)
            if case .incomplete = end { return nil }
            if !rare.notes.isEmpty { tally.add(rare.notes, position: position) }
            if case .complete = end { describe(element, bytes, rare.attributes) }
        }
        elements.count(element)
        switch end {
        case .incomplete: return nil
        case .unclosed(let next):
            audit(bytes, start, next)
            note(.unclosedTag, start)
            if element == .record {
                try unreadableRecord(bytes, start, .unclosedTag, each)
            } else {
                try open(element, start, isEmptyElement: false, each)
            }
            return next
        case .complete(let next, let isEmptyElement):
            audit(bytes, start, next)
            switch element {
            case .record: try record(bytes, start, isOpen: !isEmptyElement, each)
            case .metadata:
                let fields = lexer.attributes
                if inRecord, fields.has(.key), fields.has(.value) {
                    handler.metadata(bytes, key: fields.key, value: fields.value)
                }
            case .beat: break
            default: try open(element, start, isEmptyElement: isEmptyElement, each)
            }
            return next
        }
    }

    @inline(__always)
    private mutating func record(
        _ bytes: Bytes, _ start: Int, isOpen: Bool, _ each: SampleTaker
    ) throws {
        if inCorrelation {
            handler.nestedRecord(bytes, lexer.attributes)
        } else {
            try endUnclosedRecord(start, each)
            inRecord = isOpen
            try handler.record(bytes, lexer.attributes, isOpen: isOpen, each)
        }
    }

    private mutating func unreadableRecord(
        _ bytes: Bytes, _ start: Int, _ refusal: RecordMapper.Refusal, _ each: SampleTaker
    ) throws {
        if inCorrelation {
            handler.nestedRecord(bytes, nil)
        } else {
            try endUnclosedRecord(start, each)
            handler.refuse(refusal)
        }
    }

    /// Opens an element that is not a record, nor one inside a record.
    private mutating func open(
        _ element: ExportElement, _ start: Int, isEmptyElement: Bool, _ each: SampleTaker
    ) throws {
        switch element {
        case .correlation: try openCorrelation(start, isEmptyElement, each)
        case .root: try openRoot(start, isEmptyElement, each)
        case let element where element.isSibling:
            try endUnclosedRecord(start, each)
            endUnclosedCorrelation(start)
        default: break
        }
    }

    /// Hands on what an element says in its attributes.
    private mutating func describe(
        _ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList
    ) {
        switch element {
        case .activitySummary:
            handler.activitySummary(bytes, SummaryFields(bytes, attributes))
        case .exportDate:
            if let value = attributes.value(of: "value", in: bytes) {
                handler.exportDate(bytes.slice(value))
            }
        default: break
        }
    }

    private mutating func endTag(
        _ bytes: Bytes, _ start: Int, _ each: SampleTaker
    ) throws -> Int? {
        var nameEnd = start + 2
        while nameEnd < bytes.count, !bytes[nameEnd].endsName, bytes[nameEnd] != .lessThan {
            nameEnd += 1
        }
        var end = nameEnd
        while end < bytes.count, bytes[end] != .greaterThan, bytes[end] != .lessThan { end += 1 }
        guard end < bytes.count else { return nil }
        if bytes[end] == .lessThan { note(.unclosedTag, start) }
        switch ExportElement(bytes, start + 2, nameEnd) {
        case .correlation: if inCorrelation { closeCorrelation() }
        case .record:
            if inRecord, !inCorrelation {
                inRecord = false
                try handler.endRecord(each)
            }
        case .root:
            try endUnclosedRecord(start, each)
            endUnclosedCorrelation(start)
            isRootOpen = false
        default: break
        }
        return bytes[end] == .lessThan ? end : end + 1
    }

    private mutating func openRoot(
        _ start: Int, _ isEmptyElement: Bool, _ each: SampleTaker
    ) throws {
        try endUnclosedRecord(start, each)
        if hasRoot { note(.secondRoot, start) }
        hasRoot = true
        isRootOpen = !isEmptyElement
    }

    private mutating func openCorrelation(
        _ start: Int, _ isEmptyElement: Bool, _ each: SampleTaker
    ) throws {
        try endUnclosedRecord(start, each)
        endUnclosedCorrelation(start)
        inCorrelation = !isEmptyElement
    }

    private mutating func closeCorrelation() {
        handler.closeCorrelation()
        inCorrelation = false
    }

    private mutating func endUnclosedCorrelation(_ start: Int) {
        guard inCorrelation else { return }
        note(.unclosedCorrelation, start)
        closeCorrelation()
    }

    @inline(__always)
    private mutating func endUnclosedRecord(_ start: Int, _ each: SampleTaker) throws {
        guard inRecord else { return }
        inRecord = false
        note(.unclosedRecord, start)
        try handler.endRecord(each)
    }

    private mutating func skipOversized(
        _ bytes: Bytes, _ start: Int, _ each: SampleTaker
    ) throws -> Int {
        guard case .oversized(var quote, var last, let opensCorrelation) = state else {
            return start
        }
        for index in start..<bytes.count {
            let byte = bytes[index]
            if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == .quote || byte == .apostrophe {
                quote = byte
            } else if byte == .greaterThan {
                state = .body
                if opensCorrelation {
                    try openCorrelation(index, last == .slash, each)
                }
                return index + 1
            }
            last = byte
        }
        state = .oversized(quote: quote, last: last, opensCorrelation: opensCorrelation)
        return bytes.count
    }

    private mutating func note(_ malformation: Malformation, _ index: Int) {
        tally.note(malformation, at: position + Int64(index))
    }

    /// Looks at the bytes of a tag that has ended.
    private mutating func audit(_ bytes: Bytes, _ start: Int, _ end: Int) {
        TagAudit.audit(bytes, from: start + 1, to: end, position: position, into: &tally)
    }
}
