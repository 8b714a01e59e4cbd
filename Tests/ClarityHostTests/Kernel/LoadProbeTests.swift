import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct LoadProbeTests {
    static func host(_ load: String, _ processors: String) -> [String: CapturedTree.Entry] {
        [
            "/proc/loadavg": .text("\(load) 0.58 0.59 2/345 11206\n"),
            "/sys/devices/system/cpu/online": .text("\(processors)\n"),
        ]
    }

    static let machines: [Machine<Conditions.Reading<Bool>>] = [
        Machine(
            "at rest", host("0.00", "0-1"),
            .init(true, source: "load of 0% of 2 processors is below 25%", isSampled: true)),
        Machine(
            "just idle", host("0.49", "0-1"),
            .init(true, source: "load of 24% of 2 processors is below 25%", isSampled: true)),
        Machine(
            "just busy", host("0.50", "0-1"),
            .init(false, source: "load of 25% of 2 processors is not below 25%", isSampled: true)),
        Machine(
            "one processor, overrun", host("3.07", "0"),
            .init(false, source: "load of 307% of 1 processor is not below 25%", isSampled: true)),
        Machine(
            "some processors off line", host("2.00", "0-3,6,8-10"),
            .init(false, source: "load of 25% of 8 processors is not below 25%", isSampled: true)),
        Machine("no load", [:], .sampledUnknown("/proc/loadavg: No such file or directory")),
        Machine(
            "no list of processors", ["/proc/loadavg": "0.10 0 0 1/2 3"],
            .sampledUnknown("/sys/devices/system/cpu/online: No such file or directory")),
        Machine(
            "a load below nothing", host("-0.10", "0"), .sampledUnknown("/proc/loadavg: not a load")
        ),
        Machine(
            "a load without end", host("inf", "0"), .sampledUnknown("/proc/loadavg: not a load")),
        Machine(
            "a load beyond belief", host("1000000000000.00", "0"),
            .sampledUnknown("/proc/loadavg: not a load")),
        Machine(
            "a load with a sign", host("0.+1", "0"), .sampledUnknown("/proc/loadavg: not a load")),
        Machine("nothing", ["/proc/loadavg": ""], .sampledUnknown("/proc/loadavg: not a load")),
    ]

    @Test(arguments: machines)
    func `a machine is idle while its load is below the threshold`(
        _ machine: Machine<Conditions.Reading<Bool>>
    ) throws {
        let captured = try CapturedTree(machine.entries)

        let idle = LoadProbe(tree: captured.tree).idle()

        #expect(idle == machine.expected)
    }

    @Test func `the threshold is the caller's, and the load is told as it is`() throws {
        let captured = try CapturedTree(Self.host("1.00", "0-1"))
        let probe = LoadProbe(tree: captured.tree)

        #expect(
            probe.idle(below: 60)
                == .init(true, source: "load of 50% of 2 processors is below 60%", isSampled: true))
        #expect(probe.idle(below: 51).source == "load of 50% of 2 processors is below 51%")
    }

    @Test(arguments: [
        "", "-", "1-", "-1", "3-1", "0,0", "1,0", "0-2,2", "0,,1", "a", "0-1-2", "70000", "0 1",
    ])
    func `what is no list of processors is none`(_ list: String) {
        #expect(LoadProbe.count(list) == nil)
    }

    @Test func `this machine has a load`() {
        #expect(LoadProbe(tree: HostTree(root: "/")).idle().value != nil)
    }
}
