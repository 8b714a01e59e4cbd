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

    /// The properties of a measure besides its name.
    private struct Traits {
        let code: UInt8
        let unit: String
        let summing: Summing
        let decimals: Int

        init(_ code: UInt8, _ unit: String, _ summing: Summing, _ decimals: Int) {
            (self.code, self.unit, self.summing, self.decimals) = (code, unit, summing, decimals)
        }
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

    private var traits: Traits {
        switch self {
        case .heartRate: Traits(1, "1/min", .mean, 0)
        case .heartRateVariability: Traits(2, "ms", .mean, 1)
        case .systolic: Traits(3, "mmHg", .mean, 0)
        case .diastolic: Traits(4, "mmHg", .mean, 0)
        case .oxygenSaturation: Traits(5, "%", .mean, 1)
        case .respiratoryRate: Traits(6, "1/min", .mean, 1)
        case .bodyTemperature: Traits(7, "degC", .mean, 1)
        case .bloodGlucose: Traits(8, "mg/dL", .mean, 0)
        case .steps: Traits(20, "count", .total, 0)
        case .distance: Traits(21, "km", .total, 2)
        case .activeEnergy: Traits(22, "kcal", .total, 0)
        case .exerciseMinutes: Traits(23, "min", .total, 0)
        case .flightsClimbed: Traits(24, "count", .total, 0)
        case .activeMinutes: Traits(25, "min", .total, 0)
        case .vo2Max: Traits(26, "mL/(kg*min)", .mean, 1)
        case .restingHeartRate: Traits(27, "1/min", .mean, 0)
        case .totalSleep: Traits(40, "min", .total, 0)
        case .sleepEfficiency: Traits(41, "share", .mean, 2)
        case .timeToSleep: Traits(42, "min", .mean, 0)
        case .wakeCount: Traits(43, "count", .total, 0)
        case .awake: Traits(44, "min", .total, 0)
        case .lightSleep: Traits(45, "min", .total, 0)
        case .deepSleep: Traits(46, "min", .total, 0)
        case .remSleep: Traits(47, "min", .total, 0)
        case .mood: Traits(60, "1..5", .mean, 1)
        case .stress: Traits(61, "1..10", .mean, 1)
        case .anxiety: Traits(62, "1..10", .mean, 1)
        case .energy: Traits(63, "1..10", .mean, 1)
        case .focus: Traits(64, "1..10", .mean, 1)
        case .socialMinutes: Traits(65, "min", .total, 0)
        case .meditationMinutes: Traits(66, "min", .total, 0)
        }
    }
}
