/// Several measures that belong together, with a text: an assessment of a mood, values of the
/// environment, or a workout.
public struct MeasuredValues: Hashable, Sendable, PrivateValue {
    /// The most characters of `text`.
    public static let longestText = 1000

    /// The known numbers; those of `SampleKind.measures` count.
    public var numbers: [Measure: Double]
    /// Notes in the person's own words, or the type of a workout's activity.
    public var text: String?

    /// Creates values.
    public init(_ numbers: [Measure: Double] = [:], text: String? = nil) {
        self.numbers = numbers
        self.text = text
    }
}

extension SampleKind {
    /// The measures that a sample of this kind may have, in the order in which they are written;
    /// empty for a kind whose value has another form.
    public var measures: [Measure] { facts.measures }
    /// The name of the text; `nil` if a sample of this kind has none.
    public var textName: String? { facts.textName }
}

extension SampleKind {
    /// Returns the name of a measure in a sample of this kind, in a spool file and at the backend:
    /// the contract's own, or in a workout one that states the unit.
    public func fieldName(of measure: Measure) -> String {
        switch (self, measure) {
        case (.workout, .activeMinutes): "duration_minutes"
        case (.workout, .distance): "distance_km"
        case (.workout, .activeEnergy): "active_energy_kcal"
        default: measure.rawValue
        }
    }
}

extension Measure {
    /// The words for the numbers 1 to 5 of `mood`.
    public static let moods = ["very_low", "low", "neutral", "good", "excellent"]

    /// Whether the contract has only whole numbers of it.
    public var isWhole: Bool {
        switch self {
        case .systolic, .diastolic, .mood, .socialMinutes, .meditationMinutes: true
        default: false
        }
    }
}
