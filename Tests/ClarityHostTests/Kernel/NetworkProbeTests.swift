import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct NetworkProbeTests {
    typealias Answer = Conditions.Reading<Bool>

    static let header =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

    static func ipv4(
        _ interface: String, destination: String = "00000000", flags: String = "0003",
        mask: String = "00000000"
    ) -> String {
        "\(interface)\t\(destination)\t0101A8C0\t\(flags)\t0\t0\t100\t\(mask)\t0\t0\t0    \n"
    }

    static func ipv6(_ interface: String, prefix: String = "00", flags: String = "00000003")
        -> String
    {
        let zeros = String(repeating: "0", count: 32)
        let gateway = "fe800000000000000000000000000001"
        return "\(zeros) \(prefix) \(zeros) 00 \(gateway) 00000400 00000002 00000000 \(flags)"
            + "     \(interface)\n"
    }

    static let tables = "/proc/net/route and /proc/net/ipv6_route"

    static let connections: [Machine<Answer>] = [
        Machine(
            "IPv4 and IPv6",
            [
                "/proc/net/route": .text(header + ipv4("eth0")),
                "/proc/net/ipv6_route": .text(ipv6("eth0")),
            ], Answer(true, source: "/proc/net/route: eth0")),
        Machine(
            "IPv6 alone",
            [
                "/proc/net/route": .text(header),
                "/proc/net/ipv6_route": .text(ipv6("wlan0")),
            ], Answer(true, source: "/proc/net/ipv6_route: wlan0")),
        Machine(
            "an IPv4 table that is garbage beside an IPv6 route",
            [
                "/proc/net/route": .bytes([0xFF, 0x00, 0xFE]),
                "/proc/net/ipv6_route": .text(ipv6("eth0")),
            ], Answer(true, source: "/proc/net/ipv6_route: eth0")),
        Machine(
            "only the local network",
            [
                "/proc/net/route": .text(
                    header + ipv4("eth0", destination: "0001A8C0", flags: "0001", mask: "00FFFFFF"))
            ], Answer(false, source: tables)),
        Machine(
            "half of everything, as a split tunnel has it",
            ["/proc/net/route": .text(header + ipv4("tun0", mask: "00000080"))],
            Answer(false, source: tables)),
        Machine(
            "half of everything in IPv6",
            ["/proc/net/ipv6_route": .text(ipv6("tun0", prefix: "01"))],
            Answer(false, source: tables)),
        Machine(
            "a route that is not up",
            ["/proc/net/route": .text(header + ipv4("eth0", flags: "0002"))],
            Answer(false, source: tables)),
        Machine(
            "a route that refuses",
            [
                "/proc/net/route": .text(header + ipv4("eth0", flags: "0203")),
                "/proc/net/ipv6_route": .text(ipv6("lo", flags: "00200200")),
            ], Answer(false, source: tables)),
        Machine(
            "the loopback interface",
            [
                "/proc/net/route": .text(header + ipv4("lo")),
                "/proc/net/ipv6_route": .text(ipv6("lo")),
            ], Answer(false, source: tables)),
        Machine(
            "a pulled cable",
            [
                "/proc/net/route": .text(header + ipv4("eth0")),
                "/sys/class/net/eth0/operstate": "down\n",
            ], Answer(false, source: tables)),
        Machine(
            "a tunnel, which does not tell its state",
            [
                "/proc/net/route": .text(header + ipv4("tun0")),
                "/sys/class/net/tun0/operstate": "unknown\n",
            ], Answer(true, source: "/proc/net/route: tun0")),
        Machine("no tables", [:], Answer(false, source: tables)),
        Machine(
            "no header", ["/proc/net/route": .text(ipv4("eth0"))],
            .unknown("/proc/net/route: not a table of routes")),
        Machine(
            "a line cut short", ["/proc/net/route": .text(header + "eth0\t00000000\t01")],
            .unknown("/proc/net/route: not a table of routes")),
        Machine(
            "flags that are no number",
            ["/proc/net/route": .text(header + ipv4("eth0", flags: "up"))],
            .unknown("/proc/net/route: not a table of routes")),
        Machine(
            "bytes that are no text", ["/proc/net/route": .bytes([0x49, 0xC3, 0x28])],
            .unknown("/proc/net/route: not text")),
        Machine(
            "a table that cannot be read", ["/proc/net/route": .folder],
            .unknown("/proc/net/route: Is a directory")),
        Machine(
            "an IPv6 table that is garbage",
            ["/proc/net/route": .text(header), "/proc/net/ipv6_route": "0 00 0 00 0 0 0 0 1 eth0"],
            .unknown("/proc/net/ipv6_route: not a table of routes")),
    ]

    @Test(arguments: connections)
    func `a default route over an interface that works is a connection`(
        _ machine: Machine<Answer>
    ) throws {
        let captured = try CapturedTree(machine.entries)

        let connected = NetworkProbe(captured.tree).connected

        #expect(connected == machine.expected)
    }

    static func host(_ interface: [String: CapturedTree.Entry]) -> [String: CapturedTree.Entry] {
        var entries: [String: CapturedTree.Entry] = [
            "/proc/net/route": .text(header + ipv4("net0")),
            "/sys/class/net/net0/operstate": "up\n",
        ]
        for (name, entry) in interface { entries["/sys/class/net/net0/" + name] = entry }
        return entries
    }

    static let wired = Answer(false, source: "wired: net0")

    static func doubt(_ reason: String) -> Answer {
        .unknown("net0 is \(reason), and no network manager is asked")
    }

    static let links: [Machine<Answer>] = [
        Machine(
            "a card", host(["type": "1\n", "device/subsystem": .link("../../bus/pci")]), wired),
        Machine(
            "a bridge",
            host(["type": "1", "bridge/bridge_id": "8000.00", "ifindex": "4", "iflink": "4"]),
            wired),
        Machine(
            "a container's cable", host(["type": "1", "ifindex": "2", "iflink": "17"]), wired),
        Machine(
            "a telephone", host(["type": "1", "device/subsystem": .link("../../bus/usb")]),
            doubt("on USB")),
        Machine(
            "Wi-Fi",
            host(["type": "1", "wireless": .folder, "device/subsystem": .link("../../bus/pci")]),
            doubt("wireless")),
        Machine(
            "Wi-Fi of a kernel without wireless extensions",
            host(["type": "1", "phy80211": .folder, "device": .folder]), doubt("wireless")),
        Machine("a tunnel", host(["type": "65534"]), doubt("not Ethernet")),
        Machine(
            "a tap", host(["type": "1", "ifindex": "5", "iflink": "5"]),
            doubt("no physical device")),
        Machine(
            "garbage", host(["type": "one"]),
            .unknown(
                "/sys/class/net/net0/type: not a number, and no network manager is asked")),
        Machine("no connection", [:], .unknown("no default route")),
    ]

    @Test(arguments: links)
    func `only wired connections are known to be unmetered`(_ machine: Machine<Answer>) throws {
        let captured = try CapturedTree(machine.entries)

        let metered = NetworkProbe(captured.tree).metered

        #expect(metered == machine.expected)
    }

    @Test func `one connection in doubt among wired ones leaves it open`() throws {
        let captured = try CapturedTree([
            "/proc/net/route": .text(Self.header + Self.ipv4("eth0") + Self.ipv4("wlan0")),
            "/sys/class/net/eth0/type": "1", "/sys/class/net/eth0/device": .folder,
            "/sys/class/net/wlan0/type": "1", "/sys/class/net/wlan0/wireless": .folder,
        ])

        let metered = NetworkProbe(captured.tree).metered

        #expect(metered == .unknown("wlan0 is wireless, and no network manager is asked"))
    }
}
