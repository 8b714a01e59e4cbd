import ClarityScheduler
import ClaritySystem

/// The form of a value in a job file: the code that reads it, and a description as data.
struct ValueSchema<Value: Sendable>: Sendable {
    private let describe: @Sendable () -> FormDescription
    /// Decodes a node; reports a fault and returns `nil` if it cannot.
    let decode: @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?

    /// - Parameter description: made only when it is asked for: a file without faults needs none.
    init(
        _ description: @autoclosure @escaping @Sendable () -> FormDescription,
        decode: @escaping @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?
    ) {
        describe = description
        self.decode = decode
    }

    /// The form of the value, for messages and other descriptions of job files.
    var description: FormDescription { describe() }

    /// Returns the same form for a value that is derived from this one.
    func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> ValueSchema<Other> {
        ValueSchema<Other>(description) { node, place, decoding in
            decode(node, place, &decoding).map(transform)
        }
    }

    /// Returns a form for scalars; `read` decodes the text, and reports its faults.
    static func scalar(
        _ description: @autoclosure @escaping @Sendable () -> FormDescription,
        read: @escaping @Sendable (String, YAMLNode, CodingPath, inout Decoding) -> Value?
    ) -> ValueSchema {
        ValueSchema(description()) { node, place, decoding in
            guard let text = node.text else {
                return decoding.reportForm(node, place, description())
            }
            return read(text, node, place, &decoding)
        }
    }
}

/// The form that a value in a job file may have.
indirect enum FormDescription: Hashable, Sendable {
    case text
    case boolean
    case integer(ClosedRange<Int>)
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
    case jobID
    /// A stretch of the day, such as `22:00-06:00`.
    case window
    case checkName
    /// The name of a network interface, or a pattern with `*` and `?`.
    case interfacePattern
    case list(of: FormDescription)
    case mapping([KeyDescription])
    /// A mapping whose keys the file chooses, at most 100.
    case entries(named: FormDescription, of: FormDescription)
    /// One form or the other.
    case either(FormDescription, FormDescription)
    /// A mapping whose keys depend on the value of `by`, a key of its own or one beside it.
    case variants(by: String, [String: [KeyDescription]])

    /// The noun for such a value, for people: `a mapping`, `a span of time`.
    var noun: String {
        switch self {
        case .text, .choice, .jobID, .checkName, .interfacePattern: "text"
        case .boolean: "`true` or `false`"
        case .integer: "a whole number"
        case .duration: "a span of time"
        case .size: "a size"
        case .percent: "a percentage"
        case .instant: "an instant"
        case .dateOrInstant: "a date or an instant"
        case .cron: "a cron expression"
        case .calendar: "a calendar expression"
        case .timeZone: "a time zone"
        case .path: "a path"
        case .url, .webAddress: "a url"
        case .window: "a time of day"
        case .list: "a list"
        case .mapping, .entries, .variants: "a mapping"
        case .either(let one, let other): "\(one.noun) or \(other.noun)"
        }
    }
}

/// A key that a mapping of the job file may have.
struct KeyDescription: Hashable, Sendable {
    var name: String
    var form: FormDescription
    var isRequired: Bool
    /// The value that counts if the file lacks the key, as the file would write it, or, for an
    /// option, in the form in which it is passed on; `nil` if the summary says what happens then.
    var standard: String?
    /// One line for people.
    var summary: String
}

extension Decoding {
    /// Records that a node does not have its required form, and returns `nil`.
    mutating func reportForm<Value>(
        _ node: YAMLNode, _ place: CodingPath, _ wanted: FormDescription, help: String? = nil
    ) -> Value? {
        fault(node.position, "\(place.text) is \(node.noun), wanted \(wanted.noun)", help: help)
    }
}

extension ValueSchema {
    /// Reads a list; a duplicate text is a fault unless `repeats` is set.
    ///
    /// Entries with a fault are included without their value.
    static func list<Element>(
        of form: ValueSchema<Element>, repeats: Bool = false
    ) -> ValueSchema where Value == [Field<Element>] {
        ValueSchema(.list(of: form.description)) { node, place, decoding in
            guard case .sequence(let nodes) = node.content else {
                return decoding.reportForm(
                    node, place, .list(of: .text),
                    help: node.text.flatMap(bracketed).map { "write `\($0)`" })
            }
            return decoding.fields(nodes, of: form, in: place, repeats: repeats)
        }
    }

    /// Reads one value, or a list of at most `most` values; a duplicate text is a fault.
    static func oneOrMore<Element>(
        _ form: ValueSchema<Element>, atMost most: Int
    ) -> ValueSchema where Value == [Field<Element>] {
        ValueSchema(.either(form.description, .list(of: form.description))) {
            node, place, decoding in
            switch node.content {
            case .sequence(let nodes) where nodes.count > most:
                return decoding.fault(
                    node.position,
                    "\(place.text) has \(nodes.count) entries, wanted at most \(most)")
            case .sequence(let nodes):
                return decoding.fields(nodes, of: form, in: place, repeats: false)
            case .scalar where !node.isNull:
                return [
                    Field(position: node.position, value: form.decode(node, place, &decoding))
                ]
            case .scalar, .mapping:
                return decoding.reportForm(
                    node, place, .either(form.description, .list(of: .text)))
            }
        }
    }
}

extension Decoding {
    /// Decodes the entries of a list, one by one.
    fileprivate mutating func fields<Element>(
        _ nodes: [YAMLNode], of form: ValueSchema<Element>, in place: CodingPath, repeats: Bool
    ) -> [Field<Element>] {
        var fields: [Field<Element>] = []
        var seen: Set<String> = []
        for (index, node) in nodes.enumerated() {
            let entryPlace = CodingPath.entry(index + 1, of: place)
            let value = form.decode(node, entryPlace, &self)
            if !repeats, value != nil, let text = node.text, !seen.insert(text).inserted {
                report(node.position, "\(place.text) has \(shown(text)) twice")
            }
            fields.append(Field(position: node.position, value: value))
        }
        return fields
    }
}

/// Returns a list of this text alone, if YAML is certain to read it as one: letters, digits, `-`,
/// `_`, `.` and `/`, at most 60 characters.
private func bracketed(_ text: String) -> String? {
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
    ///   - place: returns the path that messages use for the value of a key, from the mapping's own
    ///     path.
    static func entries<Name, Element>(
        named keys: ValueSchema<Name>, of form: ValueSchema<Element>,
        place: @escaping @Sendable (String, CodingPath) -> CodingPath = { .value(key: $0, of: $1) }
    ) -> ValueSchema where Value == [NamedField<Name, Element>] {
        ValueSchema(.entries(named: keys.description, of: form.description)) {
            node, owner, decoding in
            guard case .mapping(let entries) = node.content else {
                return decoding.reportForm(node, owner, .mapping([]))
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
                let value = form.decode(entry.value, place(entry.key, owner), &decoding)
                return NamedField(
                    key: entry.key, keyPosition: entry.keyPosition, name: name,
                    field: Field(position: entry.value.position, value: value))
            }
        }
    }
}
