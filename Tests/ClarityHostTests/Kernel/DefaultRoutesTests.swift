import Testing

@testable import ClarityHost

/// A machine's links and routes, and the result that a test expects.
struct NetworkCase<Expected: Sendable>: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var links: [RouteTable.Link]
    var routes: [RouteTable.Route]
    var gatewayed: Set<Int32>
    var expected: Expected

    init(
        _ name: String, _ links: [RouteTable.Link], _ routes: [RouteTable.Route],
        gatewayed: Set<Int32> = [], _ expected: Expected
    ) {
        testDescription = name
        self.links = links
        self.routes = routes
        self.gatewayed = gatewayed
        self.expected = expected
    }

    var table: RouteTable {
        RouteTable(
            links: Dictionary(uniqueKeysWithValues: links.map { ($0.index, $0) }), routes: routes,
            gatewayed: gatewayed)
    }
}

extension RouteTable.Link {
    static let (down, noCarrier, up): (UInt32, UInt32, UInt32) = (0x1002, 0x1003, 0x1_1043)

    /// Makes a working Ethernet link, unless arguments say otherwise.
    static func test(
        _ index: Int32, _ name: String, flags: UInt32 = up, operation: UInt8 = 6,
        carrier: Bool? = true, kind: String? = nil, hardware: UInt16 = 1, below: Int32? = nil,
        master: Int32? = nil
    ) -> RouteTable.Link {
        .init(
            index: index, name: name, hardware: hardware, flags: flags, operation: operation,
            hasCarrier: carrier, kind: kind, below: below, master: master)
    }

    static let lo = test(1, "lo", flags: 0x1_0049, operation: 0, hardware: 772)
    static let eth0 = test(2, "eth0")
    static let wlan0 = test(3, "wlan0")
    static let wg0 = test(4, "wg0", operation: 0, kind: "wireguard", hardware: 65534)
}

extension RouteTable.Route {
    /// Makes a default route of IPv4's main table, unless arguments say otherwise.
    static func test(
        _ interfaces: Int32..., family: RouteTable.Family = .ipv4, to first: UInt8 = 0,
        length: UInt8 = 0, table: UInt32 = 254, metric: UInt32 = 0, end: RouteTable.End? = nil
    ) -> RouteTable.Route {
        .init(
            family: family, first: first, length: length, table: table, metric: metric,
            end: end ?? .interfaces(interfaces))
    }
}

@Suite struct DefaultRoutesTests {
    typealias Answer = DefaultRoutes.Answer

