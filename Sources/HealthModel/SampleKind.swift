/// What was measured: one case for each field that CLARITY has.
///
/// The raw value is the name in the store and in counts; it never changes. What else is known about
/// a kind is its row of the table below.
public enum SampleKind: String, CaseIterable, Hashable, Sendable {
    case heartRate = "heart_rate"
    /// SDNN, which is another quantity than RMSSD.
    case heartRateVariability = "heart_rate_variability"
    /// Systolic and diastolic in whole mmHg, always together.
    case bloodPressure = "blood_pressure"
    /// Percent, 0 to 100.
    case oxygenSaturation = "oxygen_saturation"
    case respiratoryRate = "respiratory_rate"
    case steps
    /// On foot: kilometres on a bicycle or in water do not add up with these.
    case distance
    case activeEnergy = "active_energy"
    case exerciseMinutes = "exercise_minutes"
    case flightsClimbed = "flights_climbed"
    case vo2Max = "vo2_max"
    case restingHeartRate = "resting_heart_rate"
    case meditationMinutes = "meditation_minutes"
    /// Not the temperature of a sleeping wrist.
    case bodyTemperature = "body_temperature"
    case bloodGlucose = "blood_glucose"
    /// One night, or one nap, as a `SleepNight`.
    case sleep
    /// One local day, as an `ActivityDay`.
    case activity
    /// A mood, as `MeasuredValues`; so are the next three.
    case mood
    case stress
    case cognitive
    case environmental
    /// One workout, as `MeasuredValues` with the type of its activity.
    case workout

    /// By the case: a raw value would be hashed as text, for each sample in several tables.
    public func hash(into hasher: inout Hasher) {
        withUnsafeBytes(of: self) { hasher.combine(bytes: $0) }
    }

    /// The kind's row of the table.
    public var facts: KindFacts {
        switch self {
        case .heartRate: .heartRate
        case .heartRateVariability: .heartRateVariability
        case .bloodPressure: .bloodPressure
        case .oxygenSaturation: .oxygenSaturation
        case .respiratoryRate: .respiratoryRate
        case .steps: .steps
        case .distance: .distance
        case .activeEnergy: .activeEnergy
        case .exerciseMinutes: .exerciseMinutes
        case .flightsClimbed: .flightsClimbed
        case .vo2Max: .vo2Max
        case .restingHeartRate: .restingHeartRate
        case .meditationMinutes: .meditationMinutes
        case .bodyTemperature: .bodyTemperature
        case .bloodGlucose: .bloodGlucose
        case .sleep: .sleep
        case .activity: .activity
        case .mood: .mood
        case .stress: .stress
        case .cognitive: .cognitive
        case .environmental: .environmental
        case .workout: .workout
        }
    }
}

/// What is known about a kind of sample.
///
/// It is a class, because an import asks for the same rows millions of times.
public final class KindFacts: Sendable {
    /// The name for people.
    public let title: String
    /// The units that its numbers are read in, the kind's own first; `nil` for a kind that no single
    /// record has: it is made of many records, or has fixed units.
    let units: UnitConversion.Quantity?
    /// The number of decimals that count when two samples are compared.
    ///
    /// When the owner of a phone changes the display unit, the phone rewrites every old value with
    /// six significant digits. So the same sample comes back as a slightly different number. One
    /// decimal less than both texts can carry makes them equal again.
    public let decimals: Int
    /// The values that are possible at all for a measurement, in the kind's unit. They are wider
    /// than what any dialect accepts, so that the dialect's own range still decides. Kinds that add
    /// up allow a year's worth.
    public let possible: ClosedRange<Double>
    public let healthKit: HealthKitEncoding
    /// The names of the metric in a file of Health Auto Export.
    public let autoExport: [String]
    /// Whether a point of such a file is one measurement, where it does not tell that by itself; all
    /// others are sums or averages.
    public let isReading: Bool
    /// Whether few are measured in a day, so that each is worth a resource of its own.
    public let isRare: Bool
    /// Its fields as a typed metric in the dialect `blueprint`; `nil` if it has none.
    public let blueprint: UploadField?
    /// The same in the dialect `loop`.
    public let loop: UploadField?
    /// How an `ActivityDay` has it; `nil` for a kind that is not part of a day.
    public let day: InDay?
    /// The measures of `MeasuredValues` of this kind, in the order in which they are written; empty
    /// for a kind whose value has another form.
    public let measures: [Measure]
    /// The name of the text of `MeasuredValues`, in a spool file and at the backend; `nil` if a
    /// sample of this kind has none.
    public let textName: String?

