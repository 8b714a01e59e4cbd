/// A JSON value to be written; keys keep their order.
enum JSONText {
    case null
    case bool(Bool)
    case number(Int64)
    case string(String)
    case array([JSONText])
    case object([(String, JSONText)])

    static func string(_ text: String?) -> JSONText { text.map { .string($0) } ?? .null }

    static func string(_ value: (some CustomStringConvertible)?) -> JSONText {
        .string(value?.description)
    }

    /// The value on one line.
    var line: String {
        var text = ""
        write(to: &text, indent: nil)
        return text
    }

    /// The value with each element on a line of its own.
    var page: String {
        var text = ""
        write(to: &text, indent: 0)
        return text
    }

    private func write(to text: inout String, indent: Int?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let value): text += String(value)
        case .string(let value): JSONText.write(value, to: &text)
        case .array(let elements):
            JSONText.write("[", "]", elements, to: &text, indent: indent) { element, text, indent in
                element.write(to: &text, indent: indent)
            }
        case .object(let members):
            JSONText.write("{", "}", members, to: &text, indent: indent) { member, text, indent in
                JSONText.write(member.0, to: &text)
                text += indent == nil ? ":" : ": "
                member.1.write(to: &text, indent: indent)
            }
        }
    }

    private static func write<Element>(
        _ open: String, _ close: String, _ elements: [Element], to text: inout String,
        indent: Int?, _ write: (Element, inout String, Int?) -> Void
    ) {
        text += open
        let inner = indent.map { $0 + 2 }
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            if let inner { text += "\n" + String(repeating: " ", count: inner) }
            write(element, &text, inner)
        }
        if let indent, !elements.isEmpty {
            text += "\n" + String(repeating: " ", count: indent)
        }
        text += close
    }

    /// Writes a string by RFC 8259, section 7. Every control character is escaped, for the result
    /// may be shown on a terminal.
    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
