import ClaritySystem

extension ValueSchema {
    /// Reads a list; a duplicate text is a fault unless `repeats` is set.
    ///
    /// Entries with a fault are included without their value.
    static func list<Element>(
        of form: ValueSchema<Element>, repeats: Bool = false
    ) -> ValueSchema where Value == [Field<Element>] {
        ValueSchema(.list(of: form.description)) { node, place, decoding in
            guard case .sequence(let nodes) = node.content else {
                decoding.reportForm(
                    node, place, .list(of: form.description),
                    help: node.text.flatMap(bracketed).map { "write `\($0)`" })
                return nil
            }
            return decoding.fields(nodes, of: form, in: place, repeats: repeats)
        }
    }

    /// Reads one value, or a list of at most `most` values; a duplicate text is a fault.
    static func oneOrMore<Element>(
        _ form: ValueSchema<Element>, atMost most: Int
    ) -> ValueSchema where Value == [Field<Element>] {
        let description = FormDescription.either(
            form.description, .list(of: form.description))
        return ValueSchema(description) { node, place, decoding in
            switch node.content {
            case .sequence(let nodes) where nodes.count > most:
                decoding.report(
                    node.position,
                    "\(place.text) has \(nodes.count) entries, wanted at most \(most)")
                return nil
            case .sequence(let nodes):
                return decoding.fields(nodes, of: form, in: place, repeats: false)
            case .scalar where !node.isNull:
                return [
                    Field(position: node.position, value: form.decode(node, place, &decoding))
                ]
            case .scalar, .mapping:
                decoding.reportForm(node, place, description)
                return nil
            }
        }
    }
}

extension Decoding {
    /// Decodes the entries of a list, one by one.
    fileprivate mutating func fields<Element>(
        _ nodes: [YAMLNode], of form: ValueSchema<Element>, in place: CodingPath, repeats: Bool
    ) -> [Field<Element>] {
        var fields: [Field<Element>] = []
        var seen: Set<String> = []
        for (index, node) in nodes.enumerated() {
            let entryPlace = CodingPath.entry(index + 1, of: place)
            let value = form.decode(node, entryPlace, &self)
            if !repeats, value != nil, let text = node.text, !seen.insert(text).inserted {
                report(node.position, "\(place.text) has \(shown(text)) twice")
            }
            fields.append(Field(position: node.position, value: value))
        }
        return fields
    }
}

/// Returns a list of this text alone, if YAML is certain to read it as one: letters, digits, `-`,
/// `_`, `.` and `/`, at most 60 characters.
private func bracketed(_ text: String) -> String? {
    func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber)
    }
    guard text.count <= 60, text.first.map(isPlain) == true,
        text.allSatisfy({ isPlain($0) || "-_./".contains($0) })
    else { return nil }
    return "[\(text)]"
}
