import ClarityHost
import ClarityScheduler
import JSON

/// The reference of the job file, from the declarations that decode it.
///
/// Each mapping of the file has a section with a table of its keys. Mappings with the same keys
/// share one section, which names the places where they occur. Texts have the marks of Markdown for
/// code and links.
struct JobFileReference {
    /// A mapping of the file, at the places that have it.
    struct Section {
        var title: String
        var places: [String]
        var introduction: String?
        var keys: [KeyDescription]
    }

    /// Every section, in the order of the page.
    private(set) var sections: [Section]

    /// What a table cannot say about the keys of a mapping.
    private static let notes = [
        "schedule": "Exactly one of `every`, `cron`, `calendar` and `at` is required.",
        "checks": "Exactly one of `command` and `url` is required.",
        "unknown": "Without a key, the table of [constraints](#constraints) says what happens.",
    ]

    init(_ catalogue: JobCatalogue) {
        var collector = Collector(kinds: catalogue.kinds)
        let top = JobFileReader.keys(of: catalogue)
        collector.sections = [Section(title: "Keys of the file", places: [], keys: top)]
        // The keys of jobs come first: they are what most readers look up. Those of accounts come
        // last, because an account repeats keys of the file.
        let ends = ["jobs": 0, "accounts": 2]
        let ordered = top.enumerated().sorted {
            (ends[$0.element.name] ?? 1, $0.offset) < (ends[$1.element.name] ?? 1, $1.offset)
        }
        for key in ordered.map(\.element) {
            collector.collect(key.value, named: key.name, at: key.name)
        }
        sections = collector.sections
        listOnce()
    }

    /// Leaves out of `defaults` the keys that it shares with jobs, and names them instead.
    private mutating func listOnce() {
        guard let jobs = sections.first(where: { $0.places.first == "jobs[]" }),
            let index = sections.firstIndex(where: { $0.places == ["defaults"] })
        else { return }
        let shared = sections[index].keys.filter(jobs.keys.contains)
        sections[index].keys.removeAll(where: jobs.keys.contains)
        sections[index].introduction =
            "Also these [keys of jobs](#keys-of-jobs): "
            + shared.map { "`\($0.name)`" }.joined(separator: ", ") + "."
    }

    /// A line of a section's table.
    struct Row {
        /// Keys that differ in their name alone share a row.
        var names: [String]
        var value: String
        var defaultValue: String
        var meaning: String
    }

    /// The keys of a section as lines of a table.
    static func rows(of section: Section) -> [Row] {
        var rows: [Row] = []
        for key in section.keys {
            let row = Row(
                names: ["`\(key.name)`"], value: text(key.value, named: key.name),
                defaultValue: key.defaultText.map { "`\($0)`" }
                    ?? (key.isRequired ? "required" : ""),
                meaning: key.summary)
            if let last = rows.last, last.value == row.value, last.meaning == row.meaning,
                last.defaultValue == row.defaultValue
            {
                rows[rows.count - 1].names += row.names
            } else {
                rows.append(row)
            }
        }
        return rows
    }

    /// The paragraph above a section's table; `nil` if there is nothing to say.
    static func introduction(of section: Section) -> String? {
        let places = section.places.filter { !section.title.contains("`\($0)`") }
        let lines = [
            places.isEmpty ? nil : "In " + places.map { "`\($0)`" }.joined(separator: ", ") + ".",
            section.introduction,
        ].compactMap(\.self)
        return lines.isEmpty ? nil : lines.joined(separator: " ")
    }

    /// Gathers the mappings at and below a value.
    private struct Collector {
        let kinds: [JobKindDeclaration]
        var sections: [Section] = []

