public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

/// What one row of a report of nights or workouts stands for.
public enum SpanPeriod: String, CaseIterable, Sendable {
    /// One night or one workout.
    case each
    case month
}

// Nights over any time: each of them, or what those of a month have in common.
extension HealthReader {
    /// Returns the nights that end on days, or those of each month.
    ///
    /// - Parameters:
    ///   - since: the first day; a number of days counts back from the last one, and `nil` is the
    ///     first day that has sleep.
    ///   - until: the last day; `nil` for that of the newest record of sleep.
    public func nights(
        by period: SpanPeriod, since: Since?, until: CivilDay?
    ) throws(HealthStoreError) -> HealthReport {
        var report = HealthReport()
        // A record that begins in the evening is of the night that ends on the next day.
        let (days, newest) = try span(of: "SleepAnalysis", since, until, shift: 12 * 3600)
        let nights = try nightRows(in: days, &report)
        let absence = "no night is known of these days"
        switch period {
        case .each: report.list(Array(nights.reversed()), NightRow.report, style, absence: absence)
        case .month:
            let months = NightMonth.months(of: nights, zone)
            report.list(months, NightMonth.report, style, absence: absence)
        }
        report.page =
            SpanResult(
                period: period, days: days, newest: newest, timeZone: zone.identifier,
                damaged: report.damaged.count, rows: report.records
            ).object
        return report
    }

    /// Returns the nights that end on days, with their minutes, the earliest first.
    func nightRows(
        in days: ClosedRange<Int>, _ report: inout HealthReport
    ) throws(HealthStoreError) -> [NightRow] {
        let figures = try figures(of: .sleep, in: days, &report).mapValues { figures in
            Dictionary(figures.map { ($0.day, $0.sum) }, uniquingKeysWith: { first, _ in first })
        }
        return try nights(in: days, &report).map {
            NightRow(night: $0, figures, zone, now: now.secondsSince1970)
        }
    }

    /// Returns the days that a reader asks for, and the day of the newest record; today if there is
    /// none.
    ///
    /// - Parameter ofRecords: the time zone of the records' days, if it is not the reader's.
    func span(
        of name: String, _ since: Since?, _ until: CivilDay?, shift: Int64 = 0,
        in ofRecords: Zone? = nil
    ) throws(HealthStoreError) -> (days: ClosedRange<Int>, newest: Int) {
        var local = LocalDays(zone: zone)
        let stocks = try store.archive.stocks(in: zone).stocks.filter { $0.type.isMeant(by: name) }
        let today = local.day(at: now.secondsSince1970).number
        var records = LocalDays(zone: ofRecords ?? zone)
        let newest = stocks.map(\.last).max().map {
            min(today, records.day(at: $0 + shift).number)
        }
        let oldest = stocks.map(\.first).min().map { records.day(at: $0).number }
        let last = until?.daysSince1970 ?? newest ?? today
        let first = since?.first(upTo: last) ?? min(oldest ?? last, last)
        return (first...last, newest ?? today)
    }

    /// Returns the nights that end on days, the earliest first.
    ///
    /// It reads half a year at a time, so that the memory does not grow with the years.
    private func nights(
        in days: ClosedRange<Int>, _ report: inout HealthReport
    ) throws(HealthStoreError) -> [Night] {
        var nights: [Night] = []
        var first = days.lowerBound
        while first <= days.upperBound {
            let last = min(first + 181, days.upperBound)
            // A night begins on the day before, and the last one is known by what follows it.
            if let rows = try singleRecords("SleepAnalysis", in: (first - 1)...(last + 1), &report)
            {
                nights += Night.nights(of: rows, in: zone).filter {
                    (first...last).contains($0.day)
                }
            }
            first = last + 1
        }
        report.counts["records of SleepAnalysis"] = nights.reduce(0) { $0 + Int64($1.parts.count) }
        return nights
    }
}

