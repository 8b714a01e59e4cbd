public import ClarityScheduler

/// The rules by which days and nights are made from records.
public struct FoldingRules: Sendable {
    /// The time zone that days follow.
    public var zone: Zone
    /// Finds a zone by its name in the tz database; returns `nil` for a name that is not there.
    public var zoneNamed: @Sendable (String) -> Zone?
    /// The names of the sources that come before all others, the first before the second. Case, and
    /// the form of apostrophes and spaces, do not matter.
    public var preferred: [String]

    /// Creates rules; by default days are in UTC, and no source is preferred.
    public init(
        zone: Zone = .utc, zoneNamed: @escaping @Sendable (String) -> Zone? = { _ in nil },
        preferred: [String] = []
    ) {
        self.zone = zone
        self.zoneNamed = zoneNamed
        self.preferred = preferred
    }
}
