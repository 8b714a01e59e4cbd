/// Finds the records in the text of an export, piece by piece.
///
/// The document type is never interpreted: everything before `<HealthData` is skipped. That of iOS
/// 16 is not XML, and no entity or default that is declared there can then do harm. After it only
/// tags count. Attributes are read in place and only counts are kept, so the scanner needs the
/// memory of the longest tag.
struct ExportScanner<Handler: ExportHandler> {
    private enum State {
        /// Before the root; `inDeclaration` says whether a declaration is open.
        case prologue(inDeclaration: Bool)
        case body
        /// In a comment (until `-->`) or a CDATA section (until `]]>`); then back to the prologue
        /// or the body.
        case skipping(until: UInt8, inPrologue: Bool)
        /// In a tag that is too long to read; inside a value if `quote` is not 0.
        case oversized(quote: UInt8, last: UInt8, ExportElement)
    }

    private var state = State.prologue(inDeclaration: false)
    private var lexer = TagLexer<RecordFields>()
    private var nesting: ExportNesting<Handler>
    /// The end of the last word of text between elements, to recognise its continuation.
    private var strayTextEnd: Int64 = -1
    /// The offset in the text of the next piece's first byte.
    private(set) var position: Int64 = 0

    init(mapper: Handler) { nesting = ExportNesting(mapper) }

    /// The number of records so far, wherever they are.
    var records: Int64 { nesting.records }
    /// What the text so far says about the files beside it.
    var facts: ExportFacts { nesting.facts }

    /// Processes what is complete at the front of `bytes` and returns its length. The rest must be
    /// passed again, with more behind it.
    ///
    /// - Throws: the errors of `each`.
    mutating func consume(_ bytes: Bytes, _ each: SampleHandler) throws -> Int {
        var index = 0
        while index < bytes.count, let next = try step(bytes, index, each) { index = next }
        position += Int64(index)
        return index
    }

    /// Skips the tag at the front of `bytes`, which is longer than the window can hold. The rest of
    /// the tag is skipped as it comes.
    ///
    /// - Throws: the errors of `each`.
    mutating func abandonTag(_ bytes: Bytes, _ each: SampleHandler) throws {
        note(.oversizedTag, 0)
        let nameEnd = bytes.firstIndex { $0.endsName } ?? bytes.count
        let element = ExportElement(bytes, 1, nameEnd)
        if bytes.count > 1, bytes[1].beginsName { nesting.count(element) }
        if element == .record {
            try nesting.unreadableRecord(bytes, .oversizedTag, at: position, each)
        }
        state = .oversized(quote: 0, last: 0, element)
        position += Int64(try skipOversized(bytes, 0, each))
    }

