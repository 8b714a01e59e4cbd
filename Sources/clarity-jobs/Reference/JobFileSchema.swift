import ClarityHost
import ClarityScheduler
import JSON

/// The JSON Schema (draft 2020-12) of job files, from the declarations that decode them.
///
/// An editor that knows it completes keys and marks mistakes. `validate` finds more: a schema cannot
/// say that a job id exists, that a date is one, or that a schedule fires.
struct JobFileSchema {
    private let keys: [KeyDescription]

    init(_ catalogue: JobCatalogue) { keys = JobFileReader.keys(of: catalogue) }

    var document: JSON {
        guard case .object(let members) = object(keys) else { return .null }
        let head: JSON = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "job file of clarity-jobs",
        ]
        guard case .object(let first) = head else { return .null }
        return .object(first + members)
    }

    private func object(_ keys: [KeyDescription], where constants: [String: String] = [:]) -> JSON {
        let required = keys.filter(\.isRequired).map { JSON.string($0.name) }
        var schema: [JSON.Member] = [
            .init(name: "type", value: "object"),
            .init(
                name: "properties",
                value: .object(
                    keys.map { key in
                        .init(name: key.name, value: property(key, constants[key.name]))
                    })),
            .init(name: "additionalProperties", value: false),
        ]
        if !required.isEmpty { schema.append(.init(name: "required", value: .array(required))) }
        let dependent = keys.flatMap { key in conditions(key, among: keys) }
        if !dependent.isEmpty { schema.append(.init(name: "allOf", value: .array(dependent))) }
        return .object(schema)
    }

    private func property(_ key: KeyDescription, _ constant: String?) -> JSON {
        var members: [JSON.Member] = [.init(name: "description", value: .string(key.summary))]
        if let text = key.defaultText {
            members.append(.init(name: "default", value: literal(text, of: key.value)))
        }
        let value: JSON = constant.map { ["const": .string($0)] } ?? schema(key.value)
        if case .object(let own) = value { members += own }
        return .object(members)
    }

    /// Returns the rules for a mapping whose keys depend on the value of a key beside it.
    private func conditions(_ key: KeyDescription, among keys: [KeyDescription]) -> [JSON] {
        guard case .variants(let selector, let variants) = key.value,
            keys.contains(where: { $0.name == selector })
        else { return [] }
        return variants.keys.sorted().map { name in
            let options = variants[name] ?? []
            let then: JSON = [
                "properties": .object([.init(name: key.name, value: object(options))])
            ]
            let isSelected: JSON = [
                "properties": .object([
                    .init(name: selector, value: ["const": .string(name)])
                ]), "required": .array([.string(selector)]),
            ]
            let needsOptions = options.contains(where: \.isRequired)
            return [
                "if": isSelected,
                "then": needsOptions
                    ? ["allOf": .array([then, ["required": .array([.string(key.name)])]])] : then,
            ]
        }
    }

    private func literal(_ text: String, of value: ValueDescription) -> JSON {
        switch value {
        case .boolean: .bool(text == "true")
        case .integer: Int64(text).map { .integer($0) } ?? .string(text)
        default: .string(text)
        }
    }

    private func schema(_ value: ValueDescription) -> JSON {
        switch value {
        // YAML reads an unquoted 5 as a number and an unquoted true as a boolean; both are texts here.
        case .text: ["type": ["string", "number", "boolean"]]
        case .boolean: ["type": "boolean"]
        case .integer(let range):
            [
                "type": "integer", "minimum": .count(range.lowerBound),
                "maximum": .count(range.upperBound),
            ]
        case .number(let range):
            [
                "type": "number", "minimum": .number(range.lowerBound),
                "maximum": .number(range.upperBound),
            ]
        case .duration:
            text(#"^(?=.)([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$"#)
        case .size: text(#"^[0-9]+(KiB|MiB|GiB|TiB)$"#)
        case .percent: text(#"^[0-9]+%$"#)
        case .choice(let names): ["enum": .array(names.map { .string($0) })]
        case .instant: text(#"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+([Zz]|[+-][0-9:]+)$"#)
        case .dateOrInstant: text(#"^[0-9]{4}-[0-9]{2}-[0-9]{2}"#)
        case .rate: text(#"^[0-9]+ per [0-9a-z]+$"#)
        case .url, .webAddress: text(#"^https?://"#)
        case .endpoint: text(#"^(https?|mqtts?)://"#)
        case .serverAddress: text(#"^postgres(ql)?://"#)
        case .accountID: text(#"^[a-z0-9_][a-z0-9_-]{0,63}$"#)
        case .jobID: text(#"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"#)
        case .checkName, .groupName: text(#"^[A-Za-z0-9._-]{1,64}$"#)
        case .cron, .calendar, .timeZone, .path, .window, .interfacePattern: ["type": "string"]
        case .list(let element): ["type": "array", "items": schema(element)]
        case .mapping(let keys): object(keys)
        case .entries(let names, let element):
            [
                "type": "object", "propertyNames": schema(names),
                "additionalProperties": schema(element), "maxProperties": 100,
            ]
        case .either(let one, let other): ["anyOf": [schema(one), schema(other)]]
        case .variants(let selector, let variants):
            variants.values.contains { $0.contains { $0.name == selector } }
                ? [
                    "oneOf": .array(
                        variants.keys.sorted().map { name in
                            object(variants[name] ?? [], where: [selector: name])
                        })
                ] : ["type": "object"]
        }
    }

    private func text(_ pattern: String) -> JSON {
        ["type": "string", "pattern": .string(pattern)]
    }
}
