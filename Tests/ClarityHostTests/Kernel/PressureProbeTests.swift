import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct PressureProbeTests {
    static func share(_ avg10: String) -> CapturedTree.Entry {
        .text(
            "some avg10=\(avg10) avg60=0.60 avg300=0.28 total=3542289\n"
                + "full avg10=99.00 avg60=0.60 avg300=0.27 total=3429473\n")
    }

    static func host(_ cpu: String, _ memory: String, _ io: String) -> [String: CapturedTree.Entry]
    {
        [
            "/proc/pressure/cpu": share(cpu), "/proc/pressure/memory": share(memory),
            "/proc/pressure/io": share(io),
        ]
    }

    static let machines: [Machine<Conditions.Reading<Int>>] = [
        Machine(
            "at rest", host("0.00", "0.00", "0.00"),
            .init(0, source: "/proc/pressure/io", isSampled: true)),
        Machine(
            "busy processor", host("41.99", "0.00", "7.20"),
            .init(41, source: "/proc/pressure/cpu", isSampled: true)),
        Machine(
            "short of memory", host("9.00", "100.00", "12.00"),
            .init(100, source: "/proc/pressure/memory", isSampled: true)),
        Machine(
            "kernel that measures nothing", [:],
            .sampledUnknown("/proc/pressure/cpu: No such file or directory")),
        Machine(
            "a share above all", host("0.00", "101.00", "0.00"),
            .sampledUnknown("/proc/pressure/memory: not a pressure")),
        Machine(
            "a share that is no number", host("0.00", "0.00", "nan"),
            .sampledUnknown("/proc/pressure/io: not a pressure")),
        Machine(
            "an empty file", ["/proc/pressure/cpu": ""],
            .sampledUnknown("/proc/pressure/cpu: not a pressure")),
    ]

    @Test(arguments: machines)
    func `pressure is the highest share of time in which something waits`(
        _ machine: Machine<Conditions.Reading<Int>>
    ) throws {
        let captured = try CapturedTree(machine.entries)

        let pressure = PressureProbe(tree: captured.tree).pressurePercent

        #expect(pressure == machine.expected)
    }
}
