package import ClarityJobs

/// The form in which HealthKit writes a kind of sample.
package struct HealthKitForm: Hashable, Sendable {
    /// The list of the body that a sample goes into.
    package enum List: Hashable, Sendable {
        case quantities, categories, correlations
    }

    package var type: String
    package var list: List
    /// The unit; `nil` for a category or a day, which have none.
    package var unit: String?
    /// The divisor of the sample's number: HealthKit's percentages are fractions of 1.
    package var divisor: Double

    /// Creates the form of a kind.
    ///
    /// A blood pressure is one correlation, not two quantities. So each sample is one object with
    /// one identifier, its two halves stay together, and the counts in the answer are counts of
    /// samples. For the same reason a night and a day are one object each, with names that state
    /// the units. The day goes with the correlations, which also combine several quantities.
    package init(of kind: SampleKind) {
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
