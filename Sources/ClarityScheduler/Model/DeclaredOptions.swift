/// The options of a kind of job, or the keys of a section, each declared once together with its
/// field.
///
/// The job file reader checks a file against the `declarations`; a worker reads the values of its
/// order into the fields. Both use the same ranges and default values.
public protocol DeclaredOptions: Sendable {
    /// Creates options that have their default values.
    init()

    /// Passes each option and its field to `fields`, in the order for people.
    mutating func declare(in fields: inout OptionFields)
}

extension DeclaredOptions {
    /// The declarations of all options.
    public static var declarations: [OptionDeclaration] {
        var options = Self()
        return OptionFields.declarations { options.declare(in: &$0) }
    }

    /// Reads options as a job and its orders carry them.
    ///
    /// - Parameter prefix: what stands before each key in messages, such as `backend.`.
    /// - Throws: `Failure` for a value that does not fit its declaration. The job file reader passes
    ///   on no such value, but anybody may start a worker.
    public init(_ values: [String: String], prefix: String = "") throws(Failure) {
        self.init()
        try OptionFields.read(values, prefix: prefix) { declare(in: &$0) }
    }

    /// The values as a job and its orders carry them.
    public var texts: [String: String] {
        var options = self
        return OptionFields.texts { options.declare(in: &$0) }
    }
}

/// Collects the declarations of options, reads their values into the fields, or writes the fields.
public struct OptionFields {
    private enum Purpose {
        case declaring
        case reading([String: String])
        case writing
    }

    private var declarations: [OptionDeclaration] = []
    /// The first value that does not fit.
    private var fault: Failure?
    private var texts: [String: String] = [:]
    private let purpose: Purpose
    private let prefix: String

    private init(_ purpose: Purpose, prefix: String = "") {
        self.purpose = purpose
        self.prefix = prefix
    }

    static func declarations(_ declare: (inout OptionFields) -> Void) -> [OptionDeclaration] {
        var fields = OptionFields(.declaring)
        declare(&fields)
        return fields.declarations
    }

    static func read(
        _ values: [String: String], prefix: String, _ declare: (inout OptionFields) -> Void
    ) throws(Failure) {
        var fields = OptionFields(.reading(values), prefix: prefix)
        declare(&fields)
        if let fault = fields.fault { throw fault }
    }

    static func texts(_ declare: (inout OptionFields) -> Void) -> [String: String] {
        var fields = OptionFields(.writing)
        declare(&fields)
        return fields.texts
    }

    /// Declares an option whose default value is that of its field.
    public mutating func add<Value: OptionValue>(
        _ key: String, _ type: OptionDeclaration.ValueType, _ field: inout Value, _ summary: String
    ) {
        switch purpose {
        case .declaring:
            declarations.append(
                OptionDeclaration(key, type, default: field.optionText, summary: summary))
        case .reading(let values):
            if let value: Value = value(of: key, type, in: values) { field = value }
        case .writing: texts[key] = field.optionText
        }
    }

    /// Declares an option that may be absent. In an order, an empty value counts as absent.
    ///
    /// - Parameter isShared: as in `OptionDeclaration`.
    public mutating func add<Value: OptionValue>(
        _ key: String, _ type: OptionDeclaration.ValueType, _ field: inout Value?,
        isShared: Bool = false, _ summary: String
    ) {
        if case .declaring = purpose {
            declarations.append(
                OptionDeclaration(key, type, isShared: isShared, summary: summary))
        } else {
            carry(key, &field, as: type)
        }
    }

    /// Declares an option that a job file must have.
    public mutating func add<Value: OptionValue>(
        required key: String, _ type: OptionDeclaration.ValueType, _ field: inout Value,
        ifMissing complaint: String? = nil, _ summary: String
    ) {
        switch purpose {
        case .declaring:
            declarations.append(
                OptionDeclaration(key, type, isRequired: true, summary: summary))
        case .reading(let values):
            guard values[key]?.isEmpty == false else {
                return refuse(complaint ?? "`\(prefix)\(key)` is missing")
            }
            if let value: Value = value(of: key, type, in: values) { field = value }
        case .writing: texts[key] = field.optionText
        }
    }

    /// Carries a value to the worker that this program sets, and that no job file may have.
    public mutating func carry<Value: OptionValue>(
        _ key: String, _ field: inout Value?, as type: OptionDeclaration.ValueType = .text
    ) {
        switch purpose {
        case .declaring: break
        case .reading(let values):
            if values[key]?.isEmpty == false { field = value(of: key, type, in: values) }
        case .writing: texts[key] = field?.optionText
        }
    }

