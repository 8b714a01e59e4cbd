public import ClarityScheduler

/// A person's activity on one day; unknown values are `nil`, which is not 0.
public struct ActivityDay: Hashable, Sendable, PrivateValue {
    /// A count.
    public var steps: Double?
    /// Kilometres.
    public var distance: Double?
    /// Kilocalories.
    public var activeEnergy: Double?
    /// Minutes.
    public var exerciseMinutes: Double?
    /// A count.
    public var flightsClimbed: Double?
    /// mL/(kg min).
    public var vo2Max: Double?
    /// Beats per minute.
    public var restingHeartRate: Double?

    /// Creates a day without known values.
    public init() {}

    /// The kinds of values in a day, in the order in which they are written.
    public static let kinds: [SampleKind] = [
        .steps, .distance, .activeEnergy, .exerciseMinutes, .flightsClimbed, .vo2Max,
        .restingHeartRate,
    ]

    /// The day's value of one of `kinds`; for any other kind `nil`, and setting it has no effect.
    public subscript(kind: SampleKind) -> Double? {
        get { ActivityDay.fields[kind].flatMap { self[keyPath: $0] } }
        set { if let field = ActivityDay.fields[kind] { self[keyPath: field] = newValue } }
    }

    private static let fields: [SampleKind: any WritableKeyPath<ActivityDay, Double?> & Sendable] =
        [
            .steps: \.steps, .distance: \.distance, .activeEnergy: \.activeEnergy,
            .exerciseMinutes: \.exerciseMinutes, .flightsClimbed: \.flightsClimbed,
            .vo2Max: \.vo2Max, .restingHeartRate: \.restingHeartRate,
        ]

    /// Whether no value is known.
    public var isEmpty: Bool { ActivityDay.kinds.allSatisfy { self[$0] == nil } }
}

/// One night's sleep, or a nap's, summed up from the stages between its sample's start and end.
///
/// Each number is rounded separately, so the sum of the stages may differ from `totalMinutes` by a
/// minute or two.
public struct SleepNight: Hashable, Sendable, PrivateValue {
    /// The minutes asleep: light, deep and REM.
    public var totalMinutes: Int
    /// The share of the time between start and end spent asleep, 0 to 1.
    public var efficiency: Double
    /// How often the sleeper was awake between two periods of sleep.
    public var wakeCount: Int
    /// The minutes awake after falling asleep, as far as the source recorded them.
    public var awakeMinutes: Int
    /// The minutes of light sleep, and of sleep without a known stage.
    public var lightMinutes: Int
    public var deepMinutes: Int
    public var remMinutes: Int
    /// The minutes from lying down to sleep; `nil` if lying down was not recorded.
    public var minutesToSleep: Int?

    /// Whether sleep stages are known; a source without stages has all sleep as light.
    public var hasStages: Bool { deepMinutes > 0 || remMinutes > 0 }

    /// Whether `awakeMinutes` is known; a source without stages may record no time awake at all.
    public var knowsAwake: Bool { hasStages || awakeMinutes > 0 }

    /// Whether `wakeCount` is known; a source may record the minutes awake but not how often.
    public var knowsWakeCount: Bool { wakeCount > 0 || hasStages && awakeMinutes == 0 }

    /// Creates a night.
    public init(
        totalMinutes: Int, efficiency: Double, wakeCount: Int = 0, awakeMinutes: Int = 0,
        lightMinutes: Int = 0, deepMinutes: Int = 0, remMinutes: Int = 0,
        minutesToSleep: Int? = nil
    ) {
        self.totalMinutes = totalMinutes
        self.efficiency = efficiency
        self.wakeCount = wakeCount
        self.awakeMinutes = awakeMinutes
        self.lightMinutes = lightMinutes
        self.deepMinutes = deepMinutes
        self.remMinutes = remMinutes
        self.minutesToSleep = minutesToSleep
    }
}

/// Several measures that belong together, with a text: an assessment of a mood, values of the
/// environment, or a workout.
public struct MeasuredValues: Hashable, Sendable, PrivateValue {
    /// The most characters of `text`.
    public static let longestText = 1000

    /// The known numbers; those of `SampleKind.measures` count.
    public var numbers: [Measure: Double]
    /// Notes in the person's own words, or the type of a workout's activity.
    public var text: String?

    /// Creates values.
    public init(_ numbers: [Measure: Double] = [:], text: String? = nil) {
        self.numbers = numbers
        self.text = text
    }
}

extension SampleKind {
    /// The measures that a sample of this kind may have, in the order in which they are written;
    /// empty for a kind whose value has another form.
    public var measures: [Measure] { facts.measures }
    /// The name of the text; `nil` if a sample of this kind has none.
    public var textName: String? { facts.textName }

    /// Returns the name of a measure in a sample of this kind, in a spool file and at the backend:
    /// the contract's own, or in a workout one that states the unit.
    public func fieldName(of measure: Measure) -> String {
        switch (self, measure) {
        case (.workout, .activeMinutes): "duration_minutes"
        case (.workout, .distance): "distance_km"
        case (.workout, .activeEnergy): "active_energy_kcal"
        default: measure.rawValue
        }
    }
}

extension Measure {
    /// The words for the numbers 1 to 5 of `mood`.
    public static let moods = ["very_low", "low", "neutral", "good", "excellent"]

