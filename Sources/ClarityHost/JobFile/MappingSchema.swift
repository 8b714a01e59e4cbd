/// The keys of one mapping: what decodes it, knows unknown keys and suggests near ones.
///
/// `Draft` takes the values: one `Field` a key, `nil` while the file does not have the key.
struct MappingSchema<Draft: Sendable>: Sendable {
    let empty: Draft
    let keys: [Key<Draft>]

    init(_ empty: Draft, _ keys: [Key<Draft>]) {
        self.empty = empty
        self.keys = keys
    }

    /// The keys as data.
    var descriptions: [KeyDescription] { keys.map(\.description) }

    /// Reads a mapping, which messages call `place`; reports each fault in it.
    ///
    /// `nil` where the node is no mapping.
    func decode(
        _ node: YAMLNode, in place: CodingPath, _ decoding: inout Decoding
    ) -> Draft? {
        guard case .mapping(let entries) = node.content else {
            decoding.reportForm(node, place, .mapping(descriptions))
            return nil
        }
        var draft = empty
        var missing = Set(keys.filter(\.description.isRequired).map(\.description.name))
        for entry in entries {
            guard let key = keys.first(where: { $0.description.name == entry.key }) else {
                let names = keys.map(\.description.name)
                decoding.reportUnknown(
                    "key", entry.key, in: place.text, at: entry.keyPosition, known: names,
                    help: names.isEmpty
                        ? "\(place.text) has no keys" : "its keys are \(listed(names, "and"))")
                continue
            }
            missing.remove(entry.key)
            let at = CodingPath.value(key: entry.key, of: place)
            key.store(entry.value, at, &draft, &decoding)
        }
        for key in keys where missing.contains(key.description.name) {
            decoding.report(node.position, "\(place.text) has no \(shown(key.description.name))")
        }
        return draft
    }

    /// Takes from `other` what `draft` does not have.
    func inherit(_ draft: inout Draft, from other: Draft) {
        for key in keys { key.inherit(&draft, other) }
    }
}

/// A key of a mapping, declared once: its name, its form and where its value goes.
struct Key<Draft: Sendable>: Sendable {
    let description: KeyDescription
    /// Reads the key's value into the draft.
    let store: @Sendable (YAMLNode, CodingPath, inout Draft, inout Decoding) -> Void
    /// Takes the key's value from another draft where this one has none.
    let inherit: @Sendable (inout Draft, Draft) -> Void

    init(
        description: KeyDescription,
        store: @escaping @Sendable (YAMLNode, CodingPath, inout Draft, inout Decoding) -> Void,
        inherit: @escaping @Sendable (inout Draft, Draft) -> Void = { _, _ in }
    ) {
        self.description = description
        self.store = store
        self.inherit = inherit
    }

    /// Declares a key whose value goes to the field that `exchange` swaps with what it is handed.
    ///
    /// A key path would say the same, but each costs a program as much when it starts as reading a
    /// dozen keys.
    init<Value>(
        _ name: String, _ exchange: @escaping @Sendable (inout Draft, inout Field<Value>?) -> Void,
        _ form: ValueSchema<Value>, isRequired: Bool = false, _ summary: String
    ) {
        self.init(
            description: KeyDescription(
                name: name, form: form.description, isRequired: isRequired, summary: summary),
            store: { node, place, draft, decoding in
                var field: Field<Value>? = Field(
                    position: node.position, value: form.decode(node, place, &decoding))
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

    /// The same key for a draft that holds this one's draft, which `reach` lets change.
    ///
    /// It inherits nothing: the inner draft does, by itself.
    func within<Outer>(
        _ reach: @escaping @Sendable (inout Outer, (inout Draft) -> Void) -> Void
    ) -> Key<Outer> {
        let store = store
        return Key<Outer>(
            description: description,
            store: { node, place, outer, decoding in
                reach(&outer) { draft in store(node, place, &draft, &decoding) }
            })
    }
}

extension ValueSchema {
    /// A mapping of this shape.
    static func mapping(_ shape: MappingSchema<Value>) -> ValueSchema {
        ValueSchema(.mapping(shape.descriptions)) { node, place, decoding in
            shape.decode(node, in: place, &decoding)
        }
    }
}
