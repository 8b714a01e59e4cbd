import ClarityScheduler
import Platform

extension ValueSchema where Value == String {
    /// Reads a list of `NAME=VALUE` with unique names; the value joins the entries with U+0000.
    static var variables: ValueSchema {
        let entries = ValueSchema<[Field<String>]>.list(of: .variable)
        return ValueSchema(entries.description) { node, path, decoding in
            guard let fields = entries.decode(node, path, &decoding) else { return nil }
            var seen: Set<Substring> = []
            for field in fields {
                guard let name = field.value?.prefix(while: { $0 != "=" }) else { continue }
                if !seen.insert(name).inserted {
                    decoding.report(
                        field.position, "\(path.text) has \(shown(String(name))) twice")
                }
            }
            return fields.compactMap(\.value).joined(separator: "\u{0}")
        }
    }

    /// Reads one `NAME=VALUE`.
    private static var variable: ValueSchema {
        .scalar(.text) { text, node, path, decoding in
            let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
            // Do not show the text after the name: it may be a secret that does not belong there.
            guard isVariableName(name), name.count < text.utf8.count else {
                return decoding.fault(
                    node.position, "\(path.text) is not a variable",
                    help: "write it as `LANG=C`, the name in letters, digits and `_`")
            }
            guard !text.hasPrefix("CLARITY_") else {
                return decoding.fault(
                    node.position, "\(path.text) begins with `CLARITY_`",
                    help: "those variables are this program's own")
            }
            return text
        }
    }
}

extension ValueSchema where Value == [String] {
    /// Reads a program with its arguments; a relative program path becomes absolute.
    static var command: ValueSchema {
        let words = ValueSchema<[Field<String>]>.list(of: .text, repeats: true)
        return ValueSchema(words.description) { node, path, decoding in
            guard case .sequence(let nodes) = node.content else {
                return decoding.reportMismatch(
                    node, path, words.description,
                    help: "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
            }
            guard (1...100).contains(nodes.count) else {
                return decoding.fault(
                    node.position,
                    nodes.isEmpty
                        ? "\(path.text) names no program"
                        : "\(path.text) has \(nodes.count) words, wanted at most 100")
            }
            guard let fields = words.decode(node, path, &decoding) else { return nil }
            var command = fields.compactMap(\.value)
            guard command.count == nodes.count else { return nil }
            guard let program = decoding.program(nodes[0], command[0], path) else { return nil }
            command[0] = program
            return command
        }
    }
}

extension Decoding {
    /// Returns the path of a command's first word, or its name.
    fileprivate mutating func program(
        _ node: YAMLNode, _ text: String, _ path: CodingPath
    ) -> String? {
        let isPath = ["/", "./", "../", "~/"].contains(where: text.hasPrefix)
        // A whole command line where one word belongs is not a path below the job file's folder.
        guard isPath || !text.contains(where: \.isWhitespace) else {
            return fault(
                node.position, "the program \(shown(text)) of \(path.text) holds a blank",
                help: "write each word as an entry: `[sh, -c, \"...\"]` for a shell's line")
        }
        guard text.contains("/") || text.isEmpty else {
            guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
            else {
                return fault(node.position, "\(path.key) \(shown(text)) is not a program's name")
            }
            return text
        }
        return ValueSchema<String>.path.decode(node, path, &self)
    }
}

/// Whether an environment variable can have this name: 1 to 100 letters, digits and `_` of ASCII, no
/// digit first.
func isVariableName(_ name: Substring.UTF8View) -> Bool {
    guard (1...100).contains(name.count), let first = name.first, !(0x30...0x39).contains(first)
    else { return false }
    return name.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
        default: false
        }
    }
}
