import ClarityScheduler
import Glibc
import Testing

@testable import ClarityHost

@Suite struct HostConditionsTests {
    @Test func `a machine that shows nothing has no answer but the ones that follow from it`()
        throws
    {
        let captured = try CapturedTree([:])
        // Below a file there can be no folder.
        let impossible = "/dev/null/state"

        let conditions = HostConditions(root: captured.root, stateDirectory: impossible)
            .conditions()

        #expect(
            conditions
                == Conditions(
                    connected: .unknown("rtnetlink: none of a captured machine"),
                    metered: .unknown("rtnetlink: none of a captured machine"),
                    roaming: .unknown("rtnetlink: none of a captured machine"),
                    externalPower: .init(true, source: "no battery in /sys/class/power_supply"),
                    battery: .init(.absent, source: "no battery in /sys/class/power_supply"),
                    lowPower: .unknown("no power daemon is asked"),
                    idle: .unknown("no login manager is asked"),
                    storageFreeBytes: .sampledUnknown("\(impossible): Not a directory"),
                    pressurePercent: .sampledUnknown(
                        "/proc/pressure/cpu: No such file or directory")))
    }

    @Test func `this machine is understood`() {
        let conditions = HostConditions(stateDirectory: "/").conditions()

        #expect(conditions.connected.value != nil, "\(conditions.connected.source)")
        #expect(conditions.externalPower.value != nil, "\(conditions.externalPower.source)")
        #expect(conditions.battery.value != nil, "\(conditions.battery.source)")
        #expect(conditions.storageFreeBytes.value ?? 0 > 0)
    }

    @Test func `a named pipe in a file's place does not stop the answer`() throws {
        let captured = try CapturedTree(["/proc/pressure": .folder])
        #expect(mkfifo(captured.root + "/proc/pressure/cpu", 0o644) == 0)

        let pressure = HostConditions(root: captured.root, stateDirectory: "/").conditions()
            .pressurePercent

        #expect(pressure == .sampledUnknown("/proc/pressure/cpu: not a pressure"))
    }

    @Test func `a file without end is given up`() throws {
        let captured = try CapturedTree(["/proc/pressure/cpu": .link("/dev/zero")])

        let pressure = HostConditions(root: captured.root, stateDirectory: "/").conditions()
            .pressurePercent

        #expect(pressure == .sampledUnknown("/proc/pressure/cpu: more than 4194304 bytes"))
    }
}
