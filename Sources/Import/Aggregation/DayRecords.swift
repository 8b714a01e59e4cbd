import HealthStore
import HealthModel
import ClarityScheduler

/// The records of days that one reading of a source found.
struct DayRecords: Hashable, Sendable {
    /// The phone's own totals of a day.
    struct Totals: Hashable, Sendable {
        var energy: Double?
        var exercise: Double?

        fileprivate subscript(kind: SampleKind) -> Double? {
            switch kind {
            case .activeEnergy: energy
            case .exerciseMinutes: exercise
            default: nil
            }
        }
    }

    /// The kinds of which a phone has totals.
    private static let totalled = [SampleKind.activeEnergy, .exerciseMinutes]

    var parts = DayParts()
    /// The sources, by their index in `parts`.
    var sources: [DaySource] = []
    var totals: [Int: Totals] = [:]
    /// The number of days for which the phone's own totals are all 0.
    var zeroSummaries: Int64 = 0
    /// When the source was complete.
    var asOf: Int64 = 0
    /// Whether this is all that the source has, so that earlier records of it no longer count.
    var isAll = false

    /// The quantities and periods that have records or totals.
    var keys: Set<PartialAggregateKey> {
        var keys = Set(
            parts.keys.map {
                PartialAggregateKey(kind: DayQuantity.all[$0.quantity].kind, period: $0.period)
            })
        for (day, total) in totals {
            let period = DayParts.period(of: Int64(day) * 86_400)
            for kind in DayRecords.totalled where total[kind] != nil {
                keys.insert(PartialAggregateKey(kind: kind, period: period))
            }
        }
        return keys
    }

    /// Returns the records of a quantity and period, without those that began before an instant;
    /// `nil` if there are none at all.
    func layer(_ key: PartialAggregateKey, since: Int64 = .min) -> PartialAggregate.Layer? {
        guard let quantity = DayQuantity(key.kind) else { return nil }
        var layer = PartialAggregate.Layer(asOf: asOf)
        var isEmpty = true
        for (source, parts) in parts.parts(of: quantity, key.period) where !parts.isEmpty {
            isEmpty = false
            let wanted = parts.filter { $0.start >= since }
            if !wanted.isEmpty { layer.parts[sources[source], default: []] += wanted }
        }
        let first = LocalDays.quotient(Int64(key.period) * DayParts.period, 86_400)
        for day in first..<first + DayParts.period / 86_400 where (day + 1) * 86_400 > since {
            guard let value = totals[Int(day)]?[key.kind], value * quantity.scale < 4e15 else {
                continue
            }
            layer.totals[Int(day)] = Int64((value * quantity.scale).rounded())
        }
        return isEmpty && layer.totals.isEmpty ? nil : layer
    }

    /// Returns the new bytes of a key's partial aggregate; `nil` if the stored ones stay.
    func updated(
        _ key: PartialAggregateKey, _ layer: PartialAggregate.Layer?, kept: [UInt8]?
    ) -> [UInt8]? {
        let old = kept.flatMap { PartialAggregate(bytes: $0) }
        guard isAll else {
            guard let layer else { return nil }
            var new = old ?? PartialAggregate()
            new.merge(layer)
            return new == old ? nil : new.bytes
        }
        let layer = layer ?? PartialAggregate.Layer(asOf: asOf)
        guard let old else { return PartialAggregate(layer).bytes }
        // This export is older than the one that is known.
        guard old.asOf <= asOf else { return nil }
        // Nothing is new, and the days were over at the former export.
        let end = Int64(key.period + 1) * DayParts.period + 2 * 86_400
        if old.sameLayer(asOf: asOf) == layer, old.asOf >= end || old.asOf == asOf { return nil }
        return PartialAggregate(layer).bytes
    }
}

