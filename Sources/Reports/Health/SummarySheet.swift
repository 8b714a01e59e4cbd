public import HealthStore
import HealthModel
import ClarityScheduler
import JSON

// A day on one screen.

extension SheetReader {
    /// The number of days to look back for a resting heart rate.
    private static var restingDays: Int { 14 }

    /// The last known value of a measure.
    private struct Item {
        let label: String
        let measure: Measure
        var figure: DayFigure?
        var asOf: Instant?
        /// What was done at `asOf`.
        var word = "read"
    }

    /// Returns the day of `now`: its steps, the resting heart rate, the last night, the latest
    /// insight, and the other known values of the day.
    public func summary() throws(HealthStoreError) -> Sheet {
        var sheet = Sheet()
        let freshness = try freshness()
        var items: [Item] = []
        for group in MetricGroup.allCases {
            var figures = DailyFigures(group, in: zone)
            let today = figures.number(at: now)
            // The other groups have too many values to read more than the day itself.
            let back = group == .activity ? SheetReader.restingDays : 0
            var newest: MetricRecord?
            let begin = figures.start(of: today - back) - DailyFigures.lead(of: group)
            try metrics(group, in: begin..<figures.start(of: today + 1), &sheet) { record in
                // A day of another time zone that begins today may belong to tomorrow.
                guard figures.day(of: record) <= today else { return }
                figures.add(record)
                if newest.map({ record.end >= $0.end }) ?? true { newest = record }
            }
            let ofMeasures = figures.figures()
            for (label, measure) in SheetReader.summaryMeasures(of: group) {
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
        items.sort { SheetReader.order($0.measure) < SheetReader.order($1.measure) }
        try write(items, freshness, &sheet)
        return sheet
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
        _ items: [Item], _ freshness: (synced: Instant?, read: Instant?), _ sheet: inout Sheet
    ) throws(HealthStoreError) {
        var days = LocalDays(zone: zone)
        let today = days.day(at: now.secondsSince1970).number
        let todayText = CivilDay(daysSince1970: today).description
        var rows: [[String]] = []
        sheet.cells = [["name", "value", "unit", "day", "as_of", "state"]]
        for item in items where item.figure != nil || SheetReader.leading.contains(item.measure) {
            let state =
                item.figure == nil
                ? "missing" : AsOf.isStale(item.asOf, at: now) ? "stale" : "fresh"
            let day = item.figure.map { CivilDay(daysSince1970: $0.day).description }
            let value = item.figure.map { $0.value(of: item.measure) }
            let age =
                item.figure == nil
                ? "missing"
                : AsOf.text(item.word, item.asOf, at: now)
            rows.append([
                item.label, value.map { SheetReader.shown($0, item) } ?? "-",
                day.map { $0 == todayText ? "today" : $0 } ?? "", age,
            ])
            let object: JSON = [
                "name": .string(item.measure.rawValue), "title": .string(item.measure.title),
                "record_type": .text(item.measure.recordType),
                "value": value.map { roundedJSON($0) } ?? .null,
                "unit": .string(item.measure.unit), "day": .text(day), "as_of": .text(item.asOf),
                "state": .string(state),
            ]
            sheet.records.append(object)
            sheet.cells.append([
                item.measure.rawValue, value.map { roundedJSON($0).line } ?? "", item.measure.unit,
                day ?? "", item.asOf?.description ?? "", state,
            ])
        }
        let end = Instant(secondsSince1970: days.day(today).end)
        let insights = try store.cache.rows(of: .insights, limit: 1, before: end)
        sheet.damaged += insights.damaged
        let insight = insights.first.map { InsightText($0.row) }
        if insight != nil { sheet.counts["insights"] = 1 }
        sheet.lines = [style.heading("\(todayText), days of \(zone.identifier)"), ""]
        sheet.lines += style.table(["", "", "", ""], rows, right: [1]).dropFirst()
        sheet.lines.append("")
        let synced = try store.cache.pullRecord(of: .insights).endedAt
        if let insight {
            sheet.lines.append(style.heading("latest insight, made \(insight.madeAt)"))
            sheet.lines += DisplayText.wrapped(insight.narrative, width: style.width).prefix(8)
            sheet.lines.append(line("synced", synced))
        } else {
            sheet.lines.append("latest insight: " + style.warning("missing"))
        }
        sheet.page = [
            "day": .string(todayText), "time_zone": .string(zone.identifier),
            "synced_at": .text(freshness.synced), "read_at": .text(freshness.read),
            "items": .array(sheet.records),
            "insight": insight?.json.adding(["synced_at": .text(synced)]) ?? .null,
        ]
        if let insight {
            sheet.records.append([
                "name": "insight", "id": .string(insight.id), "as_of": .text(synced),
                "narrative": .string(insight.narrative),
            ])
            sheet.cells.append([
                "insight", insight.narrative, "", "", synced?.description ?? "",
                AsOf.isStale(synced, at: now) ? "stale" : "fresh",
            ])
        }
    }

    /// Returns a value with its unit, as a person would say it.
    private static func shown(_ value: Double, _ item: Item) -> String {
        let number = fixedText(value, decimals: item.measure.decimals)
        switch item.measure {
        // A backend may send any number; a larger one is not a night.
        case .totalSleep where value.magnitude < 1e9:
            let minutes = Int(value.rounded())
            return "\(minutes / 60) h \(minutes % 60) min"
        case .heartRate, .heartRateVariability:
            guard let figure = item.figure, figure.count > 1 else {
                return "\(number) \(item.measure.unit)"
            }
            let decimals = item.measure.decimals
            return "\(number) \(item.measure.unit) "
                + "(\(fixedText(figure.least, decimals: decimals)) to "
                + "\(fixedText(figure.most, decimals: decimals)))"
        case .steps: return number
        default: return "\(number) \(item.measure.unit)"
        }
    }
}