    /// Whether the contract has only whole numbers of it.
    public var isWhole: Bool {
        switch self {
        case .systolic, .diastolic, .mood, .socialMinutes, .meditationMinutes: true
        default: false
        }
    }
}

/// A date, as the number of days since 1970-01-01.
public struct CivilDay: Hashable, Comparable, Sendable {
    public var daysSince1970: Int

    /// Creates a date.
    public init(daysSince1970: Int) { self.daysSince1970 = daysSince1970 }

    public static func < (a: CivilDay, b: CivilDay) -> Bool { a.daysSince1970 < b.daysSince1970 }
}

extension CivilDay: CustomStringConvertible {
    /// The date as `2026-11-15`.
    public var description: String {
        let date = Instant(secondsSince1970: Int64(daysSince1970) * 86_400).description
        return String(date.prefix { $0 != "T" })
    }
}

extension CivilDay {
    /// Returns the instant at which the day begins on the clocks of a zone.
    public func start(in zone: Zone) -> Instant {
        let time = CivilTime(Int64(daysSince1970) * 86_400_000)
        return switch zone.resolve(time) {
        case .once(let instant), .twice(let instant, _), .skipped(let instant): instant
        }
    }
}

/// The steps of each minute of a day on the clocks of one zone.
public struct StepDay: Hashable, Sendable, PrivateValue {
    /// The minutes of a day, 1,440; a clock change leaves one hour empty, or with the steps of both
    /// its occurrences.
    public static let minutes = 1440

    public var day: CivilDay
    /// The zone's name in the tz database.
    public var zone: String
    /// `minutes` counts, from midnight on.
    public var counts: [UInt32]
    /// How many of the minutes had passed when the source was made; 1,440 for a whole day.
    public var knownMinutes: Int

    /// Creates a day of `minutes` counts; missing ones are 0.
    public init(day: CivilDay, zone: String, counts: [UInt32], knownMinutes: Int) {
        self.day = day
        self.zone = zone
        let missing = max(0, StepDay.minutes - counts.count)
        self.counts = counts.prefix(StepDay.minutes) + [UInt32](repeating: 0, count: missing)
        self.knownMinutes = min(max(knownMinutes, 0), StepDay.minutes)
    }
}

/// The known minutes of a week, with the instants at which they began.
public struct MovementWeek: Hashable, Sendable, PrivateValue {
    /// The steps of one minute.
    public struct Minute: Hashable, Sendable, PrivateValue {
        public var start: Instant
        public var steps: Int

        /// Creates a minute.
        public init(start: Instant, steps: Int) {
            self.start = start
            self.steps = steps
        }
    }

    /// The most steps in a minute; a higher count is not a count of steps.
    public static let mostSteps = 1000
    /// The number of minutes in a week.
    public static let minutes = 7 * StepDay.minutes

    /// The known minutes in order of time, each instant once.
    public let known: [Minute]

    /// Collects the known minutes that are over, each at the instant when clocks in its day's zone
    /// showed it.
    ///
    /// It leaves out minutes that no source has reported, days without any step (these are not
    /// among `days`), the hour that a clock change skips, minutes that are not over at `now`, and
    /// minutes with more than `mostSteps`. An hour that a clock change repeats appears at its first
    /// occurrence, with the steps of both.
    ///
    /// - Parameter zone: returns the zone with a name, or `nil` if this machine does not know it.
    /// - Throws: a failure that names the unknown zone.
    public init(
        _ days: [StepDay], now: Instant, zone: (String) -> Zone?
    ) throws(Failure) {
        var known: [Minute] = []
        for day in days.sorted(by: { $0.day < $1.day }) {
            guard let zone = zone(day.zone) else {
                throw Failure(
                    .configuration, "the time zone `\(day.zone)` is not known to this machine")
            }
            let clock = DayClock(day.day, zone)
            for minute in 0..<day.knownMinutes {
                let steps = Int(day.counts[minute])
                guard steps <= MovementWeek.mostSteps, let start = clock.start(of: minute),
                    start + .seconds(60) <= now
                else { continue }
                known.append(Minute(start: start, steps: steps))
            }
        }
        // On a journey two zones may both have shown an hour: each instant once, from the later
        // day.
        var last: [Instant: Int] = [:]
        for (index, minute) in known.enumerated() { last[minute.start] = index }
        self.known = last.values.map { known[$0] }.sorted { $0.start < $1.start }
    }
}

/// The form in which a week of steps is sent.
public enum AnalysisForm: String, CaseIterable, Sendable {
    /// The steps of each minute.
    case steps
    /// The same steps as movement measurements, one a minute.
    case actigraphy
}

/// Computes when the clocks of a zone show the minutes of a day.
private struct DayClock {
    private let zone: Zone
    private let date: (year: Int, month: Int, day: Int)

    init(_ day: CivilDay, _ zone: Zone) {
        self.zone = zone
        let time = CivilTime(Int64(day.daysSince1970) * 86_400_000)
        date = (time.year, time.month, time.day)
    }

    /// Returns the instant at which a minute begins, or `nil` if no clock shows that minute.
    func start(of minute: Int) -> Instant? {
        let time = CivilTime(
            year: date.year, month: date.month, day: date.day, hour: minute / 60,
            minute: minute % 60)
        return switch zone.resolve(time) {
        case .once(let instant), .twice(let instant, _): instant
        case .skipped: nil
        }
    }
}
