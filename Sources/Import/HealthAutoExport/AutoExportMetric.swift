import HealthModel

/// The facts about a metric of a file that are needed before its points are read.
struct AutoExportMetric {
    /// The form of a metric's points.
    enum Field: Hashable {
        /// A number in a unit.
        case quantity(SampleKind)
        /// A systolic and a diastolic pressure.
        case pressure
        /// A night, or a stage of one.
        case sleep
    }

    var name: String
    /// The unit in the file; empty if it has none.
    var unit: String
    /// What the dates of its points show.
    var grouping = AutoExportGrouping()

    /// Whether each point is a whole day.
    var isDaily: Bool { grouping.length == .day }

    /// `nil` for a metric that CLARITY has no field for.
    var field: Field? { AutoExportMetric.fields[name] }

    /// The fields by metric. Only one distance is accepted, the one on foot: two of the same time
    /// would replace each other.
    private static let fields: [String: Field] = [
        "heart_rate": .quantity(.heartRate),
        "resting_heart_rate": .quantity(.restingHeartRate),
        "heart_rate_variability": .quantity(.heartRateVariability),
        "blood_oxygen_saturation": .quantity(.oxygenSaturation),
        "oxygen_saturation": .quantity(.oxygenSaturation),
        "respiratory_rate": .quantity(.respiratoryRate),
        "body_temperature": .quantity(.bodyTemperature),
        "blood_glucose": .quantity(.bloodGlucose),
        "step_count": .quantity(.steps),
        "walking_running_distance": .quantity(.distance),
        "active_energy": .quantity(.activeEnergy),
        "apple_exercise_time": .quantity(.exerciseMinutes),
        "flights_climbed": .quantity(.flightsClimbed),
        "vo2_max": .quantity(.vo2Max),
        "vo2max": .quantity(.vo2Max),
        "mindful_minutes": .quantity(.meditationMinutes),
        "blood_pressure": .pressure,
        "sleep_analysis": .sleep,
    ]

    /// Returns the conversion of the metric's unit, which sometimes differs from HealthKit's
    /// spelling.
    func conversion(to kind: SampleKind) -> UnitConversion? {
        UnitConversion(from: unit, to: kind)
            ?? AutoExportMetric.spellings[unit.lowercased()].flatMap {
                UnitConversion(from: $0, to: kind)
            }
    }

    private static let spellings = [
        "bpm": "count/min", "beats/min": "count/min", "breaths/min": "count/min",
        "brpm": "count/min", "steps": "count", "flights": "count", "°f": "degF", "ºf": "degF",
        "°c": "degC", "ºc": "degC", "mmol/l": "mmol<180.1558800000541>/L",
        "ml/(kg·min)": "mL/(kg·min)", "ml/kg/min": "mL/(kg·min)", "ml/min·kg": "mL/min·kg",
        "ml/(kg*min)": "mL/(kg*min)", "minutes": "min", "minute": "min", "hours": "hr",
        "hour": "hr", "h": "hr", "mmhg": "mmHg", "mg/dl": "mg/dL", "sec": "s",
    ]
}
