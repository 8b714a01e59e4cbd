/// A piece of HTML that is well-formed XML too.
///
/// Text becomes a part of it by `init(text:)` alone, which escapes it, so that no text from elsewhere
/// can become an element or an attribute.
struct HTML {
    /// The names come from the program; the values may come from elsewhere.
    typealias Attributes = KeyValuePairs<StaticString, String>

    let markup: String

    /// Creates the text of an element.
    init(text: String) { markup = HTML.escaped(text) }

    /// Creates an element.
    ///
    /// - Parameter name: the element and its classes, such as `p.muted`.
    init(_ name: StaticString, _ attributes: Attributes, _ content: [HTML]) {
        let parts = "\(name)".split(separator: ".")
        var markup = "<\(parts[0])"
        if parts.count > 1 { markup += " class=\"\(parts.dropFirst().joined(separator: " "))\"" }
        for (name, value) in attributes { markup += " \(name)=\"\(HTML.escaped(value))\"" }
        let isVoid = content.isEmpty && HTML.voids.contains(String(parts[0]))
        markup += isVoid ? "/>" : ">\(HTML.joined(content).markup)</\(parts[0])>"
        self.markup = markup
    }

    init(_ name: StaticString, _ content: [HTML]) { self.init(name, [:], content) }

    init(_ name: StaticString, _ content: HTML...) { self.init(name, [:], content) }

    init(_ name: StaticString, _ attributes: Attributes, _ content: HTML...) {
        self.init(name, attributes, content)
    }

    init(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        self.init(name, attributes, [HTML(text: text)])
    }

    /// Creates HTML of a text of the program's own, such as a style sheet.
    init(own text: StaticString) { markup = "\(text)" }

    private init(joining parts: [HTML]) { markup = parts.map(\.markup).joined() }

    static func joined(_ parts: [HTML]) -> HTML { HTML(joining: parts) }

    /// The elements without content and end.
    private static let voids: Set<String> = ["meta", "br", "line", "path", "rect", "circle"]

    /// Returns a text that is the same text in HTML, as content and as the value of an attribute.
    ///
    /// Characters that no document may contain, and those that change the direction of text, become
    /// U+FFFD; a text of more than 64 KiB is cut.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in DisplayText.harmless(text).unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case _ where scalar.value & 0xFFFE == 0xFFFE: escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
