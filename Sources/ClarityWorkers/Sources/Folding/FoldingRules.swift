public import ClarityScheduler

/// How days and nights are cut, and whose records make them.
public struct FoldingRules: Sendable {
    /// The zone whose days a day of activity is one of.
    public var zone: Zone
    /// Finds a zone by its name in the tz database; `nil` for a name that is none.
    public var zoneNamed: @Sendable (String) -> Zone?
    /// The names of sources that come before all others, the first before the second. Case, the
    /// form of an apostrophe and of a space do not count.
    public var preferred: [String]

    /// Creates rules; the standard is days in UTC and no preference.
    public init(
        zone: Zone = .utc, zoneNamed: @escaping @Sendable (String) -> Zone? = { _ in nil },
        preferred: [String] = []
    ) {
        self.zone = zone
        self.zoneNamed = zoneNamed
        self.preferred = preferred
    }
}
