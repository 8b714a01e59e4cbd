/// The reason why bytes are not a usable time zone.
public struct ZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the bytes.
    public enum Fault: Error, Hashable, Sendable {
        /// The bytes do not begin with `TZif`.
        case notTZif
        /// The version is older than 2, which has no 64-bit times and no footer.
        case version(UInt8)
        /// The bytes end early: `needed` bytes were needed from `position` on.
        case truncated(position: Int, needed: Int)
        /// The times count leap seconds, as in the `right/` zones.
        case leapSeconds
        /// A part of the file violates RFC 8536.
        case malformed(got: String, wanted: String)
        /// The rule in the footer cannot be parsed from this byte of the footer on.
        case rule(position: Int, wanted: String)
    }

    public var identifier: String
    public var fault: Fault

    public var description: String {
        let what =
            switch fault {
            case .notTZif: "got other bytes, wanted `TZif` at the start"
            case .version(let byte): "got version byte \(byte), wanted `2` or later"
            case .truncated(let position, let needed):
                "ends early, wanted \(needed) bytes from byte \(position) on"
            case .leapSeconds: "got times with leap seconds, wanted times without"
            case .malformed(let got, let wanted): "got \(got), wanted \(wanted)"
            case .rule(let position, let wanted):
                "rule in the footer, byte \(position): wanted \(wanted)"
            }
        return "time zone `\(identifier)`: \(what)"
    }
}
