public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

/// A year of a person's data in numbers, beside the year before.
public struct YearReport: Reported, PrivateValue {
    /// A measure with values in the year.
    struct Figures: Reported {
        let measure: Measure
        /// The days of the year with values, ascending.
        let days: [DayFigure]
        /// The number that stands for the year before; `nil` if nothing is known of it.
        let before: Double?
        let months: [Trend.Month]

        var metric: MonthReport.Metric { .init(measure: measure, days: days, before: []) }
        var isSum: Bool { measure.summing == .total }
        /// The mean of the values, or the total of a day on average.
        var value: Double { metric.typical(days) ?? 0 }
        var total: Double? { isSum ? days.reduce(0) { $0 + $1.sum } : nil }
        /// The months with the greatest and the least number; none where there is only one.
        var highest: Trend.Month? { several.max { $0.value < $1.value } }
        var lowest: Trend.Month? { several.min { $0.value < $1.value } }
        private var several: [Trend.Month] { months.count > 1 ? months : [] }
        /// The day with the greatest total.
        var best: DayFigure? { isSum ? days.max { $0.sum < $1.sum } : nil }

        func text(_ value: Double) -> String {
            MonthNumbers.text(value, unit: measure.unit, decimals: metric.typicalDecimals)
        }

        /// How the year compares with the one before, such as `+4 %`; `nil` without one.
        var change: String? { before.flatMap { MonthNumbers.change(from: $0, to: value) } }

        static let report = Report<Figures>([
            Column("measure", "the measure") { $0.measure.rawValue }.csv(),
            Column("title", "its name for people") { $0.measure.title }.shown("MEASURE"),
            Column("unit", "its unit") { $0.measure.unit }.csv(),
            Column("is_sum", "whether a day is a total; otherwise a mean") { $0.isSum },
            Column("value", "mean of the values, or the total of a day on average") {
                RoundedNumber($0.value)
            }.shown("YEAR", isNumber: true) { $0.text($0.value) }.csv(),
            Column("total", "the total of the year, of a measure with totals") {
                $0.total.map { RoundedNumber($0) }
            }.csv(),
            Column("days", "number of days with values") { $0.days.count }
                .shown("DAYS", isNumber: true).csv(),
            Column("before", "the same number of the same part of the year before") {
                $0.before.map { RoundedNumber($0) }
            }.shown("BEFORE", isNumber: true) { row in row.before.map(row.text) ?? "-" }.csv(),
            Column("highest", "the month with the greatest number, of several") {
                $0.highest?.month.description
            }
            .shown("HIGHEST IN") { $0.highest?.month.name ?? "-" }.csv(),
            Column("lowest", "the month with the least number, of several") {
                $0.lowest?.month.description
            }
            .shown("LOWEST IN") { $0.lowest?.month.name ?? "-" }.csv(),
            Column("best_day", "the day with the greatest total") {
                $0.best.map { CivilDay(daysSince1970: $0.day) }
            }.csv(),
            Column("best_value", "the total of that day") { $0.best.map { RoundedNumber($0.sum) } }
                .csv(),
            Column("months", "the months that have values") { $0.months },
        ])
    }

    /// How much somebody did of an activity.
    struct Activity: Reported {
        let name: String
        let workouts: [Workout]

        var minutes: Double { workouts.reduce(0) { $0 + $1.minutes } }
        /// The sum of the distances in the unit of the first one; those in others are left out.
        var distance: Workout.Figure? {
            let known = workouts.compactMap(\.distance)
            guard let unit = known.first?.unit else { return nil }
            return .init(
                value: known.filter { $0.unit == unit }.reduce(0) { $0 + $1.value }, unit: unit)
        }

        static let report = Report<Activity>([
            Column("title", "the activity for people") { $0.name },
            Column("workouts", "number of workouts") { $0.workouts.count },
            Column("minutes", "their length in minutes") { RoundedNumber($0.minutes) },
            Column("distance", "their distance") { $0.distance.map { RoundedNumber($0.value) } },
            Column("distance_unit", "its unit") { $0.distance?.unit },
        ])
    }

    /// The type of a row of the table.
    public static var figuresType: ValueType { Figures.valueType }

    public let year: Int
    let zone: Zone
    let made: Instant
    let span: ClosedRange<Int>
    public let isOver: Bool
    fileprivate(set) var figures: [Figures] = []
    fileprivate(set) var nights: NightMonth?
    fileprivate(set) var activities: [Activity] = []
    fileprivate(set) var rings: [RingDay] = []
    fileprivate var data = HealthReport()

    /// The number of entries read, by kind, for the audit log.
    public var counts: [String: Int64] { data.counts }
    /// As of `HealthReport.damageLine`.
    public var damageLine: String? { data.damageLine }

    public var hasData: Bool {
        !figures.isEmpty || nights != nil || !activities.isEmpty || !rings.isEmpty
    }

    /// The days with a value of any measure.
    public var knownDays: Int { Set(figures.flatMap { $0.days.map(\.day) }).count }

    fileprivate init(_ year: Int, _ zone: Zone, today: Int, made: Instant) {
        (self.year, self.zone, self.made) = (year, zone, made)
        let all =
            CivilTime.daysSince1970(
                year: year, month: 1, day: 1)...CivilTime.daysSince1970(
                year: year, month: 12, day: 31)
        span = all.lowerBound...max(all.lowerBound, min(today, all.upperBound))
        isOver = today > all.upperBound
    }

