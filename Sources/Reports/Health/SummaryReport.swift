public import HealthStore
import HealthModel
import ClarityScheduler
import JSON

// A day on one screen.

extension HealthReader {
    /// The number of days to look back for a resting heart rate.
    private static var restingDays: Int { 14 }

    /// The last known value of a measure.
    fileprivate struct Item {
        let label: String
        let measure: Measure
        var figure: DayFigure?
        var asOf: Instant?
        /// What was done at `asOf`.
        var word = "read"
    }

    /// Returns the summary of the day of `now`, or of the newest day that has data if that day has
    /// none.
    public func newestSummary() throws(HealthStoreError) -> HealthReport {
        let today = try summary()
        guard !today.hasValues, let newest = try store.cache.metricStocks().map(\.last).max(),
            newest < now
        else { return today }
        var local = LocalDays(zone: zone)
        // A night that begins in the evening is of the day after.
        for shift: Int64 in [12 * 3600, 0] {
            let end = local.day(at: newest.secondsSince1970 + shift).end
            let reader = HealthReader(
                store, now: Instant(millisecondsSince1970: end * 1000 - 1), zone: zone,
                style: style, form: form, hasBackend: hasBackend)
            var report = try reader.summary()
            guard shift == 0 || report.hasValues else { continue }
            report.lines.insert(style.warning("nothing is newer than this day"), at: 1)
            return report
        }
        return today
    }

    /// Returns the day of `now`: its steps, the resting heart rate, the last night, the latest
    /// insight, and the other known values of the day.
    public func summary() throws(HealthStoreError) -> HealthReport {
        var report = HealthReport()
        let freshness = try freshness()
        var items: [Item] = []
        for group in MetricGroup.allCases {
            var figures = DailyFigures(group, in: zone)
            let today = figures.number(at: now)
            // The other groups have too many values to read more than the day itself.
            let back = group == .activity ? HealthReader.restingDays : 0
            var newest: MetricRecord?
            let begin = figures.start(of: today - back) - DailyFigures.lead(of: group)
            try metrics(group, in: begin..<figures.start(of: today + 1), &report) { record in
                // A day of another time zone that begins today may belong to tomorrow.
                guard figures.day(of: record) <= today else { return }
                figures.add(record)
                if newest.map({ record.end >= $0.end }) ?? true { newest = record }
            }
            let ofMeasures = figures.figures()
            for (label, measure) in HealthReader.summaryMeasures(of: group) {
                let last = ofMeasures[measure]?.last
                let isWanted = last.map { $0.day == today || measure == .restingHeartRate } ?? false
                var item = Item(label: label, measure: measure)
                if isWanted {
                    item.figure = last
                    (item.asOf, item.word) =
                        if newest?.origin == .pulled {
                            (freshness.synced, "synced")
                        } else if let exported = newest?.asOf {
                            (exported, "exported")
                        } else {
                            (freshness.read, "read")
                        }
                }
                items.append(item)
            }
        }
        items.sort { HealthReader.order($0.measure) < HealthReader.order($1.measure) }
        try write(items, freshness, &report)
        return report
    }

    private static func summaryMeasures(of group: MetricGroup) -> [(String, Measure)] {
        switch group {
        case .activity:
            [
                ("steps", .steps), ("resting heart rate", .restingHeartRate),
                ("distance", .distance), ("active energy", .activeEnergy),
                ("exercise", .exerciseMinutes),
            ]
        case .sleep: [("sleep", .totalSleep)]
        case .mentalHealth: [("mood", .mood)]
        default: group.measures.map { ($0.rawValue.replacing("_", with: " "), $0) }
        }
    }

    /// The first measures on the screen, in order. They are shown even if they are missing.
    private static let leading: [Measure] = [.steps, .restingHeartRate, .totalSleep]

    private static func order(_ measure: Measure) -> Int {
        leading.firstIndex(of: measure)
            ?? leading.count + (Measure.allCases.firstIndex(of: measure) ?? 0)
    }

