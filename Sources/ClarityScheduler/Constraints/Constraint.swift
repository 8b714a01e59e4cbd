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

/// The result of one constraint for one set of conditions, with the values for people.
public struct Verdict: Hashable, Sendable {
    /// Whether the constraint lets the job run, and why.
    public enum State: String, CaseIterable, Sendable {
        /// The constraint holds.
        case met
        /// The answer is unknown, and the constraint's rule lets the job run.
        case assumed
        /// The constraint does not hold, or the answer is unknown and the rule makes the job wait.
        case unmet
    }

    public var constraint: Constraint
    public var state: State
    /// What the constraint requires, for people: `above 20 %`.
    public var wanted: String
    /// What was measured, for people: `17 %`, `unknown`.
    public var measured: String
    /// The source of the measured value, with its time if it is not fresh, or the reason why there
    /// is no value.
    public var source: String
    /// Whether the answer is unknown, so that `state` follows from the rule for unknown answers.
    public var isUnknown = false
    /// Whether the verdict can change without an announcement, so that it has to be polled.
    public var isSampled = false
    /// When the verdict changes if nothing but time passes; `nil` if it does not depend on time.
    public var changesAt: Instant?

    /// Whether the constraint lets the job run.
    public var allows: Bool { state != .unmet }
}

extension Constraint {
    /// Returns the constraint's verdict on conditions at an instant.
    ///
    /// A machine without a battery is on external power and above every charge. Without a known
    /// connection, `unmetered` and `notRoaming` do not hold. A check's answer is valid for
    /// `Check.validFor`; without a valid answer the check makes the job wait until it is asked.
    public func verdict(
        in conditions: Conditions, at now: Instant, unknown: UnknownRule? = nil
    ) -> Verdict {
        let judge = Judge(constraint: self, unknown: unknown ?? defaultUnknownRule)
        switch self {
        case .connected:
            // It can always be measured whether there is a connection, so the job's rule does not
            // count.
            return Judge(constraint: self, unknown: .wait).verdict(
                on: conditions.connected, wanted: "connected",
                show: { $0 ? "connected" : "not connected" }, holds: { $0 })
        case .unmetered:
            return unconnected(conditions, now, wanted: "unmetered")
                ?? judge.verdict(
                    on: conditions.metered, wanted: "unmetered",
                    show: { $0 ? "metered" : "unmetered" }, holds: { !$0 })
        case .notRoaming:
            return unconnected(conditions, now, wanted: "not roaming")
                ?? judge.verdict(
                    on: conditions.roaming, wanted: "not roaming",
                    show: { $0 ? "roaming" : "not roaming" }, holds: { !$0 })
        case .externalPower:
            return judge.verdict(
                on: conditions.externalPower, wanted: "on external power",
                show: { $0 ? "on external power" : "on battery" }, holds: { $0 })
        case .batteryAbove(let percent):
            return judge.verdict(
                on: conditions.battery, wanted: "above \(percent) %", show: \.text,
                holds: { $0.isAbove(percent) })
        case .notLowPower:
            return judge.verdict(
                on: conditions.lowPower, wanted: "not saving power",
                show: { $0 ? "saving power" : "not saving power" }, holds: { !$0 })
        case .idle:
            return judge.verdict(
                on: conditions.idle, wanted: "idle", show: { $0 ? "idle" : "in use" },
                holds: { $0 })
        case .storageFree(let bytes, let path):
            return judge.verdict(
                on: path.map { conditions[storageAt: $0] } ?? conditions.storageFreeBytes,
                wanted: "\(byteText(bytes)) free", show: { "\(byteText($0)) free" },
                holds: { $0 >= bytes })
        case .pressureBelow(let percent):
            return judge.verdict(
                on: conditions.pressurePercent, wanted: "below \(percent) %",
                show: { "\($0) %" }, holds: { $0 < percent })
        case .check(let check):
            return judge.verdict(on: conditions.checks[check.name], of: check, at: now)
        case .window(let windows):
            return judge.verdict(on: windows, at: now)
        case .login:
            return judge.verdict(
                on: known(conditions.login), wanted: "a login", show: { $0 ? "there" : "none" },
                holds: { $0 })
        case .source:
            return judge.verdict(
                on: known(conditions.source), wanted: "a source file",
                show: { $0 ? "there" : "missing" }, holds: { $0 })
        }
    }

    /// Returns the reading with an unknown answer replaced by no.
    private func known(_ reading: Conditions.Reading<Bool>) -> Conditions.Reading<Bool> {
        var known = reading
        known.value = reading.value ?? false
        return known
    }

    /// Returns the verdict of a network constraint while there is no known connection; `nil` if
    /// there is one.
    private func unconnected(
        _ conditions: Conditions, _ now: Instant, wanted: String
    ) -> Verdict? {
        guard conditions.connected.value != true else { return nil }
        var verdict = Constraint.connected.verdict(in: conditions, at: now)
        verdict.constraint = self
        verdict.wanted = wanted
        return verdict
    }
}

/// Creates the verdicts of one constraint.
private struct Judge {
    let constraint: Constraint
    let unknown: UnknownRule

    func verdict<Value>(
        on reading: Conditions.Reading<Value>, wanted: String, show: (Value) -> String,
        holds: (Value) -> Bool
    ) -> Verdict {
        let state: Verdict.State =
            switch reading.value {
            case let value?: holds(value) ? .met : .unmet
            case nil: unknown == .run ? .assumed : .unmet
            }
        return Verdict(
            constraint: constraint, state: state, wanted: wanted,
            measured: reading.value.map(show) ?? "unknown",
            source: reading.at.map { "\(reading.source), at \($0)" } ?? reading.source,
            isUnknown: reading.value == nil, isSampled: reading.isSampled)
    }

    func verdict(
        on answer: Conditions.Reading<Bool>?, of check: Check, at now: Instant
    ) -> Verdict {
        let wanted = "`\(check.name)` passes"
        guard let answer, check.isValid(answer, at: now) else {
            return Verdict(
                constraint: constraint, state: .unmet, wanted: wanted, measured: "not asked",
                source: answer.map { "\($0.source), at \($0.at ?? now), too long ago" }
                    ?? "asked when a run depends on it")
        }
        var verdict = verdict(
            on: answer, wanted: wanted, show: { $0 ? "passes" : "does not pass" }, holds: { $0 })
        verdict.changesAt = answer.at.map { $0 + check.validFor }
        return verdict
    }

    func verdict(on windows: Windows, at now: Instant) -> Verdict {
        let isOpen = windows.isOpen(at: now)
        let change = windows.nextChange(after: now)
        return Verdict(
            constraint: constraint, state: isOpen ? .met : .unmet,
            wanted: "\(windows)",
            measured: (isOpen ? "open" : "closed") + (change.map { " until \($0)" } ?? ""),
            source: "clock of \(windows.zone.identifier)", changesAt: change)
    }
}

extension Check {
    /// Whether an answer is still valid; an answer without a time always is.
    func isValid(_ answer: Conditions.Reading<Bool>, at now: Instant) -> Bool {
        guard let at = answer.at else { return true }
        // An answer from the future was given before the clock was set back.
        return at <= now && now < at + validFor
    }
}

extension Conditions.Battery {
    /// The charge for people: `17 %`.
    fileprivate var text: String {
        switch self {
        case .absent: "no battery: counts as full"
        case .charge(let percent): "\(percent) %"
        }
    }

    fileprivate func isAbove(_ limit: Int) -> Bool {
        switch self {
        case .absent: true
        case .charge(let percent): percent > limit
        }
    }
}
