import HealthModel
import ClarityScheduler

// The sections of a report below its metrics: sleep, workouts, insights, and what is missing.

extension MonthReport {
    // MARK: Sleep

    var sleepSection: [HTML] {
        guard let regularity = Regularity(nights, in: zone) else { return [] }
        let totals = metrics.first { $0.measure == .totalSleep }?.days.map(\.sum) ?? []
        let lengths = totals.isEmpty ? nights.map(\.asleep) : totals
        let mean = lengths.reduce(0, +) / Double(lengths.count)
        func figure(_ name: String, _ value: HTML, _ note: String) -> HTML {
            HTML(
                "li.card", HTML("h3", text: name), HTML("p.value", value),
                HTML("p.muted.small", text: note))
        }
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
            figure(
                "Asleep, on average", MonthNumbers.html(mean, unit: "min", decimals: 0),
                "from \(length(lengths.min())) to \(length(lengths.max()))"),
            figure("Usually asleep at", clock(regularity.start), within(regularity.start)),
            figure("Usually awake at", clock(regularity.end), within(regularity.end)),
            figure(
                "Nights", HTML("data", ["value": "\(nights.count)"], text: "\(nights.count)"),
                "that are recorded"))
        let key = HTML(
            "ul.key.small",
            MonthCharts.stages.map { stage, name in
                HTML("li", HTML("span", ["class": stage]), HTML(text: name))
            })
        let rows = MonthCharts(month: month, dates: dates).nights(nights)
        return section(
            "sleep", "Sleep",
            [
                figures,
                HTML("div.card", [key] + rows + [behind("Nights as a table", nightTable)]),
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
        return table("Nights", ["Morning of", "From", "To"] + columns.map(\.1), rows)
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
        return section(
            "workouts", "Workouts",
            [
                lead,
                table(
                    "Workouts",
                    ["Workout", "When", "#Length", "#Energy", "#Distance", "#Heart rate"], rows),
            ])
    }

    var insightSection: [HTML] {
        guard !insights.isEmpty else { return [] }
        return section("insights", "Insights", insights.map(article))
    }

    private func article(_ insight: InsightText) -> HTML {
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
        if insights.isEmpty { add("No insight was made in this month") }
        return lines.isEmpty
            ? section("missing", "What is missing", [HTML("p", text: "Nothing.")])
            : section("missing", "What is missing", [HTML("ul.missing", lines)])
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
