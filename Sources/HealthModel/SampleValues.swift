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
