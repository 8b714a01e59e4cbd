import JSON

/// `--name value` pairs, each name once, and flags without a value.
struct Flags {
    /// A required flag is missing.
    struct Missing: Error {
        var name: String
    }

    private var values: [String: String] = [:]
    private var switches: Set<String> = []

    /// The values that a flag may have, for flags that have few.
    private static let choices = [
        "output": ["table", "json", "ndjson"], "data": ["keep", "remove", "ask"],
        "password": ["stdin", "ask"],
    ]

    /// Parses the flags; `nil` for anything but flags of these names with valid values.
    init?(_ arguments: [String], values names: [String], switches flags: [String] = []) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { return nil }
            let name = String(word.dropFirst(2))
            if flags.contains(name) {
                switches.insert(name)
            } else {
                guard names.contains(name), values[name] == nil, let value = rest.popFirst(),
                    Flags.choices[name]?.contains(value) ?? true
                else { return nil }
                values[name] = value
            }
        }
    }

    func has(_ flag: String) -> Bool { switches.contains(flag) }

    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    func value(_ name: String) throws(Missing) -> String {
        guard let value = self[name] else { throw Missing(name: name) }
        return value
    }

    /// The format in which to write the answer; a table by default.
    var format: OutputFormat { values["output"].flatMap(OutputFormat.init(rawValue:)) ?? .table }
}

/// The format in which results are written.
enum OutputFormat: String {
    case table
    case json
    case ndjson

    /// Prints a result: the object as JSON, or the lines for people.
    func print(_ object: @autoclosure () -> JSON, lines: () -> [String]) {
        switch self {
        case .table: show(lines())
        case .json: Swift.print(object().page)
        case .ndjson: Swift.print(object().line)
        }
    }
}
