/// Rows under a heading, each column as wide as its widest cell.
struct Table {
    var heading: [String]
    var rows: [[String]] = []

    /// The table's lines; empty if there are no rows.
    var lines: [String] {
        guard !rows.isEmpty else { return [] }
        let all = ([heading] + rows).map { $0.map(printable) }
        let widths = heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column < row.count - 1 {
                    line += String(repeating: " ", count: widths[column] - cell.count + 2)
                }
            }
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

/// Returns the text with `?` for each character that could control a terminal or change the
/// direction of text.
func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: steers) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { result.append(steers(scalar) ? "?" : scalar) }
    return String(result)
}

private func steers(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // U+200C and U+200D are kept: they belong to single emoji and words.
    case .format: scalar.value != 0x200C && scalar.value != 0x200D
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}
