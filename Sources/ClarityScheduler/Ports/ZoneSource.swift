/// Has the bytes of time zones.
public protocol ZoneSource: Sendable {
    /// The TZif file (RFC 8536) of a zone such as `Europe/London`; `nil` when there is no such zone.
    func tzif(for identifier: String) -> [UInt8]?
}
