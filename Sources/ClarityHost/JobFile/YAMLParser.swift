import Platform
import CYAML

/// A node of a YAML document with its position.
struct YAMLNode: Hashable, Sendable {
    /// A position in the file; line and column count from 1, the column in characters.
    struct Position: Hashable, Comparable, Sendable {
        var line: Int
        var column: Int
        /// Whether this is the position of a key: its mapping may begin at the same place.
        var isKey = false
        /// The number of the account's file, from 1; 0 for the job file.
        var file = 0

        static func < (a: Position, b: Position) -> Bool {
            (a.file, a.line, a.column) < (b.file, b.line, b.column)
        }
    }

    /// A key of a mapping and its value.
    struct Entry: Hashable, Sendable {
        var key: String
        var keyPosition: Position
        var value: YAMLNode
    }

    /// The kind and contents of a node.
    enum Content: Hashable, Sendable {
        /// Text; `isPlain` is true without quotes, so that `true` is a boolean.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// Entries in the order of the file, with unique keys.
        case mapping([Entry])
    }

    var position: Position
    var content: Content

    /// The noun for this node, for people: `a mapping`, `a list`, `a number`, `text`.
    var noun: String {
        switch content {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .scalar(_, isPlain: false): "text"
        case .scalar where isNull: "empty"
        case .scalar("true", _), .scalar("false", _): "a boolean"
        case .scalar(let text, _): Int(text) == nil ? "text" : "a number"
        }
    }

    /// Whether the node has no value: it is empty, `~` or `null` without quotes.
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }

    /// Returns the value of `key`, if this is a mapping that has it.
    subscript(key: String) -> YAMLNode? {
        guard case .mapping(let entries) = content else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// All keys and scalars of the tree.
    var texts: [String] {
        switch content {
        case .scalar(let text, _): [text]
        case .sequence(let nodes): nodes.flatMap(\.texts)
        case .mapping(let entries): entries.flatMap { [$0.key] + $0.value.texts }
        }
    }

    /// The text, if this is a scalar with a value.
    var text: String? {
        guard case .scalar(let text, _) = content, !isNull else { return nil }
        return text
    }
}

extension YAMLNode {
    /// Returns the paths of the keys and values at some positions, such as `jobs[2].schedule.cron`.
    ///
    /// The root has no path, and neither has a position without a key or value.
    func paths(of places: Set<Position>) -> [Position: String] {
        var paths: [Position: String] = [:]
        collect(places, at: "", into: &paths)
        return paths
    }

    private func collect(
        _ places: Set<Position>, at path: String, into paths: inout [Position: String]
    ) {
        if !path.isEmpty, places.contains(position) { paths[position] = path }
        switch content {
        case .scalar: break
        case .sequence(let nodes):
            for (index, node) in nodes.enumerated() {
                node.collect(places, at: "\(path)[\(index)]", into: &paths)
            }
        case .mapping(let entries):
            for entry in entries {
                let key = printable(entry.key)
                let inner = path.isEmpty ? key : "\(path).\(key)"
                if places.contains(entry.keyPosition) { paths[entry.keyPosition] = inner }
                entry.value.collect(places, at: inner, into: &paths)
            }
        }
    }
}

/// Parses the bytes of a YAML file to a tree, within bounds.
///
/// Accepts one document of mappings, lists and scalars. Refuses anchors, aliases and tags: a job
/// file needs none of them, and without them a file cannot expand beyond its own size.
struct YAMLParser: ~Copyable {
    /// The maximum size of a file: 1 MiB.
    static let largestFileBytes = 1 << 20
    /// The maximum depth of nested mappings and lists.
    static let deepestLevel = 32
    /// The maximum number of keys and values together.
    static let mostNodes = 100_000

    /// The parsed contents of a file.
    struct Document: Sendable {
        var root: YAMLNode
        /// The faults of duplicate keys; the tree has the first of each.
        var duplicateKeys: [JobFileFault]
    }

    private enum Content {
        case scalar(String, isPlain: Bool)
        case sequenceStart
        case mappingStart
        /// The end of a mapping, list, document or the stream, or the start of the latter two.
        case other(yaml_event_type_t)
    }