/// A night with the minutes of its stages, as `metrics sleep` has them where it has the night.
package struct NightRow: Reported, PrivateValue {
    let night: Night
    let zone: Zone
    /// Whether it has ended: a night of which the last records may be missing says nothing of sleep.
    let isOver: Bool
    private let figures: [Measure: Double]

    init(night: Night, _ figures: [Measure: [Int: Double]], _ zone: Zone, now: Int64) {
        (self.night, self.zone) = (night, zone)
        let figures = figures.compactMapValues { $0[night.day] }
        self.figures = figures
        isOver = figures[.totalSleep] != nil || night.end < now - 18 * 3600
    }

    /// The minutes asleep.
    var asleep: Double { figures[.totalSleep] ?? night.asleep }

    fileprivate func minutes(_ measure: Measure, _ stages: [String]) -> Double? {
        if let known = figures[measure] { return known }
        return figures[.totalSleep] == nil ? night.minutes(stages) : nil
    }

    private func clock(_ seconds: Int64) -> String {
        LocalDates(zone: zone).clock(Instant(secondsSince1970: seconds))
    }

    private static func length(_ minutes: Double?) -> String {
        minutes.map { MonthNumbers.text($0, unit: "min", decimals: 0) } ?? "-"
    }

    private static func length(
        _ name: String, _ summary: String, _ heading: String,
        _ value: @escaping @Sendable (NightRow) -> Double?
    ) -> Column<NightRow> {
        Column(name, summary) { value($0).map(RoundedNumber.init) }
            .shown(heading, isNumber: true) { length(value($0)) }.csv()
    }

    package static let report = Report<NightRow>([
        Column("night", "the day on which it ends") { CivilDay(daysSince1970: $0.night.day) }
            .shown("NIGHT TO").csv(),
        Column("start", "when it begins") { Instant(secondsSince1970: $0.night.start) }
            .shown("FROM") { $0.clock($0.night.start) }.csv(),
        Column("end", "when it ends") { Instant(secondsSince1970: $0.night.end) }
            .shown("TO") { $0.clock($0.night.end) }.csv(),
        length("asleep_minutes", "minutes asleep", "ASLEEP") { $0.asleep },
        length("deep_minutes", "minutes of deep sleep", "DEEP") {
            $0.minutes(.deepSleep, ["AsleepDeep"])
        },
        length("core_minutes", "minutes of core sleep", "CORE") {
            $0.minutes(.lightSleep, Night.coreStages)
        },
        length("rem_minutes", "minutes of REM sleep", "REM") {
            $0.minutes(.remSleep, ["AsleepREM"])
        },
        length("awake_minutes", "minutes awake", "AWAKE") { $0.minutes(.awake, ["Awake"]) },
        Column("is_over", "whether it has ended, as far as the sources say") { $0.isOver },
        Column("parts", "the parts of the night, in order") { $0.night.parts },
    ])
}

extension Night.Part: Reported {
    package static let report = Report<Night.Part>([
        Column("stage", "the stage, such as `AsleepCore`") { $0.stage },
        Column("start", "when it begins") { Instant(secondsSince1970: $0.start) },
        Column("end", "when it ends") { Instant(secondsSince1970: $0.end) },
    ])
}