        mutating func collect(_ value: ValueDescription, named name: String, at place: String) {
            switch value {
            case .mapping(let keys):
                add(
                    Section(
                        title: "Keys of `\(name)`", places: [place],
                        introduction: JobFileReference.notes[name], keys: keys))
            case .list(let element): collect(element, named: name, at: "\(place)[]")
            case .entries(_, let element): collect(element, named: name, at: "\(place).NAME")
            case .either(let one, let other):
                collect(one, named: name, at: place)
                collect(other, named: name, at: place)
            case .variants(let key, let variants) where name == "options":
                for kind in kinds {
                    add(
                        Section(
                            title: "Options of the kind `\(kind.kind)`", places: [],
                            introduction: "A job of this kind \(kind.summary).",
                            keys: variants[kind.kind.rawValue] ?? []))
                }
                precondition(key == "kind" && variants.count == kinds.count)
            case .variants(let key, let variants):
                for variant in variants.keys.sorted() {
                    add(
                        Section(
                            title: "Keys of `\(name)` with `\(key): \(variant)`", places: [],
                            keys: variants[variant] ?? []))
                }
            default: break
            }
        }

        private mutating func add(_ section: Section) {
            if let known = sections.firstIndex(where: {
                $0.title == section.title && $0.keys == section.keys
            }) {
                sections[known].places += section.places
                return
            }
            sections.append(section)
            for key in section.keys {
                let place = section.places.first.map { "\($0)." } ?? ""
                collect(key.value, named: key.name, at: place + key.name)
            }
        }
    }

    /// Returns a value for people; a mapping is a link to its section.
    private static func text(_ value: ValueDescription, named name: String) -> String {
        switch value {
        case .text: "text"
        case .boolean: "`true` or `false`"
        case .integer(1...1): "`1`"
        case .integer(let range): "`\(range.lowerBound)` to `\(range.upperBound)`"
        case .number(let range):
            "`\(numberText(range.lowerBound))` to `\(numberText(range.upperBound))`"
        case .duration(let range):
            "`\(spanText(range.lowerBound))` to `\(spanText(range.upperBound))`"
        case .size(let range):
            "`\(size(range.lowerBound))` to `\(size(range.upperBound))`"
        case .percent(let range): "`\(range.lowerBound)%` to `\(range.upperBound)%`"
        case .choice(let names): names.map { "`\($0)`" }.joined(separator: ", ")
        case .instant: "instant, such as `2026-11-20T06:00:00Z`"
        case .dateOrInstant: "date, or instant such as `2026-11-20T06:00:00Z`"
        case .cron: "cron expression"
        case .calendar: "calendar expression"
        case .timeZone: "time zone, such as `Europe/London`"
        case .path: "path"
        case .url: "https URL, or http on this machine"
        case .webAddress: "http or https URL"
        case .endpoint: "`mqtts` or `mqtt` URL; https URL, or http on this machine"
        case .serverAddress: "`postgresql://USER@HOST/DATABASE`"
        case .accountID: "1 to 64 lowercase letters, digits, `_`, `-`; not `-` first"
        case .jobID: "1 to 100 letters, digits, `.`, `-`, `_`"
        case .rate: "rate such as `1 per 6h`"
        case .window: "window such as `Mon..Fri 22:00-06:00`"
        case .checkName, .groupName: "name"
        case .interfacePattern: "interface"
        case .list(.mapping): "list of [mappings](#keys-of-\(name))"
        case .list(.variants): "list of mappings, see below"
        case .list(.jobID): "list of job ids"
        case .list(.text): "list of texts"
        case .list(let element): "list of: \(text(element, named: name))"
        case .mapping: "[mapping](#keys-of-\(name))"
        case .entries(let key, .mapping):
            "[mapping](#keys-of-\(name)) of each \(text(key, named: name))"
        case .entries(let key, let element):
            "mapping of \(text(key, named: name)) to \(text(element, named: name))"
        case .either(let one, .list(let element)) where one == element:
            "\(text(one, named: name)), or a list of them"
        case .either(let one, let other):
            "\(text(one, named: name)); or \(text(other, named: name))"
        case .variants(let key, _): "mapping, by `\(key)`, see below"
        }
    }

    private static func size(_ bytes: Int64) -> String { bytes == 0 ? "0MiB" : sizeText(bytes) }
}

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
