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

    /// The constraints on conditions that every machine has, each with some limit.
    public static let ofMachine: [Constraint] = [
        .connected, .unmetered, .notRoaming, .externalPower, .batteryAbove(percent: 0),
        .notLowPower, .idle, .storageFree(bytes: 0), .pressureBelow(percent: 100),
    ]

    /// The constraint's name in the job file; the three `network` constraints share one name.
    public var name: String { facts.name }

    /// The rule for an unknown answer if the job file does not set one.
    ///
    /// A connection and free space make the job wait: both can always be measured, and a failure to
    /// measure them is a fault. External power makes it wait because only a machine with a battery
    /// can leave it unknown. A check makes it wait because it is in the job file for a reason. A
    /// window is never unknown, and an unknown login or source counts as missing. All others let
    /// the job run: a server has no way to know the answer, and its jobs would never run.
    public var defaultUnknownRule: UnknownRule { facts.unknown }

    /// What is known of the constraint without a look at the machine.
    public var facts: ConstraintFacts {
        switch self {
        case .connected:
            ConstraintFacts(
                "network", of: "connected", unknown: .wait, isReported: true,
                remedy: "connect to a network", question: "whether there is a connection")
        case .unmetered:
            ConstraintFacts(
                "network", of: "metered", unknown: .run, isReported: true,
                remedy: "connect to a network that is not metered",
                question: "whether the network is metered")
        case .notRoaming:
            ConstraintFacts(
                "network", of: "roaming", unknown: .run, isReported: true,
                remedy: "connect to a network that is not roaming",
                question: "whether the network is roaming")
        case .externalPower:
            ConstraintFacts(
                "external_power", of: "external_power", unknown: .wait, isReported: true,
                remedy: "plug the machine in",
                question: "whether the machine is on external power")
        case .batteryAbove(let percent):
            ConstraintFacts(
                "battery_above", of: "battery", unknown: .run, isReported: true,
                remedy: "charge the battery above \(percent) %", question: "the battery's charge")
        case .notLowPower:
            ConstraintFacts(
                "not_low_power", of: "low_power", unknown: .run, isReported: true,
                remedy: "stop saving power", question: "whether the machine saves power")
        case .idle:
            ConstraintFacts(
                "idle", of: "idle", unknown: .run, isReported: true,
                remedy: "leave the machine idle", question: "whether the machine is idle")
        case .storageFree(let bytes, let path):
            ConstraintFacts(
                "storage_free", of: "storage_free_bytes", unknown: .wait,
                remedy: "make room\(path.map { " at `\($0)`" } ?? ""): \(byteText(bytes)) free",
                question: "the free storage")
        case .pressureBelow(let percent):
            ConstraintFacts(
                "pressure_below", of: "pressure_percent", unknown: .run,
                remedy: "give the machine less to do: pressure below \(percent) %",
                question: "the machine's pressure")
        case .check(let check):
            ConstraintFacts(
                check.subject, unknown: .wait, remedy: "make check `\(check.name)` pass")
        case .window(let windows):
            ConstraintFacts(
                "window", unknown: .wait, remedy: "wait until the clock shows \(windows)")
        case .login: ConstraintFacts("login", unknown: .wait, remedy: "log in")
        case .source:
            ConstraintFacts("source", unknown: .wait, remedy: "put the source file in its place")
        }
    }
}

/// What is known of a constraint without a look at the machine: its names, rules and words.
public struct ConstraintFacts: Sendable {
    /// The constraint's name in the job file.
    public var name: String
    /// The name of its condition in a trace; `nil` if a trace has none of that name.
    public var condition: String?
    /// The rule for an unknown answer if the job file does not set one.
    public var unknown: UnknownRule
    /// Whether system services report the condition.
    public var isReported: Bool
    /// What somebody can do so that the constraint holds, as an order: `plug the machine in`.
    public var remedy: String
    /// What nobody knows while the answer is unknown: `the battery's charge`.
    public var question: String

    init(
        _ name: String, of condition: String? = nil, unknown: UnknownRule,
        isReported: Bool = false, remedy: String, question: String = "whether it holds"
    ) {
        (self.name, self.condition) = (name, condition)
        (self.unknown, self.isReported) = (unknown, isReported)
        (self.remedy, self.question) = (remedy, question)
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
