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

extension HTML {
    /// The style sheet of a report: for screens in both themes, and for A4.
    ///
    /// The colours are those of the web pages.
    static var monthStyle: HTML {
        HTML(
            own: """
                :root {
                    color-scheme: light dark;
                    --ground: #fbfbfa; --surface: #ffffff; --ink: #1b1d1f; --muted: #5a6067;
                    --line: #d9dbdf; --accent: #0b6570; --band: #a9d3d7; --warn: #7d5300;
                    --awake: #b9bdc3; --rem: #8fc9cf; --core: #3f97a1; --deep: #0a4a53;
                }
                @media screen and (prefers-color-scheme: dark) {
                    :root {
                        --ground: #121416; --surface: #191c1f; --ink: #e9ebed; --muted: #a2a9b0;
                        --line: #2c3136; --accent: #6cc7d1; --band: #2b5b61; --warn: #e8bd6a;
                        --awake: #646b73; --rem: #a9e3ea; --core: #4fa9b4; --deep: #1e6570;
                    }
                }
                @page { size: A4; margin: 16mm 15mm; }
                * { box-sizing: border-box; }
                body {
                    margin: 0; background: var(--ground); color: var(--ink);
                    font: 400 1rem/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
                    font-variant-numeric: tabular-nums;
                }
                main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
                h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 620; }
                h1 { font-size: 1.9rem; letter-spacing: -0.018em; }
                h2 { font-size: 1.2rem; margin: 2.5rem 0 0.9rem; break-after: avoid; }
                h3 { font-size: 0.95rem; }
                p, ul, dl { margin: 0; padding: 0; }
                section > p { margin-bottom: 0.4rem; break-after: avoid; }
                .muted { color: var(--muted); }
                .small { font-size: 0.85rem; }
                .warn { color: var(--warn); font-weight: 620; }
                .unit { color: var(--muted); font-weight: 400; font-size: 0.8em; }
                .facts {
                    display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin-top: 1rem;
                    padding: 0.9rem 0; border: solid var(--line); border-width: 1px 0;
                }
                .facts dt { color: var(--muted); font-size: 0.8rem; }
                .facts dd { margin: 0; }
                .cards {
                    display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.9rem;
                }
                .figures {
                    display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0.9rem;
                    list-style: none; margin-bottom: 0.9rem;
                }
                .card {
                    background: var(--surface); border: 1px solid var(--line);
                    border-radius: 10px; padding: 0.9rem 1rem; break-inside: avoid;
                }
                .value { font-size: 1.45rem; font-weight: 620; line-height: 1.3; }
                svg { display: block; width: 100%; }
                .chart { margin: 0.5rem 0 0.3rem; height: auto; }
                svg text { fill: var(--muted); font-size: 9.5px; }
                .grid { stroke: var(--line); stroke-width: 1; }
                .band { fill: var(--band); }
                .bar { fill: var(--accent); }
                .mean { fill: none; stroke: var(--accent); stroke-width: 1.5; }
                .dot { fill: var(--accent); }
                .night {
                    display: grid; grid-template-columns: 4.2rem minmax(0, 1fr) 5.2rem;
                    gap: 0.6rem; align-items: center; font-size: 0.8rem; line-height: 1.35;
                    break-inside: avoid;
                }
                .night span:last-child { text-align: right; }
                .Awake { fill: var(--awake); background: var(--awake); }
                .AsleepREM { fill: var(--rem); background: var(--rem); }
                .AsleepCore { fill: var(--core); background: var(--core); }
                .AsleepDeep { fill: var(--deep); background: var(--deep); }
                .key { display: flex; gap: 1.1rem; list-style: none; margin-bottom: 0.6rem; }
                .key span {
                    display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px;
                    margin-right: 0.35em; print-color-adjust: exact;
                }
                svg, .card { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
                .scroll { overflow-x: auto; }
                table { border-collapse: collapse; width: 100%; font-size: 0.85rem; }
                th, td { padding: 0.28rem 0.6rem 0.28rem 0; text-align: left; }
                th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--line); }
                tbody th { color: inherit; font-weight: 400; border: 0; }
                tr { break-inside: avoid; }
                .number { text-align: right; padding-right: 0; padding-left: 0.6rem; }
                summary { cursor: pointer; color: var(--accent); font-size: 0.85rem; }
                details[open] > summary { margin-bottom: 0.4rem; }
                .insight { margin-bottom: 1.5rem; max-width: 42rem; }
                .insight p { margin-top: 0.4rem; }
                .insight ul, .missing { padding-left: 1.2rem; }
                footer { margin-top: 3rem; }
                @media (max-width: 640px) {
                    .cards { grid-template-columns: minmax(0, 1fr); }
                    .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
                    .night { grid-template-columns: 3.6rem minmax(0, 1fr) 4.4rem; }
                }
                @media print {
                    :root { --ground: #ffffff; }
                    html { font-size: 9.5pt; }
                    main { max-width: none; padding: 0; }
                    .scroll { overflow: visible; }
                    details:not([open]) { display: none; }
                    h2 { margin-top: 1.8rem; }
                }
                """)
    }
}
