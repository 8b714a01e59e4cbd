/// A person's activity on one day; unknown values are `nil`, which is not 0.
public struct ActivityDay: Hashable, Sendable, PrivateValue {
    /// A count.
    public var steps: Double?
    /// Kilometres.
    public var distance: Double?
    /// Kilocalories.
    public var activeEnergy: Double?
    /// Minutes.
    public var exerciseMinutes: Double?
    /// A count.
    public var flightsClimbed: Double?
    /// mL/(kg min).
    public var vo2Max: Double?
    /// Beats per minute.
    public var restingHeartRate: Double?

    /// Creates a day without known values.
    public init() {}

    /// The kinds of values in a day, in the order in which they are written.
    public static let kinds: [SampleKind] = [
        .steps, .distance, .activeEnergy, .exerciseMinutes, .flightsClimbed, .vo2Max,
        .restingHeartRate,
    ]

    /// The day's value of one of `kinds`; for any other kind `nil`, and setting it has no effect.
    public subscript(kind: SampleKind) -> Double? {
        get {
            switch kind {
            case .steps: steps
            case .distance: distance
            case .activeEnergy: activeEnergy
            case .exerciseMinutes: exerciseMinutes
            case .flightsClimbed: flightsClimbed
            case .vo2Max: vo2Max
            case .restingHeartRate: restingHeartRate
            default: nil
            }
        }
        set {
            switch kind {
            case .steps: steps = newValue
            case .distance: distance = newValue
            case .activeEnergy: activeEnergy = newValue
            case .exerciseMinutes: exerciseMinutes = newValue
            case .flightsClimbed: flightsClimbed = newValue
            case .vo2Max: vo2Max = newValue
            case .restingHeartRate: restingHeartRate = newValue
            default: break
            }
        }
    }

    /// Whether no value is known.
    public var isEmpty: Bool { ActivityDay.kinds.allSatisfy { self[$0] == nil } }
}
