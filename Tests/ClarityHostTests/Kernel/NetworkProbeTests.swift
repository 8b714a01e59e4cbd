import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct NetworkProbeTests {
    typealias Reading = Conditions.Reading<Bool>

    static func probe(
        _ links: [RouteTable.Link], _ routes: [RouteTable.Route], _ captured: CapturedTree,
        _ rules: InterfaceRules = InterfaceRules()
    ) -> NetworkProbe {
        let table = NetworkCase("", links, routes, ()).table
        return NetworkProbe(
            captured.tree, routes: RouteSource { table }, rules: rules)
    }

    @Test func `an answer names its source, the interface and the table`() throws {
        let captured = try CapturedTree([:])

        #expect(
            Self.probe([.eth0], [.test(2)], captured).connected
                == Reading(true, source: "rtnetlink: default route over eth0 in table main"))
        #expect(
            Self.probe([.eth0], [], captured).connected
                == Reading(false, source: "rtnetlink: no default route"))
        #expect(
            Self.probe([.eth0], [.test(end: .nextHop(7))], captured).connected
                == .unknown(
                    "rtnetlink: default route over next hop 7, whose interface is not told"))
    }

    @Test func `a kernel that does not answer leaves all of it unknown`() throws {
        let captured = try CapturedTree([:])

        let probe = NetworkProbe(captured.tree, routes: .none("Permission denied"))

        let unknown = Reading.unknown("rtnetlink: Permission denied")
        #expect(probe.connected == unknown)
        #expect(probe.metered == unknown)
        #expect(probe.roaming == unknown)
    }

    @Test func `garbage from the kernel leaves all of it unknown`() throws {
        let captured = try CapturedTree([:])

        let probe = NetworkProbe(
            captured.tree,
            routes: RouteSource { () throws(RouteSource.Fault) in
                try RouteSource.decoded([1, 2], [])
            })

        #expect(
            probe.connected
                == .unknown(
                    "rtnetlink: not an answer of the kernel: 2 bytes after the last message"))
    }

    @Test func `without a connection it is not known what one costs`() throws {
        let captured = try CapturedTree([:])

        let probe = Self.probe([.eth0], [], captured)

        #expect(probe.metered == .unknown("rtnetlink: no default route"))
        #expect(probe.roaming == .unknown("rtnetlink: no default route"))
    }

    struct Wired: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var links: [RouteTable.Link]
        var sysfs: [String: CapturedTree.Entry]
        /// Why the link is not known to be wired, or `nil` if it is.
        var doubt: String?

        init(
            _ name: String, _ links: RouteTable.Link..., sysfs: [String: CapturedTree.Entry] = [:],
            doubt: String?
        ) {
            testDescription = name
            self.links = links
            self.sysfs = sysfs
            self.doubt = doubt
        }
    }

    static let pci: CapturedTree.Entry = .link("../../../bus/pci")
    static let usb: CapturedTree.Entry = .link("../../../bus/usb")

    static func onUSB(_ driver: String) -> [String: CapturedTree.Entry] {
        [
            "eth0/device/subsystem": usb,
            "eth0/device/driver": .link("../../../bus/usb/drivers/\(driver)"),
        ]
    }

    /// Machines whose first link has the default route.
    static let links: [Wired] = [
        Wired("a card", .eth0, sysfs: ["eth0/device/subsystem": pci], doubt: nil),
        Wired("a virtual machine's card", .eth0, sysfs: ["eth0/device/x": "1"], doubt: nil),
        Wired("an adapter", .eth0, sysfs: onUSB("r8152"), doubt: nil),
        Wired("a Raspberry Pi 3's own", .eth0, sysfs: onUSB("smsc95xx"), doubt: nil),
        Wired("a telephone", .eth0, sysfs: onUSB("rndis_host"), doubt: "eth0 is on USB"),
        Wired(
            "an adapter that does not tell its driver", .eth0,
            sysfs: ["eth0/device/subsystem": usb], doubt: "eth0 is on USB"),
        Wired(
            "Wi-Fi", .wlan0, sysfs: ["wlan0/wireless": .folder, "wlan0/device/subsystem": pci],
            doubt: "wlan0 is wireless"),
        Wired(
            "Wi-Fi of a kernel without wireless extensions", .wlan0,
            sysfs: ["wlan0/phy80211": .folder, "wlan0/device/subsystem": pci],
            doubt: "wlan0 is wireless"),
        Wired("a modem", .test(2, "wwan0", hardware: 65534), doubt: "wwan0 is not Ethernet"),
        Wired(
            "a dial-up line", .test(2, "ppp0", kind: "ppp", hardware: 512),
            doubt: "ppp0 is not Ethernet"),
        Wired("no sysfs", .eth0, doubt: "/sys/class/net/eth0 is not shown"),
        Wired("nothing real", .eth0, sysfs: ["eth0": .folder], doubt: "eth0 is no physical device"),
        Wired("a dummy", .test(2, "dummy0", kind: "dummy"), doubt: "dummy0 is no physical device"),
        Wired("a container's cable", .test(2, "eth0", kind: "veth"), doubt: nil),
        Wired("a VLAN in a container", .test(2, "eth0", kind: "macvlan"), doubt: nil),
        Wired(
            "a VLAN on a card", .test(5, "eth0.5", kind: "vlan", below: 2), .eth0,
            sysfs: ["eth0/device/subsystem": pci], doubt: nil),
        Wired(
            "a VLAN on Wi-Fi", .test(5, "wlan0.5", kind: "vlan", below: 3), .wlan0,
            sysfs: ["wlan0/wireless": .folder], doubt: "wlan0 is wireless"),
        Wired(
            "a bridge of a card and a container", .test(5, "br0", kind: "bridge"),
            .test(2, "eth0", master: 5), .test(6, "veth1", kind: "veth", master: 5),
            sysfs: ["eth0/device/subsystem": pci], doubt: nil),
        Wired(
            "a bond of a card and Wi-Fi", .test(5, "bond0", kind: "bond"),
            .test(2, "eth0", master: 5), .test(3, "wlan0", master: 5),
            sysfs: ["eth0/device/subsystem": pci, "wlan0/wireless": .folder],
            doubt: "wlan0 is wireless"),
        Wired(
            "links in a ring", .test(5, "a", kind: "vlan", below: 6),
            .test(6, "b", kind: "vlan", below: 5), doubt: "a is no physical device"),
    ]

    @Test(arguments: links)
    func `only wired Ethernet is known to be unmetered without a rule`(_ row: Wired) throws {
        let captured = try CapturedTree(
            Dictionary(uniqueKeysWithValues: row.sysfs.map { ("/sys/class/net/\($0)", $1) }))
        let first = try #require(row.links.first)

        let probe = Self.probe(row.links, [.test(first.index)], captured)

        let expected =
            row.doubt.map { Reading.unknown("\($0): name it in `interfaces`") }
            ?? Reading(false, source: "\(first.name) is wired")
        #expect(probe.metered == expected)
        #expect(probe.roaming == expected)
    }

    struct Ruled: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var rules: [InterfaceRules.Rule]
        var metered: Reading
        var roaming: Reading

        init(
            _ name: String, _ rules: [InterfaceRules.Rule], metered: Reading, roaming: Reading
        ) {
            testDescription = name
            self.rules = rules
            self.metered = metered
            self.roaming = roaming
        }
    }

    /// Rules for a machine with IPv4 over Wi-Fi and IPv6 over a cable.
    static let ruled: [Ruled] = [
        Ruled(
            "none", [], metered: .unknown("wlan0 is wireless: name it in `interfaces`"),
            roaming: .unknown("wlan0 is wireless: name it in `interfaces`")),
        Ruled(
            "unmetered Wi-Fi", [.init("wl*", .unmetered)],
            metered: .init(
                false, source: "`wl*` is unmetered in `interfaces`: wlan0, eth0 is wired"),
            roaming: .init(
                false, source: "`wl*` is unmetered in `interfaces`: wlan0, eth0 is wired")),
        Ruled(
            "metered Wi-Fi", [.init("wl*", .metered)],
            metered: .init(true, source: "`wl*` is metered in `interfaces`: wlan0"),
            roaming: .init(
                false, source: "`wl*` is metered in `interfaces`: wlan0, eth0 is wired")),
        Ruled(
            "roaming Wi-Fi", [.init("wl*", .roaming)],
            metered: .init(true, source: "`wl*` is roaming in `interfaces`: wlan0"),
            roaming: .init(true, source: "`wl*` is roaming in `interfaces`: wlan0")),
        Ruled(
            "a rule for the cable beats what the kernel knows, and a doubt beats a no",
            [.init("eth?", .metered)],
            metered: .init(true, source: "`eth?` is metered in `interfaces`: eth0"),
            roaming: .unknown("wlan0 is wireless: name it in `interfaces`")),
        Ruled(
            "the first that matches", [.init("wlan0", .unmetered), .init("*", .roaming)],
            metered: .init(true, source: "`*` is roaming in `interfaces`: eth0"),
            roaming: .init(true, source: "`*` is roaming in `interfaces`: eth0")),
    ]

    @Test(arguments: ruled)
    func `what people say counts, and over several links the most cautious`(_ row: Ruled) throws {
        let captured = try CapturedTree([
            "/sys/class/net/wlan0/wireless": .folder,
            "/sys/class/net/eth0/device/subsystem": Self.pci,
        ])

        let probe = Self.probe(
            [.eth0, .wlan0], [.test(3), .test(2, family: .ipv6)], captured,
            InterfaceRules(row.rules))

        #expect(probe.metered == row.metered)
        #expect(probe.roaming == row.roaming)
    }
}

extension RouteSource {
    /// A machine whose links and routes cannot be read, with the reason.
    static func none(_ reason: String) -> RouteSource {
        RouteSource { () throws(Fault) in throw Fault(reason: reason) }
    }
}
