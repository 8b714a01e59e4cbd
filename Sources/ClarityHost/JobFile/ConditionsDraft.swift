import ClarityScheduler
import ClaritySystem

/// `conditions:` as written in the file.
struct ConditionsDraft: Sendable {
    var interfaces: Field<InterfaceRules>?
    var idle: Field<IdleDraft>?
    var probe: Field<String>?

    static let shape = MappingSchema(
        ConditionsDraft(),
        [
            Key(
                "interfaces", { swap(&$0.interfaces, &$1) }, .interfaceRules,
                "metering of network interfaces, by name or pattern; the first match counts"),
            Key(
                "idle", { swap(&$0.idle, &$1) }, .mapping(IdleDraft.shape),
                "when a machine that nobody is logged in to is idle"),
            Key(
                "probe", { swap(&$0.probe, &$1) }, .webAddress,
                "URL that must answer for every `network` constraint"),
        ])

    var settings: ConditionSettings {
        ConditionSettings(
            interfaces: interfaces?.value ?? InterfaceRules(),
            idleLoadBelowPercent: idle?.value?.loadBelow?.value, probe: probe?.value)
    }
}

/// `idle:` of `conditions:` as written in the file.
struct IdleDraft: Sendable {
    var loadBelow: Field<Int>?

    static let shape = MappingSchema(
        IdleDraft(),
        [
            Key(
                "load_below", { swap(&$0.loadBelow, &$1) }, .percent(1...400), isRequired: true,
                "load of the last minute, in percent of the processors; without `idle` 25%")
        ])
}

extension ValueSchema where Value == InterfaceRules {
    /// Reads the nature of interfaces by their names.
    static var interfaceRules: ValueSchema {
        let entries = ValueSchema<[NamedField<String, InterfaceRules.Nature>]>.entries(
            named: .interfacePattern,
            of: .choice(of: InterfaceRules.Nature.self, noun: "kind of connection"))
        return ValueSchema(entries.description) { node, place, decoding in
            guard let entries = entries.decode(node, place, &decoding) else { return nil }
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
                        "\(shown(pattern)) of \(place.text) never counts: "
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
            decoding.report(
                node.position, "interface \(shown(text)) is not allowed",
                help: "write a name such as `wlan0`, or `wwan*`: `*` stands for any characters, "
                    + "`?` for one")
            return nil
        }
    }

    /// Reads an http or https URL to any host: it receives no secrets.
    static var webAddress: ValueSchema {
        .scalar(.webAddress) { text, node, place, decoding in
            guard text.utf8.count <= 2000 else {
                decoding.report(
                    node.position, "\(place.key) has more than 2000 characters, the most of a url")
                return nil
            }
            switch WebAddress.parse(text, allowsQuery: true) {
            case .success:
                return text
            case .failure(let fault):
                // Do not show the address itself: it may contain a password.
                decoding.report(node.position, "\(place.key) \(fault.message)", help: fault.help)
                return nil
            }
        }
    }
}
