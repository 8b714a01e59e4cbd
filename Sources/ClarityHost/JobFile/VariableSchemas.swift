import ClarityScheduler
import ClaritySystem

extension ValueSchema where Value == String {
    /// Reads a list of `NAME=VALUE` with unique names; the value joins the entries with U+0000.
    static var variables: ValueSchema {
        let entries = ValueSchema<[Field<String>]>.list(of: .variable)
        return ValueSchema(entries.description) { node, place, decoding in
            guard let fields = entries.decode(node, place, &decoding) else { return nil }
            var seen: Set<Substring> = []
            for field in fields {
                guard let name = field.value?.prefix(while: { $0 != "=" }) else { continue }
                if !seen.insert(name).inserted {
                    decoding.report(
                        field.position, "\(place.text) has \(shown(String(name))) twice")
                }
            }
            return fields.compactMap(\.value).joined(separator: "\u{0}")
        }
    }

    /// Reads one `NAME=VALUE`.
    private static var variable: ValueSchema {
        .scalar(.text) { text, node, place, decoding in
            let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
            let isName =
                (1...100).contains(name.count) && name.count < text.utf8.count
                && name.first.map { !(0x30...0x39).contains($0) } ?? false
                && name.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
                    default: false
                    }
                }
            // Do not show the text after the name: it may be a secret that does not belong there.
            guard isName else {
                decoding.report(
                    node.position, "\(place.text) is not a variable",
                    help: "write it as `LANG=C`, the name in letters, digits and `_`")
                return nil
            }
            guard !text.hasPrefix("CLARITY_") else {
                decoding.report(
                    node.position, "\(place.text) begins with `CLARITY_`",
                    help: "those variables are this program's own")
                return nil
            }
            return text
        }
    }
}
