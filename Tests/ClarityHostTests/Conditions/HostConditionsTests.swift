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
                    connected: .init(
                        false, source: "/proc/net/route and /proc/net/ipv6_route"),
                    metered: .unknown("no default route"),
                    roaming: .unknown("no network manager is asked"),
                    externalPower: .init(true, source: "no battery in /sys/class/power_supply"),
                    battery: .init(.absent, source: "no battery in /sys/class/power_supply"),
                    lowPower: .unknown("no power daemon is asked"),
                    idle: .unknown("no login manager is asked"),
                    storageFreeBytes: .unknown("\(impossible): Not a directory"),
                    pressurePercent: .unknown("/proc/pressure/cpu: No such file or directory")))
    }

    @Test func `free storage is what the state directory's file system leaves to its user`() throws
    {
        let captured = try CapturedTree([:])
        var before = statvfs()
        #expect(statvfs(captured.root, &before) == 0)

        let storage = HostConditions(root: captured.root, stateDirectory: captured.root)
            .conditions().storageFreeBytes

        // Others write to the same disk meanwhile; root's reserve and a unit are far larger.
        let wanted = Int64(before.f_bavail) * Int64(before.f_frsize)
        let measured = try #require(storage.value)
        #expect(abs(measured - wanted) < 1 << 30)
        #expect(storage.source == captured.root)
    }

    @Test func `a state directory that is not made yet has the space of the folder above it`()
        throws
    {
        let captured = try CapturedTree([:])

        let storage = HostConditions(
            root: captured.root, stateDirectory: "\(captured.root)/not/yet"
        ).conditions().storageFreeBytes

        #expect(storage.value ?? 0 > 0)
        #expect(storage.source == captured.root)
    }

    @Test func `this machine is understood`() {
        let conditions = HostConditions(stateDirectory: "/").conditions()

        #expect(conditions.connected.value != nil, "\(conditions.connected.source)")
        #expect(conditions.externalPower.value != nil, "\(conditions.externalPower.source)")
        #expect(conditions.battery.value != nil, "\(conditions.battery.source)")
        #expect(conditions.storageFreeBytes.value ?? 0 > 0)
    }

    @Test func `a named pipe in a file's place does not stop the answer`() throws {
        let captured = try CapturedTree(["/proc/net": .folder])
        #expect(mkfifo(captured.root + "/proc/net/route", 0o644) == 0)

        let connected = HostConditions(root: captured.root, stateDirectory: "/").conditions()
            .connected

        #expect(connected == .unknown("/proc/net/route: not a table of routes"))
    }

    @Test func `a file without end is given up`() throws {
        let captured = try CapturedTree(["/proc/net/route": .link("/dev/zero")])

        let connected = HostConditions(root: captured.root, stateDirectory: "/").conditions()
            .connected

        #expect(connected == .unknown("/proc/net/route: more than 4194304 bytes"))
    }
}
