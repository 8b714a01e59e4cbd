import ClarityScheduler

/// The form of a value in a job file: the code that reads it, and a description as data.
struct ValueSchema<Value: Sendable>: Sendable {
    /// The form of the value, for messages and other descriptions of job files.
    let description: FormDescription
    /// Decodes a node; reports a fault and returns `nil` if it cannot.
    let decode: @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?

    init(
        _ description: FormDescription,
        decode: @escaping @Sendable (YAMLNode, CodingPath, inout Decoding) -> Value?
    ) {
        self.description = description
        self.decode = decode
    }

    /// Returns the same form for a value that is derived from this one.
    func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> ValueSchema<Other> {
        let decode = decode
        return ValueSchema<Other>(description) { node, place, decoding in
            decode(node, place, &decoding).map(transform)
        }
    }

    /// Returns a form for scalars; `read` decodes the text, and reports its faults.
    static func scalar(
        _ description: FormDescription,
        read: @escaping @Sendable (String, YAMLNode, CodingPath, inout Decoding) -> Value?
    ) -> ValueSchema {
        ValueSchema(description) { node, place, decoding in
            guard let text = node.text else {
                decoding.reportForm(node, place, description)
                return nil
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
    /// Records that a node does not have its required form.
    mutating func reportForm(
        _ node: YAMLNode, _ place: CodingPath, _ wanted: FormDescription, help: String? = nil
    ) {
        report(node.position, "\(place.text) is \(node.noun), wanted \(wanted.noun)", help: help)
    }
}
