/// One thing that must hold for a job to run: what is wanted, not what is.
public enum Constraint: Hashable, Sendable {
    /// A default route exists.
    case connected
    /// The connection is not metered.
    case unmetered
    /// The connection is not roaming.
    case notRoaming
    /// The machine runs on external power.
    case externalPower
    /// The battery holds more than this many percent, 0 to 100.
    case batteryAbove(percent: Int)
    /// The machine does not save power.
    case notLowPower
    /// Nobody uses the machine.
    case idle
    /// The state directory's file system has at least this many bytes free.
    case storageFree(bytes: Int64)
    /// Tasks stall on processor, memory or disk for less than this share of time, in percent.
    case pressureBelow(percent: Int)

    /// The constraint's name in the job file; the three of `network` share theirs.
    public var name: String {
        switch self {
        case .connected, .unmetered, .notRoaming: "network"
        case .externalPower: "external_power"
        case .batteryAbove: "battery_above"
        case .notLowPower: "not_low_power"
        case .idle: "idle"
        case .storageFree: "storage_free"
        case .pressureBelow: "pressure_below"
        }
    }
}
