/// One number of a metric, named after its field in the backend's payloads.
///
/// People and programs see the raw value; `code` identifies the measure in encrypted rows. Neither
/// ever changes.
public enum Measure: String, CaseIterable, Hashable, Sendable {
    case heartRate = "heart_rate"
    case heartRateVariability = "heart_rate_variability"
    case systolic = "blood_pressure_systolic"
    case diastolic = "blood_pressure_diastolic"
    case oxygenSaturation = "oxygen_saturation"
    case respiratoryRate = "respiratory_rate"
    case bodyTemperature = "body_temperature"
    case bloodGlucose = "blood_glucose"

    case steps
    case distance
    case activeEnergy = "active_energy"
    case exerciseMinutes = "exercise_minutes"
    case flightsClimbed = "flights_climbed"
    case activeMinutes = "active_minutes"
    case vo2Max = "vo2_max"
    case restingHeartRate = "resting_heart_rate"

    case totalSleep = "total_sleep_minutes"
    case sleepEfficiency = "sleep_efficiency"
    case timeToSleep = "time_to_sleep_minutes"
    case wakeCount = "wake_count"
    case awake = "awake_minutes"
    case lightSleep = "light_sleep_minutes"
    case deepSleep = "deep_sleep_minutes"
    case remSleep = "rem_sleep_minutes"

    /// 1 for `very_low` to 5 for `excellent`.
    case mood = "mood_score"
    case stress = "stress_level"
    case anxiety = "anxiety_level"
    case energy = "energy_level"
    case focus = "focus_rating"
    case socialMinutes = "social_interaction_minutes"
    case meditationMinutes = "meditation_minutes"

    /// How the values of one day are combined.
    public enum Summing: Hashable, Sendable {
        /// They are averaged, and reported with their minimum and maximum.
        case mean
        /// They are added up.
        case total
    }

    /// The name for people, without the unit that its values have.
    public var title: String {
        switch self {
        case .totalSleep: "Sleep"
        case .sleepEfficiency: "Sleep efficiency"
        case .timeToSleep: "Time to fall asleep"
        case .awake: "Awake at night"
        case .lightSleep: "Light sleep"
        case .deepSleep: "Deep sleep"
        case .remSleep: "REM sleep"
        default: SampleKind(rawValue: rawValue)?.facts.title ?? wordsOfName(rawValue)
        }
    }

    /// HealthKit's type of the records that have it, without its prefix; `nil` if no single record
    /// has it.
    public var recordType: String? {
        let prefix = "HKQuantityTypeIdentifier"
        guard let type = SampleKind(rawValue: rawValue)?.facts.healthKit.type,
            type.hasPrefix(prefix)
        else { return nil }
        return String(type.dropFirst(prefix.count))
    }

    /// The code in encrypted rows, 1 to 255.
    public var code: UInt8 { traits.code }
    /// The unit as text for people and programs.
    public var unit: String { traits.unit }
    /// How the values of one day are combined.
    public var summing: Summing { traits.summing }
    /// The number of decimals shown, 0 to 3.
    public var decimals: Int { traits.decimals }

    /// Returns the measure with a code, or `nil` for one of a later version.
    public init?(code: UInt8) {
        guard let measure = Measure.byCode[Int(code)] else { return nil }
        self = measure
    }

    private static let byCode: [Measure?] = {
        var table = [Measure?](repeating: nil, count: 256)
        for measure in allCases { table[Int(measure.code)] = measure }
        return table
    }()

    /// The properties of a measure besides its name.
    private var traits: (code: UInt8, unit: String, summing: Summing, decimals: Int) {
        switch self {
        case .heartRate: (1, "1/min", .mean, 0)
        case .heartRateVariability: (2, "ms", .mean, 1)
        case .systolic: (3, "mmHg", .mean, 0)
        case .diastolic: (4, "mmHg", .mean, 0)
        case .oxygenSaturation: (5, "%", .mean, 1)
        case .respiratoryRate: (6, "1/min", .mean, 1)
        case .bodyTemperature: (7, "degC", .mean, 1)
        case .bloodGlucose: (8, "mg/dL", .mean, 0)
        case .steps: (20, "count", .total, 0)
        case .distance: (21, "km", .total, 2)
        case .activeEnergy: (22, "kcal", .total, 0)
        case .exerciseMinutes: (23, "min", .total, 0)
        case .flightsClimbed: (24, "count", .total, 0)
        case .activeMinutes: (25, "min", .total, 0)
        case .vo2Max: (26, "mL/(kg*min)", .mean, 1)
        case .restingHeartRate: (27, "1/min", .mean, 0)
        case .totalSleep: (40, "min", .total, 0)
        case .sleepEfficiency: (41, "share", .mean, 2)
        case .timeToSleep: (42, "min", .mean, 0)
        case .wakeCount: (43, "count", .total, 0)
        case .awake: (44, "min", .total, 0)
        case .lightSleep: (45, "min", .total, 0)
        case .deepSleep: (46, "min", .total, 0)
        case .remSleep: (47, "min", .total, 0)
        case .mood: (60, "1..5", .mean, 1)
        case .stress: (61, "1..10", .mean, 1)
        case .anxiety: (62, "1..10", .mean, 1)
        case .energy: (63, "1..10", .mean, 1)
        case .focus: (64, "1..10", .mean, 1)
        case .socialMinutes: (65, "min", .total, 0)
        case .meditationMinutes: (66, "min", .total, 0)
        }
    }
}

