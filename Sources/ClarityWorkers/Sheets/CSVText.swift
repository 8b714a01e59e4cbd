/// Rows as comma-separated values (RFC 4180).
enum CSVText {
    /// A record without its end, which is CR LF.
    ///
    /// A field with a comma, a quote or an end of a line stands in quotes, and a quote in it is
    /// doubled. A text that a spreadsheet would take for a formula (`=`, `+`, `-`, `@` in front, but
    /// for a number) gets an apostrophe in front, for it may come from elsewhere.
    static func record(_ fields: [String]) -> String {
        fields.map(field).joined(separator: ",")
    }

    static func field(_ text: String) -> String {
        var text = text
        if let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first),
            Double(text) == nil
        {
            text = "'" + text
        }
        let needsQuotes = text.utf8.contains { ",\"\r\n".utf8.contains($0) }
        return needsQuotes ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
    }
}
