public import HealthStore
public import HealthModel
import ClarityScheduler

// The list of stored metrics, and the days of one of them.

extension HealthReader {
    /// The minimum number of columns in which the names of measures are wrapped. Most names fit
    /// into it.
    private static let leastNameRoom = 24

    /// Returns the types of metrics with their numbers and their first and last dates.
    public func metrics() throws(HealthStoreError) -> HealthReport {
        let stocks = try store.cache.metricStocks()
        let freshness = try freshness()
        var days = LocalDays(zone: zone)
        func day(_ instant: Instant) -> String {
            CivilDay(daysSince1970: days.day(at: instant.secondsSince1970).number).description
        }
        var report = HealthReport()
        let rows = stocks.map { stock in
            MetricStockRow(
                stock: stock, firstDay: day(stock.first), lastDay: day(stock.last),
                syncedAt: freshness.synced, readAt: freshness.read)
        }
        for row in rows { report.counts[row.name] = row.stock.count }
        report.list(rows, MetricStockRow.report, style, absence: "no metrics are kept yet")
        if !rows.isEmpty { report.lines = stockTable(MetricStockRow.report.table(rows)) }
        report.lines += lines(of: freshness)
        return report
    }

    /// Returns the table of types. Names of measures that do not fit continue on the next line.
    private func stockTable(_ table: Table) -> [String] {
        let others = PageStyle.widths(([table.heading] + table.rows).map { $0.dropLast() })
        let room = style.width - others.reduce(0) { $0 + $1 + 2 }
        guard room >= HealthReader.leastNameRoom else { return style.table(table) }
        var wrapped = table
        wrapped.rows = table.rows.flatMap { row -> [[String]] in
            let names = DisplayText.wrapped(row.last ?? "", width: room)
            return names.enumerated().map { number, names in
                let start = number == 0 ? Array(row.dropLast()) : ["", "", "", ""]
                return start + [names]
            }
        }
        return style.table(wrapped)
    }

    /// Returns the days of a group or of one measure.
    public func metrics(
        _ selection: MetricSelection, since: Since, until: CivilDay? = nil
    ) throws(HealthStoreError) -> HealthReport {
        var local = LocalDays(zone: zone)
        let today = local.day(at: now.secondsSince1970).number
        let last = until?.daysSince1970 ?? today
        let first = since.first(upTo: last)
        var report = HealthReport()
        let ofMeasures = try figures(of: selection.group, in: first...last, &report)
        let freshness = try freshness()
        let measures = selection.measures.compactMap { measure in
            ofMeasures[measure].flatMap { $0.isEmpty ? nil : MeasureDays(measure, $0) }
        }
        for measure in measures {
            if !report.lines.isEmpty { report.lines.append("") }
            report.lines += block(measure, first...last)
        }
        let days = measures.flatMap(\.days)
        report.records = days.map(MetricRow.line.object)
        report.cells = MetricRow.line.csv(days)
        if report.lines.isEmpty {
            let day = last == today ? "today" : "that day"
            let span = first == last ? day : "in these \(last - first + 1) days"
            report.lines.append("no \(selection.group.rawValue) is known of \(span)")
        }
        report.lines += lines(of: freshness)
        report.page =
            MetricsResult(
                type: selection.group.rawValue, since: CivilDay(daysSince1970: first),
                until: CivilDay(daysSince1970: last), timeZone: zone.identifier,
                syncedAt: freshness.synced, readAt: freshness.read,
                damaged: report.damaged.count, measures: measures
            ).object
        return report
    }

    /// Returns the figures of days of a group, of each measure in ascending order.
    func figures(
        of group: MetricGroup, in days: ClosedRange<Int>, _ report: inout HealthReport
    ) throws(HealthStoreError) -> [Measure: [DayFigure]] {
        var figures = DailyFigures(group, in: zone)
        let begin = figures.start(of: days.lowerBound) - DailyFigures.lead(of: group)
        let end = figures.start(of: days.upperBound + 1)
        try metrics(group, in: begin..<max(begin, end), &report) { figures.add($0) }
        return figures.figures().mapValues { $0.filter { days.contains($0.day) } }
    }

    /// Returns a measure for people: a heading, a row of bars with one bar a day, and a line a day.
    private func block(_ days: MeasureDays, _ span: ClosedRange<Int>) -> [String] {
        let measure = days.measure
        let known = Dictionary(
            days.days.map { ($0.figure.day, $0.figure) }, uniquingKeysWith: { first, _ in first })
        let bars = Sparkline.text(
            span.suffix(style.width).map { known[$0]?.value(of: measure) }, width: style.width)
        return [
            style.heading("\(measure.rawValue) in \(measure.unit), days of \(zone.identifier)"),
            bars,
        ] + style.table(MetricRow.report(of: measure.summing).table(days.days))
    }
}