    /// Ends the text and passes on the samples that waited for its end.
    ///
    /// - Parameters:
    ///   - rest: The number of bytes that were never consumed.
    ///   - isBroken: Whether the source broke off before its end.
    /// - Throws: the errors of `each`.
    mutating func finish(
        rest: Int, isBroken: Bool, _ each: SampleHandler
    ) throws -> SourceReport {
        let start = position
        position += Int64(rest)
        var report = SourceReport()
        var tagBegan = false
        if case .body = state { tagBegan = rest > 0 }
        let ending = ending(rest: rest)
        try nesting.finish(&report, isWhole: ending == nil && !isBroken, each)
        report.bytesRead = position
        report.brokeAt = ending.map {
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
            } else if nesting.isRootOpen {
                "the text ends before `</HealthData>`"
            } else {
                nil
            }
        }
    }

    /// Processes one token at `index` and returns its end; `nil` if it does not end in these bytes.
    @inline(__always)
    private mutating func step(
        _ bytes: Bytes, _ index: Int, _ each: SampleHandler
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
        // The longest text to recognise is `<HealthData` and the byte that ends the name.
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
        _ bytes: Bytes, _ start: Int, _ each: SampleHandler
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

    /// Skips the text up to the next tag: white space, or text that does not belong there.
    private mutating func text(_ bytes: Bytes, _ start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        guard index < bytes.count, bytes[index] != .lessThan else { return index }
        // One note for each word, wherever the text is cut into pieces.
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

    /// Skips a comment or a CDATA section; its last two bytes are kept for the next piece.
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
        _ bytes: Bytes, _ start: Int, _ each: SampleHandler
    ) throws -> Int? {
        guard let (element, nameEnd) = name(bytes, start) else { return nil }
        switch element {
        case .record, .metadata, .beat: break
        default: return try rareTag(bytes, start, element, nameEnd, each)
        }
        let end = lexer.lex(bytes, from: nameEnd)
        if case .incomplete = end { return nil }
        if !lexer.notes.isEmpty { nesting.tally.add(lexer.notes, position: position) }
        guard case .complete(let next, let isEmptyElement) = end else {
            return try unclosedTag(bytes, start, element, end, each)
        }
        if !lexer.isPlain { audit(bytes, start, next) }
        nesting.count(element)
        switch element {
        case .record:
            try nesting.record(
                bytes, lexer.attributes, isOpen: !isEmptyElement, at: position + Int64(start), each)
        case .metadata: nesting.metadata(bytes, lexer.attributes)
        case .beat: nesting.beat(bytes, lexer.attributes)
        default: break
        }
        return next
    }

    /// Processes the tag of an element that is rare, and reads all of its attributes.
    private mutating func rareTag(
        _ bytes: Bytes, _ start: Int, _ element: ExportElement, _ nameEnd: Int,
        _ each: SampleHandler
    ) throws -> Int? {
        var lexer = TagLexer<AttributeList>()
        let end = lexer.lex(bytes, from: nameEnd)
        if case .incomplete = end { return nil }
        if !lexer.notes.isEmpty { nesting.tally.add(lexer.notes, position: position) }
        guard case .complete(let next, let isEmptyElement) = end else {
            return try unclosedTag(bytes, start, element, end, each)
        }
        audit(bytes, start, next)
        nesting.count(element, named: Bytes(rebasing: bytes[(start + 1)..<nameEnd]))
        try nesting.open(
            element, isEmptyElement: isEmptyElement, at: position + Int64(start), each)
        nesting.describe(element, bytes, lexer.attributes, isEmptyElement: isEmptyElement)
        return next
    }

    private mutating func unclosedTag(
        _ bytes: Bytes, _ start: Int, _ element: ExportElement, _ end: TagEnd, _ each: SampleHandler
    ) throws -> Int? {
        guard case .unclosed(let next) = end else { return nil }
        audit(bytes, start, next)
        note(.unclosedTag, start)
        nesting.count(element)
        let offset = position + Int64(start)
        if element == .record {
            try nesting.unreadableRecord(bytes, .unclosedTag, at: offset, each)
        } else {
            try nesting.open(element, isEmptyElement: false, at: offset, each)
        }
        return next
    }

    /// Returns the element that begins at `start` and the end of its name; `nil` if that is not in
    /// these bytes.
    @inline(__always)
    private func name(_ bytes: Bytes, _ start: Int) -> (ExportElement, Int)? {
        // Nearly all elements are one of these three, with attributes.
        if bytes.count - start > 32 {
            if bytes.reads("<Record ", at: start) { return (.record, start + 7) }
            if bytes.reads("<MetadataEntry ", at: start) { return (.metadata, start + 14) }
            if bytes.reads("<InstantaneousBeatsPerMinute ", at: start) {
                return (.beat, start + 28)
            }
        }
        var end = start + 2
        while end < bytes.count, !bytes[end].endsName, bytes[end] != .lessThan { end += 1 }
        return end < bytes.count ? (ExportElement(bytes, start + 1, end), end) : nil
    }

    private mutating func endTag(
        _ bytes: Bytes, _ start: Int, _ each: SampleHandler
    ) throws -> Int? {
        if bytes.hasPrefix("</Record>", at: start) {
            try nesting.close(.record, at: position + Int64(start), each)
            return start + 9
        }
        var nameEnd = start + 2
        while nameEnd < bytes.count, !bytes[nameEnd].endsName, bytes[nameEnd] != .lessThan {
            nameEnd += 1
        }
        var end = nameEnd
        while end < bytes.count, bytes[end] != .greaterThan, bytes[end] != .lessThan { end += 1 }
        guard end < bytes.count else { return nil }
        if bytes[end] == .lessThan { note(.unclosedTag, start) }
        try nesting.close(
            ExportElement(bytes, start + 2, nameEnd), at: position + Int64(start), each)
        return bytes[end] == .lessThan ? end : end + 1
    }

    private mutating func skipOversized(
        _ bytes: Bytes, _ start: Int, _ each: SampleHandler
    ) throws -> Int {
        guard case .oversized(var quote, var last, let element) = state else { return start }
        for index in start..<bytes.count {
            let byte = bytes[index]
            if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == .quote || byte == .apostrophe {
                quote = byte
            } else if byte == .greaterThan {
                state = .body
                try nesting.open(
                    element, isEmptyElement: last == .slash, at: position + Int64(index), each)
                return index + 1
            }
            last = byte
        }
        state = .oversized(quote: quote, last: last, element)
        return bytes.count
    }

    private mutating func note(_ malformation: Malformation, _ index: Int) {
        nesting.tally.note(malformation, at: position + Int64(index))
    }

    /// Checks the bytes of a tag that has ended.
    private mutating func audit(_ bytes: Bytes, _ start: Int, _ end: Int) {
        TagAudit.audit(bytes, from: start + 1, to: end, position: position, into: &nesting.tally)
    }
}

