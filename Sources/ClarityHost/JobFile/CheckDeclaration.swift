import ClarityScheduler
import Platform

/// A check that jobs may depend on, and how to run it.
public struct CheckDeclaration: Hashable, Sendable {
    /// The command or URL that answers the check.
    public enum Question: Hashable, Sendable {
        /// A program and its arguments. The program is required: a name to find in `PATH`, or an
        /// absolute path. Exit status 0 means yes.
        case command([String])
        /// An http or https URL. A status from 200 to 299 means yes.
        case url(String)
    }

    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`.
    public var name: String
    public var question: Question
    /// The time within which an answer must arrive, 100 ms to 5 min.
    public var timeout = CheckDeclaration.defaultTimeout
    /// The time for which an answer remains valid, 1 s to 1 day.
    public var validFor = Check.defaultValidity

    /// The default timeout: 10 s.
    public static let defaultTimeout: Duration = .seconds(10)
    /// The name of the check that stands for the job file's `probe`.
    public static let probeName = "probe"
}

/// A check of `checks:` as written in the file.
struct DeclaredCheck: Sendable {
    var command: Field<[String]>?
    var url: Field<String>?
    var timeout: Field<Duration>?
    var validFor: Field<Duration>?

    static let schema = MappingSchema(
        DeclaredCheck(),
        [
            Key(
                "command", { swap(&$0.command, &$1) }, .command,
                "program and arguments; exit status 0 means yes"),
            Key(
                "url", { swap(&$0.url, &$1) }, .webAddress,
                "URL; a status of 200 to 299 means yes"),
            Key(
                "timeout", { swap(&$0.timeout, &$1) },
                .duration(.milliseconds(100) ... .seconds(300)),
                default: spanText(CheckDeclaration.defaultTimeout), "how long an answer may take"),
            Key(
                "valid_for", { swap(&$0.validFor, &$1) },
                .duration(.seconds(1) ... .seconds(86_400)),
                default: spanText(Check.defaultValidity), "how long an answer is valid"),
        ])

    /// Returns the check with this name; `nil` if its question has a fault.
    func declaration(_ name: String) -> CheckDeclaration? {
        let question: CheckDeclaration.Question? =
            command?.value.map { .command($0) } ?? url?.value.map { .url($0) }
        return question.map { question in
            CheckDeclaration(
                name: name, question: question,
                timeout: timeout?.value ?? CheckDeclaration.defaultTimeout,
                validFor: validFor?.value ?? Check.defaultValidity)
        }
    }
}

extension ValueSchema where Value == [NamedField<String, DeclaredCheck>] {
    /// Reads the checks by their names.
    static var checks: ValueSchema {
        .entries(named: .checkName, of: .check, path: { name, _ in .check(name) })
    }
}

extension ValueSchema where Value == DeclaredCheck {
    /// Reads a command or a URL, and the durations that belong to it.
    fileprivate static var check: ValueSchema {
        let mapping = ValueSchema.mapping(DeclaredCheck.schema)
        return ValueSchema(mapping.description) { node, path, decoding in
            guard let declaration = mapping.decode(node, path, &decoding) else { return nil }
            if (declaration.command != nil) == (declaration.url != nil) {
                return decoding.fault(
                    node.position,
                    declaration.url == nil
                        ? "\(path.text) has none of `command` and `url`"
                        : "\(path.text) has `command` and `url`, wanted one of them")
            }
            declaration.reportShortValidity(path, &decoding)
            return declaration
        }
    }
}

extension DeclaredCheck {
    /// Reports a `valid_for` that is shorter than the `timeout` of the same check.
    ///
    /// A job that needs two such checks might never have both answers at the same time.
    fileprivate func reportShortValidity(_ path: CodingPath, _ decoding: inout Decoding) {
        let timeout = self.timeout?.value ?? CheckDeclaration.defaultTimeout
        guard let field = validFor, let validFor = field.value, validFor < timeout else { return }
        decoding.report(
            field.position,
            "\(path.text) has a valid_for of `\(spanText(validFor))`, less than its timeout of "
                + "`\(spanText(timeout))`", help: "make `valid_for` at least as long as `timeout`"
        )
    }
}

extension ValueSchema where Value == String {
    /// Reads a check's name.
    fileprivate static var checkName: ValueSchema {
        .scalar(.checkName) { text, node, _, decoding in
            guard text != CheckDeclaration.probeName else {
                return decoding.fault(
                    node.position, "check name \(shown(text)) is taken",
                    help: "`probe` is the check that `conditions: { probe: ... }` declares")
            }
            let isName =
                (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                    default: "-_.".utf8.contains(byte)
                    }
                }
            if isName { return text }
            return decoding.fault(
                node.position, "check name \(shown(text)) is not allowed",
                help: "a name is 1 to 64 letters, digits, `-`, `_` or `.`")
        }
    }
}
