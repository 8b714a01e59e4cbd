import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct PowerProfileProbeTests {
    static let legacy = "/sys/firmware/acpi/platform_profile"
    static let folder = "/sys/class/platform-profile"

    static let machines: [Machine<Conditions.Reading<Bool>?>] = [
        Machine("no profiles", [:], nil),
        Machine("a folder without drivers", [folder: .folder], nil),
        Machine(
            "saving power", [legacy: "low-power\n"], .init(true, source: legacy, isSampled: true)),
        Machine("balanced", [legacy: "balanced\n"], .init(false, source: legacy, isSampled: true)),
        Machine(
            "one driver of two saves power",
            [
                "\(folder)/platform-profile-0/profile": "balanced",
                "\(folder)/platform-profile-1/profile": "low-power", legacy: "custom",
            ], .init(true, source: "\(folder)/platform-profile-1/profile")),
        Machine(
            "two drivers that do not",
            [
                "\(folder)/platform-profile-0/profile": "performance",
                "\(folder)/platform-profile-1/profile": "quiet",
            ], .init(false, source: "\(folder)/platform-profile-0/profile")),
        Machine(
            "a profile nobody knows", [legacy: "warp"],
            .sampledUnknown("\(legacy): not a known profile")),
        Machine(
            "a profile nobody knows beside another",
            [
                "\(folder)/platform-profile-0/profile": "balanced",
                "\(folder)/platform-profile-1/profile": "",
            ], .unknown("\(folder)/platform-profile-1/profile: not a known profile")),
        Machine(
            "bytes that are no text", [legacy: .bytes([0xFF])],
            .sampledUnknown("\(legacy): not text")),
        Machine(
            "a folder that is none", [folder: .link("platform-profile")],
            .unknown("\(folder): Too many levels of symbolic links")),
    ]

    @Test(arguments: machines)
    func `a machine saves power when one of its profiles does`(
        _ machine: Machine<Conditions.Reading<Bool>?>
    ) throws {
        let captured = try CapturedTree(machine.entries)

        let lowPower = PowerProfileProbe(tree: captured.tree).lowPower

        #expect(lowPower == machine.expected)
    }
}
