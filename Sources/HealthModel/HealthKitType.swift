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
        if identifier == "HKCategoryTypeIdentifierMindfulSession" {
            self = .interval(.meditationMinutes)
            return
        }
        if identifier == "HKCategoryTypeIdentifierSleepAnalysis" {
            self = .sleepStage
            return
        }
        let prefix = "HKQuantityTypeIdentifier"
        guard identifier.hasPrefix(prefix) else { return nil }
        switch identifier.dropFirst(prefix.count) {
        case "HeartRate": self = .quantity(.heartRate)
        case "HeartRateVariabilitySDNN": self = .quantity(.heartRateVariability)
        case "BloodPressureSystolic": self = .systolic
        case "BloodPressureDiastolic": self = .diastolic
        case "OxygenSaturation": self = .quantity(.oxygenSaturation)
        case "RespiratoryRate": self = .quantity(.respiratoryRate)
        case "StepCount": self = .quantity(.steps)
        case "DistanceWalkingRunning": self = .quantity(.distance)
        case "ActiveEnergyBurned": self = .quantity(.activeEnergy)
        case "AppleExerciseTime": self = .quantity(.exerciseMinutes)
        case "FlightsClimbed": self = .quantity(.flightsClimbed)
        case "VO2Max": self = .quantity(.vo2Max)
        case "RestingHeartRate": self = .quantity(.restingHeartRate)
        case "BodyTemperature": self = .quantity(.bodyTemperature)
        case "BloodGlucose": self = .quantity(.bloodGlucose)
        default: return nil
        }
    }
}
