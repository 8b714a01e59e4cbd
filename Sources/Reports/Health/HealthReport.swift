public import HealthStore
public import HealthModel
package import JSON
import Platform
public import ClarityScheduler

/// The form in which data is written.
public enum ReportForm: String, CaseIterable, Sendable {
    case table
    case json
    case ndjson
    case csv
}

/// The output of a command that reads data, in each form.
///
/// It contains health data. It may go to the standard output of the person who asked, and nowhere
/// else.
public struct HealthReport: Sendable, PrivateValue {
    /// The lines for people.
    var lines: [String] = []
    /// The whole output as one JSON document.
    var page: JSON = .null
    /// The output as JSON objects, one a line.
    package internal(set) var records: [JSON] = []
    /// The output as rows of text, the heading first.
    var cells: [[String]] = []
    /// The number of entries read, by kind, for the audit log.
    public internal(set) var counts: [String: Int64] = [:]
    /// The rows that cannot be decrypted.
    public internal(set) var damaged: [EncryptionError] = []

    /// Makes a list in each form: a table, or the line `absence` if there are no rows.
    mutating func list<Row>(
        _ rows: [Row], _ report: Report<Row>, _ style: PageStyle, absence: String
    ) {
        records = rows.map(report.object)
        page = .array(records)
        cells = report.csv(rows)
        lines = rows.isEmpty ? [absence] : style.table(report.table(rows))
    }

    /// Returns the text in a form, with its line ends. The lines of `table` do not report damaged
    /// rows: that report belongs on the error output.
    public func text(_ form: ReportForm) -> String {
        switch form {
        case .table: lines.map { $0 + "\n" }.joined()
        case .json: page.page + "\n"
        case .ndjson: records.map { $0.line + "\n" }.joined()
        case .csv: cells.map { CSVText.record($0) + "\r\n" }.joined()
        }
    }

    /// The damaged rows in one line: their number and the first one's name; `nil` if there are
    /// none.
    public var damageLine: String? {
        guard let first = damaged.first else { return nil }
        let name = DisplayText.cut(
            DisplayText.line(first.row.map { "`\($0)` of \(first.table)" } ?? first.table), to: 80)
        return damaged.count == 1
            ? "1 row is damaged and left out: \(name)"
            : "\(damaged.count) rows are damaged and left out, the first is \(name)"
    }
}

/// The style of a table for people.
public struct PageStyle: Sendable {
    /// The available columns.
    public var width: Int
    /// Whether the text has no bold and no colours.
    public var isPlain: Bool
    /// How instants are shown; in UTC if it is `nil`.
    package var times: NearTimes?

    /// Creates a style. A width below 20 counts as 20.
    public init(width: Int, isPlain: Bool) {
        self.width = max(20, width)
        self.isPlain = isPlain
    }

    /// Returns a line as it fits the width: its instants as a person says them, wrapped between
    /// words, and indented by two more columns than it is.
    package func fitted(_ line: String) -> [String] {
        let line = times?.replaced(in: line) ?? line
        guard DisplayText.width(of: line) > width else { return [line] }
        let lead = String(line.prefix { $0 == " " })
        return DisplayText.fitted(
            String(line.dropFirst(lead.count)), width: width, first: lead, indent: lead.count + 2)
    }

    /// Returns a heading, cut to the width; in bold unless the style is plain.
    func heading(_ text: String) -> String {
        let text = DisplayText.cut(text, to: width)
        return isPlain ? text : "\u{1B}[1m\(text)\u{1B}[0m"
    }

    /// Returns a warning about stale or missing data, cut to the width; in colour unless the style
    /// is plain.
    func warning(_ text: String) -> String {
        let text = DisplayText.cut(text, to: width)
        return isPlain ? text : "\u{1B}[33m\(text)\u{1B}[0m"
    }

    /// Returns rows under a heading. Each column is as wide as its widest cell, and no line is
    /// wider than the style.
    ///
    /// - Parameter right: the columns of numbers, which are aligned to the right.
    func table(_ heading: [String], _ rows: [[String]], right: Set<Int> = []) -> [String] {
        guard !rows.isEmpty else { return [] }
        // Cells are cut before they are measured. A long text costs no more than its visible part,
        // and other cells are not padded beyond the width.
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
            return DisplayText.cut(DisplayText.trimmed(line), to: width)
        }
        return [self.heading(lines[0])] + lines.dropFirst()
    }

    /// Returns a table in the same way.
    func table(_ table: Table) -> [String] {
        self.table(table.heading, table.rows, right: table.numbers)
    }

    /// Returns the width of each column, which is that of its widest cell.
    static func widths(_ rows: [[String]]) -> [Int] {
        (rows.first ?? []).indices.map { column in
            rows.map { DisplayText.width(of: $0[column]) }.max() ?? 0
        }
    }
}

/// Formats a number with 0 to 3 decimals. A number that is too large for that (2^53 and beyond,
/// counted in its last decimal) has the standard library's own form.
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

/// Returns a number for programs, rounded to a thousandth.
func roundedJSON(_ number: Double) -> JSON {
    let rounded = (number * 1000).rounded() / 1000
    return Int64(exactly: rounded).map { .integer($0) } ?? .number(rounded)
}

