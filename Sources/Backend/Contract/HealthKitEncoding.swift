package import HealthModel

/// How HealthKit writes a kind of sample.
package struct HealthKitEncoding: Hashable, Sendable {
    /// The list of the body that a sample goes into.
    package enum List: Hashable, Sendable {
        case quantities, categories, correlations, workouts
    }

    package var type: String
    package var list: List
    /// The unit; `nil` for a category or a day, which have none.
    package var unit: String?
    /// The divisor of the sample's number: HealthKit's percentages are fractions of 1.
    package var divisor = 1.0
}

extension HealthKitEncoding {
    /// Creates the encoding of a kind.
    ///
    /// A blood pressure is one correlation, not two quantities. So each sample is one object with
    /// one identifier, its two halves stay together, and the counts in the answer are counts of
    /// samples. For the same reason a night and a day are one object each, with names that state
    /// the units. The day goes with the correlations, which also combine several quantities. So do
    /// the assessments, for which HealthKit has no type: they have the backend's own names.
    package init(of kind: SampleKind) {
        self =
            switch kind {
            case .heartRate: .quantity("HKQuantityTypeIdentifierHeartRate", "count/min")
            case .heartRateVariability:
                .quantity("HKQuantityTypeIdentifierHeartRateVariabilitySDNN", "ms")
            case .bloodPressure:
                HealthKitEncoding(
                    type: "HKCorrelationTypeIdentifierBloodPressure", list: .correlations,
                    unit: "mmHg")
            case .oxygenSaturation:
                .quantity("HKQuantityTypeIdentifierOxygenSaturation", "%", dividedBy: 100)
            case .respiratoryRate: .quantity("HKQuantityTypeIdentifierRespiratoryRate", "count/min")
            case .steps: .quantity("HKQuantityTypeIdentifierStepCount", "count")
            case .distance: .quantity("HKQuantityTypeIdentifierDistanceWalkingRunning", "km")
            case .activeEnergy: .quantity("HKQuantityTypeIdentifierActiveEnergyBurned", "kcal")
            case .exerciseMinutes: .quantity("HKQuantityTypeIdentifierAppleExerciseTime", "min")
            case .flightsClimbed: .quantity("HKQuantityTypeIdentifierFlightsClimbed", "count")
            case .vo2Max: .quantity("HKQuantityTypeIdentifierVO2Max", "mL/min·kg")
            case .restingHeartRate:
                .quantity("HKQuantityTypeIdentifierRestingHeartRate", "count/min")
            case .meditationMinutes: .category("HKCategoryTypeIdentifierMindfulSession")
            case .bodyTemperature: .quantity("HKQuantityTypeIdentifierBodyTemperature", "degC")
            case .bloodGlucose: .quantity("HKQuantityTypeIdentifierBloodGlucose", "mg/dL")
            case .sleep: .category("HKCategoryTypeIdentifierSleepAnalysis")
            case .activity:
                HealthKitEncoding(type: "HKActivitySummaryTypeIdentifier", list: .correlations)
            case .mood: HealthKitEncoding(type: "mood_assessment", list: .correlations)
            case .stress: HealthKitEncoding(type: "stress_indicators", list: .correlations)
            case .cognitive: HealthKitEncoding(type: "cognitive_metrics", list: .correlations)
            case .workout: HealthKitEncoding(type: "HKWorkoutTypeIdentifier", list: .workouts)
            case .environmental: HealthKitEncoding(type: "environmental", list: .correlations)
            }
    }

    private static func quantity(
        _ type: String, _ unit: String, dividedBy divisor: Double = 1
    ) -> HealthKitEncoding {
        HealthKitEncoding(type: type, list: .quantities, unit: unit, divisor: divisor)
    }

    private static func category(_ type: String) -> HealthKitEncoding {
        HealthKitEncoding(type: type, list: .categories)
    }
}
