import ClarityTestSupport
import Testing

@testable import ClarityScheduler

struct VerdictTests {
    /// A table row: a constraint, the conditions, and the verdict that the constraint must give.
    struct Row: CustomTestStringConvertible, Sendable {
        var constraint: Constraint
        var conditions: Conditions
        var state: Verdict.State
        var wanted: String
        var measured: String
        var source: String

        init(
            _ constraint: Constraint, _ conditions: Conditions, _ state: Verdict.State,
            wanted: String, measured: String, source: String = "probe"
        ) {
            self.constraint = constraint
            self.conditions = conditions
            self.state = state
            self.wanted = wanted
            self.measured = measured
            self.source = source
        }

        var testDescription: String { "\(constraint) with \(measured) is \(state)" }
    }

    private static func is_<V>(_ value: V) -> Conditions.Reading<V> {
        Conditions.Reading(value, source: "probe")
    }

    private static let rows: [Row] = [
        Row(
            .connected, Conditions(connected: is_(true)), .met, wanted: "connected",
            measured: "connected"),
        Row(
            .connected, Conditions(connected: is_(false)), .unmet, wanted: "connected",
            measured: "not connected"),
        Row(
            .connected, Conditions(), .unmet, wanted: "connected", measured: "unknown",
            source: "not probed"),
        Row(
            .unmetered, Conditions(connected: is_(true), metered: is_(false)), .met,
            wanted: "unmetered", measured: "unmetered"),
        Row(
            .unmetered, Conditions(connected: is_(true), metered: is_(true)), .unmet,
            wanted: "unmetered", measured: "metered"),
        Row(
            .unmetered, Conditions(connected: is_(true)), .assumed, wanted: "unmetered",
            measured: "unknown", source: "not probed"),
        Row(
            .unmetered, Conditions(connected: is_(false), metered: is_(false)), .unmet,
            wanted: "unmetered", measured: "not connected"),
        Row(
            .unmetered, Conditions(metered: is_(false)), .unmet, wanted: "unmetered",
            measured: "unknown", source: "not probed"),
        Row(
            .notRoaming, Conditions(connected: is_(true), roaming: is_(false)), .met,
            wanted: "not roaming", measured: "not roaming"),
        Row(
            .notRoaming, Conditions(connected: is_(true), roaming: is_(true)), .unmet,
            wanted: "not roaming", measured: "roaming"),
        Row(
            .notRoaming, Conditions(connected: is_(true)), .assumed, wanted: "not roaming",
            measured: "unknown", source: "not probed"),
        Row(
            .notRoaming, Conditions(connected: is_(false), roaming: is_(false)), .unmet,
            wanted: "not roaming", measured: "not connected"),
        Row(
            .notRoaming, Conditions(roaming: is_(false)), .unmet, wanted: "not roaming",
            measured: "unknown", source: "not probed"),
        Row(
            .externalPower, Conditions(externalPower: is_(true)), .met,
            wanted: "on external power", measured: "on external power"),
        Row(
            .externalPower, Conditions(externalPower: is_(false)), .unmet,
            wanted: "on external power", measured: "on battery"),
        Row(
            .externalPower, Conditions(), .unmet, wanted: "on external power",
            measured: "unknown", source: "not probed"),
        Row(
            .batteryAbove(percent: 20), Conditions(battery: is_(.charge(percent: 21))), .met,
            wanted: "above 20 %", measured: "21 %"),
        Row(
            .batteryAbove(percent: 20), Conditions(battery: is_(.charge(percent: 20))), .unmet,
            wanted: "above 20 %", measured: "20 %"),
        Row(
            .batteryAbove(percent: 100), Conditions(battery: is_(.absent)), .met,
            wanted: "above 100 %", measured: "no battery: counts as full"),
        Row(
            .batteryAbove(percent: 20), Conditions(), .assumed, wanted: "above 20 %",
            measured: "unknown", source: "not probed"),
        Row(
            .notLowPower, Conditions(lowPower: is_(false)), .met, wanted: "not saving power",
            measured: "not saving power"),
        Row(
            .notLowPower, Conditions(lowPower: is_(true)), .unmet, wanted: "not saving power",
            measured: "saving power"),
        Row(
            .notLowPower, Conditions(), .assumed, wanted: "not saving power",
            measured: "unknown", source: "not probed"),
        Row(.idle, Conditions(idle: is_(true)), .met, wanted: "idle", measured: "idle"),
        Row(.idle, Conditions(idle: is_(false)), .unmet, wanted: "idle", measured: "in use"),
        Row(
            .idle, Conditions(), .assumed, wanted: "idle", measured: "unknown",
            source: "not probed"),
        Row(
            .storageFree(bytes: 1 << 30), Conditions(storageFreeBytes: is_(1 << 30)), .met,
            wanted: "1 GiB free", measured: "1 GiB free"),
        Row(
            .storageFree(bytes: 3 << 29), Conditions(storageFreeBytes: is_(1 << 30)), .unmet,
            wanted: "1.5 GiB free", measured: "1 GiB free"),
        Row(
            .storageFree(bytes: 500), Conditions(), .unmet, wanted: "500 bytes free",
            measured: "unknown", source: "not probed"),
        Row(
            .pressureBelow(percent: 40), Conditions(pressurePercent: is_(39)), .met,
            wanted: "below 40 %", measured: "39 %"),
        Row(
            .pressureBelow(percent: 40), Conditions(pressurePercent: is_(40)), .unmet,
            wanted: "below 40 %", measured: "40 %"),
        Row(
            .pressureBelow(percent: 40), Conditions(), .assumed, wanted: "below 40 %",
            measured: "unknown", source: "not probed"),
        Row(
            .storageFree(bytes: 1 << 30, path: "/nas"),
            Conditions(storageFreeBytes: is_(1 << 40), storage: ["/nas": is_(1 << 20)]), .unmet,
            wanted: "1 GiB free", measured: "1 MiB free"),
        Row(
            .storageFree(bytes: 1 << 30, path: "/nas"), Conditions(storageFreeBytes: is_(1 << 40)),
            .unmet, wanted: "1 GiB free", measured: "unknown", source: "not looked at"),
        Row(
            .idle,
            Conditions(
                idle: .init(true, source: "logind", at: Instant(secondsSince1970: -60))), .met,
            wanted: "idle", measured: "idle", source: "logind, at 1969-12-31T23:59:00Z"),
        Row(
            .check(Check(name: "nas")), Conditions(checks: ["nas": is_(true)]), .met,
            wanted: "`nas` passes", measured: "passes"),
        Row(
            .check(Check(name: "nas")), Conditions(checks: ["nas": .unknown("probe")]), .unmet,
            wanted: "`nas` passes", measured: "unknown"),
        Row(
            .check(Check(name: "nas")), Conditions(checks: ["vpn": is_(true)]), .unmet,
            wanted: "`nas` passes", measured: "not asked",
            source: "asked when a run depends on it"),
    ]

