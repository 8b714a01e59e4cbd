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
