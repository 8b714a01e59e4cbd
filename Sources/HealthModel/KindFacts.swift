// The table of the kinds of samples.
//
// The fields of the dialects: `loop` has four of the five metric types that the deployed backend
// accepts. Sleep is missing there: the backend answers 500 to every upload with a night. If that
// were repaired, it would refuse a night with more than 30 minutes awake. In `blueprint`, body
// temperature and blood glucose have fields, but no metric type to go with them.

extension KindFacts {
    static let heartRate = KindFacts(
        "Heart rate", .perMinute, decimals: 1, possible: 1...500,
        .quantity("HeartRate", "count/min"), autoExport: ["heart_rate"],
        blueprint: UploadField("heart_rate", .biometric, "heart_rate", in: [30...220]),
        loop: UploadField("heart_rate", .biometric, "heart_rate", in: [30...300]))

    static let heartRateVariability = KindFacts(
        "Heart rate variability", .milliseconds, decimals: 2, possible: 0...5000,
        .quantity("HeartRateVariabilitySDNN", "ms"), autoExport: ["heart_rate_variability"],
        blueprint: UploadField("heart_rate_variability", .biometric, "heart_rate_variability"))

    static let bloodPressure = KindFacts(
        "Blood pressure", .pressure, possible: 1...500,
        .correlation("HKCorrelationTypeIdentifierBloodPressure", "mmHg"),
        autoExport: ["blood_pressure"],
        blueprint: UploadField(
            "blood_pressure", .biometric, "blood_pressure_systolic", "blood_pressure_diastolic",
            isWhole: true),
        loop: UploadField(
            "blood_pressure", .biometric, "blood_pressure_systolic", "blood_pressure_diastolic",
            in: [70...250, 40...150], isWhole: true))

    static let oxygenSaturation = KindFacts(
        "Blood oxygen", .percent, decimals: 1, possible: 0...100,
        .quantity("OxygenSaturation", "%", dividedBy: 100),
        autoExport: ["blood_oxygen_saturation", "oxygen_saturation"],
        blueprint: UploadField("blood_oxygen", .biometric, "oxygen_saturation"))

    static let respiratoryRate = KindFacts(
        "Breathing rate", .perMinute, decimals: 1, possible: 0...300,
        .quantity("RespiratoryRate", "count/min"), autoExport: ["respiratory_rate"],
        blueprint: UploadField("respiratory_rate", .biometric, "respiratory_rate"))

    static let steps = KindFacts(
        "Steps", .count, possible: 0...100_000_000, .quantity("StepCount", "count"),
        autoExport: ["step_count"],
        blueprint: UploadField("activity_level", .activity, "steps", isWhole: true),
        loop: UploadField("activity_level", .activity, "steps", in: [0...100_000], isWhole: true),
        day: .count("steps"))

    static let distance = KindFacts(
        "Walking and running distance", .distance, decimals: 3, possible: 0...1_000_000,
        .quantity("DistanceWalkingRunning", "km"), autoExport: ["walking_running_distance"],
        blueprint: UploadField("activity_level", .activity, "distance"),
        loop: UploadField("activity_level", .activity, "distance", in: [0...100]),
        day: .sum("distance_km", scale: 1_000_000, decimals: 2))

    static let activeEnergy = KindFacts(
        "Active energy", .energy, decimals: 2, possible: 0...10_000_000,
        .quantity("ActiveEnergyBurned", "kcal"), autoExport: ["active_energy"],
        blueprint: UploadField("activity_level", .activity, "active_energy"),
        loop: UploadField("activity_level", .activity, "active_energy", in: [0...5000]),
        day: .sum("active_energy_kcal", scale: 10_000, decimals: 0))

    static let exerciseMinutes = KindFacts(
        "Exercise time", .minutes, decimals: 1, possible: 0...527_040,
        .quantity("AppleExerciseTime", "min"), autoExport: ["apple_exercise_time"],
        blueprint: UploadField("activity_level", .activity, "exercise_minutes", isWhole: true),
        loop: UploadField(
            "activity_level", .activity, "exercise_minutes", in: [0...1440], isWhole: true),
        day: .sum("exercise_minutes", scale: 60_000, decimals: 0))

