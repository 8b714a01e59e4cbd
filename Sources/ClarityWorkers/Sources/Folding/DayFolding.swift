import ClarityJobs

/// Sums up records of activity by half hour, source and day.
///
/// Sums are whole numbers of a small unit, so that they do not depend on the order of the records.
/// A record that lasts over several half hours is shared out by time; the parts add up to it
/// exactly.
struct DayFolding {
    enum Verdict: Equatable {
        case taken
        /// It is an exact copy of one that was taken.
        case repeated
        /// It lasts longer than `longest`.
        case tooLong
        /// Its value is beyond what a half hour could hold.
        case tooLarge
        /// There is no room for another day.
        case tooManyDays
    }

    /// What is known once a day: the latest of its records counts.
    struct Latest: Comparable {
        var end: Int64
        var start: Int64
        var value: Double

        static func < (a: Latest, b: Latest) -> Bool {
            (a.end, a.start, a.value) < (b.end, b.start, b.value)
        }
    }

    /// The totals of a day as the phone has them.
    struct Totals {
        var energy: Double?
        var exercise: Double?
    }

    /// The longest record, 4 days: HealthKit itself takes none that is longer.
    static let longest: Int64 = 345_600
    /// The days on which such a record can fall, one of them skipped by the zone.
    private static let mostDays = 7
    /// The pages of half hours, 26 MB of them; 10 years of three sources and seven types have some
    /// 40,000.
    static let capacity = 131_072
    /// The days of which the phone's own totals are kept, a hundred years.
    static let mostSummaries = 40_000
    /// The types that are told apart; there are 14.
    static let mostLanes = 32

    var days: LocalDays
    private(set) var pages: PageStore
    private(set) var latest: [PageKey: Latest] = [:]
    private(set) var summaries: [Int: Totals] = [:]
    /// The kind of each lane.
    private(set) var lanes: [SampleKind] = []
    private var laneNames: [String] = []
    private var recent = RecentRecords()
    private let capacity: Int

    init(days: LocalDays, capacity: Int = DayFolding.capacity) {
        self.days = days
        self.capacity = capacity
        pages = PageStore(capacity: capacity)
    }

    /// The lane of a HealthKit type, which has its own sums: a distance on a bicycle and one on foot
    /// may come from two sources in the same half hour. `nil` when there are too many.
    mutating func lane(_ name: String, _ kind: SampleKind) -> Int? {
        if let known = laneNames.firstIndex(of: name) { return known }
        guard lanes.count < DayFolding.mostLanes else { return nil }
        laneNames.append(name)
        lanes.append(kind)
        return lanes.count - 1
    }

    /// Takes a record; `value` is in the unit of the lane's kind and not negative.
    @inline(__always)
    mutating func add(
        _ value: Double, lane: Int, source: Int, start: Int64, end: Int64
    ) -> Verdict {
        guard end &- start <= DayFolding.longest else { return .tooLong }
        let scaled = value * DayFolding.scale(lanes[lane])
        guard scaled < 4e9 else { return .tooLarge }
        let amount = Int64(scaled + 0.5)
        guard
            recent.insert(lane: lane, source: source, start: start, end: end, amount: amount)
        else { return .repeated }
        let day = days.day(at: start)
        let key = PageKey(day: day.number, lane: lane, source: source)
        if DayFolding.hasNoSum(lanes[lane]) {
            return note(Latest(end: end, start: start, value: value), key)
        }
        if end > day.end { return shareOverDays(amount, start, end, lane, source) }
        guard let place = pages.place(of: key) else { return .tooManyDays }
        share(amount, start, end, day, place)
        return .taken
    }

    /// Takes the phone's own totals of a day; of two the larger. What finds no room is left out: the
    /// day has its sums.
    mutating func summarise(day: Int, energy: Double?, exercise: Double?) {
        guard summaries.count < DayFolding.mostSummaries || summaries[day] != nil else { return }
        var summary = summaries[day] ?? Totals()
        if let energy, energy > 0 { summary.energy = max(summary.energy ?? 0, energy) }
        if let exercise, exercise > 0 { summary.exercise = max(summary.exercise ?? 0, exercise) }
        if summary.energy != nil || summary.exercise != nil { summaries[day] = summary }
    }

    private mutating func note(_ value: Latest, _ key: PageKey) -> Verdict {
        if let known = latest[key] {
            if known < value { latest[key] = value }
            return .taken
        }
        guard latest.count < capacity else { return .tooManyDays }
        latest[key] = value
        return .taken
    }

    /// Takes a record as a whole or not at all, so there must be room for all its days.
    private mutating func shareOverDays(
        _ amount: Int64, _ start: Int64, _ end: Int64, _ lane: Int, _ source: Int
    ) -> Verdict {
        guard pages.keys.count + DayFolding.mostDays <= capacity else { return .tooManyDays }
        var day = days.day(at: start)
        while true {
            let key = PageKey(day: day.number, lane: lane, source: source)
            guard let place = pages.place(of: key) else { return .tooManyDays }
            share(amount, start, end, day, place)
            if day.end >= end { return .taken }
            day = days.day(day.number + 1)
        }
    }

    /// Adds what of a record falls into a day to its half hours.
    @inline(__always)
    private mutating func share(
        _ amount: Int64, _ start: Int64, _ end: Int64, _ day: LocalDay, _ place: Int
    ) {
        var from = max(start, day.start)
        let slot = Int((from &- day.start) / 1800)
        if start >= day.start, end <= day.start &+ Int64(slot &+ 1) &* 1800 {
            pages.add(amount, to: place, slot: slot)
            return
        }
        let until = min(end, day.end)
        var given = amount * (from - start) / (end - start)
        while from < until {
            let slot = (from - day.start) / 1800
            let next = min(until, day.start + (slot + 1) * 1800)
            let sum = amount * (next - start) / (end - start)
            pages.add(sum - given, to: place, slot: Int(slot))
            given = sum
            from = next
        }
    }

    /// Whether the last record of a day counts, and no sum.
    @inline(__always)
    static func hasNoSum(_ kind: SampleKind) -> Bool {
        kind == .vo2Max || kind == .restingHeartRate
    }

    /// How many of the whole numbers that are summed up make one of a kind's unit: hundredths of a
    /// step, millimetres, tenths of a calorie, milliseconds.
    @inline(__always)
    static func scale(_ kind: SampleKind) -> Double {
        switch kind {
        case .distance: 1_000_000
        case .activeEnergy: 10_000
        case .exerciseMinutes: 60_000
        default: 100
        }
    }
}
