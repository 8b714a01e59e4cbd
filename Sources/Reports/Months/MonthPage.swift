import HealthModel
import ClarityScheduler

// A report as one file of HTML: no script, and nothing from elsewhere.

extension MonthReport {
    var dates: LocalDates { LocalDates(zone: zone) }

    /// The title, for people and as the name of the document.
    private var title: String { "Health in \(month.title)" }

    /// Returns the whole document.
    public func html() -> String {
        let head = HTML(
            "head", HTML("meta", ["charset": "utf-8"]),
            HTML("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
            HTML(
                "meta",
                [
                    "http-equiv": "Content-Security-Policy",
                    "content": "default-src 'none'; style-src 'unsafe-inline'",
                ]),
            HTML("title", text: title), HTML("style", HTML.monthStyle))
        var parts = [HTML("h1", text: title), facts]
        for section in [
            metricSection, sleepSection, workoutSection, insightSection, missingSection, [footer],
        ] {
            parts += section
        }
        let body = HTML("body", HTML("main", parts))
        return "<!DOCTYPE html>\n\(HTML("html", ["lang": "en"], head, body).markup)\n"
    }

    /// Writes the document into a new file that only its owner can read. It has its name when it is
    /// whole.
    ///
    /// - Parameter path: an absolute path, at which nothing may be.
    public func write(to path: String) throws(RecordExport.Fault) {
        try MonthReport.check(path)
        let file = try RecordFile(path)
        try file.write(Array(html().utf8))
        try file.finish()
    }

    /// - Throws: `RecordExport.Fault.exists` if a report cannot have this path.
    public static func check(_ path: String) throws(RecordExport.Fault) {
        try RecordDraft.checkIsNew(path)
    }

    // MARK: Head and foot

    private var facts: HTML {
        var facts = [
            ("Days with data", "\(knownDays) of \(span.count)"), ("Time zone", zone.identifier),
            ("Made", dates.fullMoment(made)),
        ]
        if isUnfinished {
            facts.append(("Not over yet", "up to \(dates.day(span.upperBound))"))
        }
        return HTML(
            "dl.facts",
            facts.map { HTML("div", HTML("dt", text: $0.0), HTML("dd", text: $0.1)) })
    }

    private var footer: HTML {
        HTML("footer.muted.small", text: "Made by clarity-jobs from the data on one machine.")
    }

    func section(_ id: String, _ title: String, _ content: [HTML]) -> [HTML] {
        [
            HTML(
                "section", ["aria-labelledby": id],
                [HTML("h2", ["id": id], text: title)] + content)
        ]
    }

    /// Returns a table whose columns of numbers have a `#` before their names.
    func table(_ caption: String, _ heading: [String], _ rows: [[HTML]]) -> HTML {
        let isNumber = heading.map { $0.hasPrefix("#") }
        let head = heading.map { name -> HTML in
            name.hasPrefix("#")
                ? HTML("th.number", ["scope": "col"], text: String(name.dropFirst()))
                : HTML("th", ["scope": "col"], text: name)
        }
        let body = rows.map { row in
            HTML(
                "tr",
                row.enumerated().map { column, cell in
                    column == 0
                        ? HTML("th", ["scope": "row"], cell)
                        : isNumber[column] ? HTML("td.number", cell) : HTML("td", cell)
                })
        }
        // On a phone a wide one scrolls by itself, by keys too.
        return HTML(
            "div.scroll", ["tabindex": "0", "role": "region", "aria-label": caption],
            HTML(
                "table", ["aria-label": caption], HTML("thead", HTML("tr", head)),
                HTML("tbody", body)))
    }

    func behind(_ caption: String, _ table: HTML) -> HTML {
        HTML("details", HTML("summary", text: caption), table)
    }

    // MARK: Metrics

    private var metricSection: [HTML] {
        guard !metrics.isEmpty else { return [] }
        return section("metrics", "Metrics", [HTML("div.cards", metrics.map(card))])
    }

    private func card(_ metric: Metric) -> HTML {
        let measure = metric.measure
        let name = measure.title
        let isMean = measure.summing == .mean
        func text(_ value: Double) -> String {
            MonthNumbers.text(value, unit: measure.unit, decimals: measure.decimals)
        }
        // On average there may be one and a half of what a day has a few of.
        func typicalText(_ value: Double) -> String {
            MonthNumbers.text(
                value, unit: measure.unit, decimals: metric.typicalDecimals)
        }
        var parts = [HTML("h3", text: name)]
        if let typical = metric.typical(metric.days), let extremes = metric.extremes {
            parts.append(
                HTML(
                    "p.value",
                    MonthNumbers.html(
                        typical, unit: measure.unit, decimals: metric.typicalDecimals),
                    HTML("span.unit", text: isMean ? " on average" : " a day")))
            parts.append(
                HTML(
                    "p.muted.small",
                    text: "from \(text(extremes.least)) to \(text(extremes.most)), "
                        + "\(metric.days.count) of \(span.count) days"))
            parts.append(HTML("p.muted.small", text: comparison(metric, typical, typicalText)))
        }
        let charts = MonthCharts(month: month, dates: dates)
        parts.append(charts.chart(of: metric) ?? HTML("p.small", text: "Too large to be drawn."))
        parts.append(behind("\(name) as a table", days(of: metric, name)))
        // A heading in it names it, so it needs no role of its own.
        return HTML("div.card", ["id": "metric-\(measure.rawValue)"], parts)
    }

    private func comparison(
        _ metric: Metric, _ typical: Double, _ text: (Double) -> String
    ) -> String {
        guard let before = metric.typical(metric.before) else {
            return "no data in \(month.before.name)"
        }
        let value = "\(text(before)) in \(month.before.name)"
        guard let change = MonthNumbers.change(from: before, to: typical) else { return value }
        return change == "the same" ? "the same as \(value)" : "\(change) from \(value)"
    }

    private func days(of metric: Metric, _ name: String) -> HTML {
        let measure = metric.measure
        let isMean = measure.summing == .mean
        let heading = isMean ? ["Day", "#Values", "#Least", "#Mean", "#Most"] : ["Day", "#Total"]
        let rows = metric.days.map { figure in
            let numbers =
                isMean ? [figure.least, figure.mean, figure.most] : [figure.sum]
            let count = isMean ? [HTML(text: "\(figure.count)")] : []
            return [HTML(text: dates.day(figure.day))] + count
                + numbers.map { MonthNumbers.html($0, of: measure) }
        }
        return table("\(name), day by day", heading, rows)
    }
}