/// What the nights of a month have in common.
package struct NightMonth: Reported, PrivateValue {
    let month: CivilMonth
    private let nights: [NightRow]
    private let regularity: Regularity?

    /// Returns the months that have nights, in their order.
    static func months(of nights: [NightRow], _ zone: Zone) -> [NightMonth] {
        Dictionary(grouping: nights.filter(\.isOver)) { CivilMonth(of: $0.night.day) }
            .sorted { $0.key < $1.key }
            .map { NightMonth(month: $0.key, nights: $0.value, in: zone) }
    }

    init(month: CivilMonth, nights: [NightRow], in zone: Zone) {
        (self.month, self.nights) = (month, nights)
        regularity = Regularity(nights.map(\.night), in: zone)
    }

    var count: Int { nights.count }
    /// The minutes asleep, on average.
    var asleep: Double { mean(\.asleep) ?? 0 }

    /// The minutes of the shortest and the longest night.
    var range: (least: Double, most: Double) { (lengths.min() ?? 0, lengths.max() ?? 0) }
    /// The usual times of falling asleep and waking, such as `23:40`.
    var usual: (start: String, end: String)? {
        regularity.map { (Self.clock($0.start.at), Self.clock($0.end.at)) }
    }

    static func length(_ minutes: Double) -> String {
        MonthNumbers.text(minutes, unit: "min", decimals: 0)
    }

    private var lengths: [Double] { nights.map(\.asleep) }

    private func mean(_ value: (NightRow) -> Double?) -> Double? {
        let known = nights.compactMap(value)
        return known.isEmpty ? nil : known.reduce(0, +) / Double(known.count)
    }

    private static func minutes(
        _ name: String, _ summary: String, _ heading: String? = nil,
        _ value: @escaping @Sendable (NightMonth) -> Double?
    ) -> Column<NightMonth> {
        let column = Column<NightMonth>(name, summary) { value($0).map(RoundedNumber.init) }.csv()
        guard let heading else { return column }
        return column.shown(heading, isNumber: true) {
            value($0).map(length) ?? "-"
        }
    }

    private static func clock(
        _ name: String, _ summary: String, _ heading: String,
        _ value: @escaping @Sendable (Regularity) -> Double
    ) -> Column<NightMonth> {
        Column(name, summary) { month in
            month.regularity.map { RoundedNumber(value($0)) }
        }.shown(heading, isNumber: true) { month in
            month.regularity.map { clock(value($0)) } ?? "-"
        }.csv()
    }

    /// Returns a time of night such as `23:40`, from the minutes after midnight.
    private static func clock(_ minutes: Double) -> String {
        let minute = (Int(minutes.rounded()) + 1440) % 1440
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(padded(minute / 60)):\(padded(minute % 60))"
    }

    package static let report = Report<NightMonth>([
        Column("month", "the month, such as 2026-11") { $0.month.description }
            .shown("MONTH").csv(),
        Column("nights", "number of nights that are known") { $0.nights.count }
            .shown("NIGHTS", isNumber: true).csv(),
        minutes("asleep_minutes", "minutes asleep, on average", "ASLEEP") { $0.mean(\.asleep) },
        minutes("least_minutes", "minutes asleep of the shortest night", "LEAST") {
            $0.lengths.min()
        },
        minutes("most_minutes", "minutes asleep of the longest night", "MOST") {
            $0.lengths.max()
        },
        minutes("deep_minutes", "minutes of deep sleep, on average") {
            $0.mean { $0.minutes(.deepSleep, ["AsleepDeep"]) }
        },
        minutes("rem_minutes", "minutes of REM sleep, on average") {
            $0.mean { $0.minutes(.remSleep, ["AsleepREM"]) }
        },
        clock("usual_start", "usual beginning, in minutes after midnight", "USUALLY FROM") {
            $0.start.at
        },
        clock("usual_end", "usual end, in minutes after midnight", "TO") { $0.end.at },
        minutes("start_within", "minutes within which half of the nights begin") {
            $0.regularity?.start.within
        },
        minutes("end_within", "minutes within which half of the nights end") {
            $0.regularity?.end.within
        },
    ])
}

/// The result of `nights`, `workouts` or `activity`.
package struct SpanResult: Reported, PrivateValue {
    let period: SpanPeriod
    let days: ClosedRange<Int>
    let newest: Int
    let timeZone: String
    let damaged: Int
    let rows: [JSON]

    package static let report: Report<SpanResult> = columns(
        of: .either([NightRow.valueType, NightMonth.valueType]))
    /// The report whose rows are workouts.
    package static let ofWorkouts: Report<SpanResult> = columns(
        of: .either([WorkoutRow.valueType, WorkoutMonth.valueType]))
    /// The report whose rows are the activity of days.
    package static let ofActivity: Report<SpanResult> = columns(
        of: .either([RingDay.valueType, RingMonth.valueType]))

    private static func columns(of rows: ValueType) -> Report<SpanResult> {
        Report<SpanResult>([
            Column("by", "what a row stands for: each or month") { $0.period.rawValue },
            Column("since", "the first day") { CivilDay(daysSince1970: $0.days.lowerBound) },
            Column("until", "the last day") { CivilDay(daysSince1970: $0.days.upperBound) },
            Column("newest", "the day of the newest record; today if there is none") {
                CivilDay(daysSince1970: $0.newest)
            },
            Column("time_zone", "the time zone of days") { $0.timeZone },
            Column("damaged", "number of damaged rows that are left out") { $0.damaged },
            Column("rows", "the rows", as: { .list(rows) }) { .array($0.rows) },
        ])
    }
}
