public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// The list of stored metrics, and the days of one of them.

extension SheetReader {
    /// The minimum number of columns in which the names of measures are wrapped. Most names fit
    /// into it.
    private static let leastNameRoom = 24

    /// Returns the types of metrics with their numbers and their first and last dates.
    public func metrics() throws(HealthStoreError) -> Sheet {
        let stocks = try store.cache.metricStocks()
        let freshness = try freshness()
        var days = LocalDays(zone: zone)
        func day(_ instant: Instant) -> String {
            CivilDay(daysSince1970: days.day(at: instant.secondsSince1970).number).description
        }
        var sheet = Sheet()
        var rows: [[String]] = []
        sheet.cells = [["type", "count", "from", "to", "synced_at", "read_at"]]
        for stock in stocks {
            let name = DisplayText.cut(DisplayText.line(stock.name), to: 40)
            let measures = stock.group?.measures.map(\.rawValue) ?? []
            rows.append([
                name, "\(stock.count)", day(stock.first), day(stock.last),
                measures.count > 1 ? measures.joined(separator: ", ") : "",
            ])
            sheet.records.append([
                "type": .string(name), "count": .integer(stock.count),
                "first_at": .text(stock.first), "last_at": .text(stock.last),
                "measures": .array(measures.map { .string($0) }),
                "synced_at": .text(freshness.synced), "read_at": .text(freshness.read),
            ])
            sheet.cells.append([
                name, "\(stock.count)", "\(stock.first)", "\(stock.last)",
                freshness.synced?.description ?? "", freshness.read?.description ?? "",
            ])
            sheet.counts[name] = stock.count
        }
        sheet.lines = stockTable(rows)
        if rows.isEmpty { sheet.lines.append("no metrics are kept yet") }
        sheet.lines += lines(of: freshness)
        sheet.page = .array(sheet.records)
        return sheet
    }

    /// Returns the table of types. Names of measures that do not fit continue on the next line.
    private func stockTable(_ rows: [[String]]) -> [String] {
        let heading = ["TYPE", "COUNT", "FROM", "TO", "WITH"]
        let others = PageStyle.widths(([heading] + rows).map { Array($0.dropLast()) })
        let room = style.width - others.reduce(0) { $0 + $1 + 2 }
        guard room >= SheetReader.leastNameRoom else {
            return style.table(heading, rows, right: [1])
        }
        let wrapped = rows.flatMap { row -> [[String]] in
            let names = DisplayText.wrapped(row.last ?? "", width: room)
            return names.enumerated().map { number, names in
                let start = number == 0 ? Array(row.dropLast()) : ["", "", "", ""]
                return start + [names]
            }
        }
        return style.table(heading, wrapped, right: [1])
    }

    /// Returns the days of a group or of one measure.
    public func metrics(
        _ selection: MetricSelection, since: Since, until: CivilDay? = nil
    ) throws(HealthStoreError) -> Sheet {
        var local = LocalDays(zone: zone)
        let today = local.day(at: now.secondsSince1970).number
        let last = until?.daysSince1970 ?? today
        let first =
            switch since {
            case .days(let count): last - count + 1
            case .date(let day): min(day.daysSince1970, last)
            }
        var sheet = Sheet()
        let ofMeasures = try figures(of: selection.group, in: first...last, &sheet)
        let freshness = try freshness()
        write(ofMeasures, selection, first...last, &sheet)
        if sheet.lines.isEmpty {
            let day = last == today ? "today" : "that day"
            let span = first == last ? day : "in these \(last - first + 1) days"
            sheet.lines.append("no \(selection.group.rawValue) is known of \(span)")
        }
        sheet.lines += lines(of: freshness)
        sheet.page = [
            "type": .string(selection.group.rawValue),
            "since": .string(CivilDay(daysSince1970: first).description),
            "until": .string(CivilDay(daysSince1970: last).description),
            "time_zone": .string(zone.identifier), "synced_at": .text(freshness.synced),
            "read_at": .text(freshness.read), "damaged": .count(sheet.damaged.count),
            "measures": sheet.page,
        ]
        return sheet
    }

