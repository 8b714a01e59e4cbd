/// One night's sleep, or a nap's, summed up from the stages between its sample's start and end.
///
/// Each number is rounded separately, so the sum of the stages may differ from `totalMinutes` by a
/// minute or two.
public struct SleepNight: Hashable, Sendable, PrivateValue {
    /// The minutes asleep: light, deep and REM.
    public var totalMinutes: Int
    /// The share of the time between start and end spent asleep, 0 to 1.
    public var efficiency: Double
    /// How often the sleeper was awake between two periods of sleep.
    public var wakeCount: Int
    /// The minutes awake after falling asleep, as far as the source recorded them.
    public var awakeMinutes: Int
    /// The minutes of light sleep, and of sleep without a known stage.
    public var lightMinutes: Int
    public var deepMinutes: Int
    public var remMinutes: Int
    /// The minutes from lying down to sleep; `nil` if lying down was not recorded.
    public var minutesToSleep: Int?

    /// Whether sleep stages are known; a source without stages has all sleep as light.
    public var hasStages: Bool { deepMinutes > 0 || remMinutes > 0 }

    /// Whether `awakeMinutes` is known; a source without stages may record no time awake at all.
    public var knowsAwake: Bool { hasStages || awakeMinutes > 0 }

    /// Whether `wakeCount` is known; a source may record the minutes awake but not how often.
    public var knowsWakeCount: Bool { wakeCount > 0 || hasStages && awakeMinutes == 0 }

    /// Creates a night.
    public init(
        totalMinutes: Int, efficiency: Double, wakeCount: Int = 0, awakeMinutes: Int = 0,
        lightMinutes: Int = 0, deepMinutes: Int = 0, remMinutes: Int = 0,
        minutesToSleep: Int? = nil
    ) {
        self.totalMinutes = totalMinutes
        self.efficiency = efficiency
        self.wakeCount = wakeCount
        self.awakeMinutes = awakeMinutes
        self.lightMinutes = lightMinutes
        self.deepMinutes = deepMinutes
        self.remMinutes = remMinutes
        self.minutesToSleep = minutesToSleep
    }
}
