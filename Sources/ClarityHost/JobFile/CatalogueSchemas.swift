import ClarityScheduler
import ClaritySystem

/// The options of one kind or section, in the form in which workers receive them.
struct OptionsDraft: Sendable {
    var values: [String: String] = [:]

    /// Returns the schema for a catalogue's declarations; the draft starts with their default
    /// values.
    static func shape(_ options: [OptionDeclaration]) -> MappingSchema<OptionsDraft> {
        var standards = OptionsDraft()
        for option in options { standards.values[option.key] = option.standard }
        return MappingSchema(standards, options.map { key(for: $0) })
    }

    private static func key(for option: OptionDeclaration) -> Key<OptionsDraft> {
        let form = ValueSchema<String>.option(option.form)
        let name = option.key
        return Key(
            description: KeyDescription(
                name: name, form: form.description, isRequired: option.isRequired,
                standard: option.standard, summary: option.summary),
            store: { node, place, draft, decoding in
                if let value = form.decode(node, place, &decoding) { draft.values[name] = value }
            })
    }
}

extension ValueSchema where Value == String {
    /// Reads an option of a form; the value is the text that workers receive.
    static func option(_ form: OptionDeclaration.Form) -> ValueSchema {
        switch form {
        case .text: .text
        case .texts:
            ValueSchema<[Field<String>]>.list(of: .line).map { fields in
                fields.compactMap(\.value).joined(separator: "\n")
            }
        // A text of a job file never contains U+0000.
        case .command: ValueSchema<[String]>.command.map { $0.joined(separator: "\u{0}") }
        case .variables: .variables
        case .boolean: ValueSchema<Bool>.boolean.map { "\($0)" }
        case .integer(let range): ValueSchema<Int>.integer(range).map { "\($0)" }
        case .duration(let range):
            ValueSchema<Duration>.duration(range).map { "\($0.milliseconds)" }
        case .size(let range): ValueSchema<Int64>.size(range).map { "\($0)" }
        case .choice(let names): .choice(names.map { ($0, $0) })
        case .timeZone: ValueSchema<Zone>.timeZone.map(\.identifier)
        case .dateOrInstant: .dateOrInstant
        case .path: .path
        case .url: .url
        }
    }
}

extension ValueSchema where Value == [String: String] {
    /// Reads a section; the value is flattened: `backend.url`, `sources.0.path`.
    static func section(_ section: SectionDeclaration) -> ValueSchema {
        switch section.form {
        case .mapping(let options):
            let shape = OptionsDraft.shape(options)
            return ValueSchema<OptionsDraft>.mapping(shape).map { draft in
                draft.values.prefixingKeys(with: section.key)
            }
        case .list(let kinds):
            return ValueSchema<[Field<OptionsDraft>]>.sectionList(kinds).map { fields in
                var all: [String: String] = [:]
                for (index, field) in fields.enumerated() {
                    let values = field.value?.values ?? [:]
                    all.merge(values.prefixingKeys(with: "\(section.key).\(index)")) { a, _ in a }
                }
                return all
            }
        }
    }
}

extension ValueSchema where Value == [Field<OptionsDraft>] {
    /// Reads a list of mappings that differ by their `kind`, which is one of the values of each.
    static func sectionList(_ kinds: [String: [OptionDeclaration]]) -> ValueSchema {
        let kindKey = OptionDeclaration(
            "kind", .choice(kinds.keys.sorted()), isRequired: true, summary: "kind of the source")
        let shapes = kinds.mapValues { OptionsDraft.shape([kindKey] + $0) }
        let unknownKind = OptionsDraft.shape([kindKey])
        let description = FormDescription.variants(
            by: "kind", shapes.mapValues(\.descriptions))
        let entry = ValueSchema<OptionsDraft>(description) { node, place, decoding in
            if let shape = node["kind"]?.text.flatMap({ shapes[$0] }) {
                return shape.decode(node, in: place, &decoding)
            }
            // Without a known kind, only the kind itself can be checked.
            var only = node
            if case .mapping(let entries) = node.content {
                only.content = .mapping(entries.filter { $0.key == "kind" })
            }
            return unknownKind.decode(only, in: place, &decoding)
        }
        let list = ValueSchema.list(of: entry)
        let shared = Set(kinds.values.joined().filter(\.isShared).map(\.key)).sorted()
        return ValueSchema(list.description) { node, place, decoding in
            let fields = list.decode(node, place, &decoding)
            for key in shared { fields?.reportDifference(in: key, place, &decoding) }
            return fields
        }
    }
}

extension [Field<OptionsDraft>] {
    /// Reports each entry whose value of `key` differs from that of the first entry that has one.
    fileprivate func reportDifference(
        in key: String, _ place: CodingPath, _ decoding: inout Decoding
    ) {
        var first: (number: Int, value: String)?
        for (index, field) in enumerated() {
            guard let value = field.value?.values[key] else { continue }
            guard let first else {
                first = (index + 1, value)
                continue
            }
            guard value != first.value else { continue }
            decoding.report(
                field.position,
                "\(CodingPath.entry(index + 1, of: place).text) has the `\(key)` \(shown(value)), and "
                    + "entry \(first.number) has \(shown(first.value)); all entries have the same")
        }
    }
}

extension [String: String] {
    fileprivate func prefixingKeys(with prefix: String) -> [String: String] {
        [String: String](uniqueKeysWithValues: map { ("\(prefix).\($0.key)", $0.value) })
    }
}
