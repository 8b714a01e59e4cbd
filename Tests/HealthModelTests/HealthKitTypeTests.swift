import HealthModel
import Testing

@Suite struct HealthKitTypeTests {
    @Test(arguments: [
        ("HKQuantityTypeIdentifierHeartRate", HealthKitType.quantity(.heartRate)),
        ("HKQuantityTypeIdentifierHeartRateVariabilitySDNN", .quantity(.heartRateVariability)),
        ("HKQuantityTypeIdentifierBloodPressureSystolic", .systolic),
        ("HKQuantityTypeIdentifierBloodPressureDiastolic", .diastolic),
        ("HKQuantityTypeIdentifierOxygenSaturation", .quantity(.oxygenSaturation)),
        ("HKQuantityTypeIdentifierRespiratoryRate", .quantity(.respiratoryRate)),
        ("HKQuantityTypeIdentifierStepCount", .quantity(.steps)),
        ("HKQuantityTypeIdentifierDistanceWalkingRunning", .quantity(.distance)),
        ("HKQuantityTypeIdentifierActiveEnergyBurned", .quantity(.activeEnergy)),
        ("HKQuantityTypeIdentifierAppleExerciseTime", .quantity(.exerciseMinutes)),
        ("HKQuantityTypeIdentifierFlightsClimbed", .quantity(.flightsClimbed)),
        ("HKQuantityTypeIdentifierVO2Max", .quantity(.vo2Max)),
        ("HKQuantityTypeIdentifierRestingHeartRate", .quantity(.restingHeartRate)),
        ("HKCategoryTypeIdentifierMindfulSession", .interval(.meditationMinutes)),
        ("HKQuantityTypeIdentifierBodyTemperature", .quantity(.bodyTemperature)),
        ("HKQuantityTypeIdentifierBloodGlucose", .quantity(.bloodGlucose)),
        ("HKCategoryTypeIdentifierSleepAnalysis", .sleepStage),
    ])
    func `a type that CLARITY has a field for has a meaning`(
        identifier: String, meaning: HealthKitType
    ) {
        #expect(HealthKitType(identifier: identifier) == meaning)
    }

    @Test(arguments: [
        "HKQuantityTypeIdentifierHeartRateVariabilityRMSSD",
        "HKQuantityTypeIdentifierWalkingHeartRateAverage",
        "HKQuantityTypeIdentifierBasalEnergyBurned",
        "HKQuantityTypeIdentifierDistanceCycling", "HKQuantityTypeIdentifierDistanceSwimming",
        "HKQuantityTypeIdentifierDistanceWheelchair", "HKQuantityTypeIdentifierDistanceRowing",
        "HKQuantityTypeIdentifierDistanceDownhillSnowSports",
        "HKQuantityTypeIdentifierDistanceCrossCountrySkiing",
        "HKQuantityTypeIdentifierAppleSleepingWristTemperature",
        "HKCategoryTypeIdentifierAppleStandHour", "HKDataTypeSleepDurationGoal", "HeartRate",
        "HKCategoryTypeIdentifierHeartRate", "",
    ])
    func `any other type has none`(identifier: String) {
        #expect(HealthKitType(identifier: identifier) == nil)
    }
}
