/// The metrics that are read together: what the backend and the sources have of one matter, whatever
/// each of them calls it.
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

    /// The backend's names for it.
    public var types: [String] {
        switch self {
        case .heartRate, .heartRateVariability, .bloodPressure, .respiratoryRate,
            .bodyTemperature, .bloodGlucose:
            [rawValue]
        case .oxygenSaturation: ["blood_oxygen"]
        case .activity: ["activity_level"]
        case .sleep: ["sleep_analysis"]
        case .mentalHealth: ["mood_assessment", "stress_indicators", "cognitive_metrics"]
        }
    }

    /// The kinds of samples that are of it.
    public var kinds: [SampleKind] {
        switch self {
        case .heartRate: [.heartRate]
        case .heartRateVariability: [.heartRateVariability]
        case .bloodPressure: [.bloodPressure]
        case .oxygenSaturation: [.oxygenSaturation]
        case .respiratoryRate: [.respiratoryRate]
        case .bodyTemperature: [.bodyTemperature]
        case .bloodGlucose: [.bloodGlucose]
        case .activity: [.activity] + ActivityDay.kinds
        case .sleep: [.sleep]
        case .mentalHealth: [.meditationMinutes]
        }
    }

    /// What is told of it, the most asked for first.
    public var measures: [Measure] {
        switch self {
        case .heartRate: [.heartRate]
        case .heartRateVariability: [.heartRateVariability]
        case .bloodPressure: [.systolic, .diastolic]
        case .oxygenSaturation: [.oxygenSaturation]
        case .respiratoryRate: [.respiratoryRate]
        case .bodyTemperature: [.bodyTemperature]
        case .bloodGlucose: [.bloodGlucose]
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
        }
    }

    /// The group of a type of the backend's; `nil` for one that no group reads.
    public init?(type: String) {
        guard let group = MetricGroup.allCases.first(where: { $0.types.contains(type) }) else {
            return nil
        }
        self = group
    }

    /// The group of a kind of samples.
    public init?(kind: SampleKind) {
        guard let group = MetricGroup.allCases.first(where: { $0.kinds.contains(kind) }) else {
            return nil
        }
        self = group
    }
}

/// What of the metrics somebody wants to read, by a name that people use.
public struct MetricSelection: Hashable, Sendable {
    public var group: MetricGroup
    public var measures: [Measure]

    /// All of a group.
    public init(_ group: MetricGroup) { self.init(group, group.measures) }

    private init(_ group: MetricGroup, _ measures: [Measure]) {
        self.group = group
        self.measures = measures
    }

    /// Finds what a name stands for: a group, a measure, or the backend's name of a type.
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

    /// Every name that stands for something.
    public static var names: [String] {
        var names: [String] = []
        let all =
            MetricGroup.allCases.map(\.rawValue) + Measure.allCases.map(\.rawValue)
            + MetricGroup.allCases.flatMap(\.types)
        for name in all where !names.contains(name) { names.append(name) }
        return names
    }
}
