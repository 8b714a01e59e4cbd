/// A time zone's rules.
public struct Zone: Hashable, Sendable {}