/// A group of metrics that are read together: the same matter at the backend and in the sources,
/// whatever each of them calls it.
public enum MetricGroup: String, CaseIterable, Hashable, Sendable {
    case heartRate = "heart_rate"
    case heartRateVariability = "heart_rate_variability"
    case bloodPressure = "blood_pressure"
    case oxygenSaturation = "oxygen_saturation"
    case respiratoryRate = "respiratory_rate"
    case bodyTemperature = "body_temperature"
    case bloodGlucose = "blood_glucose"
    case activity
    case sleep
    case mentalHealth = "mental_health"

    /// The backend's types in the group.
    public var types: [String] {
        switch self {
        case .oxygenSaturation: ["blood_oxygen"]
        case .activity: ["activity_level"]
        case .sleep: ["sleep_analysis"]
        case .mentalHealth: ["mood_assessment", "stress_indicators", "cognitive_metrics"]
        default: [rawValue]
        }
    }

    /// The kinds of samples in the group.
    public var kinds: [SampleKind] {
        switch self {
        case .activity: [.activity] + ActivityDay.kinds
        case .mentalHealth: [.meditationMinutes, .mood, .stress, .cognitive]
        // Every other group has the name of its only kind.
        default: SampleKind(rawValue: rawValue).map { [$0] } ?? []
        }
    }

    /// The measures in the group, the most requested first.
    public var measures: [Measure] {
        switch self {
        case .bloodPressure: [.systolic, .diastolic]
        case .activity:
            [
                .steps, .distance, .activeEnergy, .exerciseMinutes, .flightsClimbed,
                .activeMinutes, .vo2Max, .restingHeartRate,
            ]
        case .sleep:
            [
                .totalSleep, .sleepEfficiency, .timeToSleep, .wakeCount, .awake, .lightSleep,
                .deepSleep, .remSleep,
            ]
        case .mentalHealth:
            [.mood, .stress, .anxiety, .energy, .focus, .socialMinutes, .meditationMinutes]
        // Every other group has the name of its only measure.
        default: Measure(rawValue: rawValue).map { [$0] } ?? []
        }
    }

    /// Returns the group of a backend type, or `nil` if no group has it.
    public init?(type: String) {
        guard let group = MetricGroup.allCases.first(where: { $0.types.contains(type) }) else {
            return nil
        }
        self = group
    }

    /// Returns the group of a kind of samples, or `nil` if no group has it.
    public init?(kind: SampleKind) {
        guard let group = MetricGroup.allCases.first(where: { $0.kinds.contains(kind) }) else {
            return nil
        }
        self = group
    }
}

/// The metrics to read, found by a name that people use.
public struct MetricSelection: Hashable, Sendable {
    public var group: MetricGroup
    public var measures: [Measure]

    /// Selects everything in a group.
    public init(_ group: MetricGroup) { self.init(group, group.measures) }

    private init(_ group: MetricGroup, _ measures: [Measure]) {
        self.group = group
        self.measures = measures
    }

    /// Selects by name: a group, a measure, or a backend type.
    public init?(named name: String) {
        if let group = MetricGroup(rawValue: name) ?? MetricGroup(type: name) {
            self.init(group)
        } else if let measure = Measure(rawValue: name),
            let group = MetricGroup.allCases.first(where: { $0.measures.contains(measure) })
        {
            self.init(group, [measure])
        } else {
            return nil
        }
    }

    /// All valid names.
    public static var names: [String] {
        var names: [String] = []
        let all =
            MetricGroup.allCases.map(\.rawValue) + Measure.allCases.map(\.rawValue)
            + MetricGroup.allCases.flatMap(\.types)
        for name in all where !names.contains(name) { names.append(name) }
        return names
    }
}
