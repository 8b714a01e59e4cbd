import HealthStore
import HealthModel
import ClarityScheduler
import JSON
import Reports

/// The days and nights that a job publishes, as `metrics` and `nights` show them.
struct PublishedDays {
    /// A measure on a day, or a night by the day on which it ends.
    struct Row {
        /// In days since 1970-01-01.
        let day: Int
        /// `nil` for a night.
        let measure: Measure?
        /// The fields, without what says which row it is.
        let fields: [JSON.Member]

        var type: String { measure?.rawValue ?? PublishOptions.nights }
        /// Whether the row is about a night.
        var isOfNight: Bool { measure.map(MetricGroup.sleep.measures.contains) ?? true }
    }

    /// How many days are read at once, so that the memory does not grow with the years.
    private static let portion = 183
    /// No source has a day before: 1900-01-01.
    private static let earliest = -25_567

    let zone: Zone
    private let reader: HealthReader
    private let store: HealthStore
    private let today: Int
    private let groups: [MetricGroup]
    /// Whether the archive has records of sleep.
    let hasNights: Bool
    private let days: ClosedRange<Int>

    /// - Parameter limit: the number of days, unless the options have one; `nil` for all.
    init(_ options: PublishOptions, atMost limit: Int?, _ context: WorkContext) throws {
        store = context.store
        let now = context.clock.now
        zone = try context.zones.dayZone(of: store, named: context.sections.sourceZone)
        reader = HealthReader(
            store, now: now, zone: zone, style: PageStyle(width: 80, isPlain: true), form: .json)
        var local = LocalDays(zone: zone)
        today = local.day(at: now.secondsSince1970).number
        let stocks = try store.cache.metricStocks().filter { stock in
            stock.group.map { options.publishes($0.rawValue) } ?? false
        }
        groups = MetricGroup.allCases.filter { group in stocks.contains { $0.group == group } }
        let months =
            options.publishes(PublishOptions.nights)
            ? try store.archive.types().filter { $0.isMeant(by: "SleepAnalysis") }
                .flatMap(\.months) : []
        hasNights = !months.isEmpty
        // The days of a zone begin up to a day before those of UTC.
        let starts =
            stocks.map { Int($0.first.secondsSince1970 / 86_400) - 1 }
            + months.map { month in
                let years = LocalDays.quotient(Int64(month), 12)
                return CivilTime.daysSince1970(
                    year: 1970 + Int(years), month: month - 12 * Int(years) + 1, day: 1) - 1
            }
        var first = max(starts.min() ?? today, Self.earliest)
        if let limit = options.days ?? limit { first = max(first, today - limit + 1) }
        days = min(first, today)...today
    }

    /// The measures that may have values, in the order for people.
    var measures: [Measure] { groups.flatMap(\.measures) }

    /// Calls `each` with the whole days and the nights that are over, in portions, the newest first,
    /// and with a sentence about rows that are damaged.
    func forEachPortion(
        _ each: (_ rows: [Row], _ damage: String?) async throws -> Void
    ) async throws {
        var last = days.upperBound
        while last >= days.lowerBound {
            let first = max(days.lowerBound, last - Self.portion + 1)
            var rows: [Row] = []
            var damage: String?
            for group in groups {
                let report = try reader.metrics(
                    MetricSelection(group), since: .date(CivilDay(daysSince1970: first)),
                    until: CivilDay(daysSince1970: last))
                damage = damage ?? report.damageLine
                // Today is not over; a night that ends today is.
                rows += report.records.compactMap(row).filter {
                    group == .sleep || $0.day < today
                }
            }
            if hasNights {
                let report = try reader.nights(
                    by: .each, since: .date(CivilDay(daysSince1970: first)),
                    until: CivilDay(daysSince1970: last))
                damage = damage ?? report.damageLine
                rows += report.records.filter { $0["is_over"] == .bool(true) }.compactMap(night)
            }
            try await each(rows, damage)
            last = first - 1
        }
    }

    private func row(_ record: JSON) -> Row? {
        guard let day = day(record["day"]), let name = record["measure"]?.text,
            let measure = Measure(rawValue: name), case .object(let members) = record
        else { return nil }
        return Row(
            day: day, measure: measure,
            fields: members.filter { !["measure", "unit", "day"].contains($0.name) })
    }

    private func night(_ record: JSON) -> Row? {
        guard let day = day(record["night"]), case .object(let members) = record else { return nil }
        return Row(
            day: day, measure: nil,
            fields: members.filter {
                !["night", "is_over", "parts"].contains($0.name) && $0.value != .null
            })
    }

    private func day(_ text: JSON?) -> Int? {
        guard case .date(let day)? = text?.text.flatMap(HealthReader.Since.init) else { return nil }
        return day.daysSince1970
    }
}
