/// What one constraint says of one set of conditions, with its numbers.
public struct Verdict: Hashable, Sendable {
    /// Whether the job may run as far as this constraint goes.
    public enum Standing: String, CaseIterable, Sendable {
        /// It holds.
        case met
        /// Nobody knows, and the constraint's rule lets the job run.
        case assumed
        /// It does not hold, or nobody knows and the rule holds the job back.
        case unmet
    }

    public var constraint: Constraint
    public var standing: Standing
    /// What is wanted, for people: `above 20 %`.
    public var wanted: String
    /// What was measured, for people: `17 %`, `unknown`.
    public var measured: String
    /// Where the measure comes from, or why there is none.
    public var source: String

    /// Whether the constraint lets the job run.
    public var allows: Bool { standing != .unmet }
}

extension Constraint {
    /// Judges conditions.
    ///
    /// Unknown counts as follows. Connected and storage: unmet, for both can always be measured and
    /// their failure is a fault. External power: unmet, since only a machine with a battery can
    /// leave it open. All others: assumed, since a server has no way to know and would never run.
    /// A machine without a battery is on external power and above every charge.
    public func verdict(in conditions: Conditions) -> Verdict {
        switch self {
        case .connected:
            return judge(
                conditions.connected, wanted: "connected", whenUnknown: .unmet,
                show: { $0 ? "connected" : "no default route" }, holds: { $0 })
        case .unmetered:
            if conditions.connected.value != true {
                var verdict = Constraint.connected.verdict(in: conditions)
                verdict.constraint = self
                verdict.wanted = "unmetered"
                return verdict
            }
            return judge(
                conditions.metered, wanted: "unmetered", whenUnknown: .assumed,
                show: { $0 ? "metered" : "unmetered" }, holds: { !$0 })
        case .notRoaming:
            if conditions.connected.value != true {
                var verdict = Constraint.connected.verdict(in: conditions)
                verdict.constraint = self
                verdict.wanted = "not roaming"
                return verdict
            }
            return judge(
                conditions.roaming, wanted: "not roaming", whenUnknown: .assumed,
                show: { $0 ? "roaming" : "not roaming" }, holds: { !$0 })
        case .externalPower:
            return judge(
                conditions.externalPower, wanted: "on external power", whenUnknown: .unmet,
                show: { $0 ? "on external power" : "on battery" }, holds: { $0 })
        case .batteryAbove(let percent):
            return judge(
                conditions.battery, wanted: "above \(percent) %", whenUnknown: .assumed,
                show: { battery in
                    switch battery {
                    case .absent: "no battery"
                    case .charge(let charge): "\(charge) %"
                    }
                },
                holds: { battery in
                    switch battery {
                    case .absent: true
                    case .charge(let charge): charge > percent
                    }
                })
        case .notLowPower:
            return judge(
                conditions.lowPower, wanted: "not saving power", whenUnknown: .assumed,
                show: { $0 ? "saving power" : "not saving power" }, holds: { !$0 })
        case .idle:
            return judge(
                conditions.idle, wanted: "idle", whenUnknown: .assumed,
                show: { $0 ? "idle" : "in use" }, holds: { $0 })
        case .storageFree(let bytes):
            return judge(
                conditions.storageFreeBytes, wanted: "\(byteText(bytes)) free",
                whenUnknown: .unmet, show: { "\(byteText($0)) free" }, holds: { $0 >= bytes })
        case .pressureBelow(let percent):
            return judge(
                conditions.pressurePercent, wanted: "below \(percent) %", whenUnknown: .assumed,
                show: { "\($0) %" }, holds: { $0 < percent })
        }
    }

    private func judge<Value>(
        _ reading: Conditions.Reading<Value>, wanted: String, whenUnknown: Verdict.Standing,
        show: (Value) -> String, holds: (Value) -> Bool
    ) -> Verdict {
        guard let value = reading.value else {
            return Verdict(
                constraint: self, standing: whenUnknown, wanted: wanted, measured: "unknown",
                source: reading.source)
        }
        return Verdict(
            constraint: self, standing: holds(value) ? .met : .unmet, wanted: wanted,
            measured: show(value), source: reading.source)
    }
}

/// The bytes in the largest binary unit that leaves at least one, rounded down: `1.5 GiB`.
func byteText(_ bytes: Int64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"]
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    var size: Int64 = 1024
    var unit = 0
    while unit + 1 < units.count, bytes / size >= 1024 {
        size *= 1024
        unit += 1
    }
    let tenths = bytes / size * 10 + bytes % size * 10 / size
    return tenths % 10 == 0
        ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
}
