/// A value that a request for a run may set, as in `run JOB --set NAME=VALUE`.
public struct Parameter: Hashable, Sendable {
    public var name: String
    /// The value of runs that set none; `nil` if every run has to set one.
    public var defaultValue: String?
    /// The extended regular expression (regex(7)) that a whole value matches; `nil` for any value.
    public var pattern: String?

    /// Creates a parameter.
    public init(_ name: String, default defaultValue: String? = nil, pattern: String? = nil) {
        self.name = name
        self.defaultValue = defaultValue
        self.pattern = pattern
    }
}

/// The parameters that a job declares.
public struct Parameters: Hashable, Sendable {
    /// The job's option that has them.
    public static let option = "params"

    public var all: [Parameter]

    /// Creates parameters.
    public init(_ all: [Parameter]) { self.all = all }

    /// The parameters that a run must set.
    public var required: [Parameter] { all.filter { $0.defaultValue == nil } }
}

extension Parameters: OptionValue {
    /// Their names and what is known of each; a text of a job file has none of the characters that
    /// separate them.
    public init?(optionText: String) {
        self.init([])
        for entry in optionText.unicodeScalars.split(separator: "\u{0}") {
            let parts = entry.split(separator: "\u{1}").map { String($0) }
            guard let name = parts.first else { return nil }
            var parameter = Parameter(name)
            for part in parts.dropFirst() {
                switch part.unicodeScalars.first {
                case "d": parameter.defaultValue = String(part.unicodeScalars.dropFirst())
                case "p": parameter.pattern = String(part.unicodeScalars.dropFirst())
                default: return nil
                }
            }
            all.append(parameter)
        }
    }

    public var optionText: String {
        all.map { parameter in
            [
                parameter.name, parameter.defaultValue.map { "d" + $0 },
                parameter.pattern.map { "p" + $0 },
            ]
            .compactMap(\.self).joined(separator: "\u{1}")
        }.joined(separator: "\u{0}")
    }
}
