import ClaritySystem

/// Rows under a heading, each column as wide as its widest cell.
struct Table {
    var heading: [String]
    var rows: [[String]] = []

    /// The table's lines; empty if there are no rows.
    var lines: [String] {
        guard !rows.isEmpty else { return [] }
        let all = ([heading] + rows).map { $0.map(\.printable) }
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