    @Test(arguments: [
        (Constraint.unmetered, Verdict.State.unmet), (.notRoaming, .unmet), (.idle, .unmet),
        (.batteryAbove(percent: 1), .unmet), (.notLowPower, .unmet),
        (.pressureBelow(percent: 1), .unmet), (.externalPower, .assumed),
        (.storageFree(bytes: 1), .assumed), (.check(Check(name: "mute")), .assumed),
    ])
    func `the job file may turn what unknown counts as`(
        constraint: Constraint, state: Verdict.State
    ) {
        let mute = Conditions(
            connected: Self.is_(true), checks: ["mute": .unknown("no answer in time")])
        let rule: UnknownRule = state == .unmet ? .wait : .run

        let turned = constraint.verdict(in: mute, at: .noon, unknown: rule)
        let standard = constraint.verdict(in: mute, at: .noon)

        #expect(turned.state == state)
        #expect(standard.state == (state == .unmet ? .assumed : .unmet))
    }

    @Test func `no rule lets a job run without a connection`() {
        let verdict = Constraint.unmetered.verdict(in: Conditions(), at: .noon, unknown: .run)

        #expect(verdict.state == .unmet)
    }

    @Test(arguments: rows)
    func `a constraint judges conditions with its numbers`(row: Row) {
        let verdict = row.constraint.verdict(in: row.conditions, at: Instant(secondsSince1970: 0))

        #expect(
            verdict
                == Verdict(
                    constraint: row.constraint, state: row.state, wanted: row.wanted,
                    measured: row.measured, source: row.source,
                    isUnknown: row.measured == "unknown"))
        #expect(verdict.allows == (row.state != .unmet))
    }

    @Test(arguments: [
        (Constraint.connected, "network"), (.unmetered, "network"), (.notRoaming, "network"),
        (.externalPower, "external_power"), (.batteryAbove(percent: 1), "battery_above"),
        (.notLowPower, "not_low_power"), (.idle, "idle"), (.storageFree(bytes: 1), "storage_free"),
        (.pressureBelow(percent: 1), "pressure_below"), (.check(Check(name: "nas")), "check"),
        (.window(Windows([], in: .utc)), "window"),
    ])
    func `a constraint has its name in the job file`(constraint: Constraint, name: String) {
        #expect(constraint.name == name)
    }

    @Test(arguments: [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1535, "1.4 KiB"),
        (1536, "1.5 KiB"), (1_048_575, "1023.9 KiB"), (1_048_576, "1 MiB"),
        (1_610_612_736, "1.5 GiB"), (1 << 40, "1 TiB"), (Int64.max, "8388607.9 TiB"),
    ])
    func `bytes are written in the largest unit, rounded down`(bytes: Int64, text: String) {
        #expect(byteText(bytes) == text)
    }
}