    private struct Event {
        var position: YAMLNode.Position
        var content: Content
    }

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// libyaml reads from this buffer as long as the parser exists.
    private let input: UnsafeMutablePointer<UInt8>
    private let size: Int
    private let end: YAMLNode.Position
    private let file: Int
    private var nodeCount = 0
    private var duplicateKeys: [JobFileFault] = []
    /// The key at the top of the file whose value is being read; empty before the first one.
    private var topKey = ""
    /// Where the last quoted text starts and ends, if that is not the same line.
    private var longQuote: (start: YAMLNode.Position, end: YAMLNode.Position)?

    /// Parses a whole file.
    ///
    /// - Parameter file: the number of the file in all positions.
    /// - Throws: the first fault that leaves the tree unclear; a duplicate key does not.
    static func parse(_ bytes: [UInt8], file: Int = 0) throws(JobFileFault) -> Document {
        guard bytes.count <= largestFileBytes else { throw tooLarge }
        let end = try checkCharacters(bytes)
        // libyaml takes a byte order mark for a character where it is told the encoding.
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        var parser = try YAMLParser(text, end: end, file: file)
        return try parser.document()
    }

    /// The fault of a file that exceeds the maximum size.
    static let tooLarge = JobFileFault(
        line: 0, column: 0, message: "the file has more than 1 MiB, the most a job file may have")

