/// A condition that must hold for a job to run.
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
    /// The machine is not saving power.
    case notLowPower
    /// Nobody uses the machine.
    case idle
    /// The file system of `path`, or of the state directory if `path` is `nil`, has at least this
    /// many bytes free.
    case storageFree(bytes: Int64, path: String? = nil)
    /// Tasks stall on processor, memory or disk for less than this share of time, in percent.
    case pressureBelow(percent: Int)
    /// A command or a URL of the job file succeeds.
    case check(Check)
    /// The clock shows a time at which the job may run.
    case window(Windows)
    /// Somebody is logged in. A job file cannot name this constraint.
    case login
    /// A source file exists. A job file cannot name this constraint.
    case source

    /// The constraint's name in the job file; the three `network` constraints share one name.
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
    /// The constraint that judges the condition, with its rule for an unknown answer.
    public var constraint: Constraint {
        switch self {
        case .externalPower: .externalPower
        case .unmetered: .unmetered
        case .login: .login
        case .source: .source
        }
    }
}

/// A question of the job file that a command or a URL answers when a run depends on it.
public struct Check: Hashable, Sendable {
    /// The check's name in the job file.
    public var name: String
    /// How long an answer is valid before the check is asked again.
    public var validFor: Duration
    /// The name of the constraint that the check belongs to: `check`, or the name of a constraint
    /// that the check makes stricter.
    public var subject: String

    /// The default of `validFor`: one minute.
    public static let defaultValidity: Duration = .seconds(60)

    /// Creates a check.
    public init(
        name: String, validFor: Duration = Check.defaultValidity, subject: String = "check"
    ) {
        self.name = name
        self.validFor = validFor
        self.subject = subject
    }
}

/// How a constraint treats an unknown answer.
public enum UnknownRule: String, CaseIterable, Sendable {
    /// The job runs as if the constraint held.
    case run
    /// The job waits until the answer is known.
    case wait
}

/// A step of a job's `relax` list: a constraint that a run drops once it is late enough.
public struct Relaxation: Hashable, Sendable {
    /// How late a run has to be to drop the constraint; see `Run.lateSince`.
    public var after: Duration
    /// The constraint's name in the job file, as in `Constraint.name`.
    public var drops: String

    /// Creates a step.
    public init(after: Duration, drops: String) {
        self.after = after
        self.drops = drops
    }
}

/// What happens to a running attempt when a constraint of its job no longer holds.
public enum LossPolicy: Hashable, Sendable {
    /// The attempt is stopped.
    case stop
    /// The attempt continues to its end.
    case finish
    /// The attempt is stopped unless it ends, or the constraint holds again, within this span.
    case finishWithin(Duration)
}