/// Receives the elements that the scanner finds.
///
/// The scanner is in charge of the text: tags, malformations, and the number of elements of each
/// name. The handler is in charge of their meaning. Bytes and ranges are valid until the call
/// returns.
protocol ExportHandler {
    /// What the text so far says about the files beside it.
    var facts: ExportFacts { get }

    /// Receives the time at which the phone wrote the export.
    mutating func exportDate(_ value: Bytes)

    /// Receives a record of the top level.
    ///
    /// - Parameter isOpen: Whether its metadata may follow; `endRecord` then follows too.
    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleHandler) throws

    /// Receives metadata of the open record of the top level.
    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange)

    /// Receives a beat of the open record of the top level: beats a minute, and the time on a clock
    /// of the phone's language, which is empty if there is none.
    mutating func beat(_ bytes: Bytes, rate: ByteRange, time: ByteRange)

    /// Receives an element inside the open record of the top level that nobody knows.
    mutating func unknownPart(_ bytes: Bytes, _ attributes: AttributeList)

    /// Begins an element that is neither a record nor part of one.
    mutating func begin(_ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList)

    /// Receives metadata of the innermost open element, if there is one.
    mutating func elementMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange)

    /// Ends the innermost open element of a name, if there is one.
    mutating func end(_ element: ExportElement)

    /// Ends all open elements, because something begins that cannot be inside them.
    mutating func endElements()

    /// Ends the open record of the top level, at its end tag or at an element that cannot be inside
    /// it.
    mutating func endRecord(_ each: SampleHandler) throws

    /// Receives a record inside a correlation; `fields` is `nil` if its tag could not be read.
    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?)

    /// Ends a correlation.
    mutating func closeCorrelation()

    /// Counts a record of the top level whose tag could not be read.
    mutating func refuse(_ refusal: RecordRefusal)

    /// Receives the summary of a day.
    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields)

    /// Passes on the samples that waited for the end.
    ///
    /// - Parameter isWhole: Whether the text is complete, so that nothing of it can be missing.
    mutating func finish(isWhole: Bool, _ each: SampleHandler) throws

    /// Adds the counts to `report`.
    func write(to report: inout SourceReport)
}

extension ExportHandler {
    var facts: ExportFacts { ExportFacts() }
}

/// The ranges of the needed attributes in the tag of an `ActivitySummary`.
struct SummaryFields {
    /// `dateComponents`, such as `2024-01-21`.
    var date: ByteRange?
    /// `activeEnergyBurned`.
    var energy: ByteRange?
    /// `activeEnergyBurnedUnit`.
    var energyUnit: ByteRange?
    /// `appleExerciseTime`, in minutes.
    var exercise: ByteRange?
    /// `appleStandHours`.
    var stand: ByteRange?

    init(_ bytes: Bytes, _ attributes: AttributeList) {
        date = attributes.value(of: "dateComponents", in: bytes)
        energy = attributes.value(of: "activeEnergyBurned", in: bytes)
        energyUnit = attributes.value(of: "activeEnergyBurnedUnit", in: bytes)
        exercise = attributes.value(of: "appleExerciseTime", in: bytes)
        stand = attributes.value(of: "appleStandHours", in: bytes)
    }
}