    private init(
        _ bytes: [UInt8], end: YAMLNode.Position, file: Int
    ) throws(JobFileFault) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            throw JobFileFault(line: 0, column: 0, message: "there is no memory left to read it")
        }
        // Allocate one more byte, so that libyaml gets an address even for an empty file.
        let input = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count + 1)
        input.initialize(repeating: 0, count: bytes.count + 1)
        input.update(from: bytes, count: bytes.count)
        yaml_parser_set_input_string(parser, input, bytes.count)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        self.parser = parser
        self.input = input
        size = bytes.count
        self.end = end
        self.file = file
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    private mutating func document() throws(JobFileFault) -> Document {
        _ = try next()
        guard case .other(YAML_DOCUMENT_START_EVENT) = try next().content else {
            throw JobFileFault(
                line: 0, column: 0,
                message: "the file is empty, wanted `version: 1` and `jobs`")
        }
        let root = try node(try next(), level: 0)
        _ = try next()
        let end = try next()
        guard case .other(YAML_STREAM_END_EVENT) = end.content else {
            throw JobFileFault(
                end.position, "a second document starts here, wanted one",
                help: "remove the `---` between them")
        }
        return Document(root: root, duplicateKeys: duplicateKeys)
    }

    /// Parses the node that starts with `event`, and everything below it.
    private mutating func node(_ event: Event, level: Int) throws(JobFileFault) -> YAMLNode {
        nodeCount += 1
        guard nodeCount <= Self.mostNodes else {
            throw JobFileFault(
                event.position,
                "the file holds more than \(Self.mostNodes) keys and values, the most it may")
        }
        switch event.content {
        case .scalar(let text, let isPlain):
            if isPlain, let first = text.first, "“”„‘’".contains(first) {
                throw JobFileFault(
                    event.position,
                    "\(shown(text)) begins with a curly quote, wanted a straight one")
            }
            return YAMLNode(position: event.position, content: .scalar(text, isPlain: isPlain))
        case .sequenceStart, .mappingStart:
            guard level < Self.deepestLevel else {
                throw JobFileFault(
                    event.position,
                    "more than \(Self.deepestLevel) mappings and lists stand inside one another")
            }
            if case .sequenceStart = event.content {
                return try sequence(at: event.position, level: level + 1)
            }
            return try mapping(at: event.position, level: level + 1)
        case .other:
            throw JobFileFault(event.position, "a value is missing here")
        }
    }

    private mutating func sequence(
        at position: YAMLNode.Position, level: Int
    ) throws(JobFileFault) -> YAMLNode {
        var nodes: [YAMLNode] = []
        while true {
            let event = try next()
            if case .other(YAML_SEQUENCE_END_EVENT) = event.content { break }
            nodes.append(try node(event, level: level))
        }
        return YAMLNode(position: position, content: .sequence(nodes))
    }

    private mutating func mapping(
        at position: YAMLNode.Position, level: Int
    ) throws(JobFileFault) -> YAMLNode {
        var entries: [YAMLNode.Entry] = []
        var known: [String: YAMLNode.Position] = [:]
        var duplicates: [JobFileFault] = []
        var hasTwoIDs = false
        while true {
            let event = try next()
            if case .other(YAML_MAPPING_END_EVENT) = event.content { break }
            guard let key = try node(event, level: level).text else {
                throw JobFileFault(event.position, "a key must be text")
            }
            if level == 1 { topKey = key }
            let value = try node(try next(), level: level)
            var position = event.position
            position.isKey = true
            if let first = known[key] {
                var fault = JobFileFault(
                    position, "duplicate key \(shown(key)); first at line \(first.line)")
                fault.place = first
                duplicates.append(fault)
                // A job is an entry of a list in the mapping of the file.
                hasTwoIDs = hasTwoIDs || key == "id" && level == 3 && topKey == "jobs"
                continue
            }
            known[key] = position
            entries.append(YAMLNode.Entry(key: key, keyPosition: position, value: value))
        }
        if hasTwoIDs, var first = duplicates.first {
            first.help = "start each job with `- id:`"
            duplicates = [first]
        }
        duplicateKeys += duplicates
        return YAMLNode(position: position, content: .mapping(entries))
    }

    private mutating func next() throws(JobFileFault) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else {
            throw fault()
        }
        defer { yaml_event_delete(&event) }
        longQuote = nil
        let position = position(event.start_mark)
        let anchor: UnsafeMutablePointer<yaml_char_t>?
        let tag: UnsafeMutablePointer<yaml_char_t>?
        let content: Content
        switch event.type {
        case YAML_ALIAS_EVENT:
            throw JobFileFault(position, "aliases (`*`) are not allowed in a job file")
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            (anchor, tag) = (scalar.anchor, scalar.tag)
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            guard !bytes.contains(0) else {
                throw JobFileFault(position, "the escape `\\0` is not allowed in a job file")
            }
            content = .scalar(
                String(decoding: bytes, as: UTF8.self),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
            let isQuoted = [
                YAML_SINGLE_QUOTED_SCALAR_STYLE, YAML_DOUBLE_QUOTED_SCALAR_STYLE,
            ].contains(scalar.style)
            let isLong = isQuoted && event.start_mark.line < event.end_mark.line
            if isLong { longQuote = (position, self.position(event.end_mark)) }
        case YAML_SEQUENCE_START_EVENT:
            (anchor, tag) = (event.data.sequence_start.anchor, event.data.sequence_start.tag)
            content = .sequenceStart
        case YAML_MAPPING_START_EVENT:
            (anchor, tag) = (event.data.mapping_start.anchor, event.data.mapping_start.tag)
            content = .mappingStart
        default:
            (anchor, tag) = (nil, nil)
            content = .other(event.type)
        }
        if anchor != nil {
            throw JobFileFault(position, "anchors (`&`) are not allowed in a job file")
        }
        if tag != nil {
            throw JobFileFault(position, "tags (`!`) are not allowed in a job file")
        }
        return Event(position: position, content: content)
    }

    /// Returns the fault at which libyaml has stopped.
    private func fault() -> JobFileFault {
        let place = position(parser.pointee.problem_mark)
        // Text right behind a quote over several lines: it was to end in the line of its start.
        if let quote = longQuote, quote.end.line == place.line, quote.end.column <= place.column {
            return JobFileFault(
                quote.start, "the quote that starts here is not closed before line \(place.line)",
                help: "close it where its text ends")
        }
        return syntaxFault(
            parser.pointee.problem.map { String(cString: $0) },
            context: parser.pointee.context.map { String(cString: $0) },
            at: place, contextAt: position(parser.pointee.context_mark), topKey: topKey
        ) { number in line(number) }
    }

    /// Returns a line by its number, from 1; empty if there is none.
    private func line(_ number: Int) -> String {
        let bytes = UnsafeBufferPointer(start: input, count: size)
        let lines = bytes.split(
            separator: UInt8(ascii: "\n"), maxSplits: max(number, 0),
            omittingEmptySubsequences: false)
        guard lines.indices.contains(number - 1) else { return "" }
        return String(decoding: lines[number - 1], as: UTF8.self)
    }

    /// Returns the position of a mark.
    ///
    /// libyaml ends an unterminated last line, and then names a line that no editor shows.
    private func position(_ mark: yaml_mark_t) -> YAMLNode.Position {
        var position = min(
            end, YAMLNode.Position(line: mark.line + 1, column: mark.column + 1))
        position.file = file
        return position
    }
}
