import HealthStore
import HealthModel
import ClarityScheduler

/// Aggregates records into days, nights and minutes, whatever source they come from.
///
/// It keeps some six bytes for each record of a day, at most 64 MiB in all, and 16 bytes for each
/// stage of sleep, at most 24 MB.
struct RecordAggregation {
    /// The result of aggregation the records.
    struct Outcome: Equatable {
        /// The records of days; `nil` for a source that broke off.
        var days: DayRecords?
        var nights = SleepAggregation.Outcome()
        var steps: [StepDay] = []
        /// The number of records of days that were exact copies of others.
        var copies: Int64 = 0
    }

    /// The most days for which the phone's own totals are kept: a hundred years.
    static let mostTotals = 40_000

    private let rules: AggregationRules
    private let now: Int64
    private var exportDate: Int64?
    /// The sort that the devices show of each source, by its index.
    private var sorts: [SourceSort?] = []
    private var parts = DayParts()
    private var totals: [Int: DayRecords.Totals] = [:]
    private var zeroSummaries: Int64 = 0
    private var sleep: SleepAggregation

    init(_ rules: AggregationRules, now: Int64) {
        self.rules = rules
        self.now = now
        sleep = SleepAggregation(zone: rules.zone)
    }

    /// When the records end: the date of the export, or now if it names none or a later one.
    private var until: Int64 { min(exportDate ?? now, now) }

    /// The instant as of which days, nights and workouts are true.
    var asOf: Instant { Instant(secondsSince1970: until) }

    /// Whether the records end now, because the export names no date or one in the future.
    var endsNow: Bool { exportDate.map { $0 > now } ?? true }

    /// When the export was made by its own word, if that is still to come.
    var exportDateAhead: Int64? { exportDate.flatMap { $0 > now ? $0 : nil } }

    /// Notes when the export was made; the first date counts.
    mutating func setExportDate(_ seconds: Int64) { exportDate = exportDate ?? seconds }

    /// Whether a device could still change what is known about a source.
    @inline(__always)
    func wantsDevice(of source: Int) -> Bool { source >= sorts.count || sorts[source] != .watch }

    /// Notes the sort of a device through which a source's record came; the best one counts.
    mutating func note(_ sort: SourceSort, of source: Int) {
        while sorts.count <= source { sorts.append(nil) }
        sorts[source] = min(sorts[source] ?? sort, sort)
    }

    /// Adds a record that is part of a day.
    @inline(__always)
    mutating func add(
        _ value: Double, _ quantity: DayQuantity, source: Int, start: Int64, end: Int64
    ) -> RecordRefusal? {
        parts.add(value, quantity, source: source, start: start, end: end)
    }

    mutating func add(
        _ stage: SleepStage, source: Int, start: Int64, end: Int64
    ) -> RecordRefusal? {
        sleep.add(stage, source: source, start: start, end: end)
    }

    /// Notes the time zone of the last stage.
    mutating func setZoneOfStage(_ name: String) { sleep.setZone(name, rules.zoneNamed) }

    /// Adds the phone's own totals of a day; of two, the larger counts.
    ///
    /// Totals of a future day do not count. Totals beyond `mostTotals` are left out, because the
    /// day still has its sums. A zero counts beside a total above zero. A summary of zeros says
    /// that nothing was recorded, and is counted as refused.
    mutating func summarise(day: Int, energy: Double?, exercise: Double?) {
        guard Int64(day) <= LocalDays.quotient(LocalDays.clock(at: now, in: rules.zone), 86_400),
            totals.count < RecordAggregation.mostTotals || totals[day] != nil
        else { return }
        guard energy ?? 0 > 0 || exercise ?? 0 > 0 else {
            if energy == 0 || exercise == 0 { zeroSummaries += 1 }
            return
        }
        var total = totals[day] ?? DayRecords.Totals()
        if let energy, energy >= 0 { total.energy = max(total.energy ?? 0, energy) }
        if let exercise, exercise >= 0 { total.exercise = max(total.exercise ?? 0, exercise) }
        totals[day] = total
    }

    /// Passes the nights to `each`, and returns the records of days.
    ///
    /// - Parameters:
    ///   - names: the names of the sources, by index.
    ///   - isWhole: whether all records were there. If the source broke off, no night and no record
    ///     of a day counts. An export has one type after the other, so each of its days could lack
    ///     some records, and would replace the better one of an earlier export.
    /// - Throws: the errors of `each`.
    mutating func finish(
        names: [String], isWhole: Bool = true, _ each: (Sample, SampleNature) throws -> Void
    ) rethrows -> Outcome {
        let asOf = asOf
        let until = isWhole ? until : .min
        let sources = names.enumerated().map { index, name in
            DaySource(
                name: name, sort: index < sorts.count ? sorts[index] : nil,
                preferred: rules.preferred)
        }
        let order = SourceRank.order(of: sources)
        var outcome = Outcome()
        outcome.copies = parts.settle()
        outcome.nights = try sleep.resolve(order: order, until: until) { night in
            try each(
                night.sample(ofSource: names[night.source]), .aggregate(asOf: asOf))
        }
        guard isWhole else { return outcome }
        if let steps = DayQuantity(.steps) {
            var minutes = MinuteAggregation(zone: rules.zone, until: until)
            outcome.steps = minutes.aggregate { period in
                parts.parts(of: steps, period).flatMap { source, parts in
                    parts.map { RankedPart(part: $0, rank: order[source], asOf: until) }
                }.sorted(by: RankedPart.comesBefore)
            }
        }
        outcome.days = DayRecords(
            parts: parts, sources: sources, totals: totals, zeroSummaries: zeroSummaries,
            asOf: until, isAll: true)
        return outcome
    }
}

