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
