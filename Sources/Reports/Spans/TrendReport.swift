public import HealthStore
import HealthModel
import ClarityScheduler

/// How a month of a measure compares with the twelve months before it.
///
/// It compares a person with themselves alone, and gives no advice.
package struct Trend: Reported, PrivateValue {
    /// The number that stands for a month: a mean of its values, or a total of a day on average.
    struct Month: Reported {
        let month: CivilMonth
        let value: Double
        /// Number of days with values.
        let days: Int

        static let report = Report<Month>([
            Column("month", "the month, such as 2026-11") { $0.month.description },
            Column("value", "mean of the values, or the total of a day on average") {
                RoundedNumber($0.value)
            },
            Column("days", "number of days with values") { $0.days },
        ])
    }

    /// Where a month stands among those before.
    enum Place: String, CaseIterable {
        case tooFew = "too_few"
        case lowest, low, usual, high, highest
    }

    /// The fewest earlier months that make a comparison.
    static let leastMonths = 3

    let measure: Measure
    let month: Month
    /// The months before that have values, at most twelve, in their order.
    let before: [Month]

    /// The middle half of the earlier months, from quartile to quartile; `nil` if they are too few.
    var usual: ClosedRange<Double>? {
        let sorted = before.map(\.value).sorted()
        guard sorted.count >= Trend.leastMonths else { return nil }
        func quantile(_ share: Double) -> Double {
            let place = share * Double(sorted.count - 1)
            let index = Int(place)
            let next = sorted[min(index + 1, sorted.count - 1)]
            return sorted[index] + (next - sorted[index]) * (place - Double(index))
        }
        return quantile(0.25)...quantile(0.75)
    }

    var place: Place {
        guard let usual, let least = before.map(\.value).min(),
            let most = before.map(\.value).max()
        else { return .tooFew }
        let value = month.value
        if value > most { return .highest }
        if value < least { return .lowest }
        return value > usual.upperBound ? .high : value < usual.lowerBound ? .low : .usual
    }

    /// The comparison as a clause, such as `higher than in each of the 12 months before`.
    var words: String {
        let months = before.count == 1 ? "the month before" : "the \(before.count) months before"
        return switch place {
        case .tooFew: "too few earlier months to compare"
        case .highest: "higher than in each of \(months)"
        case .lowest: "lower than in each of \(months)"
        case .high: "higher than in most of \(months)"
        case .low: "lower than in most of \(months)"
        case .usual: "as in most of \(months)"
        }
    }

    private func text(_ value: Double) -> String {
        let isFew = measure.unit == "count" && value < 10
        return MonthNumbers.text(
            value, unit: measure.unit, decimals: isFew ? max(measure.decimals, 1) : measure.decimals
        )
    }

    package static let report = Report<Trend>([
        Column("measure", "the measure") { $0.measure.rawValue }.csv(),
        Column("title", "its name for people") { $0.measure.title }.shown("MEASURE"),
        Column("unit", "its unit") { $0.measure.unit }.csv(),
        Column("record_type", "the type of its records; none if no single record has it") {
            $0.measure.recordType
        },
        Column("is_sum", "whether a day is a total; otherwise a mean") {
            $0.measure.summing == .total
        },
        Column("value", "the number of the month") { RoundedNumber($0.month.value) }
            .shown("MONTH", isNumber: true) { $0.text($0.month.value) }.csv(),
        Column("days", "number of days of the month with values") { $0.month.days }.csv(),
        Column("usual_from", "lower quartile of the months before") {
            $0.usual.map { RoundedNumber($0.lowerBound) }
        }.csv(),
        Column("usual_to", "upper quartile of the months before") {
            $0.usual.map { RoundedNumber($0.upperBound) }
        }.shown("USUAL") { trend in
            trend.usual.map { "\(trend.text($0.lowerBound)) to \(trend.text($0.upperBound))" }
                ?? "-"
        }.csv(),
        Column("place", "\(list(Place.allCases.map(\.rawValue))), among the months before") {
            $0.place.rawValue
        }.csv(),
        Column("words", "the same in words") { $0.words }.shown("COMPARED"),
        Column("before", "the months before that have values") { $0.before },
    ])

    private static func list(_ words: [String]) -> String {
        words.map { "`\($0)`" }.joined(separator: ", ")
    }
}

/// The result of `trends`.
package struct TrendsResult: Reported, PrivateValue {
    let month: CivilMonth
    let isOver: Bool
    let timeZone: String
    let damaged: Int
    let trends: [Trend]

    package static let report = Report<TrendsResult>([
        Column("month", "the month that is compared") { $0.month.description },
        Column("is_over", "whether the month has ended") { $0.isOver },
        Column("time_zone", "the time zone of days") { $0.timeZone },
        Column("damaged", "number of damaged rows that are left out") { $0.damaged },
        Column("trends", "the measures that have values in the month") { $0.trends },
    ])
}

extension HealthReader {
    /// Compares a month with the twelve before it, measure by measure.
    ///
    /// - Parameter month: `nil` for the newest one that has at least ten days of data, else the
    ///   newest one.
    public func trends(of month: CivilMonth?) throws(HealthStoreError) -> HealthReport {
        var local = LocalDays(zone: zone)
        var report = HealthReport()
        let stocks = try store.cache.metricStocks()
        let today = local.day(at: now.secondsSince1970).number
        let newest = stocks.map(\.last).max().map { local.day(at: $0.secondsSince1970).number }
        let month = month ?? Self.month(upTo: min(newest ?? today, today))
        var months = [month]
        for _ in 0..<12 { months.append(months[months.count - 1].before) }
        let span = months[12].days.lowerBound...month.days.upperBound
        var trends: [Trend] = []
        for group in MetricGroup.allCases where stocks.contains(where: { $0.group == group }) {
            let figures = try figures(of: group, in: span, &report)
            trends += group.measures.compactMap { measure in
                let byMonth = Dictionary(grouping: figures[measure] ?? []) {
                    CivilMonth(of: $0.day)
                }
                func value(_ month: CivilMonth) -> Trend.Month? {
                    guard let days = byMonth[month] else { return nil }
                    return MonthReport.Metric(measure: measure, days: days, before: [])
                        .typical(days).map {
                            Trend.Month(month: month, value: $0, days: days.count)
                        }
                }
                guard let own = value(month) else { return nil }
                return Trend(
                    measure: measure, month: own,
                    before: months.dropFirst().reversed().compactMap(value))
            }
        }
        report.list(
            trends, Trend.report, style, absence: "nothing is known of \(month.title)")
        report.lines.insert(style.heading("\(month.title), and the twelve months before"), at: 0)
        report.counts["measures"] = Int64(trends.count)
        report.page =
            TrendsResult(
                month: month, isOver: today > month.days.upperBound, timeZone: zone.identifier,
                damaged: report.damaged.count, trends: trends
            ).object
        return report
    }

    /// Returns the month of a day from its tenth day on, else the month before.
    private static func month(upTo day: Int) -> CivilMonth {
        let month = CivilMonth(of: day)
        return day - month.days.lowerBound >= 9 ? month : month.before
    }
}