/// Merges the days of all sources of an account.
enum DayMerge {
    /// Returns the days that touch `periods`.
    ///
    /// - Parameters:
    ///   - now: a day with totals of an app is complete if it has ended by this time.
    ///   - load: returns what all sources have of a quantity and a period.
    static func days(
        _ periods: ClosedRange<Int>, in zone: Zone, now: Int64 = .min,
        _ load: (PartialAggregateKey) throws -> [[UInt8]]
    ) rethrows -> [DayAggregation.Day] {
        var partialAggregates: [PartialAggregateKey: [PartialAggregate]] = [:]
        var sources: Set<DaySource> = []
        for kind in ActivityDay.kinds {
            for period in periods.lowerBound - 1...periods.upperBound + 1 {
                let key = PartialAggregateKey(kind: kind, period: period)
                let loaded = try load(key).compactMap { PartialAggregate(bytes: $0) }
                for layer in loaded.lazy.flatMap(\.layers) { sources.formUnion(layer.parts.keys) }
                partialAggregates[key] = loaded
            }
        }
        let ranked = sources.sorted { SourceRank($0) < SourceRank($1) }
        let ranks = Dictionary(uniqueKeysWithValues: ranked.enumerated().map { ($1, $0) })
        let totals = totals(of: partialAggregates, ranks)
        var aggregation = DayAggregation(days: LocalDays(zone: zone), now: now)
        return aggregation.aggregate(periods) { quantity, period in
            let key = PartialAggregateKey(kind: quantity.kind, period: period)
            return DayAggregation.Period(
                partialAggregates[key] ?? [], ranks, totals: totals[quantity.kind] ?? [], period)
        }
    }

    /// Returns the totals of apps that count, from all that are known of a quantity, whichever file
    /// they are from.
    private static func totals(
        of partialAggregates: [PartialAggregateKey: [PartialAggregate]], _ ranks: [DaySource: Int]
    ) -> [SampleKind: [RankedPart]] {
        var points: [SampleKind: [TotalPoint]] = [:]
        for (key, partialAggregates) in partialAggregates.sorted(by: {
            $0.key.period < $1.key.period
        }) {
            let begin = Int64(key.period) * DayParts.period
            let isFirst = points[key.kind] == nil
            let layers = partialAggregates.enumerated().lazy.flatMap { entry, known in
                known.layers.map { (entry, $0) }
            }
            for (entry, layer) in layers {
                for (source, parts) in layer.parts where source.isTotal {
                    // A part that began earlier is in the period before, too.
                    for part in parts where isFirst || part.start >= begin {
                        let ranked = RankedPart(
                            part: part, rank: ranks[source] ?? .max, asOf: layer.asOf,
                            isTotal: true)
                        points[key.kind, default: []].append(
                            TotalPoint(part: ranked, entry: entry, isLone: source.isLone))
                    }
                }
            }
        }
        var totals: [SampleKind: [RankedPart]] = [:]
        for (kind, points) in points {
            totals[kind] = DayQuantity(kind).map { TotalPoints.resolved(points, $0) }
        }
        return totals
    }
}

extension DayAggregation.Period {
    /// - Parameter counting: the totals of apps that count, of all periods.
    fileprivate init(
        _ partialAggregates: [PartialAggregate], _ ranks: [DaySource: Int],
        totals counting: [RankedPart], _ period: Int
    ) {
        let (begin, end) = (Int64(period) * DayParts.period, Int64(period + 1) * DayParts.period)
        parts = counting.filter {
            $0.part.start < end && ($0.part.end > begin || $0.part.start >= begin)
        }
        for layer in partialAggregates.lazy.flatMap(\.layers) {
            for (source, found) in layer.parts where !source.isTotal {
                let rank = ranks[source] ?? .max
                parts += found.map { RankedPart(part: $0, rank: rank, asOf: layer.asOf) }
            }
            for (day, amount) in layer.totals where amount >= totals[day]?.amount ?? 0 {
                totals[day] = DayAggregation.Total(amount: amount, asOf: layer.asOf)
            }
        }
        parts = DayAggregation.judged(
            DayAggregation.Period.latest(parts.sorted(by: RankedPart.comesBefore)))
    }