/// Writes rows as comma-separated values (RFC 4180).
enum CSVText {
    /// Returns a record without its line end, which is CR LF.
    ///
    /// A field that contains a quote, a line end or what separates fields somewhere (comma,
    /// semicolon, tab) is quoted, and each quote in it is doubled. A field may come from elsewhere,
    /// so one that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, CSV
    /// Injection): a field that is not a number and starts with `=`, `+`, `-` or `@`, in full width
    /// as well, after any blanks, or with a tab or a line end. The pages write by the same rule:
    /// Sources/CWebPages/assets/csv.js.
    static func record(_ fields: [String]) -> String {
        fields.map(field).joined(separator: ",")
    }

    static func field(_ text: String) -> String {
        let text = isFormula(text) ? "'" + text : text
        let needsQuotes = text.utf8.contains { ",;\"\t\r\n".utf8.contains($0) }
        return needsQuotes ? "\"\(text.replacing(scalars: ["\"": "\"\""]))\"" : text
    }

    private static func isFormula(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first else { return false }
        if "\t\r\n".unicodeScalars.contains(first) { return true }
        let start = text.unicodeScalars.first { scalar in
            !scalar.properties.isWhitespace && scalar != "\u{FEFF}"
        }
        guard let start, "=+-@＝＋－＠".unicodeScalars.contains(start) else { return false }
        return Double(text) == nil || !text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    }
}

/// Reads the data on this machine for people and programs, and never contacts a backend.
public struct HealthReader {
    let store: HealthStore
    let now: Instant
    /// The time zone of the days.
    let zone: Zone
    let style: PageStyle
    /// The form to produce. Lines for people that are costly are made for `table` only.
    let form: ReportForm
    /// Whether there is a backend from which data is fetched.
    let hasBackend: Bool

    /// Creates a reader as of `now`.
    public init(
        _ store: HealthStore, now: Instant, zone: Zone, style: PageStyle,
        form: ReportForm = .table, hasBackend: Bool = true
    ) {
        self.form = form
        self.hasBackend = hasBackend
        self.store = store
        self.now = now
        self.zone = zone
        self.style = style
    }

    /// Returns the instant as of which to read.
    ///
    /// - Parameters:
    ///   - text: an instant in RFC 3339, or a date. A date means the end of that day, or `now` if
    ///     that day is today. Anything else means `now`.
    ///   - zone: the time zone of the days.
    public static func present(_ text: String?, in zone: Zone, now: Instant) -> Instant {
        guard let text else { return now }
        if let instant = Instant(rfc3339: text) { return instant }
        guard case .date(let date)? = Since(text) else { return now }
        var days = LocalDays(zone: zone)
        let day = days.day(date.daysSince1970)
        let isToday = (day.start..<day.end).contains(now.secondsSince1970)
        return isToday ? now : Instant(millisecondsSince1970: day.end * 1000 - 1)
    }

    /// The first day to read.
    public enum Since: Hashable, Sendable {
        /// The number of days, including today.
        case days(Int)
        /// A date.
        case date(CivilDay)

        /// 0000-01-01, before which no date is written.
        private static let earliest = CivilTime.daysSince1970(year: 0, month: 1, day: 1)

        /// Returns the first of the days that end with another one: that one at the latest.
        func first(upTo last: Int) -> Int {
            switch self {
            case .days(let count): max(last - count + 1, Since.earliest)
            case .date(let day): min(day.daysSince1970, last)
            }
        }

        /// Whether it is a date.
        public var isDate: Bool { if case .date = self { true } else { false } }

        /// Parses a span such as `30d`, or a date such as `2026-01-31`; `nil` for anything else,
        /// and for a span of more than 100 years.
        public init?(_ text: String) {
            if let span = Duration(text: text), span > .zero {
                let seconds = span.components.seconds
                self = .days(max(1, Int((seconds + 86_399) / 86_400)))
            } else if text.utf8.count == 10, let start = Instant(rfc3339: "\(text)T00:00:00Z") {
                self = .date(CivilDay(daysSince1970: Int(start.secondsSince1970 / 86_400)))
            } else {
                return nil
            }
        }
    }

    /// Reads the metrics of a group. The numbers of rows that an earlier version stored are
    /// extracted on the way.
    func metrics(
        _ group: MetricGroup, in span: Range<Instant>, _ report: inout HealthReport,
        each: (MetricRecord) -> Void
    ) throws(HealthStoreError) {
        var count: Int64 = 0
        report.damaged += try store.cache.readMetrics(
            group, in: span,
            flatten: { MetricNumbers(row: $0.json, type: $0.type) },
            each: { record in
                count += 1
                each(record)
            })
        if count > 0 { report.counts[group.rawValue, default: 0] += count }
    }

    /// Returns when metrics were last synced and when sources were last read.
    func freshness() throws(HealthStoreError) -> (synced: Instant?, read: Instant?) {
        (try store.cache.pullRecord(of: .metrics).endedAt, try store.outbox.lastSourceReading())
    }

    /// Returns lines for people about both times.
    func lines(of freshness: (synced: Instant?, read: Instant?)) -> [String] {
        var lines = synced(freshness.synced)
        if freshness.read != nil { lines.append(line("sources read", freshness.read)) }
        return lines
    }

    /// Returns the line about when something was fetched; none where there is no backend and nothing
    /// was.
    func synced(_ instant: Instant?) -> [String] {
        hasBackend || instant != nil ? [line("synced", instant)] : []
    }

    /// Returns `synced 3 h ago (2026-11-21T06:00:00Z)`, as a warning if that is stale.
    func line(_ word: String, _ instant: Instant?) -> String {
        let line = AsOf.fullText(word, instant, at: now)
        return AsOf.isStale(instant, at: now)
            ? style.warning(line) : DisplayText.cut(line, to: style.width)
    }
}
