import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct PowerProbeTests {
    struct Power: Sendable {
        var external: Conditions.Reading<Bool>
        var battery: Conditions.Reading<Conditions.Battery>
    }

    static let folder = "/sys/class/power_supply"

    /// Returns supplies such as `["BAT0": ["type": "Battery"]]` as files.
    static func supplies(
        _ supplies: [String: [String: String]]
    ) -> [String: CapturedTree.Entry] {
        var entries: [String: CapturedTree.Entry] = [:]
        for (supply, files) in supplies {
            for (file, text) in files {
                entries["\(folder)/\(supply)/\(file)"] = .text(text + "\n")
            }
        }
        return entries
    }

    static func battery(_ status: String, _ capacity: String = "80") -> [String: String] {
        ["type": "Battery", "status": status, "capacity": capacity, "present": "1"]
    }

    static func mains(_ online: String) -> [String: String] { ["type": "Mains", "online": online] }

    static func on(_ file: String) -> Conditions.Reading<Bool> {
        .init(true, source: "\(folder)/\(file)")
    }

    static func off(_ file: String) -> Conditions.Reading<Bool> {
        .init(false, source: "\(folder)/\(file)")
    }

    static func charge(_ percent: Int, _ supply: String = "BAT0")
        -> Conditions.Reading<Conditions.Battery>
    {
        .init(.charge(percent: percent), source: "\(folder)/\(supply)")
    }

    static let noBattery = Power(
        external: .init(true, source: "no battery in \(folder)"),
        battery: .init(.absent, source: "no battery in \(folder)"))

    static func unreadable(_ reason: String) -> Power {
        Power(
            external: .unknown("\(folder)/\(reason)"), battery: .unknown("\(folder)/\(reason)"))
    }

    static let machines: [Machine<Power>] = [
        Machine(
            "laptop on its adapter", supplies(["AC": mains("1"), "BAT0": battery("Charging")]),
            Power(external: on("AC/online"), battery: charge(80))),
        Machine(
            "laptop on its battery",
            supplies(["AC": mains("0"), "BAT0": battery("Discharging", "17")]),
            Power(external: off("BAT0/status"), battery: charge(17))),
        Machine(
            "laptop just unplugged, battery not yet aware",
            supplies(["AC": mains("0"), "BAT0": battery("Full", "100")]),
            Power(external: off("AC/online"), battery: charge(100))),
        Machine(
            "laptop that draws more than its adapter gives",
            supplies(["AC": mains("1"), "BAT0": battery("Discharging")]),
            Power(external: on("AC/online"), battery: charge(80))),
        Machine(
            "laptop that charges over a port without a mains entry",
            supplies([
                "ucsi-source-psy-1": ["type": "USB", "online": "1", "scope": "System"],
                "BAT0": battery("Charging"),
            ]), Power(external: on("ucsi-source-psy-1/online"), battery: charge(80))),
        Machine(
            "laptop that feeds a telephone",
            supplies([
                "ucsi-source-psy-1": ["type": "USB", "online": "1"],
                "BAT0": battery("Discharging"),
            ]), Power(external: off("BAT0/status"), battery: charge(80))),
        Machine(
            "battery held at its threshold, nothing else told",
            supplies(["BAT0": battery("Not charging")]),
            Power(external: on("BAT0/status"), battery: charge(80))),
        Machine(
            "battery that does not know, nothing else told",
            supplies(["BAT0": battery("Unknown")]),
            Power(
                external: .unknown("\(folder)/BAT0/status: not told"), battery: charge(80))),
        Machine(
            "two batteries of different sizes",
            supplies([
                "AC": mains("0"),
                "BAT0": battery("Unknown", "100").merging(
                    ["energy_now": "20000000", "energy_full": "20000000"]) { $1 },
                "BAT1": battery("Discharging", "10").merging(
                    ["energy_now": "6000000", "energy_full": "60000000"]) { $1 },
            ]),
            Power(
                external: off("BAT1/status"),
                battery: .init(.charge(percent: 32), source: "2 batteries in \(folder)"))),
        Machine(
            "two batteries that tell charge",
            supplies([
                "BAT0": battery("Charging", "1").merging(
                    ["charge_now": "1000000", "charge_full": "4000000"]) { $1 },
                "BAT1": battery("Charging", "1").merging(
                    ["charge_now": "3000000", "charge_full": "4000000"]) { $1 },
            ]),
            Power(
                external: on("BAT0/status"),
                battery: .init(.charge(percent: 50), source: "2 batteries in \(folder)"))),
        Machine(
            "two batteries without a common unit",
            supplies([
                "BAT0": battery("Full", "100").merging(
                    ["energy_now": "5", "energy_full": "5"]) { $1 },
                "BAT1": battery("Charging", "41").merging(
                    ["charge_now": "4", "charge_full": "5"]) { $1 },
            ]),
            Power(
                external: on("BAT1/status"),
                battery: .init(.charge(percent: 70), source: "2 batteries in \(folder)"))),
        Machine(
            "worn battery above what it was made for",
            supplies([
                "AC": mains("1"),
                "BAT0": battery("Full").merging(
                    ["energy_now": "51000000", "energy_full": "50000000"]) { $1 },
            ]), Power(external: on("AC/online"), battery: charge(100))),
        Machine(
            "desktop with a wireless mouse",
            supplies([
                "AC": mains("1"),
                "hidpp_battery_0": battery("Discharging", "5").merging(["scope": "Device"]) { $1 },
            ]),
            Power(external: on("AC/online"), battery: noBattery.battery)),
        Machine(
            "desktop whose only entry is a wireless mouse",
            supplies([
                "hid-mouse": battery("Discharging", "5").merging(["scope": "Device"]) { $1 }
            ]), noBattery),
        Machine(
            "laptop with a keyboard that does not say whose its battery is",
            supplies([
                "AC": mains("1"),
                "BAT0": [
                    "type": "Battery", "present": "1", "scope": "System", "status": "Full",
                    "capacity": "90", "energy_now": "45000000", "energy_full": "50000000",
                ],
                "hid-00:11:22:33:44:55-battery": battery("Discharging", "3"),
            ]), Power(external: on("AC/online"), battery: charge(90))),
        Machine(
            "desktop with a keyboard that does not say whose its battery is",
            supplies(["hid-00:11:22:33:44:55-battery": battery("Discharging", "3")]), noBattery),
        Machine(
            "desktop with a controller of another driver",
            supplies([
                "ps-controller-battery-a": battery("Discharging", "5").merging(
                    ["device/modalias": "hid:b0005g0001v0000054Cp00000CE6"]) { $1 },
                "wacom_battery_0": battery("Charging", "5").merging([
                    "device/modalias": "hid:b0003g0001v0000056Ap000000E6", "scope": "Unknown",
                ]) { $1 },
            ]), noBattery),
        Machine(
            "laptop whose battery's device has a name",
            supplies([
                "BAT0": battery("Discharging", "41").merging(
                    ["device/modalias": "acpi:PNP0C0A:", "scope": "Unknown"]) { $1 }
            ]), Power(external: off("BAT0/status"), battery: charge(41))),
        Machine(
            "desktop with an unused port",
            supplies(["ucsi-source-psy-1": ["type": "USB", "online": "0"]]), noBattery),
        Machine(
            "laptop with an empty second bay",
            supplies([
                "AC": mains("1"), "BAT0": battery("Full", "99"),
                "BAT1": ["type": "Battery", "present": "0", "status": "Unknown"],
            ]), Power(external: on("AC/online"), battery: charge(99))),
        Machine("virtual machine with an empty folder", [folder: .folder], noBattery),
        Machine("kernel without the folder", [:], noBattery),
        Machine(
            "server on its UPS's mains",
            supplies(["ups": ["type": "UPS", "online": "1", "capacity": "97"]]),
            Power(external: on("ups/online"), battery: charge(97, "ups"))),
        Machine(
            "server on its UPS's battery",
            supplies([
                "AC": mains("1"), "ups": ["type": "UPS", "online": "0", "capacity": "60"],
            ]), Power(external: off("ups/online"), battery: charge(60, "ups"))),
        Machine(
            "UPS that tells its status alone",
            supplies(["ups": ["type": "UPS", "status": "Discharging"]]),
            Power(external: off("ups/status"), battery: noBattery.battery)),
        Machine(
            "UPS that tells nothing", supplies(["ups": ["type": "UPS"]]),
            Power(
                external: .unknown("\(folder)/ups: neither `online` nor `status`"),
                battery: noBattery.battery)),
        Machine(
            "battery without any measure",
            supplies(["AC": mains("1"), "BAT0": ["type": "Battery", "status": "Full"]]),
            Power(
                external: on("AC/online"),
                battery: .unknown("\(folder)/BAT0: no measure of charge"))),
        Machine(
            "battery that tells charge alone",
            supplies([
                "BAT0": [
                    "type": "Battery", "status": "Discharging", "charge_now": "1500000",
                    "charge_full_design": "2000000",
                ]
            ]), Power(external: off("BAT0/status"), battery: charge(75))),
        Machine(
            "battery whose finer measure cannot be read",
            supplies([
                "BAT0": battery("Discharging", "33").merging(
                    ["energy_now": "-5", "energy_full": "100"]) { $1 }
            ]), Power(external: off("BAT0/status"), battery: charge(33))),
        Machine(
            "one of two batteries without any measure",
            supplies(["BAT0": battery("Charging"), "BAT1": ["type": "Battery"]]),
            Power(
                external: on("BAT0/status"),
                battery: .unknown("\(folder)/BAT1: no measure of charge"))),
        Machine(
            "adapter off line, port on line",
            supplies([
                "AC": mains("0"), "BAT0": battery("Charging"),
                "ucsi-source-psy-1": ["type": "USB", "online": "2"],
            ]), Power(external: on("ucsi-source-psy-1/online"), battery: charge(80))),
        Machine(
            "battery that charges past its ports",
            supplies([
                "BAT0": battery("Charging"), "port": ["type": "USB", "online": "0"],
            ]), Power(external: on("BAT0/status"), battery: charge(80))),
        Machine(
            "pad that charges",
            supplies([
                "BAT0": battery("Full"), "pad": ["type": "Wireless", "online": "1"],
            ]), Power(external: on("pad/online"), battery: charge(80))),
        Machine(
            "adapter that says garbage beside a battery that charges",
            supplies(["AC": mains("yes"), "BAT0": battery("Charging")]),
            Power(external: on("BAT0/status"), battery: charge(80))),
        Machine(
            "adapter that says garbage beside a battery that is full",
            supplies(["AC": mains("yes"), "BAT0": battery("Full")]),
            Power(
                external: .unknown("\(folder)/AC/online: not a number"), battery: charge(80))),
        Machine(
            "garbage beside a draining battery",
            supplies(["AC": mains("yes"), "BAT0": battery("Discharging")]),
            Power(external: off("BAT0/status"), battery: charge(80))),
        Machine(
            "one adapter off line, one that says garbage",
            supplies(["AC": mains("0"), "AC1": mains("?"), "BAT0": battery("Full")]),
            Power(
                external: .unknown("\(folder)/AC1/online: not a number"), battery: charge(80))),
        Machine(
            "a status nobody knows", supplies(["BAT0": battery("Resting")]),
            Power(
                external: .unknown("\(folder)/BAT0/status: not a known status"),
                battery: charge(80))),
        Machine(
            "a status nobody knows on an adapter",
            supplies(["AC": mains("1"), "BAT0": battery("Resting")]),
            Power(external: on("AC/online"), battery: charge(80))),
        Machine(
            "a type nobody knows alone", supplies(["X": ["type": "Flux", "online": "1"]]),
            unreadable("X/type: not a known type of supply")),
        Machine(
            "a type nobody knows beside a laptop's own",
            supplies([
                "X": ["type": "Flux", "online": "1"], "AC": mains("0"),
                "BAT0": battery("Discharging"),
            ]), Power(external: off("BAT0/status"), battery: charge(80))),
        Machine(
            "whose battery it is cannot be read",
            [
                "\(folder)/hid/type": "Battery", "\(folder)/hid/scope": .folder,
                "\(folder)/hid/status": "Full",
            ], unreadable("hid/scope: Is a directory")),
        Machine(
            "more than full", supplies(["BAT0": battery("Full", "255")]),
            Power(
                external: on("BAT0/status"),
                battery: .unknown("\(folder)/BAT0/capacity: not a percentage"))),
        Machine(
            "less than nothing", supplies(["BAT0": battery("Full", "-1")]),
            Power(
                external: on("BAT0/status"),
                battery: .unknown("\(folder)/BAT0/capacity: not a number"))),
        Machine(
            "more energy than fits",
            supplies([
                "BAT0": [
                    "type": "Battery", "status": "Full", "energy_now": "9223372036854775807",
                    "energy_full": "1",
                ]
            ]),
            Power(
                external: on("BAT0/status"),
                battery: .unknown("\(folder)/BAT0/energy_now: not a number"))),
        Machine(
            "bytes that are no text", ["\(folder)/BAT0/type": .bytes([0x42, 0xFF])],
            unreadable("BAT0/type: not text")),
        Machine(
            "an entry without a type", supplies(["BAT0": ["status": "Full"]]),
            unreadable("BAT0/type: No such file or directory")),
        Machine(
            "a type that cannot be read", ["\(folder)/BAT0/type": .folder],
            unreadable("BAT0/type: Is a directory")),
        Machine(
            "a folder that is none", ["/sys/class": .folder, folder: .link("power_supply")],
            Power(
                external: .unknown("\(folder): Too many levels of symbolic links"),
                battery: .unknown("\(folder): Too many levels of symbolic links"))),
    ]

    @Test(arguments: machines)
    func `power and charge follow from what the supplies tell`(_ machine: Machine<Power>) throws {
        let captured = try CapturedTree(machine.entries)

        let probe = PowerProbe(captured.tree)

        #expect(probe.externalPower == machine.expected.external)
        #expect(probe.battery == machine.expected.battery)
    }
}