    /// Returns, of the records of one source with the same start and end, those with the latest
    /// `asOf`. Exact copies, such as those in two exports, count once.
    private static func latest(_ parts: [RankedPart]) -> [RankedPart] {
        var latest: [RankedPart] = []
        for part in parts {
            while let last = latest.last, last.hasSpan(of: part), last.asOf < part.asOf {
                latest.removeLast()
            }
            if let last = latest.last, last.hasSpan(of: part),
                last.asOf > part.asOf || last.part == part.part
            {
                continue
            }
            latest.append(part)
        }
        return latest
    }
}

extension RankedPart {
    fileprivate func hasSpan(of other: RankedPart) -> Bool {
        (rank, part.start, part.end) == (other.rank, other.part.start, other.part.end)
    }
}

/// The sort of a source, which helps to decide whose records count where several have some.
enum SourceSort: Int, Comparable {
    /// Worn, so it knows most.
    case watch
    /// Carried, and often left on a table.
    case phone
    /// Scales, apps, and what a person typed.
    case other

    static func < (a: SourceSort, b: SourceSort) -> Bool { a.rawValue < b.rawValue }

    /// Returns what a record's `device` shows its source to be; `nil` if it shows nothing.
    ///
    /// The text is HealthKit's own: `<<HKDevice: 0x28>, name:Apple Watch, manufacturer:Apple Inc.,
    /// model:Watch, hardware:Watch3,4, software:8.7>`. Only name, model and hardware count, because
    /// the manufacturer of many straps also has `Watch` in its name.
    static func of(device: String) -> SourceSort? {
        var found: SourceSort?
        for part in device.lowercased().split(separator: ", ") {
            for key in ["name:", "model:", "hardware:"] where part.hasPrefix(key) {
                if let sort = named(String(part.dropFirst(key.count))) {
                    found = min(found ?? sort, sort)
                }
            }
        }
        return found
    }

    /// Returns what a source's own name shows it to be; the last resort.
    static func of(name: String) -> SourceSort { named(SourceRank.simplified(name)) ?? .other }

    private static func named(_ text: String) -> SourceSort? {
        if text.contains("watch") { return .watch }
        return text.contains("phone") ? .phone : nil
    }
}

/// The rank of a source among others; the records of the smaller one count.
///
/// This is a total order. It follows from what the sources are, not from the order of their
/// records: first the sources that the user prefers, then watches, then phones, then all others,
/// and by name among equals. Totals that an app has made rank behind the records of all other
/// sources, unless the user prefers them.
struct SourceRank: Comparable {
    private let preference: Int
    private let isTotal: Bool
    private let sort: SourceSort
    private let simplified: String
    private let name: String

    init(_ source: DaySource) {
        preference = source.preference ?? .max
        isTotal = source.isTotal
        sort = source.sort
        simplified = SourceRank.simplified(source.name)
        name = source.name
    }

    static func < (a: SourceRank, b: SourceRank) -> Bool {
        (a.preference, a.isTotal ? 1 : 0, a.sort.rawValue, a.simplified, a.name)
            < (b.preference, b.isTotal ? 1 : 0, b.sort.rawValue, b.simplified, b.name)
    }

    /// Returns a name without differences that people do not see: a no-break space (`U+00A0`,
    /// `U+202F`) becomes a space, a curly apostrophe (`U+2018`, `U+2019`) a straight one, and upper
    /// case lower case.
    static func simplified(_ name: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\u{A0}", "\u{202F}": plain.append(" ")
            case "\u{2018}", "\u{2019}": plain.append("'")
            default: plain.append(scalar)
            }
        }
        return String(plain).lowercased()
    }

    /// Returns the position of each source in the ranking, by its index.
    static func order(of sources: [DaySource]) -> [Int] {
        let ranks = sources.map(SourceRank.init)
        var order = [Int](repeating: 0, count: ranks.count)
        let sorted = ranks.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
        for (place, index) in sorted.enumerated() { order[index] = place }
        return order
    }
}