    static let cases: [NetworkCase<Answer>] = [
        .init(
            "a cable", [.lo, .eth0], [.test(2)], .open("default route over eth0 in table main")),
        .init(
            "IPv6 alone", [.lo, .eth0], [.test(2, family: .ipv6, metric: 1024)],
            .open("default route over eth0 in table main")),
        .init(
            "a table of a VPN's own", [.eth0, .wg0], [.test(4, table: 51820)],
            .open("default route over wg0 in table 51820")),
        .init(
            "the lowest metric is named", [.eth0, .wlan0],
            [.test(3, metric: 600), .test(2, metric: 100)],
            .open("default route over eth0 in table main")),
        .init(
            "the main table is named first", [.eth0, .wlan0], [.test(3, table: 100), .test(2)],
            .open("default route over eth0 in table main")),
        .init(
            "another one works", [.test(2, "eth0", flags: 0x1003, carrier: false), .wlan0],
            [.test(2, metric: 100), .test(3, metric: 600)],
            .open("default route over wlan0 in table main")),
        .init(
            "one of several next hops works",
            [.test(2, "eth0", flags: RouteTable.Link.down), .wlan0], [.test(2, 3)],
            .open("default route over wlan0 in table main")),
        .init("no routes", [.lo, .eth0], [], .closed("no default route")),
        .init(
            "down", [.test(2, "eth0", flags: RouteTable.Link.down, operation: 2)], [.test(2)],
            .closed("default route over eth0, which is down")),
        .init(
            "a pulled cable",
            [.test(2, "eth0", flags: RouteTable.Link.noCarrier, operation: 2, carrier: false)],
            [.test(2)], .closed("default route over eth0, which has no carrier")),
        .init(
            "a pulled cable, by its flags alone",
            [.test(2, "eth0", flags: RouteTable.Link.noCarrier, operation: 0, carrier: nil)],
            [.test(2)], .closed("default route over eth0, which has no carrier")),
        .init(
            "a pulled cable, by its state alone", [.test(2, "eth0", operation: 2, carrier: nil)],
            [.test(2)], .closed("default route over eth0, which has no carrier")),
        .init(
            "below it is no carrier", [.test(2, "eth0.5", operation: 3)], [.test(2)],
            .closed("default route over eth0.5, which has no carrier")),
        .init(
            "Wi-Fi that is not let in yet", [.test(3, "wlan0", operation: 5)], [.test(3)],
            .closed("default route over wlan0, which is not ready")),
        .init(
            "a state nobody knows", [.test(2, "eth0", operation: 99)], [.test(2)],
            .closed("default route over eth0, which is not ready")),
        .init("the loopback interface", [.lo], [.test(1)], .closed("no default route")),
        .init("a link that is gone", [.lo], [.test(9)], .closed("no default route")),
        .init(
            "a blackhole", [.eth0], [.test(end: .refusal("a blackhole"))],
            .closed("the default route in table main is a blackhole")),
        .init(
            "a refusal that comes first", [.eth0],
            [.test(2, metric: 200), .test(metric: 100, end: .refusal("unreachable"))],
            .closed("the default route in table main is unreachable")),
        .init(
            "a refusal that comes last", [.eth0],
            [.test(2, metric: 100), .test(metric: 200, end: .refusal("unreachable"))],
            .open("default route over eth0 in table main")),
        .init(
            "a refusal in another table", [.eth0],
            [.test(table: 52, end: .refusal("a blackhole")), .test(2)],
            .open("default route over eth0 in table main")),
        .init(
            "the kernel's own last entry", [.eth0],
            [.test(family: .ipv6, metric: .max, end: .refusal("unreachable"))],
            .closed("no default route")),
        .init(
            "on to a rule that leads nowhere", [.eth0],
            [.test(metric: 1, end: .nextRule), .test(2, metric: 2)], .closed("no default route")),
        .init(
            "a next hop of its own", [.eth0], [.test(end: .nextHop(7))],
            .unknown("default route over next hop 7, whose interface is not told")),
        .init(
            "two halves", [.eth0, .wg0], [.test(4, length: 1), .test(4, to: 0x80, length: 1)],
            .open("default route over wg0 in table main")),
        .init(
            "one half", [.eth0, .wg0], [.test(4, to: 0x80, length: 1)],
            .closed("no default route")),
        .init(
            "halves of two tables", [.eth0, .wg0],
            [.test(4, length: 1), .test(4, to: 0x80, length: 1, table: 7)],
            .closed("no default route")),
        .init(
            "halves of two families", [.eth0, .wg0],
            [.test(4, length: 1), .test(4, family: .ipv6, to: 0x80, length: 1)],
            .closed("no default route")),
        .init(
            "two halves, one of them broken",
            [.eth0, .test(5, "tun0", flags: RouteTable.Link.down, kind: "tun")],
            [.test(2, length: 1), .test(5, to: 0x80, length: 1)],
            .closed("default route over tun0, which is down")),
        .init(
            "two halves that refuse hide the default route", [.eth0],
            [
                .test(2), .test(length: 1, end: .refusal("a blackhole")),
                .test(to: 0x80, length: 1, end: .refusal("a blackhole")),
            ], .closed("the default route in table main is a blackhole")),
        .init(
            "all addresses of IPv6 in use", [.eth0],
            [.test(2, family: .ipv6, to: 0x20, length: 3)],
            .open("default route over eth0 in table main")),
        .init(
            "all addresses of IPv6 in use, in two halves", [.eth0],
            [
                .test(2, family: .ipv6, to: 0x20, length: 4),
                .test(2, family: .ipv6, to: 0x30, length: 4),
            ], .open("default route over eth0 in table main")),
        .init(
            "a tunnel over a pulled cable",
            [.test(2, "eth0", flags: RouteTable.Link.noCarrier, carrier: false), .wg0],
            [.test(4, table: 51820)],
            .closed(
                "default route over wg0, which is a tunnel, and nothing that works is below it")),
        .init(
            "a tunnel beside the cables of containers",
            [.wg0, .test(8, "docker0", kind: "bridge")], [.test(4)],
            .closed(
                "default route over wg0, which is a tunnel, and nothing that works is below it")),
        .init(
            "a tunnel over a bridge that leads to a gateway",
            [.wg0, .test(8, "br0", kind: "bridge")], [.test(4)], gatewayed: [8],
            .open("default route over wg0 in table main")),
        .init(
            "a bond counts by its own carrier",
            [
                .test(5, "bond0", kind: "bond"),
                .test(2, "eth0", flags: RouteTable.Link.noCarrier, carrier: false, master: 5),
            ], [.test(5)], .open("default route over bond0 in table main")),
    ]