    static let flightsClimbed = KindFacts(
        "Flights climbed", .count, possible: 0...1_000_000,
        .quantity("FlightsClimbed", "count"), autoExport: ["flights_climbed"],
        blueprint: UploadField("activity_level", .activity, "flights_climbed", isWhole: true),
        loop: UploadField(
            "activity_level", .activity, "flights_climbed", in: [0...500], isWhole: true),
        day: .count("flights_climbed"))

    static let vo2Max = KindFacts(
        "VO\u{2082} max", .oxygenUptake, decimals: 2, possible: 0...200,
        .quantity("VO2Max", "mL/min·kg"), autoExport: ["vo2_max", "vo2max"], isRare: true,
        blueprint: UploadField("activity_level", .activity, "vo2_max"),
        loop: UploadField("activity_level", .activity, "vo2_max", in: [10...80]),
        day: .last("vo2_max", decimals: 2))

    static let restingHeartRate = KindFacts(
        "Resting heart rate", .perMinute, decimals: 1, possible: 1...500,
        .quantity("RestingHeartRate", "count/min"), autoExport: ["resting_heart_rate"],
        isRare: true,
        blueprint: UploadField("activity_level", .activity, "resting_heart_rate"),
        loop: UploadField("activity_level", .activity, "resting_heart_rate", in: [30...120]),
        day: .last("resting_heart_rate", decimals: 1))

    /// The length of a session; its record has no value of its own.
    static let meditationMinutes = KindFacts(
        "Meditation minutes", .minutes, decimals: 2, possible: 0...527_040,
        .category("MindfulSession"), autoExport: ["mindful_minutes"],
        blueprint: UploadField("mood_assessment", .mind, "meditation_minutes", isWhole: true),
        loop: UploadField(
            "mood_assessment", .mind, "meditation_minutes", in: [0...480], isWhole: true))

    static let bodyTemperature = KindFacts(
        "Body temperature", .temperature, decimals: 1, possible: 10...50,
        .quantity("BodyTemperature", "degC"), autoExport: ["body_temperature"], isRare: true)

    static let bloodGlucose = KindFacts(
        "Blood glucose", .glucose, possible: 0...5000, .quantity("BloodGlucose", "mg/dL"),
        autoExport: ["blood_glucose"], isReading: true)

    /// The possible values are the minutes asleep.
    static let sleep = KindFacts(
        "Sleep", possible: 0...2880, .category("SleepAnalysis"), autoExport: ["sleep_analysis"],
        blueprint: UploadField("sleep_analysis", .sleep, in: [1...1440]))

    /// The values of a day are checked against the ranges of their own kinds.
    static let activity = KindFacts(
        "Activity", possible: 0...100_000_000,
        .correlation("HKActivitySummaryTypeIdentifier"),
        blueprint: UploadField("activity_level", .activity),
        loop: UploadField("activity_level", .activity))

    // The measures of the next kinds have ranges and decimals of their own.

    static let mood = assessment(
        "Mood", "mood_assessment", loop: UploadField("mood_assessment", .mind))
    static let stress = assessment("Stress", "stress_indicators")
    static let cognitive = assessment("Cognition", "cognitive_metrics")

    /// No payload has this type's name; the contract's client puts it with the body's values.
    static let environmental = KindFacts(
        "Environment", possible: 0...5000, .correlation("environmental"),
        blueprint: UploadField("environmental", .biometric),
        measures: [
            .heartRate, .heartRateVariability, .systolic, .diastolic, .oxygenSaturation,
            .respiratoryRate, .bodyTemperature, .bloodGlucose,
        ])

    static let workout = KindFacts(
        "Workout", possible: 0...5000,
        HealthKitEncoding(type: "HKWorkoutTypeIdentifier", list: .workouts),
        measures: [.activeMinutes, .distance, .activeEnergy], textName: "activity_type")

    private static func assessment(
        _ title: String, _ type: String, loop: UploadField? = nil
    ) -> KindFacts {
        KindFacts(
            title, possible: 0...5000, .correlation(type), blueprint: UploadField(type, .mind),
            loop: loop,
            measures: [
                .mood, .stress, .anxiety, .energy, .focus, .socialMinutes, .meditationMinutes,
            ], textName: "notes")
    }
}

