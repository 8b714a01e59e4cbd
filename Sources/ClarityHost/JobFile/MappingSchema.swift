import Platform

/// The keys of one mapping; decodes it, and reports unknown keys with the nearest known one.
///
/// `Declaration` holds the values: one `Field` per key, `nil` if the file lacks the key.
struct MappingSchema<Declaration: Sendable>: Sendable {
    let empty: Declaration
    let keys: [Key<Declaration>]

    init(_ empty: Declaration, _ keys: [Key<Declaration>]) {
        self.empty = empty
        self.keys = keys
    }

    /// The descriptions of the keys.
    var descriptions: [KeyDescription] { keys.map(\.description) }

    /// Reads a mapping, which messages call `path`, and reports each fault in it.
    ///
    /// Returns `nil` if the node is not a mapping.
    func decode(
        _ node: YAMLNode, in path: CodingPath, _ decoding: inout Decoding
    ) -> Declaration? {
        guard case .mapping(let entries) = node.content else {
            return decoding.reportMismatch(node, path, .mapping([]))
        }
        var declaration = empty
        for entry in entries {
            guard let key = keys.first(where: { $0.name == entry.key }) else {
                let names = keys.map(\.name)
                decoding.reportUnknown(
                    "key", entry.key, in: path.text, at: entry.keyPosition, known: names,
                    help: names.isEmpty
                        ? "\(path.text) has no keys" : "its keys are \(listed(names, "and"))")
                continue
            }
            let at = CodingPath.value(key: entry.key, of: path)
            key.store(entry.value, at, &declaration, &decoding)
        }
        for key in keys where key.isRequired && !entries.contains(where: { $0.key == key.name }) {
            decoding.report(node.position, "\(path.text) has no \(shown(key.name))")
        }
        return declaration
    }

    /// Inherits every key that `declaration` lacks from `other`.
    func inherit(_ declaration: inout Declaration, from other: Declaration) {
        for key in keys { key.inherit(&declaration, other) }
    }
}

/// A key of a mapping, declared once: its name, the schema of its value and where the value goes.
///
/// The schema is made only for a file that has the key, because most files have few of the keys.
struct Key<Declaration: Sendable>: Sendable {
    let name: String
    let isRequired: Bool
    private let describe: @Sendable () -> KeyDescription
    /// Reads the key's value into the declaration.
    let store: @Sendable (YAMLNode, CodingPath, inout Declaration, inout Decoding) -> Void
    /// Inherits the key's value from another declaration if this one has none.
    let inherit: @Sendable (inout Declaration, Declaration) -> Void

    /// Declares a key whose value goes to the field that `exchange` swaps with its argument.
    ///
    /// A key path would do the same, but creating one at program start takes as long as reading a
    /// dozen keys.
    init<Value>(
        _ name: String, _ exchange: @escaping @Sendable (inout Declaration, inout Field<Value>?) -> Void,
        _ schema: @autoclosure @escaping @Sendable () -> ValueSchema<Value>,
        isRequired: Bool = false,
        default defaultValue: @autoclosure @escaping @Sendable () -> String? = nil,
        _ summary: String
    ) {
        self.init(
            name, schema, isRequired, defaultValue, summary,
            take: { declaration, value in
                var field: Field<Value>? = value
                exchange(&declaration, &field)
            },
            inherit: { declaration, other in
                var field: Field<Value>?
                exchange(&declaration, &field)
                if field == nil {
                    var other = other
                    exchange(&other, &field)
                }
                exchange(&declaration, &field)
            })
    }

    /// Declares a key whose value replaces the default value that the declaration has. It is not
    /// inherited.
    init<Value>(
        _ name: String, set: @escaping @Sendable (inout Declaration, Value) -> Void,
        _ schema: @autoclosure @escaping @Sendable () -> ValueSchema<Value>,
        isRequired: Bool = false,
        default defaultValue: @autoclosure @escaping @Sendable () -> String? = nil,
        _ summary: String
    ) {
        self.init(
            name, schema, isRequired, defaultValue, summary,
            take: { declaration, field in
                if let value = field.value { set(&declaration, value) }
            },
            inherit: { _, _ in })
    }

    private init<Value>(
        _ name: String, _ schema: @escaping @Sendable () -> ValueSchema<Value>, _ isRequired: Bool,
        _ defaultValue: @escaping @Sendable () -> String?, _ summary: String,
        take: @escaping @Sendable (inout Declaration, Field<Value>) -> Void,
        inherit: @escaping @Sendable (inout Declaration, Declaration) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        describe = {
            KeyDescription(
                name: name, value: schema().description, isRequired: isRequired,
                defaultValue: defaultValue(), summary: summary)
        }
        store = { node, path, declaration, decoding in
            let value = schema().decode(node, path, &decoding)
            take(&declaration, Field(position: node.position, value: value))
        }
        self.inherit = inherit
    }

    /// Returns a key of `inner` for a declaration that contains that one's declaration; `reach` gives access to
    /// it. It inherits nothing, because the inner declaration inherits by itself.
    init<Inner>(
        _ inner: Key<Inner>,
        within reach: @escaping @Sendable (inout Declaration, (inout Inner) -> Void) -> Void
    ) {
        name = inner.name
        isRequired = inner.isRequired
        describe = { inner.description }
        store = { node, path, outer, decoding in
            reach(&outer) { declaration in inner.store(node, path, &declaration, &decoding) }
        }
        inherit = { _, _ in }
    }

    var description: KeyDescription { describe() }
}

extension ValueSchema {
    /// Reads a mapping with a schema, which is made only for a file that has the mapping.
    static func mapping(
        _ schema: @autoclosure @escaping @Sendable () -> MappingSchema<Value>
    ) -> ValueSchema {
        ValueSchema(.mapping(schema().descriptions)) { node, path, decoding in
            schema().decode(node, in: path, &decoding)
        }
    }
}