    @Test(arguments: cases)
    func `a working default route in any table is a way out`(_ row: NetworkCase<Answer>) {
        let answer = DefaultRoutes(row.table).answer

        #expect(answer == row.expected)
    }

    static let deciding: [NetworkCase<[String]>] = [
        .init("none", [.eth0], [], []),
        .init(
            "the lowest metric decides", [.eth0, .wlan0],
            [.test(3, metric: 600), .test(2, metric: 100)], ["eth0"]),
        .init(
            "the lowest metric that works decides",
            [.test(2, "eth0", flags: RouteTable.Link.down), .wlan0],
            [.test(3, metric: 600), .test(2, metric: 100)], ["wlan0"]),
        .init(
            "equal metrics decide together", [.eth0, .wlan0],
            [.test(3, metric: 100), .test(2, metric: 100)], ["wlan0", "eth0"]),
        .init(
            "families decide together", [.eth0, .wlan0],
            [.test(2, metric: 100), .test(3, family: .ipv6, metric: 1024)], ["eth0", "wlan0"]),
        .init(
            "tables decide together, each link once", [.eth0, .wlan0],
            [.test(3, table: 7), .test(2, metric: 100), .test(2, table: 8)], ["eth0", "wlan0"]),
        .init("all next hops of a route", [.eth0, .wlan0], [.test(2, 3)], ["eth0", "wlan0"]),
        .init(
            "a tunnel is what carries it", [.eth0, .wlan0, .wg0],
            [.test(4, table: 51820), .test(3, metric: 600)], ["wlan0"]),
        .init(
            "a tunnel in two halves is what carries it", [.eth0, .wlan0, .wg0],
            [.test(4, length: 1), .test(4, to: 0x80, length: 1), .test(3, metric: 600)], ["wlan0"]),
        .init(
            "a tunnel alone may be carried by any", [.eth0, .wlan0, .wg0], [.test(4)],
            ["eth0", "wlan0"]),
    ]

    @Test(arguments: deciding)
    func `what a connection costs is decided by what it is over`(_ row: NetworkCase<[String]>) {
        let links = DefaultRoutes(row.table).decidingLinks { _ in false }

        #expect(links.map(\.name) == row.expected)
    }

    @Test func `a tunnel that a rule names decides for itself`() {
        let row = NetworkCase("", [.wlan0, .wg0], [.test(4, table: 51820)], ())

        let links = DefaultRoutes(row.table).decidingLinks { $0 == "wg0" }

        #expect(links.map(\.name) == ["wg0"])
    }
}
