import HealthModel
import ClarityScheduler

// A year as one file of HTML, to print or to send.
extension YearReport: PrintedReport {
    private var dates: LocalDates { LocalDates(zone: zone) }

    /// Returns the whole document.
    public func html() -> String {
        let title = "Health in \(year)"
        var facts = [
            ("Days with data", "\(knownDays) of \(span.count)"), ("Time zone", zone.identifier),
            ("Made", dates.fullMoment(made)),
        ]
        if !isOver { facts.append(("Not over yet", "up to \(dates.day(span.upperBound))")) }
        var parts = [HTML("h1", text: title), HTML.facts(facts)]
        for section in [measureSection, nightSection, activitySection, ringSection] {
            parts += section
        }
        return HTML.document(title, parts + [HTML.reportFooter])
    }

    private var measureSection: [HTML] {
        guard !figures.isEmpty else { return [] }
        let rows = figures.map { one in
            [HTML(text: one.measure.title), number(one, one.value)]
                + [one.highest, one.lowest].map { month in
                    month.map {
                        HTML(text: "\($0.month.name.prefix(3)), \(one.text($0.value))")
                    } ?? HTML(text: "")
                }
                + [one.before.map { number(one, $0) } ?? HTML(text: "")]
        }
        return HTML.section(
            "measures", "The year in numbers",
            [
                HTML("div.cards", figures.map(card)),
                HTML.behind(
                    "All numbers as a table",
                    HTML.table(
                        "All numbers",
                        ["Measure", "#\(year)", "#Highest month", "#Lowest month", "#\(year - 1)"],
                        rows)),
            ])
    }

    private func number(_ one: Figures, _ value: Double) -> HTML {
        MonthNumbers.html(value, unit: one.measure.unit, decimals: one.metric.typicalDecimals)
    }

    private func card(_ one: Figures) -> HTML {
        var notes = ["\(one.days.count) of \(span.count) days"]
        if let total = one.total { notes.append("\(one.text(total)) in all") }
        if let best = one.best { notes.append("most on \(dates.day(best.day))") }
        let before = one.before.map { before in
            "\(one.text(before)) in the same part of \(year - 1)"
                + (one.change.map { " (\($0))" } ?? "")
        }
        return HTML(
            "div.card", ["id": "measure-\(one.measure.rawValue)"],
            [
                HTML("h3", text: one.measure.title),
                HTML(
                    "p.value", number(one, one.value),
                    HTML("span.unit", text: one.isSum ? " a day" : " on average")),
                HTML("p.muted.small", text: notes.joined(separator: ", ")),
                HTML("p.muted.small", text: before ?? "nothing is known of \(year - 1)"),
                months(of: one),
            ])
    }

    /// Returns a bar for each month: of a total from zero, of a mean from below its least one.
    private func months(of one: Figures) -> HTML {
        let values = one.months.map(\.value)
        let (least, most) = (values.min() ?? 0, values.max() ?? 0)
        let floor = one.isSum ? 0 : least - (most - least) * 0.5
        let bars = one.months.map { month in
            let share = most > floor ? max(0, (month.value - floor) / (most - floor)) : 1
            let height = 4 + 76 * (share.isFinite ? share : 1)
            return HTML(
                "rect",
                [
                    "class": "bar", "x": "\((month.month.month - 1) * 28 + 4)", "width": "20",
                    "y": fixedText(84 - height, decimals: 1),
                    "height": fixedText(height, decimals: 1), "rx": "1.5",
                ], HTML("title", text: "\(month.month.title): \(one.text(month.value))"))
        }
        let names = (0..<12).map { index in
            HTML(
                "text", ["x": "\(index * 28 + 14)", "y": "96", "text-anchor": "middle"],
                text: String(CivilMonth(monthsSince1970: index).name.prefix(1)))
        }
        return HTML(
            "svg.chart",
            [
                "viewBox": "0 0 340 100", "role": "img",
                "aria-label": "\(one.measure.title), month by month; the table has the numbers",
            ], bars + names)
    }

    private var nightSection: [HTML] {
        guard let nights else { return [] }
        let (least, most) = nights.range
        var cards = [
            HTML.figure(
                "Asleep, on average", MonthNumbers.html(nights.asleep, unit: "min", decimals: 0),
                "from \(NightMonth.length(least)) to \(NightMonth.length(most))"),
            HTML.figure(
                "Nights", HTML("data", ["value": "\(nights.count)"], text: "\(nights.count)"),
                "that are recorded"),
        ]
        if let usual = nights.usual {
            cards.append(
                HTML.figure(
                    "Usually asleep at", HTML(text: usual.start), "the middle of all nights"))
            cards.append(
                HTML.figure("Usually awake at", HTML(text: usual.end), "the middle of all nights"))
        }
        return HTML.section("sleep", "Sleep", [HTML("ul.figures", cards)])
    }

    private var activitySection: [HTML] {
        guard !activities.isEmpty else { return [] }
        let rows = activities.map { one in
            [
                HTML(text: one.name),
                HTML("data", ["value": "\(one.workouts.count)"], text: "\(one.workouts.count)"),
                MonthNumbers.html(one.minutes, unit: "min", decimals: 0),
                one.distance.map { MonthNumbers.html($0.value, unit: $0.unit, decimals: 0) }
                    ?? HTML(text: ""),
            ]
        }
        return HTML.section(
            "workouts", "Workouts",
            [HTML.table("Workouts", ["Activity", "#Workouts", "#Time", "#Distance"], rows)])
    }

    private var ringSection: [HTML] {
        guard !rings.isEmpty else { return [] }
        let closed = rings.count(where: \.isWhole)
        let streak = RingMonth.longestStreak(rings)
        return HTML.section(
            "goals", "Goals",
            [
                HTML(
                    "p", HTML(text: "Every goal was met on "),
                    HTML("data", ["value": "\(closed)"], text: "\(closed)"),
                    HTML(text: " of \(rings.count) days, at most "),
                    HTML("data", ["value": "\(streak)"], text: "\(streak)"),
                    HTML(text: " in a row."))
            ])
    }
}
