import HealthModel
import ClarityScheduler

// A report as one file of HTML: no script, and nothing from elsewhere.

extension MonthReport: PrintedReport {
    var dates: LocalDates { LocalDates(zone: zone) }

    /// The title, for people and as the name of the document.
    private var title: String { "Health in \(month.title)" }

    /// Returns the whole document.
    public func html() -> String {
        var parts = [HTML("h1", text: title), facts]
        for section in [
            metricSection, sleepSection, workoutSection, insightSection, missingSection,
            [HTML.reportFooter],
        ] {
            parts += section
        }
        return HTML.document(title, parts)
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
        return HTML.facts(facts)
    }

    // MARK: Metrics

    private var metricSection: [HTML] {
        guard !metrics.isEmpty else { return [] }
        return HTML.section("metrics", "Metrics", [HTML("div.cards", metrics.map(card))])
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
        parts.append(HTML.behind("\(name) as a table", days(of: metric, name)))
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
        return HTML.table("\(name), day by day", heading, rows)
    }
}

// The sections of a report below its metrics: sleep, workouts, insights, and what is missing.

extension MonthReport {
    // MARK: Sleep

    var sleepSection: [HTML] {
        guard let regularity = Regularity(nights, in: zone) else { return [] }
        let totals = metrics.first { $0.measure == .totalSleep }?.days.map(\.sum) ?? []
        let lengths = totals.isEmpty ? nights.map(\.asleep) : totals
        let mean = lengths.reduce(0, +) / Double(lengths.count)
        func clock(_ usual: Regularity.Usual) -> HTML {
            let minutes = (Int(usual.at.rounded()) + 1440) % 1440
            let parts = [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            return HTML(text: parts.joined(separator: ":"))
        }
        func within(_ usual: Regularity.Usual) -> String {
            "half the nights within \(fixedText(usual.within, decimals: 0)) min of it"
        }
        func length(_ minutes: Double?) -> String {
            MonthNumbers.text(minutes ?? 0, unit: "min", decimals: 0)
        }
        let figures = HTML(
            "ul.figures",
            HTML.figure(
                "Asleep, on average", MonthNumbers.html(mean, unit: "min", decimals: 0),
                "from \(length(lengths.min())) to \(length(lengths.max()))"),
            HTML.figure("Usually asleep at", clock(regularity.start), within(regularity.start)),
            HTML.figure("Usually awake at", clock(regularity.end), within(regularity.end)),
            HTML.figure(
                "Nights", HTML("data", ["value": "\(nights.count)"], text: "\(nights.count)"),
                "that are recorded"))
        let key = HTML(
            "ul.key.small",
            MonthCharts.stages.map { stage, name in
                HTML("li", HTML("span", ["class": stage]), HTML(text: name))
            })
        let rows = MonthCharts(month: month, dates: dates).nights(nights)
        return HTML.section(
            "sleep", "Sleep",
            [
                figures,
                HTML("div.card", [key] + rows + [HTML.behind("Nights as a table", nightTable)]),
            ])
    }

    private var nightTable: HTML {
        let columns: [(Measure, String)] = [
            (.totalSleep, "#Asleep"), (.deepSleep, "#Deep"), (.lightSleep, "#Core"),
            (.remSleep, "#REM"), (.awake, "#Awake"), (.sleepEfficiency, "#Efficiency"),
        ]
        let rows = nights.map { night in
            [HTML(text: dates.day(night.day))]
                + [night.start, night.end].map {
                    HTML(text: dates.clock(Instant(secondsSince1970: $0)))
                }
                + columns.map { measure, _ in
                    let days = metrics.first { $0.measure == measure }?.days
                    guard let figure = days?.first(where: { $0.day == night.day }) else {
                        return HTML(text: "")
                    }
                    return MonthNumbers.html(figure.value(of: measure), of: measure)
                }
        }
        return HTML.table("Nights", ["Morning of", "From", "To"] + columns.map(\.1), rows)
    }

    // MARK: Workouts and insights

    var workoutSection: [HTML] {
        guard !workouts.isEmpty else { return [] }
        let minutes = workouts.reduce(0) { $0 + $1.minutes }
        let lead = HTML(
            "p.muted",
            HTML("data", ["value": "\(workouts.count)"], text: "\(workouts.count)"),
            HTML(text: workouts.count == 1 ? " workout, " : " workouts, "),
            MonthNumbers.html(minutes, unit: "min", decimals: 0), HTML(text: " in all"))
        func cell(_ figure: Workout.Figure?) -> HTML {
            guard let figure else { return HTML(text: "") }
            let decimals = figure.value.magnitude >= 100 ? 0 : 1
            return MonthNumbers.html(figure.value, unit: figure.unit, decimals: decimals)
        }
        let rows = workouts.map { workout in
            [
                HTML(text: wordsOfName(workout.activity)),
                HTML(text: dates.moment(Instant(secondsSince1970: workout.start))),
                MonthNumbers.html(workout.minutes, unit: "min", decimals: 0),
                cell(workout.energy), cell(workout.distance), cell(workout.heart),
            ]
        }
        return HTML.section(
            "workouts", "Workouts",
            [
                lead,
                HTML.table(
                    "Workouts",
                    ["Workout", "When", "#Length", "#Energy", "#Distance", "#Heart rate"], rows),
            ])
    }

    var insightSection: [HTML] {
        guard !insights.isEmpty else { return [] }
        return HTML.section("insights", "Insights", insights.map(article))
    }

    private func article(_ insight: InsightReport) -> HTML {
        func list(_ title: String, _ texts: [String]) -> [HTML] {
            texts.isEmpty
                ? []
                : [
                    HTML("p.small.muted", text: title),
                    HTML("ul", texts.map { HTML("li", text: $0) }),
                ]
        }
        let paragraphs = insight.narrative.split(whereSeparator: \.isNewline).map {
            HTML("p", text: String($0))
        }
        return HTML(
            "div.insight",
            [HTML("h3", text: dates.moment(insight.madeAt))] + paragraphs
                + list("Key points", insight.keyPoints)
                + list("Recommendations", insight.recommendations))
    }

    // MARK: What is missing

    var missingSection: [HTML] {
        var lines: [HTML] = []
        func add(_ text: String) { lines.append(HTML("li", text: text)) }
        for reading in readings where AsOf.isStale(reading.at, at: made) {
            let age = AsOf.text(reading.word, reading.at, at: made)
            let when = reading.at.map { " (\(dates.fullMoment($0)))" } ?? ""
            lines.append(HTML("li.warn", text: age + when))
        }
        if let damageLine { lines.append(HTML("li.warn", text: damageLine)) }
        for what in excess {
            add("\(wordsOfName(what)): too many records to be shown")
        }
        for (name, days) in gaps {
            let count = days.count == 1 ? "1 day" : "\(days.count) days"
            add("\(name): no data on \(count): \(LocalDates.list(days))")
        }
        for group in absent { add("\(wordsOfName(group.rawValue)): no data in this month") }
        if nights.isEmpty, excess.isEmpty { add("No night is recorded in this month") }
        if insights.isEmpty, hasBackend { add("No insight was made in this month") }
        return lines.isEmpty
            ? HTML.section("missing", "What is missing", [HTML("p", text: "Nothing.")])
            : HTML.section("missing", "What is missing", [HTML("ul.missing", lines)])
    }

    /// The days without data of each metric that has data in the month; measures of the same days are
    /// named together.
    private var gaps: [(String, [Int])] {
        var gaps: [(name: String, days: [Int])] = []
        for metric in metrics {
            let known = Set(metric.days.map(\.day))
            let days = span.filter { !known.contains($0) }
            guard !days.isEmpty else { continue }
            let name = metric.measure.title
            if let place = gaps.firstIndex(where: { $0.days == days }) {
                gaps[place].name += ", \(MonthNumbers.withinSentence(name))"
            } else {
                gaps.append((name, days))
            }
        }
        return gaps.map { ($0.name, $0.days) }
    }
}