/// The rules by which days and nights are made from records; by default days are in UTC, and no
/// source is preferred.
struct AggregationRules: Sendable {
    /// The time zone that days follow.
    var zone = Zone.utc
    /// Finds a zone by its name in the tz database; returns `nil` for a name that is not there.
    var zoneNamed: @Sendable (String) -> Zone? = { _ in nil }
    /// The names of the sources that come before all others, the first before the second. Case, and
    /// the form of apostrophes and spaces, do not matter.
    var preferred: [String] = []
}

/// Why a record or a point cannot become a sample; the raw value is the reason in the report.
enum RecordRefusal: String, Error {
    case noJSON = "no JSON"
    case noPoint = "no object"
    case tooLarge = "larger than 32 MiB"
    case noType = "no type"
    case noDate = "no date"
    case badDate = "bad date"
    case endBeforeStart = "end before start"
    case inFuture = "in the future"
    case noValue = "no value"
    case badValue = "bad value"
    case negativeValue = "negative value"
    case noUnit = "no unit"
    case unknownUnit = "unknown unit"
    case unclosedTag = "unclosed tag"
    case oversizedTag = "oversized tag"
    case unpaired = "blood pressure without its other half"
    case tooManyWaiting = "too many blood pressures"
    case otherSource = "another source's point of the same time"
    case tooLong = "longer than a record of its type can be"
    case tooManyDays = "too many records of days"
    case tooManyStages = "too many stages of sleep"
    case unreadableElement = "unknown element without a date, or too long"
    case unreadableWorkout = "workout without a date, or too long"
    case tooManyWorkouts = "too many workouts"
    case unknownStage = "unknown stage of sleep"
}

/// Counts the steps of the last days by minute, merged as the steps of a day are.
///
/// A record's steps are divided among its minutes, in whole numbers that add up to it. Minutes are
/// those that a clock of the zone shows: a day has 1,440 of them, a skipped hour has no steps, and
/// a repeated hour has the steps of both. A record of more than an hour says too little about its
/// minutes and is left out.
struct MinuteAggregation {
    /// The number of days that are counted, including the one in which the records end.
    static let days = 8
    /// The longest record that counts, in seconds.
    static let longest: Int64 = 3600

    private let zone: Zone
    private let until: Int64
    private var counts = [UInt32](repeating: 0, count: StepDay.minutes)

    /// - Parameter until: when the records end, in seconds since 1970.
    init(zone: Zone, until: Int64) {
        self.zone = zone
        self.until = until
    }

    /// Returns the days that have steps, in order.
    ///
    /// - Parameter load: returns the records of steps that touch a period.
    mutating func aggregate(_ load: (Int) throws -> [RankedPart]) rethrows -> [StepDay] {
        let lastDay = Int(LocalDays.quotient(LocalDays.clock(at: until, in: zone), 86_400))
        var aggregation = DayAggregation(days: LocalDays(zone: zone))
        var made: [StepDay] = []
        try aggregation.eachDay(lastDay - MinuteAggregation.days + 1...lastDay, load) {
            day, parts in
            let short = parts.filter { $0.part.end - $0.part.start <= MinuteAggregation.longest }
            guard !short.isEmpty else { return }
            counts = [UInt32](repeating: 0, count: StepDay.minutes)
            DaySweep.run(short, in: day.start..<day.end) { share($0, from: $1, to: $2, of: day) }
            var known = StepDay.minutes
            if day.number == lastDay {
                known =
                    Int(LocalDays.clock(at: until, in: zone) - Int64(day.number) * 86_400) / 60
            }
            made.append(
                StepDay(
                    day: CivilDay(daysSince1970: day.number), zone: zone.identifier,
                    counts: counts, knownMinutes: known))
        }
        return made
    }

    private mutating func share(_ part: DayPart, from: Int64, to: Int64, of day: LocalDay) {
        guard !part.isInstant else { return add(MinuteAggregation.steps(part, to), from, day) }
        var time = from
        var given = MinuteAggregation.steps(part, from)
        while time < to {
            let next = min(to, (LocalDays.quotient(time, 60) + 1) * 60)
            let sum = MinuteAggregation.steps(part, next)
            add(sum - given, time, day)
            (given, time) = (sum, next)
        }
    }

    /// Returns the whole steps of a record that lie before an instant.
    private static func steps(_ part: DayPart, _ instant: Int64) -> Int64 {
        let steps = (part.amount + 50) / 100
        guard instant < part.end else { return steps }
        return steps * (instant - part.start) / (part.end - part.start)
    }

    private mutating func add(_ steps: Int64, _ time: Int64, _ day: LocalDay) {
        let clock = LocalDays.clock(at: time, in: zone)
        let minute = Int(clock - Int64(day.number) * 86_400) / 60
        guard steps > 0, counts.indices.contains(minute) else { return }
        counts[minute] = UInt32(clamping: Int64(counts[minute]) + steps)
    }
}
