import HealthStore
import HealthModel
import ClarityScheduler
import JSON
import Reports

/// Publishes days and nights to a home's own systems: what its receiver has not confirmed yet.
///
/// Whatever is sent twice changes nothing at the receiver, so an attempt that is killed, or has no
/// answer, leaves the rest to the next one.
struct PublishWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: PublishOptions, _ context: WorkContext) async throws -> Outcome {
        do {
            switch options.receiver {
            case .mqtt:
                var receiver = try HomeAssistant(options, context)
                try await receiver.publish()
            case .influx:
                var receiver = try LineProtocolReceiver(options, context)
                try await receiver.publish()
            }
            return .success
        } catch let refusal as PublishRefusal {
            return refusal.outcome
        }
    }
}

extension PublishOptions: WorkedOptions {
    static var worker: any KindWorker { PublishWorker() }
}

/// A receiver that did not take what was sent, and what that means for the attempt.
struct PublishRefusal: Error {
    let outcome: Outcome

    /// Only a receiver that cannot be reached may take the same later.
    init(_ category: Failure.Category, _ reason: String, after wait: Duration? = nil) {
        let failure = Failure(category, reason)
        outcome = category == .unreachable ? .retry(after: wait, failure) : .failure(failure)
    }
}

/// A part of what is published that its receiver confirms as a whole: a day or night in a database,
/// a message of a broker.
struct PublishedPart {
    /// Its name, by which the confirmed parts are known.
    let name: String
    let body: [UInt8]
    /// The number of its rows by type, for the audit log.
    var counts: [String: Int64] = [:]
    /// The day or night that it is about; `nil` for the description of a sensor.
    var day: Int?
    var isNight = false

    var digest: UInt64 { Publications.digest(body) }
}

/// What a job has published until now, and what it publishes in this attempt.
struct Publication {
    /// The receiver's address.
    private let url: String
    /// What tells the receiver from others of the same job.
    private let receiver: String
    private let context: WorkContext
    /// The digests of the parts that the receiver has confirmed, by name.
    private(set) var confirmed: [String: UInt64]
    private var counts: WorkCounts
    private var days: Set<Int> = []
    private var nights: Set<Int> = []
    private var types: Set<String> = []

    /// - Parameter place: where at the address, such as a bucket.
    init(_ url: String, place: String = "", _ context: WorkContext) throws {
        self.url = url
        receiver = "\(url) \(place)"
        self.context = context
        confirmed = try context.store.publications.confirmed(by: context.order.job, at: receiver)
        counts = WorkCounts(context)
        counts.add(0, to: "days_published")
        counts.add(0, to: "nights_published")
    }

    /// Returns the parts that the receiver has not, or not as they are now.
    func changed(_ parts: [PublishedPart]) -> [PublishedPart] {
        parts.filter { confirmed[$0.name] != $0.digest }
    }

    /// Records in the audit log that parts are about to leave this machine. Recorded first, so that
    /// nothing is given out that is not in the log.
    func begin(_ parts: [PublishedPart]) throws {
        guard !context.isDryRun else { return }
        let counts = parts.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) }
        guard !counts.isEmpty else { return }
        try context.store.audit.record(.exported, counts, detail: "to \(url), by publish")
    }

    /// Records that the receiver has parts. One without a body is no longer there.
    mutating func confirm(_ parts: [PublishedPart]) throws {
        for part in parts {
            confirmed[part.name] = part.body.isEmpty ? nil : part.digest
            types.formUnion(part.counts.keys)
            guard let day = part.day else { continue }
            if part.isNight {
                if nights.insert(day).inserted { counts.add(1, to: "nights_published") }
            } else if days.insert(day).inserted {
                counts.add(1, to: "days_published")
            }
        }
        guard !context.isDryRun else { return }
        try context.store.publications.confirm(
            confirmed, by: context.order.job, at: receiver)
    }

    /// Notes what was published, or would be.
    func note() {
        let parts = [
            days.isEmpty ? nil : counted(days.count, "days"),
            nights.isEmpty ? nil : counted(nights.count, "nights"),
        ].compactMap(\.self)
        guard !parts.isEmpty else {
            if context.isDryRun { context.note("would publish nothing new to `\(url)`") }
            return
        }
        let what = "\(parts.joined(separator: " and ")) to `\(url)`"
        context.note(
            context.isDryRun
                ? "would publish \(what): \(types.sorted().joined(separator: ", "))"
                : "published \(what)")
    }
}

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
