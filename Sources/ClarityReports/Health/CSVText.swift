/// Writes rows as comma-separated values (RFC 4180).
enum CSVText {
    /// Returns a record without its line end, which is CR LF.
    ///
    /// A field that contains a comma, a quote or a line end is quoted, and each quote in it is
    /// doubled. A field may come from elsewhere, so one that a spreadsheet would take for a formula
    /// gets an apostrophe in front: a field that is not a number and starts with `=`, `+`, `-`,
    /// `@`, a tab or a carriage return.
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
