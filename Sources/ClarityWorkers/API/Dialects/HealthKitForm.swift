import ClarityJobs

/// How a kind of sample is written as HealthKit has it.
struct HealthKitForm: Hashable, Sendable {
    /// Which of the body's lists a sample stands in.
    enum List: Hashable, Sendable {
        case quantities, categories, correlations
    }

    var type: String
    var list: List
    /// The unit; `nil` for a category, which has none.
    var unit: String?
    /// What our number is divided by: HealthKit's percentages are shares of 1.
    var divisor: Double

    /// The form of a kind.
    ///
    /// A blood pressure is one correlation and not two quantities: so each sample is one
    /// object under one identifier, the two halves cannot come apart, and the counts in the answer
    /// are those of the samples. A night and a day are one object each for the same reason, with
    /// names that say their units; the day stands with the correlations, which are also several
    /// quantities under one roof.
    init(of kind: SampleKind) {
        switch kind {
        case .heartRate:
            self.init("HKQuantityTypeIdentifierHeartRate", "count/min")
        case .heartRateVariability:
            self.init("HKQuantityTypeIdentifierHeartRateVariabilitySDNN", "ms")
        case .bloodPressure:
            self.init("HKCorrelationTypeIdentifierBloodPressure", "mmHg", in: .correlations)
        case .oxygenSaturation:
            self.init("HKQuantityTypeIdentifierOxygenSaturation", "%", dividedBy: 100)
        case .respiratoryRate:
            self.init("HKQuantityTypeIdentifierRespiratoryRate", "count/min")
        case .steps:
            self.init("HKQuantityTypeIdentifierStepCount", "count")
        case .distance:
            self.init("HKQuantityTypeIdentifierDistanceWalkingRunning", "km")
        case .activeEnergy:
            self.init("HKQuantityTypeIdentifierActiveEnergyBurned", "kcal")
        case .exerciseMinutes:
            self.init("HKQuantityTypeIdentifierAppleExerciseTime", "min")
        case .flightsClimbed:
            self.init("HKQuantityTypeIdentifierFlightsClimbed", "count")
        case .vo2Max:
            self.init("HKQuantityTypeIdentifierVO2Max", "mL/min·kg")
        case .restingHeartRate:
            self.init("HKQuantityTypeIdentifierRestingHeartRate", "count/min")
        case .meditationMinutes:
            self.init("HKCategoryTypeIdentifierMindfulSession", nil, in: .categories)
        case .bodyTemperature:
            self.init("HKQuantityTypeIdentifierBodyTemperature", "degC")
        case .bloodGlucose:
            self.init("HKQuantityTypeIdentifierBloodGlucose", "mg/dL")
        case .sleep:
            self.init("HKCategoryTypeIdentifierSleepAnalysis", nil, in: .categories)
        case .activity:
            self.init("HKActivitySummaryTypeIdentifier", nil, in: .correlations)
        }
    }

    private init(
        _ type: String, _ unit: String?, in list: List = .quantities, dividedBy divisor: Double = 1
    ) {
        self.type = type
        self.unit = unit
        self.list = list
        self.divisor = divisor
    }
}