    /// Declares an option that is one of the words of an enumeration.
    public mutating func add<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ field: inout Word, _ summary: String
    ) {
        var text = field.rawValue
        add(key, .choice(Word.allCases.map(\.rawValue)), &text, summary)
        guard let word = Word(rawValue: text) else { return refuseWord(key) }
        field = word
    }

    /// Declares an option that is one of the words of an enumeration, or `otherwise` for `nil`,
    /// which is the default.
    public mutating func add<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ field: inout Word?, otherwise: String, _ summary: String
    ) {
        var text = field?.rawValue ?? otherwise
        add(key, .choice([otherwise] + Word.allCases.map(\.rawValue)), &text, summary)
        field = Word(rawValue: text)
        if field == nil, text != otherwise { refuseWord(key) }
    }

    /// Refuses the values; the first reason counts.
    public mutating func refuse(_ reason: String) {
        if fault == nil { fault = Failure(.configuration, reason) }
    }

    private mutating func refuseWord(_ key: String) {
        refuse("\(name(key)) is not one of its words")
    }

    /// Returns the value of an option; `nil` if it has none, or one that does not fit.
    private mutating func value<Value: OptionValue>(
        of key: String, _ type: OptionDeclaration.ValueType, in values: [String: String]
    ) -> Value? {
        guard let text = values[key] else { return nil }
        guard let value = Value(optionText: text), type.admits(value) else {
            refuse("\(name(key)) \(type.complaint)")
            return nil
        }
        return value
    }

    private func name(_ key: String) -> String {
        prefix.isEmpty ? "option `\(key)`" : "`\(prefix)\(key)`"
    }
}

extension OptionDeclaration.ValueType {
    /// Whether a value is in the range of a type that has one.
    fileprivate func admits<Value>(_ value: Value) -> Bool {
        switch (self, value) {
        case (.integer(let range), let number as Int): range.contains(number)
        case (.number(let range), let number as Double): range.contains(number)
        case (.duration(let range), let span as Duration): range.contains(span)
        case (.size(let range), let bytes as Int64): range.contains(bytes)
        default: true
        }
    }

    /// What is wrong with a value that does not fit, after the option's name.
    fileprivate var complaint: String {
        switch self {
        case .integer, .number: "is not a number in its range"
        case .duration(let range):
            "is not \(range.lowerBound.milliseconds) to \(range.upperBound.milliseconds) "
                + "milliseconds"
        case .size: "is not a number of bytes"
        case .boolean: "is neither `true` nor `false`"
        case .variables: "has an entry without `=`"
        default: "is not understood"
        }
    }
}

/// A value of an option, as a job and its orders carry it.
public protocol OptionValue: Sendable {
    init?(optionText: String)
    var optionText: String { get }
}

extension OptionValue where Self: LosslessStringConvertible {
    public init?(optionText: String) { self.init(optionText) }
    public var optionText: String { description }
}

extension String: OptionValue {}
extension Bool: OptionValue {}
extension Int: OptionValue {}
extension Int64: OptionValue {}
extension Double: OptionValue {}

extension Duration: OptionValue {
    public init?(optionText: String) {
        guard let milliseconds = Int64(optionText) else { return nil }
        self = .milliseconds(milliseconds)
    }

    public var optionText: String { String(milliseconds) }
}

/// A number of times in a span of time, such as `1 per 6h`.
public struct Rate: Hashable, Sendable {
    public var count: Int
    public var span: Duration

    /// Creates a rate.
    public init(_ count: Int, per span: Duration) {
        self.count = count
        self.span = span
    }

    /// Parses `1 per 6h`: a number from 1 to 1000, and a span from a minute to a year.
    public init?(text: String) {
        let words = text.split(separator: " ")
        guard words.count == 3, words[1] == "per", let count = Int(words[0]),
            (1...1000).contains(count), let span = Duration(text: String(words[2])),
            (.seconds(60) ... .seconds(366 * 86_400)).contains(span)
        else { return nil }
        self.init(count, per: span)
    }
}

extension Rate: OptionValue {
    public init?(optionText: String) {
        let words = optionText.split(separator: " ")
        guard words.count == 2, let count = Int(words[0]), let span = Int64(words[1]) else {
            return nil
        }
        self.init(count, per: .milliseconds(span))
    }

    public var optionText: String { "\(count) \(span.milliseconds)" }
}

/// The words of a command, with U+0000 between them.
extension [String]: OptionValue {
    public init?(optionText: String) {
        self = optionText.split(separator: "\u{0}", omittingEmptySubsequences: false)
            .map(String.init)
    }

    public var optionText: String { joined(separator: "\u{0}") }
}

/// Variables of an environment by name, as `NAME=VALUE` with U+0000 between them.
extension [String: String]: OptionValue {
    public init?(optionText: String) {
        self.init()
        for entry in optionText.split(separator: "\u{0}") {
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            self[String(entry[..<equals])] = String(entry[entry.utf8.index(after: equals)...])
        }
    }

    public var optionText: String {
        map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "\u{0}")
    }
}

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