    /// How a day has a quantity.
    public struct InDay: Sendable {
        /// The number of counted whole numbers in one of the kind's unit. They are hundredths of a
        /// step, millimetres, tenths of a calorie, milliseconds.
        public let scale: Double
        /// Whether the last record of a day counts instead of a sum.
        public let hasNoSum: Bool
        /// Whether its value in a day is a whole number.
        public let isCount: Bool
        /// The decimals that count when two days are compared. A day is the sum of hundreds of
        /// records, each with its own error in the sixth digit. So sums are compared more coarsely
        /// than single values: by ten metres, by a kilocalorie.
        public let decimals: Int
        /// The name among the values of a day as HealthKit has them, which states the unit.
        public let name: String

        static func sum(_ name: String, scale: Double, decimals: Int) -> InDay {
            InDay(scale: scale, hasNoSum: false, isCount: false, decimals: decimals, name: name)
        }

        static func count(_ name: String) -> InDay {
            InDay(scale: 100, hasNoSum: false, isCount: true, decimals: 0, name: name)
        }

        static func last(_ name: String, decimals: Int) -> InDay {
            InDay(scale: 1_000_000, hasNoSum: true, isCount: false, decimals: decimals, name: name)
        }
    }

    init(
        _ title: String, _ units: UnitConversion.Quantity? = nil, decimals: Int = 0,
        possible: ClosedRange<Double>, _ healthKit: HealthKitEncoding, autoExport: [String] = [],
        isReading: Bool = false, isRare: Bool = false, blueprint: UploadField? = nil,
        loop: UploadField? = nil, day: InDay? = nil,
        measures: [Measure] = [], textName: String? = nil
    ) {
        self.title = title
        self.units = units
        self.decimals = decimals
        self.possible = possible
        self.healthKit = healthKit
        self.autoExport = autoExport
        self.isReading = isReading
        self.isRare = isRare
        self.blueprint = blueprint
        self.loop = loop
        self.day = day
        self.measures = measures
        self.textName = textName
    }
}

/// How HealthKit writes a kind of sample.
///
/// A blood pressure is one correlation, not two quantities. So each sample is one object with one
/// identifier, its two halves stay together, and the counts in the answer are counts of samples.
/// For the same reason a night and a day are one object each, with names that state the units. The
/// day goes with the correlations, which also combine several quantities. So do the assessments,
/// for which HealthKit has no type: they have the backend's own names.
public struct HealthKitEncoding: Hashable, Sendable {
    /// The list of the body that a sample goes into.
    public enum List: Hashable, Sendable {
        case quantities, categories, correlations, workouts
    }

    public let type: String
    public let list: List
    /// The unit; `nil` for a category or a day, which have none.
    public var unit: String?
    /// The divisor of the sample's number: HealthKit's percentages are fractions of 1.
    public var divisor = 1.0

    static func quantity(
        _ type: String, _ unit: String, dividedBy divisor: Double = 1
    ) -> HealthKitEncoding {
        HealthKitEncoding(
            type: "HKQuantityTypeIdentifier\(type)", list: .quantities, unit: unit,
            divisor: divisor)
    }

    static func category(_ type: String) -> HealthKitEncoding {
        HealthKitEncoding(type: "HKCategoryTypeIdentifier\(type)", list: .categories)
    }

    static func correlation(_ type: String, _ unit: String? = nil) -> HealthKitEncoding {
        HealthKitEncoding(type: type, list: .correlations, unit: unit)
    }
}

/// The meaning of a HealthKit type for CLARITY.
///
/// `HeartRateVariabilityRMSSD` has no case, because CLARITY's field means SDNN, which is another
/// quantity. `AppleSleepingWristTemperature` is not a body temperature, and `BasalEnergyBurned` is
/// not an activity. Of the distances only the one on foot has a case, because kilometres on a
/// bicycle or in water do not add up with it.
public enum HealthKitType: Hashable, Sendable {
    /// The record's value, converted by its unit.
    case quantity(SampleKind)
    /// The length of the record's interval; the record has no value of its own.
    case interval(SampleKind)
    /// The systolic part of a blood pressure.
    case systolic
    /// The diastolic part of a blood pressure.
    case diastolic
    /// A stage of a night; the record's value names it.
    case sleepStage

    /// Parses an identifier such as `HKQuantityTypeIdentifierHeartRate`.
    ///
    /// Returns `nil` for a type without a field in CLARITY.
    public init?(identifier: String) {
        guard let type = HealthKitType.byIdentifier[identifier] else { return nil }
        self = type
    }

    private static let byIdentifier: [String: HealthKitType] = {
        var types: [String: HealthKitType] = [
            "HKQuantityTypeIdentifierBloodPressureSystolic": .systolic,
            "HKQuantityTypeIdentifierBloodPressureDiastolic": .diastolic,
        ]
        for kind in SampleKind.allCases {
            let encoding = kind.facts.healthKit
            switch encoding.list {
            case .quantities: types[encoding.type] = .quantity(kind)
            case .categories: types[encoding.type] = kind == .sleep ? .sleepStage : .interval(kind)
            case .correlations, .workouts: break
            }
        }
        return types
    }()
}
