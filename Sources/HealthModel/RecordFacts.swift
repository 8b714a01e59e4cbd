/// What is shown of a type of records that a source has, whether or not CLARITY has a field for it.
public struct RecordFacts: Hashable, Sendable {
    /// The name for people.
    public let title: String
    /// Whether its values are added up; all others are levels.
    public let isSum: Bool
    /// The measure whose days count a watch and a phone once; `nil` if there is none.
    public let measure: Measure?

    /// Returns the facts of a type such as `StepCount`, or `HKQuantityTypeIdentifierStepCount`.
    public init(type: String) {
        let name = type.replacing(/^HK[A-Za-z]*TypeIdentifier/, with: "")
        if let kind = RecordFacts.kinds["HKQuantityTypeIdentifier\(name)"] {
            title = kind.facts.title
            isSum = kind.facts.day?.hasNoSum == false
            measure = isSum ? Measure(rawValue: kind.rawValue) : nil
        } else {
            let other = RecordFacts.others[name]
            title = other?.title ?? wordsOfName(name)
            isSum = other?.isSum ?? false
            measure = nil
        }
    }

    private static let kinds = Dictionary(
        uniqueKeysWithValues: SampleKind.allCases.map { ($0.facts.healthKit.type, $0) })

    /// Types that CLARITY has no field for.
    private static let others: [String: (title: String, isSum: Bool)] = [
        "AppleStandTime": ("Standing time", true), "BasalEnergyBurned": ("Resting energy", true),
        "BodyMass": ("Weight", false), "DistanceCycling": ("Distance cycling", true),
        "DistanceSwimming": ("Distance swimming", true),
        "TimeInDaylight": ("Time in daylight", true),
    ]
}

/// Returns a name such as `resting_heart_rate` or `HKWorkoutActivityTypeTableTennis` in words.
package func wordsOfName(_ name: String) -> String {
    let plain = name.hasPrefix("HKWorkoutActivityType") ? String(name.dropFirst(21)) : name
    let spaced = plain.replacing("_", with: " ")
        .replacing(/([a-z])([A-Z])/) { "\($0.output.1) \($0.output.2)" }.lowercased()
    return spaced.prefix(1).uppercased() + spaced.dropFirst()
}
