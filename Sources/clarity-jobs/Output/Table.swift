import Reports
import Platform
@preconcurrency import Glibc

extension Table {
    /// How narrow a last column may become beside the others, unless it has a longer word.
    private static let narrowest = 20

    /// The table without columns that have nothing but dashes.
    var withoutEmptyColumns: Table {
        let kept = heading.indices.filter { column in rows.contains { $0[column] != "-" } }
        return Table(
            heading: kept.map { heading[$0] }, rows: rows.map { row in kept.map { row[$0] } },
            stateColumn: stateColumn.flatMap(kept.firstIndex(of:)),
            numbers: Set(kept.indices.filter { numbers.contains(kept[$0]) }))
    }

    /// The table's lines, however wide; empty if there are no rows.
    var lines: [String] { lines(in: nil) }

    /// Returns the lines as they fit a terminal: the last cell of a row wraps under itself between
    /// words, and columns for which there is no room follow below, indented.
    ///
    /// - Parameters:
    ///   - style: `nil` for output that nobody looks at, which is never wrapped.
    ///   - times: how instants are shown.
    func lines(in style: PageStyle?, _ times: NearTimes? = nil) -> [String] {
        guard !rows.isEmpty else { return [] }
        let times = times ?? style?.times
        let all = ([heading] + rows).map { row in
            row.map { times?.replaced(in: $0.printable) ?? $0.printable }
        }
        let widths = heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let words = all.compactMap(\.last).flatMap { $0.split(separator: " ") }
        let narrow = max(Table.narrowest, words.map(\.count).max() ?? 0)
        let parts = style.map { Table.parts(widths, narrow, $0.width) } ?? [widths.indices]
        return all.flatMap { row in parts.flatMap { lines(of: row, $0, widths, style) } }
    }

    /// Divides the columns into parts of lines that are no wider than `width`. The last column may
    /// become as narrow as `narrow`.
    private static func parts(_ widths: [Int], _ narrow: Int, _ width: Int) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var (start, used) = (0, 0)
        for column in widths.indices {
            let isLast = column == widths.count - 1
            let needed = isLast ? min(widths[column], narrow) : widths[column]
            if column > start, used + needed > width {
                parts.append(start..<column)
                (start, used) = (column, 2)
            }
            used += needed + 2
        }
        return parts + [start..<widths.count]
    }

    private func lines(
        of row: [String], _ part: Range<Int>, _ widths: [Int], _ style: PageStyle?
    ) -> [String] {
        let last = part.upperBound - 1
        // The same twice, with and without colours, which take no columns.
        var (lead, painted) = (part.lowerBound == 0 ? "" : "  ", part.lowerBound == 0 ? "" : "  ")
        for column in part.dropLast() {
            let gap = String(repeating: " ", count: widths[column] - row[column].count + 2)
            lead += row[column] + gap
            painted += self.painted(row[column], column, style) + gap
        }
        var lines = [painted + self.painted(row[last], last, style)]
        if let style, last != stateColumn {
            lines = DisplayText.fitted(
                row[last], width: style.width, first: lead, indent: lead.count)
            if part.count > 1 { lines[0] = painted + lines[0].dropFirst(lead.count) }
        }
        return lines.map(Table.trimmed).filter { part.lowerBound == 0 || !$0.isEmpty }
    }

    private func painted(_ cell: String, _ column: Int, _ style: PageStyle?) -> String {
        column == stateColumn ? style?.painted(cell) ?? cell : cell
    }

    private static func trimmed(_ line: String) -> String {
        String(line.reversed().drop { $0 == " " }.reversed())
    }
}

extension Console {
    /// The number of columns of a terminal that does not report its width.
    private static let columns = 80
    /// The number of columns of a file or a pipe: nothing is cut or wrapped for it.
    private static let boundless = 1 << 16

    /// The style that fits the standard output.
    var pageStyle: PageStyle {
        terminalStyle ?? PageStyle(width: Console.boundless, isPlain: true)
    }

    /// The style of the terminal that is the standard output; `nil` if it is none.
    var terminalStyle: PageStyle? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        let isPlain =
            Environment.value("NO_COLOR").map { !$0.isEmpty } ?? false
            || Environment.value("TERM") ?? "dumb" == "dumb"
        var style = PageStyle(
            width: TerminalLine.columns(of: STDOUT_FILENO) ?? Console.columns, isPlain: isPlain)
        style.times = times
        return style
    }

    /// Whether a person may see some of the output.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1 }
}

extension PageStyle {
    /// The colours of states (ECMA-48): red for what failed, yellow for what is open.
    private static let colours = [
        "failed": 31, "missed": 31, "is overdue": 31, "not fresh": 31, "overdue": 31,
        "succeeded": 32, "holds": 32, "fresh": 32,
        "enqueued": 33, "open": 33, "running": 36,
    ]

    /// Returns a state in its colour; unchanged if it has none, or if the style is plain.
    func painted(_ state: String) -> String {
        guard !isPlain, let colour = PageStyle.colours[state] else { return state }
        return "\u{1B}[\(colour)m\(state)\u{1B}[0m"
    }
}
