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
        .scalar(.interfacePattern) { text, node, _, decoding in
            // The names that Linux accepts (dev_valid_name in net/core/dev.c), with room for stars.
            let isPattern =
                (1...32).contains(text.utf8.count) && text != "." && text != ".."
                && text.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && !"/:[]\\".utf8.contains($0)
                }
            if isPattern { return text }
            return decoding.fault(
                node.position, "interface \(shown(text)) is not allowed",
                help: "write a name such as `wlan0`, or `wwan*`: `*` stands for any characters, "
                    + "`?` for one")
        }
    }
}
