/// Why bytes are no usable time zone.
public struct ZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the bytes.
    public enum Fault: Error, Hashable, Sendable {
        /// They do not begin with `TZif`.
        case notTZif
        /// Their version is older than 2, which has no 64-bit times and no footer.
        case version(UInt8)
        /// They end early: so many bytes were needed from this position on.
        case truncated(position: Int, needed: Int)
        /// Their times count leap seconds, as those of the `right/` zones do.
        case leapSeconds
        /// A part breaks RFC 8536.
        case malformed(got: String, wanted: String)
        /// The rule in the footer cannot be read from this byte of it on.
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
