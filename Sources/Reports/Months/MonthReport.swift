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