/// What is shown of a type of records that a source has, whether or not CLARITY has a field for it.
public struct RecordFacts: Hashable, Sendable {
    /// The name for people.
    public let title: String
    /// Whether its values are added up; all others are levels.
    public let isSum: Bool
    /// Whether few are measured in a day, so that each is worth a resource of its own.
    public let isRare: Bool
    /// The measure whose days count a watch and a phone once; `nil` if there is none.
    public let measure: Measure?

    /// Returns the facts of a type such as `StepCount`, or `HKQuantityTypeIdentifierStepCount`.
    public init(type: String) {
        let name = type.replacing(/^HK[A-Za-z]*TypeIdentifier/, with: "")
        if let kind = RecordFacts.kinds["HKQuantityTypeIdentifier\(name)"] {
            title = kind.facts.title
            isSum = kind.facts.day?.hasNoSum == false
            isRare = kind.facts.isRare
            measure = isSum ? Measure(rawValue: kind.rawValue) : nil
        } else {
            let other = RecordFacts.others[name] ?? Other()
            title = other.title ?? wordsOfName(name)
            isSum = other.isSum
            isRare = other.isRare
            measure = nil
        }
    }

    private static let kinds = Dictionary(
        uniqueKeysWithValues: SampleKind.allCases.map { ($0.facts.healthKit.type, $0) })

    private struct Other {
        var title: String?
        var isSum = false
        var isRare = false
    }

    /// Types that are no kind of sample.
    private static let others: [String: Other] = [
        "AppleStandTime": Other(title: "Standing time", isSum: true),
        "BasalEnergyBurned": Other(title: "Resting energy", isSum: true),
        "BloodPressureDiastolic": Other(isRare: true), "BloodPressureSystolic": Other(isRare: true),
        "BodyFatPercentage": Other(isRare: true), "BodyMass": Other(title: "Weight", isRare: true),
        "BodyMassIndex": Other(isRare: true),
        "DistanceCycling": Other(title: "Distance cycling", isSum: true),
        "DistanceSwimming": Other(title: "Distance swimming", isSum: true),
        "ForcedExpiratoryVolume1": Other(isRare: true), "ForcedVitalCapacity": Other(isRare: true),
        "Height": Other(isRare: true), "LeanBodyMass": Other(isRare: true),
        "TimeInDaylight": Other(title: "Time in daylight", isSum: true),
        "WaistCircumference": Other(isRare: true),
    ]
}

/// Returns a name such as `resting_heart_rate` or `HKWorkoutActivityTypeTableTennis` in words.
package func wordsOfName(_ name: String) -> String {
    let plain = name.hasPrefix("HKWorkoutActivityType") ? String(name.dropFirst(21)) : name
    let spaced = plain.replacing("_", with: " ")
        .replacing(/([a-z])([A-Z])/) { "\($0.output.1) \($0.output.2)" }.lowercased()
    return spaced.prefix(1).uppercased() + spaced.dropFirst()
}

// In unoptimised builds, rounding calls a function of the C library.
import Glibc

/// Converts a number from a HealthKit unit to the unit of a `SampleKind`.
///
/// A file uses the unit that its owner chose to see, so the unit is always read and never assumed.
/// Units are case-sensitive: `Cal` is a kilocalorie and `cal` a thousandth of it.
public struct UnitConversion: Hashable, Sendable {
    /// What a kind's numbers measure, and so the units that they may have. The first unit of each is
    /// the one of `SampleKind`.
    enum Quantity: Hashable, Sendable {
        case perMinute, milliseconds, pressure, count, distance, energy, minutes, oxygenUptake
        case glucose, percent, temperature
    }

    private enum Rule: Hashable {
        case factor(Double)
        case percent
        /// The result in degrees Celsius is the number plus `offset`, times `factor`.
        case temperature(offset: Double, factor: Double)
    }

    private let rule: Rule

