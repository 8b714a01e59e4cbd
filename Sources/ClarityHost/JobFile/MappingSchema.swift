/// The keys of one mapping; decodes it, and reports unknown keys with the nearest known one.
///
/// `Draft` holds the values: one `Field` per key, `nil` if the file lacks the key.
struct MappingSchema<Draft: Sendable>: Sendable {
    let empty: Draft
    let keys: [Key<Draft>]

    init(_ empty: Draft, _ keys: [Key<Draft>]) {
        self.empty = empty
        self.keys = keys
    }

    /// The descriptions of the keys.
    var descriptions: [KeyDescription] { keys.map(\.description) }

    /// Reads a mapping, which messages call `place`, and reports each fault in it.
    ///
    /// Returns `nil` if the node is not a mapping.
    func decode(
        _ node: YAMLNode, in place: CodingPath, _ decoding: inout Decoding
    ) -> Draft? {
        guard case .mapping(let entries) = node.content else {
            return decoding.reportForm(node, place, .mapping([]))
        }
        var draft = empty
        for entry in entries {
            guard let key = keys.first(where: { $0.name == entry.key }) else {
                let names = keys.map(\.name)
                decoding.reportUnknown(
                    "key", entry.key, in: place.text, at: entry.keyPosition, known: names,
                    help: names.isEmpty
                        ? "\(place.text) has no keys" : "its keys are \(listed(names, "and"))")
                continue
            }
            let at = CodingPath.value(key: entry.key, of: place)
            key.store(entry.value, at, &draft, &decoding)
        }
        for key in keys where key.isRequired && !entries.contains(where: { $0.key == key.name }) {
            decoding.report(node.position, "\(place.text) has no \(shown(key.name))")
        }
        return draft
    }

    /// Inherits every key that `draft` lacks from `other`.
    func inherit(_ draft: inout Draft, from other: Draft) {
        for key in keys { key.inherit(&draft, other) }
    }
}

/// A key of a mapping, declared once: its name, its form and the destination of its value.
struct Key<Draft: Sendable>: Sendable {
    let name: String
    let isRequired: Bool
    private let describe: @Sendable () -> KeyDescription
    /// Reads the key's value into the draft.
    let store: @Sendable (YAMLNode, CodingPath, inout Draft, inout Decoding) -> Void
    /// Inherits the key's value from another draft if this one has none.
    let inherit: @Sendable (inout Draft, Draft) -> Void

    init(
        _ name: String, isRequired: Bool = false,
        describe: @escaping @Sendable () -> KeyDescription,
        store: @escaping @Sendable (YAMLNode, CodingPath, inout Draft, inout Decoding) -> Void,
        inherit: @escaping @Sendable (inout Draft, Draft) -> Void = { _, _ in }
    ) {
        self.name = name
        self.isRequired = isRequired
        self.describe = describe
        self.store = store
        self.inherit = inherit
    }

    /// Declares a key whose value goes to the field that `exchange` swaps with its argument.
    ///
    /// A key path would do the same, but creating one at program start takes as long as reading a
    /// dozen keys. For the same reason the form is made only for a file that has the key.
    init<Value>(
        _ name: String, _ exchange: @escaping @Sendable (inout Draft, inout Field<Value>?) -> Void,
        _ form: @autoclosure @escaping @Sendable () -> ValueSchema<Value>,
        isRequired: Bool = false,
        standard: @autoclosure @escaping @Sendable () -> String? = nil, _ summary: String
    ) {
        self.init(
            name, isRequired: isRequired,
            describe: {
                KeyDescription(
                    name: name, form: form().description, isRequired: isRequired,
                    standard: standard(), summary: summary)
            },
            store: { node, place, draft, decoding in
                var field: Field<Value>? = Field(
                    position: node.position, value: form().decode(node, place, &decoding))
                exchange(&draft, &field)
            },
            inherit: { draft, other in
                var field: Field<Value>?
                exchange(&draft, &field)
                if field == nil {
                    var other = other
                    exchange(&other, &field)
                }
                exchange(&draft, &field)
            })
    }

    var description: KeyDescription { describe() }

    /// Returns the same key for an outer draft that contains this one's draft; `reach` gives access
    /// to it.
    ///
    /// The new key inherits nothing, because the inner draft inherits by itself.
    func within<Outer>(
        _ reach: @escaping @Sendable (inout Outer, (inout Draft) -> Void) -> Void
    ) -> Key<Outer> {
        Key<Outer>(
            name, isRequired: isRequired, describe: describe,
            store: { node, place, outer, decoding in
                reach(&outer) { draft in store(node, place, &draft, &decoding) }
            })
    }
}

extension ValueSchema {
    /// Reads a mapping with a schema, which is made only for a file that has the mapping.
    static func mapping(
        _ schema: @autoclosure @escaping @Sendable () -> MappingSchema<Value>
    ) -> ValueSchema {
        ValueSchema(.mapping(schema().descriptions)) { node, place, decoding in
            schema().decode(node, in: place, &decoding)
        }
    }
}
