public import HealthStore
public import HealthModel
import ClarityScheduler

/// What a month of data has, to be written as a page.
///
/// It contains health data, and goes only to where the person who asked wants it.
public struct MonthReport: Sendable, PrivateValue {
    /// A measure with values in the month.
    struct Metric: Hashable {
        let measure: Measure
        /// The days of the month, ascending.
        let days: [DayFigure]
        /// Those of the month before.
        let before: [DayFigure]
    }

    /// How old a part of the data is.
    struct Reading: Hashable {
        let word: String
        let at: Instant?
    }

    public let month: CivilMonth
    let zone: Zone
    let made: Instant
    /// Whether there is a backend that makes insights.
    let hasBackend: Bool
    /// The days of the month up to today.
    let span: ClosedRange<Int>
    fileprivate(set) var metrics: [Metric] = []
    /// The groups that are known of other months only.
    fileprivate(set) var absent: [MetricGroup] = []
    fileprivate(set) var nights: [Night] = []
    fileprivate(set) var workouts: [Workout] = []
    fileprivate(set) var insights: [InsightReport] = []
    fileprivate(set) var readings: [Reading] = []
    /// What is in the month, but too much to be shown.
    fileprivate(set) var excess: [String] = []
    fileprivate var data = HealthReport()

    /// Whether the month has days to come.
    public var isUnfinished: Bool { span.upperBound < month.days.upperBound }

    /// The number of entries read, by kind, for the audit log.
    public var counts: [String: Int64] { data.counts }
    /// As of `HealthReport.damageLine`.
    public var damageLine: String? { data.damageLine }

    /// The days of the month with at least one value, night or workout.
    public var knownDays: Int {
        var local = LocalDays(zone: zone)
        let days =
            metrics.flatMap { $0.days.map(\.day) } + nights.map(\.day)
            + workouts.map { local.day(at: $0.start).number }
        return Set(days).count
    }

    fileprivate init(_ month: CivilMonth, _ reader: HealthReader, today: Int) {
        self.month = month
        (zone, made, hasBackend) = (reader.zone, reader.now, reader.hasBackend)
        span = month.days.lowerBound...min(today, month.days.upperBound)
    }
}

/// Why there is no report of a month.
public enum MonthFault: Error {
    case notBegun
    /// Nothing is known of it or of an earlier month.
    case tooEarly(first: CivilMonth)
    /// Nothing is known of any month.
    case noData
    case store(HealthStoreError)
}

extension HealthReader {
    /// The last whole month.
    public var lastMonth: CivilMonth { CivilMonth(of: today).before }

    private var today: Int {
        var local = LocalDays(zone: zone)
        return local.day(at: now.secondsSince1970).number
    }

    /// Reads what a month has.
    public func report(of month: CivilMonth) throws(MonthFault) -> MonthReport {
        let today = today
        guard month.days.lowerBound <= today else { throw .notBegun }
        let (stocks, first) = try reading { () throws(HealthStoreError) in
            let stocks = try store.cache.metricStocks()
            return (stocks, try firstMonth(stocks))
        }
        guard let first else { throw .noData }
        guard month >= first else { throw .tooEarly(first: first) }
        return try reading { () throws(HealthStoreError) in
            var report = MonthReport(month, self, today: today)
            try addMetrics(stocks, to: &report)
            try addRecords(to: &report)
            try addInsights(to: &report)
            let freshness = try freshness()
            if hasBackend || freshness.synced != nil {
                report.readings = [.init(word: "synced", at: freshness.synced)]
            }
            if freshness.read != nil {
                report.readings.append(.init(word: "sources read", at: freshness.read))
            }
            return report
        }
    }