    /// Finds the conversion from `unit` to the unit of `kind`.
    ///
    /// Returns `nil` if the unit is unknown or measures something else.
    public init?(from unit: String, to kind: SampleKind) {
        guard let quantity = kind.facts.units else { return nil }
        switch quantity {
        case .percent:
            guard unit == "%" else { return nil }
            rule = .percent
        case .temperature:
            guard let temperature = UnitConversion.temperatures[unit] else { return nil }
            rule = temperature
        default:
            guard
                let factor = UnitConversion.factors[quantity]?[unit]
                    ?? (quantity == .glucose ? UnitConversion.molar(unit) : nil)
            else { return nil }
            rule = .factor(factor)
        }
    }

    /// Returns the number in the unit of the kind.
    ///
    /// HealthKit writes a percentage as a fraction (`0.96`), some apps as a percentage (`96`). A
    /// number up to 1 counts as a fraction.
    public func callAsFunction(_ number: Double) -> Double {
        switch rule {
        case .factor(let factor): number * factor
        // Rounded to a millionth of a percent; otherwise 0.57 would become 56.99999999999999.
        case .percent: number <= 1 ? (number * 1e8).rounded() / 1e6 : number
        case .temperature(let offset, let factor):
            // Rounded to a millionth of a degree; otherwise 98.6 °F would become 36.99999999999999.
            ((number + offset) * factor * 1e6).rounded() / 1e6
        }
    }

    private static let factors: [Quantity: [String: Double]] = [
        .perMinute: ["count/min": 1, "count/s": 60, "count/hr": 1 / 60.0],
        .milliseconds: ["ms": 1, "s": 1000.0],
        // With 1 mmHg = 133.322387415 Pa and 1 cmAq = 98.0665 Pa.
        .pressure: [
            "mmHg": 1, "Pa": 1 / 133.322387415, "hPa": 100 / 133.322387415,
            "kPa": 1000 / 133.322387415, "cmAq": 98.0665 / 133.322387415, "inHg": 25.4,
        ],
        .count: ["count": 1.0],
        .distance: [
            "km": 1, "m": 1 / 1000.0, "cm": 1 / 100_000.0, "mi": 1.609344, "yd": 0.000_9144,
            "ft": 0.000_3048, "in": 0.000_0254,
        ],
        // With the thermochemical calorie of 4.184 J, which HealthKit uses.
        .energy: ["kcal": 1, "Cal": 1, "cal": 1 / 1000.0, "kJ": 1 / 4.184, "J": 1 / 4184.0],
        .minutes: ["min": 1, "hr": 60, "s": 1 / 60.0, "ms": 1 / 60_000.0, "d": 1440],
        // The export's own spelling, and that of HealthKit's unit strings. All behind the slash is
        // below it.
        .oxygenUptake: [
            "mL/min·kg": 1, "mL/kg·min": 1, "mL/(kg·min)": 1, "mL/kg*min": 1, "mL/min*kg": 1,
            "mL/(kg*min)": 1, "ml/(kg*min)": 1.0,
        ],
        .glucose: ["mg/dL": 1, "g/L": 100, "mg/L": 1 / 10.0, "g/dL": 1000, "g/mL": 100_000.0],
    ]

    private static let temperatures: [String: Rule] = [
        "degC": .temperature(offset: 0, factor: 1),
        "degF": .temperature(offset: -32, factor: 5 / 9.0),
        "K": .temperature(offset: -273.15, factor: 1),
    ]

    /// Returns the factor for an amount of substance, such as `mmol<180.1558800000541>/L`.
    ///
    /// The number in the brackets is the molar mass in grams; without it there is no conversion.
    private static func molar(_ unit: String) -> Double? {
        guard let open = unit.firstIndex(of: "<"), let close = unit.lastIndex(of: ">"),
            open < close, let mass = Double(unit[unit.index(after: open)..<close]), mass > 0,
            mass < 100_000
        else { return nil }
        let amounts: [Substring: Double] = ["mol": 1000, "mmol": 1, "mcmol": 0.001]
        let volumes: [Substring: Double] = ["/L": 1 / 10.0, "/dL": 1, "/mL": 100.0]
        guard let amount = amounts[unit[..<open]],
            let volume = volumes[unit[unit.index(after: close)...]]
        else { return nil }
        return amount * mass * volume
    }
}
