import ClarityScheduler
import Testing

@testable import ClarityHost

/// Tests machines as their kernels show them, without serial numbers and other entries that
/// clarity-jobs does not read.
@Suite struct PowerCaptureTests {
    struct Capture: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var external: Conditions.Reading<Bool>
        var battery: Conditions.Reading<Conditions.Battery>

        init(
            _ name: String, _ isPowered: Bool, _ source: String? = nil, _ percent: Int? = nil,
            of battery: String? = nil
        ) {
            let folder = "/sys/class/power_supply"
            testDescription = name
            external = .init(
                isPowered, source: source.map { "\(folder)/\($0)" } ?? "no battery in \(folder)")
            self.battery =
                switch (percent, battery) {
                case (let percent?, let battery?):
                    .init(.charge(percent: percent), source: "\(folder)/\(battery)")
                case (let percent?, nil):
                    .init(.charge(percent: percent), source: "2 batteries in \(folder)")
                default: .init(.absent, source: "no battery in \(folder)")
                }
        }
    }

    static let captures = [
        Capture("laptop-on-adapter", true, "AC/online", 80, of: "BAT0"),
        Capture("laptop-on-battery", false, "BAT0/status", 41, of: "BAT0"),
        Capture("thinkpad-on-adapter", true, "AC/online", 64),
        Capture("thinkpad-on-batteries", false, "BAT1/status", 64),
        Capture("usb-c-laptop-on-adapter", true, "ACAD/online", 63, of: "BAT1"),
        Capture("usb-c-laptop-on-battery", false, "BAT1/status", 63, of: "BAT1"),
        Capture("chromebook-on-port", true, "CROS_USBPD_CHARGER0/online", 100, of: "sbs-12-000b"),
        Capture(
            "chromebook-just-unplugged", false, "CROS_USBPD_CHARGER0/online", 100,
            of: "sbs-12-000b"),
        Capture("mac-on-adapter", true, "macsmc-ac/online", 88, of: "macsmc-battery"),
        Capture(
            "mac-on-battery", false, "macsmc-battery/status", 88, of: "macsmc-battery"),
        Capture("phone-on-charger", true, "usb/online", 72, of: "battery"),
        Capture("phone-on-battery", false, "battery/status", 72, of: "battery"),
        Capture("desktop", true),
        Capture("desktop-with-mouse", true),
        Capture("raspberry-pi", true),
        Capture("virtual-machine", true),
        Capture("server-with-usb-ups", true),
        Capture("board-with-ups", false, "ups/online", 58, of: "ups"),
    ]

    @Test(arguments: captures)
    func `a machine is powered and charged as its kernel shows`(_ capture: Capture) throws {
        let captured = try CapturedTree(capture: capture.testDescription)

        let probe = PowerProbe(captured.tree)

        #expect(probe.externalPower == capture.external)
        #expect(probe.battery == capture.battery)
    }

    @Test func `a supply of a type that is not known is left out with a note`() throws {
        let captured = try CapturedTree(capture: "phone-on-charger")

        let notes = PowerProbe(captured.tree).notes

        #expect(notes == ["/sys/class/power_supply/bms/type: not a known type of supply"])
    }

    @Test func `every capture is in the table`() throws {
        let names = try HostTree(root: CapturedTree.captures).names(in: "/")

        #expect(
            names.sorted() == Self.captures.map { "\($0.testDescription).txt" }.sorted())
    }
}
