/// Provides the data of time zones.
public protocol ZoneSource: Sendable {
    /// Returns the TZif file (RFC 8536) of a zone such as `Europe/London`; `nil` for no such zone.
    func tzif(for identifier: String) -> [UInt8]?
}
