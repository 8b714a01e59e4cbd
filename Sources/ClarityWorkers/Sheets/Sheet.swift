public import ClarityJobs
import JSON

/// How what was read is written.
public enum SheetForm: String, CaseIterable, Sendable {
    case table
    case json
    case ndjson
    case csv
}

/// What a command that reads has to show, in each form.
///
/// It has health data in it and is for the standard output of whoever asked, and nothing else.
public struct Sheet: Sendable, PrivateValue {
    /// For people.
    var lines: [String] = []
    /// The whole as one document.
    var page: JSON = .null
    /// The same, each a line.
    var records: [JSON] = []
    /// The same as rows of texts under a heading.
    var cells: [[String]] = []
    /// What was read, by kind, for the audit log.
    public internal(set) var counts: [String: Int64] = [:]
    /// What does not open.
    public internal(set) var damaged: [SealingError] = []

    init() {}

    /// The text of a form, with the ends of its lines; of `table` without the damage, which belongs
    /// to the error output.
    public func text(_ form: SheetForm) -> String {
        switch form {
        case .table: lines.map { $0 + "\n" }.joined()
        case .json: page.page + "\n"
        case .ndjson: records.map { $0.line + "\n" }.joined()
        case .csv: cells.map { CSVText.record($0) + "\r\n" }.joined()
        }
    }

    /// The damaged rows in one line: how many, and the first by name; `nil` for none.
    public var damageLine: String? {
        guard let first = damaged.first else { return nil }
        let name = DisplayText.cut(
            DisplayText.line(first.row.map { "`\($0)` of \(first.table)" } ?? first.table), to: 80)
        return damaged.count == 1
            ? "1 row is damaged and left out: \(name)"
            : "\(damaged.count) rows are damaged and left out, the first is \(name)"
    }
}

/// How a table for people is written.
public struct PageStyle: Sendable {
    /// The columns that there are.
    public var width: Int
    /// Whether headings may stand out.
    public var isPlain: Bool

    /// Creates a style.
    public init(width: Int, isPlain: Bool) {
        self.width = max(20, width)
        self.isPlain = isPlain
    }

    /// A heading: bold where that may be.
    func heading(_ text: String) -> String {
        let text = DisplayText.cut(text, to: width)
        return isPlain ? text : "\u{1B}[1m\(text)\u{1B}[0m"
    }

    /// What is stale or missing: in another colour where that may be.
    func warning(_ text: String) -> String {
        let text = DisplayText.cut(text, to: width)
        return isPlain ? text : "\u{1B}[33m\(text)\u{1B}[0m"
    }

    /// Rows under a heading, each column as wide as its widest cell, no line wider than there is
    /// room.
    ///
    /// - Parameter right: the columns of numbers, which end at the same place.
    func table(_ heading: [String], _ rows: [[String]], right: Set<Int> = []) -> [String] {
        guard !rows.isEmpty else { return [] }
        // Of a long text no more is measured, and no shorter one moved, than there is room for.
        let rows = ([heading] + rows).map { $0.map { DisplayText.cut($0, to: width) } }
        let widths = PageStyle.widths(rows)
        let lines = rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let gap = String(
                    repeating: " ", count: widths[column] - DisplayText.width(of: cell))
                line += column == 0 ? "" : "  "
                line += right.contains(column) ? gap + cell : cell + gap
            }
            return DisplayText.cut(
                String(line.reversed().drop { $0 == " " }.reversed()), to: width)
        }
        return [self.heading(lines[0])] + lines.dropFirst()
    }

    /// How wide each column is: as its widest cell.
    static func widths(_ rows: [[String]]) -> [Int] {
        (rows.first ?? []).indices.map { column in
            rows.map { DisplayText.width(of: $0[column]) }.max() ?? 0
        }
    }
}

/// A number with a fixed count of decimals, 0 to 3; in the standard library's own form where it is
/// beyond 2^53.
func fixedText(_ number: Double, decimals: Int) -> String {
    let scale = [1, 10, 100, 1000][min(max(decimals, 0), 3)]
    let scaled = (number.magnitude * Double(scale)).rounded()
    guard scaled < 0x1p53 else { return number.description }
    let count = Int(scaled)
    let sign = number < 0 && count > 0 ? "-" : ""
    guard scale > 1 else { return "\(sign)\(count)" }
    let fraction = String(count % scale)
    let zeros = String(repeating: "0", count: min(max(decimals, 0), 3) - fraction.count)
    return "\(sign)\(count / scale).\(zeros)\(fraction)"
}

/// A number for programs, rounded to a thousandth.
func roundedJSON(_ number: Double) -> JSON {
    let rounded = (number * 1000).rounded() / 1000
    return Int64(exactly: rounded).map { .integer($0) } ?? .number(rounded)
}