    public static let report = Report<YearReport>([
        Column("year", "the year") { $0.year },
        Column("is_over", "whether the year has ended") { $0.isOver },
        Column("time_zone", "the time zone of days") { $0.zone.identifier },
        Column("damaged", "number of damaged rows that are left out") { $0.data.damaged.count },
        Column("measures", "the measures that have values in the year") { $0.figures },
        Column(
            "nights", "what the nights have in common",
            as: { NightMonth.report.without(["month"]).type }, isOptional: true
        ) { year in
            year.nights.map { NightMonth.report.without(["month"]).object($0) } ?? .null
        },
        Column("activities", "the workouts by activity, most time first") { $0.activities },
        Column("ring_days", "number of days that a watch summed up") { $0.rings.count },
        Column("rings_closed", "days that met every goal") { $0.rings.count(where: \.isWhole) },
        Column("longest_streak", "the most days in a row that met every goal") {
            RingMonth.longestStreak($0.rings)
        },
    ])
}

extension HealthReader {
    /// Shows a year beside the one before.
    ///
    /// - Parameter year: `nil` for the newest one that has data.
    public func year(_ year: Int?) throws(HealthStoreError) -> HealthReport {
        let found = try yearReport(year)
        var report = found.data
        report.list(
            found.figures, YearReport.Figures.report, style,
            absence: "nothing is known of \(found.year)")
        report.lines.insert(style.heading("\(found.year) beside the year before"), at: 0)
        report.lines += found.sentences.flatMap { style.fitted($0) }
        report.page = YearReport.report.object(found)
        return report
    }

    /// Reads what a year has.
    ///
    /// - Parameter year: `nil` for the newest one that has data.
    public func yearReport(_ year: Int?) throws(HealthStoreError) -> YearReport {
        var local = LocalDays(zone: zone)
        let stocks = try store.cache.metricStocks()
        let today = local.day(at: now.secondsSince1970).number
        let newest = stocks.map(\.last).max().map { local.day(at: $0.secondsSince1970).number }
        let year = year ?? CivilMonth(of: min(newest ?? today, today)).year
        var report = YearReport(year, zone, today: today, made: now)
        let start = CivilTime.daysSince1970(year: year - 1, month: 1, day: 1)
        let end = report.span.lowerBound
        for group in MetricGroup.allCases where stocks.contains(where: { $0.group == group }) {
            let figures = try figures(of: group, in: start...report.span.upperBound, &report.data)
            report.figures += group.measures.compactMap { measure in
                let all = figures[measure] ?? []
                let days = all.filter { report.span.contains($0.day) }
                // A year that is not over is compared with the same part of the one before.
                let before = all.filter { $0.day < min(start + report.span.count, end) }
                return days.isEmpty ? nil : Self.figures(measure, days, before)
            }
        }
        report.data.counts["measures"] = Int64(report.figures.count)
        let nights = try nightRows(in: report.span, &report.data).filter(\.isOver)
        if !nights.isEmpty {
            report.nights = NightMonth(
                month: CivilMonth(of: report.span.lowerBound), nights: nights, in: zone)
        }
        let workouts = try singleRecords("Workout", in: report.span, &report.data) ?? []
        report.activities = Dictionary(grouping: workouts.map { Workout($0) }) {
            wordsOfName($0.activity)
        }
        .map { YearReport.Activity(name: $0.key, workouts: $0.value) }
        .sorted { ($0.minutes, $1.name) > ($1.minutes, $0.name) }
        report.rings = try activity(in: report.span, &report.data)
        return report
    }

    private static func figures(
        _ measure: Measure, _ days: [DayFigure], _ before: [DayFigure]
    ) -> YearReport.Figures {
        let metric = MonthReport.Metric(measure: measure, days: days, before: [])
        let months = Dictionary(grouping: days) { CivilMonth(of: $0.day) }
            .sorted { $0.key < $1.key }
            .compactMap { month, days in
                metric.typical(days).map { Trend.Month(month: month, value: $0, days: days.count) }
            }
        return .init(
            measure: measure, days: days, before: metric.typical(before), months: months)
    }
}

extension YearReport {
    /// What nights, workouts and goals come to, a sentence each.
    var sentences: [String] {
        var sentences: [String] = []
        if let nights {
            sentences.append(
                "\(nights.count) nights, \(NightMonth.length(nights.asleep)) asleep on average")
        }
        for activity in activities {
            let count = activity.workouts.count
            let distance = activity.distance.map {
                ", \(MonthNumbers.text($0.value, unit: $0.unit, decimals: 0))"
            }
            sentences.append(
                "\(DisplayText.line(activity.name)): \(count) \(count == 1 ? "workout" : "workouts")"
                    + ", \(MonthNumbers.text(activity.minutes, unit: "min", decimals: 0))"
                    + (distance ?? ""))
        }
        if !rings.isEmpty {
            sentences.append(
                "every goal met on \(rings.count(where: \.isWhole)) of \(rings.count) days, at most "
                    + "\(RingMonth.longestStreak(rings)) in a row")
        }
        return sentences
    }
}

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