    private func write(
        _ items: [Item], _ freshness: (synced: Instant?, read: Instant?),
        _ report: inout HealthReport
    ) throws(HealthStoreError) {
        var days = LocalDays(zone: zone)
        let today = days.day(at: now.secondsSince1970).number
        let todayText = CivilDay(daysSince1970: today).description
        let rows = items.filter {
            $0.figure != nil || HealthReader.leading.contains($0.measure)
        }.map { SummaryItem(item: $0, today: today, now: now) }
        report.records = rows.map(\.object)
        report.cells = SummaryItem.report.csv(rows)
        let end = Instant(secondsSince1970: days.day(today).end)
        let insights = try store.cache.rows(of: .insights, limit: 1, before: end)
        report.damaged += insights.damaged
        let insight = insights.first.map { InsightReport($0.row) }
        if insight != nil { report.counts["insights"] = 1 }
        report.lines = [style.heading("\(todayText), days of \(zone.identifier)"), ""]
        report.lines += style.table(SummaryItem.report.table(rows)).dropFirst()
        report.lines.append("")
        let synced = try store.cache.pullRecord(of: .insights).endedAt
        if let insight {
            report.lines.append(style.heading("latest insight, made \(insight.madeAt)"))
            report.lines += DisplayText.wrapped(insight.narrative, width: style.width).prefix(8)
            report.lines.append(line("synced", synced))
        } else if hasBackend {
            report.lines.append("latest insight: " + style.warning("missing"))
        } else {
            report.lines.removeLast()
        }
        let stored = insight.map { StoredInsight(insight: $0, syncedAt: synced) }
        report.page =
            DaySummary(
                day: CivilDay(daysSince1970: today), timeZone: zone.identifier,
                syncedAt: freshness.synced, readAt: freshness.read, items: rows, insight: stored
            ).object
        if let stored {
            report.records.append(SummaryInsight(stored: stored).object)
            report.cells.append([
                "insight", stored.insight.narrative, "", "", synced?.description ?? "",
                AsOf.isStale(synced, at: now) ? "stale" : "fresh",
            ])
        }
    }
}

extension HealthReport {
    /// Whether a summary has a value of its day, beside the latest insight.
    fileprivate var hasValues: Bool {
        records.contains { $0["value"].map { $0 != .null } ?? false }
    }
}

extension HealthReader.Item {
    /// Returns a value with its unit, as a person would say it.
    fileprivate func shown(_ value: Double) -> String {
        let number = fixedText(value, decimals: measure.decimals)
        switch measure {
        // A backend may send any number; a larger one is not a night.
        case .totalSleep where value.magnitude < 1e9:
            let minutes = Int(value.rounded())
            return "\(minutes / 60) h \(minutes % 60) min"
        case .heartRate, .heartRateVariability:
            guard let figure = figure, figure.count > 1 else {
                return "\(number) \(measure.unit)"
            }
            let decimals = measure.decimals
            return "\(number) \(measure.unit) "
                + "(\(fixedText(figure.least, decimals: decimals)) to "
                + "\(fixedText(figure.most, decimals: decimals)))"
        case _ where measure.unit == "count": return number
        default: return "\(number) \(measure.unit)"
        }
    }
}

/// A measure on the screen of a day.
package struct SummaryItem: Reported, PrivateValue {
    fileprivate let item: HealthReader.Item
    /// The day of the summary, in days since 1970-01-01.
    fileprivate let today: Int
    fileprivate let now: Instant

    private var value: Double? { item.figure.map { $0.value(of: item.measure) } }
    private var day: CivilDay? { item.figure.map { CivilDay(daysSince1970: $0.day) } }

    package static let report = Report<SummaryItem>([
        Column("name", "name of the measure") { $0.item.measure.rawValue }
            .shown("") { $0.item.label }.csv(),
        Column("title", "its name for people") { $0.item.measure.title },
        Column("record_type", "the type of the records that have it") {
            $0.item.measure.recordType
        },
        Column("value", "the value") { $0.value.map(RoundedNumber.init) }
            .shown("", isNumber: true) { row in row.value.map(row.item.shown) ?? "-" }.csv(),
        Column("unit", "its unit") { $0.item.measure.unit }.csv(),
        Column("day", "the day of the value") { $0.day }
            .shown("") { row in
                row.item.figure?.day == row.today ? "today" : row.day?.description ?? ""
            }.csv(),
        Column("as_of", "when the value was fetched or read") { $0.item.asOf }
            .shown("") { row in
                row.item.figure == nil
                    ? "missing" : AsOf.text(row.item.word, row.item.asOf, at: row.now)
            }.csv(),
        Column("state", "`fresh`, `stale` or `missing`") { row in
            guard row.item.figure != nil else { return "missing" }
            return AsOf.isStale(row.item.asOf, at: row.now) ? "stale" : "fresh"
        }.csv(),
    ])
}

/// The latest insight, as a line beside those of the measures.
package struct SummaryInsight: Reported, PrivateValue {
    let stored: StoredInsight

    package static let report = Report<SummaryInsight>([
        Column("name", "`insight`") { _ in "insight" },
        Column("id", "id of the insight") { $0.stored.insight.id },
        Column("as_of", "when it was fetched") { $0.stored.syncedAt },
        Column("narrative", "text of the insight") { $0.stored.insight.narrative },
    ])
}

/// The result of `summary`.
package struct DaySummary: Reported, PrivateValue {
    let day: CivilDay
    let timeZone: String
    let syncedAt: Instant?
    let readAt: Instant?
    let items: [SummaryItem]
    let insight: StoredInsight?

    package static let report = Report<DaySummary>([
        Column("day", "the day") { $0.day },
        Column("time_zone", "the time zone of days") { $0.timeZone },
        Column("synced_at", "when metrics were last fetched") { $0.syncedAt },
        Column("read_at", "when the sources were last read") { $0.readAt },
        Column("items", "the measures") { $0.items },
        Column("insight", "the latest insight") { $0.insight },
    ])
}
