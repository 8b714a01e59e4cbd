import Platform

/// How a value of a job file is written: the code that reads it, and a description as data.
struct ValueSchema<Value: Sendable>: Sendable {
    private let describe: @Sendable () -> ValueDescription
    /// Decodes a node; reports a fault and returns `nil` if it cannot.
    let decode: @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?

    /// - Parameter description: made only when it is asked for: a file without faults needs none.
    init(
        _ description: @autoclosure @escaping @Sendable () -> ValueDescription,
        decode: @escaping @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?
    ) {
        describe = description
        self.decode = decode
    }

    /// What the value looks like, for messages and references.
    var description: ValueDescription { describe() }

    /// Returns the schema for a value that is derived from this one.
    func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> ValueSchema<Other> {
        ValueSchema<Other>(description) { node, path, decoding in
            decode(node, path, &decoding).map(transform)
        }
    }

    /// Returns a schema for scalars; `read` decodes the text, and reports its faults.
    static func scalar(
        _ description: @autoclosure @escaping @Sendable () -> ValueDescription,
        read: @escaping @Sendable (String, YAMLNode, CodingPath, inout Decoding) -> Value?
    ) -> ValueSchema {
        ValueSchema(description()) { node, path, decoding in
            guard let text = node.text else {
                return decoding.reportMismatch(node, path, description())
            }
            return read(text, node, path, &decoding)
        }
    }
}

/// What a value in a job file may look like.
package indirect enum ValueDescription: Hashable, Sendable {
    case text
    case boolean
    case integer(ClosedRange<Int>)
    /// A number that may have a fraction, such as `0.5`.
    case number(ClosedRange<Double>)
    /// A duration with its unit, such as `90d`.
    case duration(ClosedRange<Duration>)
    /// A size in bytes with its unit, such as `500MiB`.
    case size(ClosedRange<Int64>)
    /// A percentage with its sign, such as `20%`.
    case percent(ClosedRange<Int>)
    case choice([String])
    /// An instant in the format of RFC 3339.
    case instant
    /// A date such as `2026-01-31`, or an instant.
    case dateOrInstant
    case cron
    case calendar
    case timeZone
    case path
    /// An https URL, or an http URL on this machine.
    case url
    /// An http or https URL.
    case webAddress
    /// An http or https URL, as for `url`, or that of an MQTT broker.
    case endpoint
    /// The URI of a PostgreSQL server and a database of its.
    case serverAddress
    case jobID
    /// The pseudonym of a wearer.
    case accountID
    /// A stretch of the day, such as `22:00-06:00`.
    case window
    /// A number of times in a span, such as `1 per 6h`.
    case rate
    case checkName
    case groupName
    /// The name of a network interface, or a pattern with `*` and `?`.
    case interfacePattern
    case list(of: ValueDescription)
    case mapping([KeyDescription])
    /// A mapping whose keys the file chooses, at most 100.
    case entries(named: ValueDescription, of: ValueDescription)
    /// One or the other.
    case either(ValueDescription, ValueDescription)
    /// A mapping whose keys depend on the value of `by`, a key of its own or one beside it.
    case variants(by: String, [String: [KeyDescription]])

    /// The noun for such a value, for people: `a mapping`, `a span of time`.
    var noun: String {
        switch self {
        case .text, .choice, .jobID, .accountID, .checkName, .groupName,
            .interfacePattern:
            "text"
        case .boolean: "`true` or `false`"
        case .integer: "a whole number"
        case .number: "a number"
        case .duration: "a span of time"
        case .size: "a size"
        case .percent: "a percentage"
        case .instant: "an instant"
        case .dateOrInstant: "a date or an instant"
        case .cron: "a cron expression"
        case .calendar: "a calendar expression"
        case .timeZone: "a time zone"
        case .path: "a path"
        case .url, .webAddress, .endpoint, .serverAddress: "a url"
        case .window: "a time of day"
        case .rate: "a rate"
        case .list: "a list"
        case .mapping, .entries, .variants: "a mapping"
        case .either(let one, let other): "\(one.noun) or \(other.noun)"
        }
    }
}

/// A key that a mapping of the job file may have.
package struct KeyDescription: Hashable, Sendable {
    package var name: String
    package var value: ValueDescription
    package var isRequired: Bool
    /// The value that counts if the file lacks the key, as the file would write it, or, for an
    /// option, as it is passed on; `nil` if the summary says what happens then.
    package var defaultValue: String?
    /// One line for people.
    package var summary: String

    /// The default value as the file would write it; `nil` if there is none.
    package var defaultText: String? {
        guard let defaultValue else { return nil }
        switch (value, Int64(defaultValue)) {
        case (.duration, let milliseconds?): return spanText(.milliseconds(milliseconds))
        case (.size, let bytes?): return sizeText(bytes)
        default: return defaultValue
        }
    }
}

/// What stands in a mapping for which a text is a near guess, by its key.
private let mappingExamples = [
    "backend": "url: https://clarity.example/api/v1", "constraints": "network: unmetered",
    "defaults": "timeout: 1h", "retry": "attempts: 1", "store": "directory: ~/clarity",
]

extension Decoding {
    /// Records that a node is not what its key requires, and returns `nil`.
    mutating func reportMismatch<Value>(
        _ node: YAMLNode, _ path: CodingPath, _ wanted: ValueDescription, help: String? = nil
    ) -> Value? {
        var help = help
        if help == nil, wanted.noun == "a mapping", node.text != nil, case .value(let key, _) = path
        {
            help = mappingExamples[key].map { "such as `\(key): { \($0) }`" }
        }
        return fault(
            node.position, "\(path.text) is \(node.noun), wanted \(wanted.noun)", help: help)
    }
}

