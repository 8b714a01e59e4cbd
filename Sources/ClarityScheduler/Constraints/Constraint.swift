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
    /// The file system of a path, else of the state directory, has at least this many bytes free.
    case storageFree(bytes: Int64, path: String? = nil)
    /// Tasks stall on processor, memory or disk for less than this share of time, in percent.
    case pressureBelow(percent: Int)
    /// A command or a URL of the job file says yes.
    case check(Check)
    /// The clock shows a time at which the job may run.
    case window(Windows)
    /// Somebody is logged in; no job file names it.
    case login
    /// The source files exist; no job file names it.
    case source

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
        case .check(let check): check.subject
        case .window: "window"
        case .login: "login"
        case .source: "source"
        }
    }
}

extension NeededCondition {
    /// The constraint by which it is judged, with that one's rule for what is unknown.
    public var constraint: Constraint {
        switch self {
        case .externalPower: .externalPower
        case .unmetered: .unmetered
        case .login: .login
        case .source: .source
        }
    }
}

/// A question of the job file that a command or a URL answers, asked when a run depends on it.
public struct Check: Hashable, Sendable {
    /// Its name in the job file.
    public var name: String
    /// How long an answer stands before it is asked again.
    public var validFor: Duration
    /// The name of the constraint that it belongs to: `check`, or that of one that it makes stricter.
    public var subject: String

    /// How long an answer stands unless the job file says otherwise: a minute.
    public static let standardValidity: Duration = .seconds(60)

    /// Creates a check.
    public init(
        name: String, validFor: Duration = Check.standardValidity, subject: String = "check"
    ) {
        self.name = name
        self.validFor = validFor
        self.subject = subject
    }
}

/// What a constraint makes of an answer that nobody knows.
public enum UnknownRule: String, CaseIterable, Sendable {
    /// The job runs as if it held.
    case run
    /// The job waits until it is known.
    case wait
}