    /// Returns the figures of days of a group, of each measure in ascending order.
    func figures(
        of group: MetricGroup, in days: ClosedRange<Int>, _ sheet: inout Sheet
    ) throws(HealthStoreError) -> [Measure: [DayFigure]] {
        var figures = DailyFigures(group, in: zone)
        let begin = figures.start(of: days.lowerBound) - DailyFigures.lead(of: group)
        let end = figures.start(of: days.upperBound + 1)
        try metrics(group, in: begin..<max(begin, end), &sheet) { figures.add($0) }
        return figures.figures().mapValues { $0.filter { days.contains($0.day) } }
    }

    /// Writes each measure that has values: a block of lines, an object, and rows.
    private func write(
        _ figures: [Measure: [DayFigure]], _ selection: MetricSelection, _ span: ClosedRange<Int>,
        _ sheet: inout Sheet
    ) {
        var objects: [JSON] = []
        sheet.cells = [["measure", "unit", "day", "count", "min", "mean", "max", "total"]]
        for measure in selection.measures {
            guard let days = figures[measure], !days.isEmpty else { continue }
            if !sheet.lines.isEmpty { sheet.lines.append("") }
            sheet.lines += block(measure, days, span)
            var rows: [JSON] = []
            for figure in days {
                let row = MetricRow(measure: measure, figure: figure)
                rows.append(row.json)
                sheet.records.append(row.record)
                sheet.cells.append(row.cells)
            }
            objects.append([
                "measure": .string(measure.rawValue), "unit": .string(measure.unit),
                "days": .array(rows),
            ])
        }
        sheet.page = .array(objects)
    }

    /// Returns a measure for people: a heading, a row of bars with one bar a day, and a line a day.
    private func block(
        _ measure: Measure, _ days: [DayFigure], _ span: ClosedRange<Int>
    ) -> [String] {
        let known = Dictionary(days.map { ($0.day, $0) }, uniquingKeysWith: { first, _ in first })
        let bars = Sparkline.text(
            span.suffix(style.width).map { known[$0]?.value(of: measure) }, width: style.width)
        let rows = days.map { MetricRow(measure: measure, figure: $0).shown }
        let heading =
            measure.summing == .mean
            ? ["DAY", "COUNT", "MIN", "MEAN", "MAX"] : ["DAY", "COUNT", "TOTAL"]
        return [
            style.heading("\(measure.rawValue) in \(measure.unit), days of \(zone.identifier)"),
            bars,
        ] + style.table(heading, rows, right: [1, 2, 3, 4])
    }
}

/// One day of a measure, in each output form.
private struct MetricRow {
    let measure: Measure
    let figure: DayFigure

    private var day: String { CivilDay(daysSince1970: figure.day).description }

    /// The numbers that stand for the day, with their names.
    private var numbers: [(name: String, number: Double)] {
        measure.summing == .mean
            ? [("min", figure.least), ("mean", figure.mean), ("max", figure.most)]
            : [("total", figure.sum)]
    }

    var shown: [String] {
        [day, "\(figure.count)"]
            + numbers.map { fixedText($0.number, decimals: measure.decimals) }
    }

    /// The values with their names.
    var json: JSON {
        let head: JSON = ["day": .string(day), "count": .count(figure.count)]
        return head.adding(
            .object(numbers.map { JSON.Member(name: $0.name, value: roundedJSON($0.number)) }))
    }

    /// The values with their measure and unit.
    var record: JSON {
        let head: JSON = ["measure": .string(measure.rawValue), "unit": .string(measure.unit)]
        return head.adding(json)
    }

    var cells: [String] {
        let cells = ["min", "mean", "max", "total"].map { name in
            numbers.first { $0.name == name }.map { roundedJSON($0.number).line } ?? ""
        }
        return [measure.rawValue, measure.unit, day, "\(figure.count)"] + cells
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
