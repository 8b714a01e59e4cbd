/// The type of a parameter. Each one is a text that a command takes as it is, and that is never
/// mistaken for an option.
public enum APIValue: Hashable, Sendable {
    /// The id of a job.
    case job
    /// A type of metrics or records, such as `heart_rate` or `HeartRate`.
    case type
    /// The id of an insight, or the beginning of it.
    case insight
    /// The name of a session of the pages.
    case session
    /// A number within a range, in digits.
    case number(ClosedRange<Int64>)
    /// A time in RFC 3339, or a day.
    case time
    /// A number of days such as `30d`, or a first day.
    case since
    case day
    /// A month such as `2026-11`.
    case month
    /// A span such as `90m` or `7d`.
    case span
    case choice([String])
    /// A note in words, without control characters.
    case note

    private static let date = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    private static let clock = "([01][0-9]|2[0-3]):[0-5][0-9]"

    /// The regular expression that a value matches as a whole, in the syntax of JSON Schema.
    public var pattern: String {
        switch self {
        case .job: "^([a-z0-9_-]{1,64}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
        case .type: "^[A-Za-z][A-Za-z0-9_]{0,99}$"
        case .insight: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
        case .session: "^[0-9a-f]{8}$"
        case .number: "^(0|[1-9][0-9]{0,17})$"
        case .time:
            "^\(APIValue.date)(T\(APIValue.clock)"
                + #"(:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]"# + "\(APIValue.clock)))?$"
        case .since: "^([1-9][0-9]{0,4}d|\(APIValue.date))$"
        case .day: "^\(APIValue.date)$"
        case .month: "^[0-9]{4}-(0[1-9]|1[0-2])$"
        case .span: "^[1-9][0-9]{0,5}(s|m|h|d)$"
        case .choice(let words): "^(\(words.joined(separator: "|")))$"
        case .note: #"^[^\u0000-\u001F\u007F-\u009F-][^\u0000-\u001F\u007F-\u009F]{0,199}$"#
        }
    }

    /// What a value is, to follow "`name` is".
    public var summary: String {
        switch self {
        case .job: "the id of a job"
        case .type: "a type such as `heart_rate` or `HeartRate`"
        case .insight: "the id of an insight or its beginning"
        case .session: "the name of a session, such as 1a2b3c4d"
        case .number(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .time: "a time such as 2026-11-20T06:00:00Z, or a day"
        case .since: "a number of days such as 30d, or a first day"
        case .day: "a day such as 2026-11-20"
        case .month: "a month such as 2026-11"
        case .span: "a span such as 90m or 7d"
        case .choice(let words): "one of \(words.joined(separator: ", "))"
        case .note: "a note of at most 200 characters in one line"
        }
    }

    /// Whether a text is such a value.
    public func accepts(_ text: String) -> Bool {
        do {
            // Not by characters: `\r\n` would be one, and in no range of the patterns.
            let regex = try Regex(pattern).matchingSemantics(.unicodeScalar)
            guard text.wholeMatch(of: regex) != nil else { return false }
        } catch {
            preconditionFailure("`\(pattern)` is no regular expression: \(error)")
        }
        switch self {
        case .number(let range): return Int64(text).map(range.contains) ?? false
        case .time, .since, .day: return !APIValue.isAfterEndOfMonth(text)
        default: return true
        }
    }

    /// Whether a text that matches a pattern begins with a date such as February 30.
    private static func isAfterEndOfMonth(_ text: String) -> Bool {
        let parts = text.prefix(10).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { return false }
        let (year, month, day) = (parts[0], parts[1], parts[2])
        let isLeap = year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
        return day > (month == 2 ? isLeap ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31)
    }
}

/// A parameter of a route or of an action.
public struct APIParameter: Hashable, Sendable {
    /// How the command gets the value.
    public enum Form: Hashable, Sendable {
        /// As an operand, after `--`.
        case operand
        /// As `--NAME=VALUE`.
        case option(String)
    }

    public var name: String
    public var value: APIValue
    public var form: Form
    public var isRequired: Bool
    public var summary: String

    init(
        _ name: String, _ value: APIValue, _ form: Form, isRequired: Bool = false,
        _ summary: String
    ) {
        (self.name, self.value, self.form) = (name, value, form)
        (self.isRequired, self.summary) = (isRequired, summary)
    }
}

/// A request that no command is asked to answer; its text is for the client.
public struct APIFault: Error, Hashable, Sendable {
    public var text: String

    public init(text: String) { self.text = text }
}

/// Returns the words of a command with parameters.
///
/// - Parameter given: the parameters as they were given, each name once.
/// - Throws: `APIFault` for an unknown, missing, repeated or faulty parameter.
func commandWords(
    _ command: [String], _ parameters: [APIParameter],
    _ given: [(name: String, value: String)]
) throws(APIFault) -> [String] {
    var values: [String: String] = [:]
    for (name, value) in given {
        guard let parameter = parameters.first(where: { $0.name == name }) else {
            throw APIFault(
                text: "there is no parameter of this name; see `clarity-jobs schema api`")
        }
        guard values[name] == nil else { throw APIFault(text: "`\(name)` is given twice") }
        guard parameter.value.accepts(value) else {
            throw APIFault(text: "`\(name)` is \(parameter.value.summary)")
        }
        values[name] = value
    }
    var options: [String] = []
    var operands: [String] = []
    for parameter in parameters {
        guard let value = values[parameter.name] else {
            guard !parameter.isRequired else {
                throw APIFault(text: "`\(parameter.name)` is missing")
            }
            continue
        }
        switch parameter.form {
        case .operand: operands.append(value)
        case .option(let name): options.append("--\(name)=\(value)")
        }
    }
    return command + options + (operands.isEmpty ? [] : ["--"] + operands)
}
