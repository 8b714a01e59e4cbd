/// An entry of a mapping whose keys the file chooses.
struct NamedField<Name: Sendable, Value: Sendable>: Sendable {
    /// The key as written in the file.
    var key: String
    var keyPosition: YAMLNode.Position
    /// The decoded key; `nil` if it has a fault, which has then been reported.
    var name: Name?
    var field: Field<Value>
}

extension ValueSchema {
    /// The maximum number of entries of a mapping whose keys the file chooses.
    static var mostEntries: Int { 100 }

    /// Reads a mapping whose keys the file chooses: at most 100 entries, in the file's order.
    ///
    /// Entries with a fault are included, without the decoded name or value.
    ///
    /// - Parameters:
    ///   - place: returns the path that messages use for the value of a key, from the mapping's own
    ///     path.
    static func entries<Name, Element>(
        named keys: ValueSchema<Name>, of form: ValueSchema<Element>,
        place: @escaping @Sendable (String, CodingPath) -> CodingPath = { .value(key: $0, of: $1) }
    ) -> ValueSchema where Value == [NamedField<Name, Element>] {
        let description = FormDescription.entries(named: keys.description, of: form.description)
        return ValueSchema(description) { node, owner, decoding in
            guard case .mapping(let entries) = node.content else {
                decoding.reportForm(node, owner, description)
                return nil
            }
            guard entries.count <= mostEntries else {
                decoding.report(
                    node.position,
                    "\(owner.text) has \(entries.count) entries, wanted at most \(mostEntries)")
                return nil
            }
            return entries.map { entry in
                // Treat the key as quoted, so that `~` or `true` is plain text as a key.
                let key = YAMLNode(
                    position: entry.keyPosition, content: .scalar(entry.key, isPlain: false))
                let name = keys.decode(key, owner, &decoding)
                let value = form.decode(entry.value, place(entry.key, owner), &decoding)
                return NamedField(
                    key: entry.key, keyPosition: entry.keyPosition, name: name,
                    field: Field(position: entry.value.position, value: value))
            }
        }
    }
}
