/// Rows under a heading, each column as wide as its widest cell.
struct Table {
    var heading: [String]
    var rows: [[String]] = []

    /// The table's lines; without rows there are none.
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

/// The text without what could steer a terminal or turn the direction of the text: each such
/// character becomes `?`.
func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: steers) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { result.append(steers(scalar) ? "?" : scalar) }
    return String(result)
}

private func steers(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // Two of the format characters join what is one picture or one word.
    case .format: scalar.value != 0x200C && scalar.value != 0x200D
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}