extension ValueSchema {
    /// Reads a list; a duplicate text is a fault unless `repeats` is set.
    ///
    /// Entries with a fault are included without their value.
    static func list<Element>(
        of schema: ValueSchema<Element>, repeats: Bool = false
    ) -> ValueSchema where Value == [Field<Element>] {
        ValueSchema(.list(of: schema.description)) { node, path, decoding in
            guard case .sequence(let nodes) = node.content else {
                return decoding.reportMismatch(
                    node, path, .list(of: .text),
                    help: node.text.flatMap(bracketed).map { "write `\($0)`" }
                        ?? node.asEntry(of: schema.description, path.key))
            }
            return decoding.fields(nodes, of: schema, in: path, repeats: repeats)
        }
    }

    /// Reads one value, or a list of at most `most` values; a duplicate text is a fault.
    static func oneOrMore<Element>(
        _ schema: ValueSchema<Element>, atMost most: Int
    ) -> ValueSchema where Value == [Field<Element>] {
        ValueSchema(.either(schema.description, .list(of: schema.description))) {
            node, path, decoding in
            switch node.content {
            case .sequence(let nodes) where nodes.count > most:
                return decoding.fault(
                    node.position,
                    "\(path.text) has \(nodes.count) entries, wanted at most \(most)")
            case .sequence(let nodes):
                return decoding.fields(nodes, of: schema, in: path, repeats: false)
            case .scalar where !node.isNull:
                return [
                    Field(position: node.position, value: schema.decode(node, path, &decoding))
                ]
            case .scalar, .mapping:
                return decoding.reportMismatch(
                    node, path, .either(schema.description, .list(of: .text)))
            }
        }
    }
}

extension YAMLNode {
    /// What makes an entry of the list at `key` of this mapping; `nil` if that is not certain.
    fileprivate func asEntry(of element: ValueDescription, _ key: String) -> String? {
        guard case .mapping(let entries) = content, let first = entries.first else { return nil }
        let names: [String]
        switch element {
        case .mapping(let keys): names = keys.map(\.name)
        case .variants(let kind, let variants):
            names = [kind] + variants.values.joined().map(\.name)
        default: return nil
        }
        guard names.contains(first.key) else {
            return key == "jobs" ? "start each job with `- id:`" : nil
        }
        // Braces start before the first key.
        let hasBraces =
            (first.keyPosition.line, first.keyPosition.column) != (position.line, position.column)
        return hasBraces
            ? "put it into brackets: `[{ ... }]`"
            : "put `- ` before `\(printable(first.key)):`, and indent its other keys as far"
    }
}

extension Decoding {
    /// Decodes the entries of a list, one by one.
    fileprivate mutating func fields<Element>(
        _ nodes: [YAMLNode], of schema: ValueSchema<Element>, in path: CodingPath, repeats: Bool
    ) -> [Field<Element>] {
        var fields: [Field<Element>] = []
        var seen: Set<String> = []
        for (index, node) in nodes.enumerated() {
            let entryPath = CodingPath.entry(index + 1, of: path)
            let value = schema.decode(node, entryPath, &self)
            if !repeats, value != nil, let text = node.text, !seen.insert(text).inserted {
                report(node.position, "\(path.text) has \(shown(text)) twice")
            }
            fields.append(Field(position: node.position, value: value))
        }
        return fields
    }
}

/// Returns a list of this text alone, if YAML is certain to read it as one: letters, digits, `-`,
/// `_`, `.` and `/`, at most 60 characters.
func bracketed(_ text: String) -> String? {
    func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber)
    }
    guard text.count <= 60, text.first.map(isPlain) == true,
        text.allSatisfy({ isPlain($0) || "-_./".contains($0) })
    else { return nil }
    return "[\(text)]"
}

/// An entry of a mapping whose keys the file chooses.
struct NamedField<Name: Sendable, Value: Sendable>: Sendable {
    /// The key as written in the file.
    var key: String
    var keyPosition: YAMLNode.Position
    /// The decoded key; `nil` if it has a fault, which has then been reported.
    var name: Name?
    var field: Field<Value>
}

extension ValueSchema {
    /// The maximum number of entries of a mapping whose keys the file chooses.
    static var mostEntries: Int { 100 }

    /// Reads a mapping whose keys the file chooses: at most 100 entries, in the file's order.
    ///
    /// Entries with a fault are included, without the decoded name or value.
    ///
    /// - Parameters:
    ///   - path: returns the path that messages use for the value of a key, from the mapping's own
    ///     path.
    static func entries<Name, Element>(
        named keys: ValueSchema<Name>, of schema: ValueSchema<Element>,
        path: @escaping @Sendable (String, CodingPath) -> CodingPath = { .value(key: $0, of: $1) }
    ) -> ValueSchema where Value == [NamedField<Name, Element>] {
        ValueSchema(.entries(named: keys.description, of: schema.description)) {
            node, owner, decoding in
            guard case .mapping(let entries) = node.content else {
                return decoding.reportMismatch(node, owner, .mapping([]))
            }
            guard entries.count <= mostEntries else {
                return decoding.fault(
                    node.position,
                    "\(owner.text) has \(entries.count) entries, wanted at most \(mostEntries)")
            }
            return entries.map { entry in
                // Treat the key as quoted, so that `~` or `true` is plain text as a key.
                let key = YAMLNode(
                    position: entry.keyPosition, content: .scalar(entry.key, isPlain: false))
                let name = keys.decode(key, owner, &decoding)
                let value = schema.decode(entry.value, path(entry.key, owner), &decoding)
                return NamedField(
                    key: entry.key, keyPosition: entry.keyPosition, name: name,
                    field: Field(position: entry.value.position, value: value))
            }
        }
    }
}
