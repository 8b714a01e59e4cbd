import Platform

/// A page of the manual in the language of man(7).
///
/// Texts have the marks of Markdown for code, which becomes bold, and for links, of which the text
/// stays.
struct ManualPage {
    /// The page's name, such as `clarity-jobs-run`.
    let name: String
    /// The section of the manual: 1 for commands, 5 for files.
    let section: Int
    private(set) var text: String

    /// Begins a page with the sections NAME and SYNOPSIS.
    init(_ name: String, section: Int = 1, summary: String, synopsis: String? = nil) {
        self.name = name
        self.section = section
        text = ".TH \(name.uppercased().replacing("-", with: "\\-")) \(section) \"\" "
        text += "\"clarity\\-jobs \(programVersion)\"\n.nh\n.ad l\n"
        heading("NAME")
        let first = summary.prefix(1).lowercased() + summary.dropFirst()
        let phrase = first.hasSuffix(".") ? String(first.dropLast()) : first
        text += "\(ManualPage.plain(name)) \\- \(ManualPage.marked(phrase))\n"
        guard let synopsis else { return }
        heading("SYNOPSIS")
        text += ".B \(ManualPage.plain(synopsis))\n"
    }

    var fileName: String { "\(name).\(section)" }

    mutating func heading(_ title: String) { text += ".SH \(title)\n" }

    mutating func subheading(_ title: String) { text += ".SS \(ManualPage.marked(title))\n" }

    mutating func paragraph(_ words: String) { text += ".PP\n\(ManualPage.marked(words))\n" }

    /// Writes lines as they are.
    mutating func code(_ lines: [String]) {
        text += ".PP\n.nf\n.RS 4\n"
        text += lines.map { ManualPage.plain($0) + "\n" }.joined()
        text += ".RE\n.fi\n"
    }

    /// Writes a term and what it means.
    mutating func definition(_ term: String, _ meaning: String) {
        text += ".TP\n.B \(ManualPage.marked(term))\n\(ManualPage.marked(meaning))\n"
    }

    /// Returns a text in which no character has a meaning of its own.
    private static func plain(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            .replacing("'", with: "\\(aq").replacing("`", with: "\\(ga")
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }

    private static func marked(_ text: String) -> String {
        var result = ""
        for (index, part) in text.split(separator: "`", omittingEmptySubsequences: false)
            .enumerated()
        {
            result +=
                index.isMultiple(of: 2) ? linkTexts(part) : "\\fB\(plain(String(part)))\\fP"
        }
        return result.hasPrefix(".") ? "\\&" + result : result
    }

    /// Returns a text with each link `[text](address)` replaced by its text.
    private static func linkTexts(_ text: Substring) -> String {
        var result = ""
        var rest = text
        while let start = rest.firstIndex(of: "["), let end = rest.firstRange(of: "]("),
            start < end.lowerBound, let close = rest[end.upperBound...].firstIndex(of: ")")
        {
            result += rest[..<start] + rest[rest.index(after: start)..<end.lowerBound]
            rest = rest[rest.index(after: close)...]
        }
        return plain(result + rest)
    }
}
