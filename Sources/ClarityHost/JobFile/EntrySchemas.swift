/// An entry of a mapping whose keys the file chooses.
struct NamedField<Name: Sendable, Value: Sendable>: Sendable {
    /// The key as it stands in the file.
    var key: String
    var keyPosition: YAMLNode.Position
    /// What the key means; `nil` where it is at fault, which has then been reported.
    var name: Name?
    var field: Field<Value>
}

extension ValueSchema {
    /// The most entries of a mapping whose keys the file chooses.
    static var mostEntries: Int { 100 }

    /// A mapping whose keys the file chooses, in the file's order, at most 100.
    ///
    /// Keys and values at fault are there without what they would mean.
    ///
    /// - Parameters:
    ///   - place: how messages call the value of a key, given the mapping's own place.
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
                // In quotes, so that `~` or `true` is the text that it is as a key.
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