/// What there is of a type of metrics.
package struct MetricStockRow: Reported {
    let stock: MetricStock
    let firstDay: String
    let lastDay: String
    let syncedAt: Instant?
    let readAt: Instant?

    /// The backend may have given any name.
    var name: String { DisplayText.cut(DisplayText.line(stock.name), to: 40) }
    private var measures: [String] { stock.group?.measures.map(\.rawValue) ?? [] }

    package static let report = Report<MetricStockRow>([
        Column("type", "the type") { $0.name }.shown("TYPE").csv(),
        Column("count", "number of stored metrics") { $0.stock.count }
            .shown("COUNT", isNumber: true).csv(),
        Column("first_at", "time of the first one") { $0.stock.first }
            .shown("FROM") { $0.firstDay }.csv("from"),
        Column("last_at", "time of the last one") { $0.stock.last }
            .shown("TO") { $0.lastDay }.csv("to"),
        Column("measures", "the measures of the type") { $0.measures }
            .shown("WITH") {
                $0.measures.count > 1 ? $0.measures.joined(separator: ", ") : ""
            },
        Column("synced_at", "when metrics were last fetched") { $0.syncedAt }.csv(),
        Column("read_at", "when the sources were last read") { $0.readAt }.csv(),
    ])
}

/// The days of a group of measures.
package struct MetricsResult: Reported, PrivateValue {
    let type: String
    let since: CivilDay
    let until: CivilDay
    let timeZone: String
    let syncedAt: Instant?
    let readAt: Instant?
    let damaged: Int
    let measures: [MeasureDays]

    package static let report = Report<MetricsResult>([
        Column("type", "the type") { $0.type },
        Column("since", "the first day") { $0.since },
        Column("until", "the last day") { $0.until },
        Column("time_zone", "the time zone of days") { $0.timeZone },
        Column("synced_at", "when metrics were last fetched") { $0.syncedAt },
        Column("read_at", "when the sources were last read") { $0.readAt },
        Column("damaged", "number of damaged rows that are left out") { $0.damaged },
        Column("measures", "the measures of the type") { $0.measures },
    ])
}

/// The days of a measure that have values.
package struct MeasureDays: Reported, PrivateValue {
    let measure: Measure
    let days: [MetricRow]

    init(_ measure: Measure, _ days: [DayFigure]) {
        self.measure = measure
        self.days = days.map { MetricRow(measure: measure, figure: $0) }
    }

    package static let report = Report<MeasureDays>([
        Column("measure", "the measure") { $0.measure.rawValue },
        Column("unit", "its unit") { $0.measure.unit },
        Column("days", "the days that have values") { $0.days },
    ])
}

/// One day of a measure. Its numbers are a mean between extremes, or a sum.
package struct MetricRow: Reported, PrivateValue {
    let measure: Measure
    let figure: DayFigure

    package static let report = Report(day + means + totals, omitsNulls: true)

    /// Returns the columns of the measures whose values are combined in this way.
    static func report(of summing: Measure.Summing) -> Report<MetricRow> {
        Report(day + (summing == .mean ? means : totals))
    }

    private static let day: [Column<MetricRow>] = [
        Column("day", "the day") { CivilDay(daysSince1970: $0.figure.day) }.shown("DAY").csv(),
        Column("count", "number of values") { $0.figure.count }
            .shown("COUNT", isNumber: true).csv(),
    ]
    private static let means = [
        number("min", "least value, where a day has a mean", of: .mean) { $0.least },
        number("mean", "mean of the values", of: .mean) { $0.mean },
        number("max", "greatest value, where a day has a mean", of: .mean) { $0.most },
    ]
    private static let totals = [
        number("total", "sum, where a day has a sum", of: .total) { $0.sum }
    ]

    /// The day with its measure.
    package static let line = Report<MetricRow>(
        [
            Column("measure", "the measure") { $0.measure.rawValue }.csv(),
            Column("unit", "its unit") { $0.measure.unit }.csv(),
        ] + report.columns, omitsNulls: true)

    private static func number(
        _ name: String, _ summary: String, of summing: Measure.Summing,
        _ value: @escaping @Sendable (DayFigure) -> Double
    ) -> Column<MetricRow> {
        Column(name, summary) { row in
            row.measure.summing == summing ? RoundedNumber(value(row.figure)) : nil
        }.shown(name.uppercased(), isNumber: true) { row in
            fixedText(value(row.figure), decimals: row.measure.decimals)
        }.csv()
    }
}

/// A row of bars, one for each value.
struct Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns the bars of values, the lowest for the least value and the highest for the greatest
    /// one. Equal values have bars of middle height. A missing value is a space.
    ///
    /// - Parameter width: the number of columns; if there are more values, the last ones are shown.
    static func text(_ values: [Double?], width: Int = .max) -> String {
        let shown = values.suffix(width)
        let known = shown.compactMap { $0 }.filter(\.isFinite)
        guard let least = known.min(), let most = known.max() else { return "" }
        // Halved, because the whole span may exceed the range of a `Double`.
        let span = most / 2 - least / 2
        return String(
            shown.map { value -> Character in
                guard let value, value.isFinite else { return " " }
                guard span > 0 else { return bars[3] }
                return bars[min(7, Int((value / 2 - least / 2) / span * 8))]
            })
    }
}