    private func reading<Result>(
        _ body: () throws(HealthStoreError) -> Result
    ) throws(MonthFault) -> Result {
        do throws(HealthStoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    /// Returns the month of the first metric or record.
    private func firstMonth(_ stocks: [MetricStock]) throws(HealthStoreError) -> CivilMonth? {
        var local = LocalDays(zone: zone)
        var months = stocks.map { CivilMonth(of: local.day(at: $0.first.secondsSince1970).number) }
        months += try store.archive.types().compactMap { type in
            type.months.first.map { CivilMonth(monthsSince1970: $0) }
        }
        return months.min()
    }

    private func addMetrics(
        _ stocks: [MetricStock], to report: inout MonthReport
    ) throws(HealthStoreError) {
        let before = report.month.before.days
        for group in MetricGroup.allCases where stocks.contains(where: { $0.group == group }) {
            let figures = try figures(
                of: group, in: before.lowerBound...report.span.upperBound, &report.data)
            let found = group.measures.compactMap { measure -> MonthReport.Metric? in
                let all = figures[measure] ?? []
                let days = all.filter { report.span.contains($0.day) }
                return days.isEmpty
                    ? nil
                    : .init(
                        measure: measure, days: days,
                        before: all.filter { before.contains($0.day) })
            }
            report.metrics += found
            if found.isEmpty { report.absent.append(group) }
        }
    }

    private func addRecords(to report: inout MonthReport) throws(HealthStoreError) {
        // A night begins on the day before, and the last one is known by what follows it.
        let around = (report.span.lowerBound - 1)...(report.span.upperBound + 1)
        if let rows = try singleRecords("SleepAnalysis", in: around, &report.data) {
            report.nights = Night.nights(of: rows, in: zone).filter {
                report.span.contains($0.day)
            }
        } else {
            report.excess.append("nights")
        }
        if let rows = try singleRecords("Workout", in: report.span, &report.data) {
            report.workouts = rows.map { Workout($0) }.sorted { $0.start < $1.start }
        } else {
            report.excess.append("workouts")
        }
    }

    private func addInsights(to report: inout MonthReport) throws(HealthStoreError) {
        var local = LocalDays(zone: zone)
        let start = Instant(secondsSince1970: local.day(report.span.lowerBound).start)
        let end = Instant(secondsSince1970: local.day(report.span.upperBound).end)
        let rows = try store.cache.rows(
            of: .insights, limit: HealthReader.mostInsights, before: end)
        report.data.damaged += rows.damaged
        report.insights = rows.filter { $0.row.timestamp >= start }.map { InsightReport($0.row) }
            .reversed()
        if !report.insights.isEmpty {
            report.data.counts["insights"] = Int64(report.insights.count)
        }
    }
}

extension MonthReport.Metric {
    /// Returns the number that stands for days: the mean of all values, or the total of a day on
    /// average; `nil` without days.
    func typical(_ days: [DayFigure]) -> Double? {
        let sum = days.reduce(0) { $0 + $1.sum }
        let count = measure.summing == .mean ? days.reduce(0) { $0 + $1.count } : days.count
        return count > 0 ? sum / Double(count) : nil
    }

    /// The decimals of `typical`.
    var typicalDecimals: Int {
        let isFew = measure.unit == "count" && (typical(days) ?? 0) < 10
        return isFew ? max(measure.decimals, 1) : measure.decimals
    }

    /// Returns the least and the greatest number: of all values, or of the totals of days.
    var extremes: (least: Double, most: Double)? {
        let isMean = measure.summing == .mean
        guard let least = days.map({ isMean ? $0.least : $0.sum }).min(),
            let most = days.map({ isMean ? $0.most : $0.sum }).max()
        else { return nil }
        return (least, most)
    }
}

/// A month of the calendar, such as October 2026.
public struct CivilMonth: Hashable, Sendable {
    public let year: Int
    /// 1 to 12.
    public let month: Int

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// Parses a month such as `2026-10`; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count == 7, parts.map(\.utf8.count) == [4, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let year = Int(parts[0]), let month = Int(parts[1]), year > 0, 1...12 ~= month
        else { return nil }
        (self.year, self.month) = (year, month)
    }

    /// Returns the month of a day, given as the number of days since 1970-01-01.
    init(of day: Int) {
        let date = CivilTime.date(daysSince1970: day)
        (year, month) = (date.year, date.month)
    }

    /// Returns a month by its number, counted from January 1970.
    init(monthsSince1970 count: Int) {
        year = 1970 + Int(LocalDays.quotient(Int64(count), 12))
        month = count - (year - 1970) * 12 + 1
    }

    /// The days of the month, as numbers of days since 1970-01-01.
    var days: ClosedRange<Int> {
        let first = CivilTime.daysSince1970(year: year, month: month, day: 1)
        return first...(first + CivilTime.daysIn(month: month, year: year) - 1)
    }

    var before: CivilMonth { CivilMonth(of: days.lowerBound - 1) }

    /// Such as `October`.
    var name: String { CivilMonth.names[month - 1] }

    /// Such as `October 2026`.
    public var title: String { "\(name) \(year)" }
}

extension CivilMonth: Comparable, CustomStringConvertible {
    public static func < (a: CivilMonth, b: CivilMonth) -> Bool {
        (a.year, a.month) < (b.year, b.month)
    }

    /// Such as `2026-10`.
    public var description: String {
        String(CivilDay(daysSince1970: days.lowerBound).description.prefix(7))
    }
}

/// Writes days and times of a zone for people: the only place where a report does so.
struct LocalDates {
    let zone: Zone

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// Returns a day such as `Thu 1 Oct`.
    func day(_ number: Int) -> String {
        let date = CivilTime(Int64(number) * 86_400_000)
        let month = CivilMonth(of: number).name.prefix(3)
        return "\(LocalDates.weekdays[date.weekday]) \(date.day) \(month)"
    }

    /// Returns a day without its month, such as `Thu 1`.
    func shortDay(_ number: Int) -> String { String(day(number).dropLast(4)) }

    /// Returns a time such as `23:41`.
    func clock(_ instant: Instant) -> String { String(zone.text(instant).dropFirst(11).prefix(5)) }

    /// Returns a day and a time such as `Thu 1 Oct, 23:41`.
    func moment(_ instant: Instant) -> String {
        let clock = LocalDays.clock(at: instant.secondsSince1970, in: zone)
        return "\(day(Int(LocalDays.quotient(clock, 86_400)))), \(self.clock(instant))"
    }

    /// Returns a day, its year and a time, such as `Thu 1 Oct 2026, 23:41`.
    func fullMoment(_ instant: Instant) -> String {
        let parts = moment(instant).split(separator: ",", maxSplits: 1)
        return "\(parts[0]) \(zone.text(instant).prefix { $0 != "-" }),\(parts[1])"
    }

    /// Returns days of one month in their order as `3, 7-9 and 12`.
    static func list(_ days: [Int]) -> String {
        var ranges: [ClosedRange<Int>] = []
        for day in days {
            if let last = ranges.last, last.upperBound == day - 1 {
                ranges[ranges.count - 1] = last.lowerBound...day
            } else {
                ranges.append(day...day)
            }
        }
        let texts = ranges.map { range in
            let ends = [range.lowerBound, range.upperBound].map {
                CivilTime(Int64($0) * 86_400_000).day
            }
            return ends[0] == ends[1] ? "\(ends[0])" : "\(ends[0])\u{2013}\(ends[1])"
        }
        guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
        return "\(texts.dropLast().joined(separator: ", ")) and \(last)"
    }
}
