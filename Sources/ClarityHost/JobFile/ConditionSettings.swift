import ClarityScheduler
import Platform

/// The job file's settings for measuring this machine's conditions.
public struct ConditionSettings: Hashable, Sendable {
    /// The nature of connections over network interfaces, in the file's order; the first rule that
    /// matches an interface's name counts.
    public var interfaces = InterfaceRules()
    /// The load of the last minute below which a host without sessions is idle, in percent of its
    /// processors, 1 to 400; `nil` if the file does not set it.
    public var idleLoadBelowPercent: Int?
    /// An http or https URL that answers if there is a working connection; `nil` if none is probed.
    public var probe: String?
}

/// The user's rules about network interfaces, for facts that the kernel does not know.
///
/// The first rule whose pattern matches an interface's name counts.
public struct InterfaceRules: Hashable, Sendable {
    /// The nature of an interface, exactly one of three: `metered` implies that it does not roam,
    /// and `roaming` implies that it is metered.
    public enum Nature: String, CaseIterable, Hashable, Sendable {
        case metered, unmetered, roaming
    }

    /// One rule, such as `wwan*` is metered.
    public struct Rule: Hashable, Sendable {
        /// A name in which `*` matches any number of bytes and `?` matches one. Every other byte,
        /// including `[` and `\`, matches itself.
        public var pattern: String
        public var nature: Nature

        /// Creates a rule.
        public init(_ pattern: String, _ nature: Nature) {
            self.pattern = pattern
            self.nature = nature
        }
    }

    public var rules: [Rule]

    /// Creates rules that are tried in this order.
    public init(_ rules: [Rule] = []) { self.rules = rules }

    /// Returns the first rule that matches an interface's name.
    public func rule(for name: String) -> Rule? {
        rules.first { InterfaceRules.matches($0.pattern, name) }
    }

    /// Whether a pattern matches a whole name; takes at most as many steps as the product of their
    /// lengths.
    static func matches(_ pattern: String, _ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.utf8), Array(name.utf8))
        let (star, any) = (UInt8(ascii: "*"), UInt8(ascii: "?"))
        var (path, next) = (0, 0)
        // The pattern index after the last star, and the end of the star's match so far.
        var retry: (path: Int, next: Int)?
        while next < name.count {
            if path < pattern.count, pattern[path] == star {
                path += 1
                retry = (path, next)
            } else if path < pattern.count, pattern[path] == any || pattern[path] == name[next] {
                path += 1
                next += 1
            } else if let last = retry {
                retry = (last.path, last.next + 1)
                (path, next) = (last.path, last.next + 1)
            } else {
                return false
            }
        }
        return pattern[path...].allSatisfy { $0 == star }
    }
}

extension ConditionSettings {
    /// `conditions:` of the job file.
    static let schema = MappingSchema(
        ConditionSettings(),
        [
            Key(
                "interfaces", set: { $0.interfaces = $1 }, .interfaceRules,
                "metering of network interfaces, by name or pattern; the first match counts"),
            Key(
                "idle", set: { $0.idleLoadBelowPercent = $1 }, .mapping(idleSchema),
                "when a machine that nobody is logged in to is idle"),
            Key(
                "probe", set: { $0.probe = $1 }, .webAddress,
                "URL that must answer for every `network` constraint"),
        ])

    private static let idleSchema = MappingSchema<Int?>(
        nil,
        [
            Key(
                "load_below", set: { $0 = $1 }, .percent(1...400), isRequired: true,
                "load of the last minute, in percent of the processors; without `idle` 25%")
        ])
}

extension ValueSchema where Value == InterfaceRules {
    /// Reads the nature of interfaces by their names.
    static var interfaceRules: ValueSchema {
        let entries = ValueSchema<[NamedField<String, InterfaceRules.Nature>]>.entries(
            named: .interfacePattern,
            of: .choice(of: InterfaceRules.Nature.self, noun: "kind of connection"))
        return ValueSchema(entries.description) { node, path, decoding in
            guard let entries = entries.decode(node, path, &decoding) else { return nil }
            var rules = InterfaceRules()
            for entry in entries {
                guard let pattern = entry.name else { continue }
                // Check whole names only: whether one pattern covers another is a different
                // question.
                if !pattern.contains("*"), !pattern.contains("?"),
                    let earlier = rules.rule(for: pattern)
                {
                    decoding.report(
                        entry.keyPosition,
                        "\(shown(pattern)) of \(path.text) never counts: "
                            + "\(shown(earlier.pattern)) comes before it and matches it")
                }
                if let nature = entry.field.value {
                    rules.rules.append(InterfaceRules.Rule(pattern, nature))
                }
            }
            return rules
        }
    }
}

extension ValueSchema where Value == String {
    /// Reads an interface's name, or a pattern with `*` and `?`.
    static var interfacePattern: ValueSchema {
        .name(
            .interfacePattern, "interface",
            rule: "write a name such as `wlan0`, or `wwan*`: `*` stands for any characters, `?` "
                + "for one"
        ) { text in
            // The names that Linux accepts (dev_valid_name in net/core/dev.c), with room for stars.
            let isPattern =
                (1...32).contains(text.utf8.count) && text != "." && text != ".."
                && text.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && !"/:[]\\".utf8.contains($0)
                }
            return isPattern ? text : nil
        }
    }
}

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
            if isGroupOrCheckName(text) { return text }
            return decoding.fault(
                node.position, "check name \(shown(text)) is not allowed",
                help: "a name is 1 to 64 letters, digits, `-`, `_` or `.`")
        }
    }
}
