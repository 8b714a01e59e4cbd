/// One night's sleep, or a nap's: what the stages between its sample's start and end come to.
///
/// Each number is rounded for itself, so that the stages may add up to a minute or two beside
/// `totalMinutes`.
public struct SleepNight: Hashable, Sendable, PrivateValue {
    /// The minutes asleep: light, deep and REM.
    public var totalMinutes: Int
    /// The share of the time between start and end that was slept, 0 to 1.
    public var efficiency: Double
    /// How often the sleeper lay awake between two times of sleep.
    public var wakeCount: Int
    /// The minutes awake after falling asleep, as far as the source noted them.
    public var awakeMinutes: Int
    /// The minutes of light sleep, and of sleep of which no stage is known.
    public var lightMinutes: Int
    public var deepMinutes: Int
    public var remMinutes: Int
    /// The minutes from lying down to sleep; `nil` when lying down was not noted.
    public var minutesToSleep: Int?

    /// Whether stages of sleep are known. A source that tells none has all sleep as light.
    public var hasStages: Bool { deepMinutes > 0 || remMinutes > 0 }

    /// Whether `awakeMinutes` is known; a source without stages may note no time awake at all.
    public var knowsAwake: Bool { hasStages || awakeMinutes > 0 }

    /// Whether `wakeCount` is known: a source can tell minutes awake and not how often.
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
