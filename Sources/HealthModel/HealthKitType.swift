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
