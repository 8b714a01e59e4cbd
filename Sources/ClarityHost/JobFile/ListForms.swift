extension Form {
    /// A list; the same text twice is a fault. Entries at fault are there
    /// without their value.
    static func list<Element>(of form: Form<Element>) -> Form where Value == [Field<Element>] {
        Form(.list(of: form.description)) { node, place, decoding in
            guard case .sequence(let nodes) = node.content else {
                decoding.reportForm(
                    node, place, .list(of: form.description),
                    help: node.text.map { "write `[\($0)]`" })
                return nil
            }
            var fields: [Field<Element>] = []
            var seen: Set<String> = []
            for (index, node) in nodes.enumerated() {
                let entryPlace = Place.entry(index + 1, of: place)
                let value = form.decode(node, entryPlace, &decoding)
                if value != nil, let text = node.text, !seen.insert(text).inserted {
                    decoding.report(node.position, "\(place.text) has \(shown(text)) twice")
                }
                fields.append(Field(position: node.position, value: value))
            }
            return fields
        }
    }
}
