import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

private typealias Wire = NetlinkBytes

@Suite struct RouteTableTests {
    typealias Fault = NetlinkMessage.Fault

    static let nothing = Wire.dump()
    static let gateway = Wire.attribute(5, [192, 0, 2, 1])

    static func routes(_ bytes: [UInt8]) throws -> RouteTable {
        try RouteTable(links: nothing, routes: bytes)
    }

    @Test func `a link has what the kernel tells of it`() throws {
        let dump = Wire.dump(
            Wire.link(1, "lo", flags: 0x1_0049, hardware: 772),
            Wire.link(
                7, "eth0.5", Wire.attribute(5, 2), Wire.attribute(10, 9),
                Wire.attribute(16, [6]), Wire.attribute(33, [1]),
                // The highest bit marks nested attributes.
                Wire.attribute(0x8000 | 18, Wire.attribute(1, "vlan"))))

        let table = try RouteTable(links: dump, routes: Self.nothing)

        #expect(
            table.links == [
                1: .init(index: 1, name: "lo", hardware: 772, flags: 0x1_0049),
                7: .init(
                    index: 7, name: "eth0.5", hardware: 1, flags: 0x1_1043, operation: 6,
                    hasCarrier: true, kind: "vlan", below: 2, master: 9),
            ])
    }

    @Test func `what is below a container's cable is not looked for here`() throws {
        let dump = Wire.dump(Wire.link(2, "eth0", Wire.attribute(5, 17), Wire.attribute(37, 0)))

        let table = try RouteTable(links: dump, routes: Self.nothing)

        #expect(table.links[2]?.below == nil)
    }

    struct RouteCase: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: [UInt8]
        var routes: [RouteTable.Route]
        var gatewayed: Set<Int32>

        init(
            _ name: String, _ bytes: [UInt8], _ routes: [RouteTable.Route],
            gatewayed: Set<Int32> = []
        ) {
            testDescription = name
            self.bytes = bytes
            self.routes = routes
            self.gatewayed = gatewayed
        }
    }

    static func route(
        _ end: RouteTable.End, family: RouteTable.Family = .ipv4, first: UInt8 = 0,
        length: UInt8 = 0, table: UInt32 = 254, metric: UInt32 = 0
    ) -> RouteTable.Route {
        .init(
            family: family, first: first, length: length, table: table, metric: metric, end: end)
    }

    static let cases: [RouteCase] = [
        RouteCase(
            "by a gateway", Wire.route(gateway, Wire.over(4), Wire.metric(100)),
            [route(.interfaces([4]), metric: 100)], gatewayed: [4]),
        RouteCase("by a cable", Wire.route(Wire.over(4)), [route(.interfaces([4]))]),
        RouteCase(
            "IPv6, by an advertisement",
            Wire.route(family: 10, Wire.over(4), Wire.metric(1024)),
            [route(.interfaces([4]), family: .ipv6, metric: 1024)]),
        RouteCase(
            "a table whose number is no byte",
            Wire.route(table: 252, Wire.attribute(15, 51820), Wire.over(4)),
            [route(.interfaces([4]), table: 51820)]),
        RouteCase(
            "half of everything",
            Wire.route(length: 1, Wire.attribute(1, [0x80, 0, 0, 0]), Wire.over(4)),
            [route(.interfaces([4]), first: 0x80, length: 1)]),
        RouteCase(
            "over several, one of them dead",
            Wire.route(
                Wire.attribute(
                    9, Wire.hop(4, gateway) + Wire.hop(5) + Wire.hop(6, flags: 1, gateway))),
            [route(.interfaces([4, 5]))], gatewayed: [4, 6]),
        RouteCase(
            "over one that is dead", Wire.route(flags: 1, Wire.over(4)), [route(.interfaces([]))]),
        RouteCase(
            "over a next hop of its own", Wire.route(Wire.attribute(30, 12)),
            [route(.nextHop(12))]),
        RouteCase("a blackhole", Wire.route(type: 6), [route(.refusal("a blackhole"))]),
        RouteCase("unreachable", Wire.route(type: 7), [route(.refusal("unreachable"))]),
        RouteCase("prohibited", Wire.route(type: 8), [route(.refusal("prohibited"))]),
        RouteCase("on to the next rule", Wire.route(type: 9), [route(.nextRule)]),
        RouteCase(
            "to one network, which still tells who has a gateway",
            Wire.route(length: 8, Wire.attribute(1, [10, 0, 0, 0]), gateway, Wire.over(4)), [],
            gatewayed: [4]),
        RouteCase("in the local table", Wire.route(table: 255, Wire.over(4)), []),
        RouteCase("to this machine", Wire.route(type: 2, Wire.over(1)), []),
        RouteCase("multicast routing", Wire.route(family: 128, Wire.over(4)), []),
        RouteCase("for one type of service", Wire.route(service: 8, Wire.over(4)), []),
        RouteCase("the memory of one that was used", Wire.route(flags: 0x200, Wire.over(4)), []),
    ]

    @Test(arguments: cases)
    func `a route leads where the kernel says`(_ row: RouteCase) throws {
        let table = try Self.routes(Wire.dump(row.bytes))

        #expect(table.routes == row.routes)
        #expect(table.gatewayed == row.gatewayed)
    }

    struct Garbage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: [UInt8]
        var fault: Fault

        init(_ name: String, _ bytes: [UInt8], _ fault: Fault) {
            testDescription = name
            self.bytes = bytes
            self.fault = fault
        }
    }

    static func answer(_ payload: [UInt8]) -> [UInt8] {
        Wire.dump(Wire.message(Wire.newRoute, payload))
    }

    static let garbage: [Garbage] = [
        Garbage("nothing", [], .cutShort),
        Garbage("no end", Wire.route(Wire.over(4)), .cutShort),
        Garbage(
            "a message of no length", [UInt8](repeating: 0, count: 16),
            .malformed("a message of 0 bytes, with 16 left")),
        Garbage(
            "a message longer than there is",
            Wire.bytes(UInt32.max) + [UInt8](repeating: 9, count: 12),
            .malformed("a message of 4294967295 bytes, with 16 left")),
        Garbage("half a header", [16, 0, 0], .malformed("3 bytes after the last message")),
        Garbage("a refusal", Wire.message(Wire.failure, Wire.bytes(Int32(-1))), .refused(1)),
        Garbage(
            "a refusal at the end", Wire.message(Wire.done, Wire.bytes(Int32(-12))), .refused(12)),
        Garbage(
            "a refusal without a number", Wire.message(Wire.failure, [1]),
            .malformed("an error without its number")),
        Garbage("an overrun", Wire.message(4, []), .malformed("an overrun")),
        Garbage(
            "a change meanwhile",
            Wire.message(Wire.newRoute, flags: 0x12, [UInt8](repeating: 0, count: 12))
                + Wire.message(Wire.done, []), .interrupted),
        Garbage("a route too short", answer([2, 0, 0]), .malformed("a route of 3 bytes")),
        Garbage(
            "an attribute of no length", Wire.dump(Wire.route([0, 0, 4, 0])),
            .malformed("an attribute that does not fit, with 4 left")),
        Garbage(
            "an attribute longer than there is", Wire.dump(Wire.route([9, 0, 4, 0, 1, 0, 0, 0])),
            .malformed("an attribute that does not fit, with 8 left")),
        Garbage(
            "an interface of three bytes", Wire.dump(Wire.route(Wire.attribute(4, [1, 0, 0]))),
            .malformed("attribute 4 of 3 bytes")),
        Garbage(
            "a next hop of no length",
            Wire.dump(Wire.route(Wire.attribute(9, [UInt8](repeating: 0, count: 8)))),
            .malformed("a next hop that does not fit, with 8 left")),
    ]

    @Test(arguments: garbage)
    func `what is no answer is refused with the reason`(_ row: Garbage) {
        #expect(throws: row.fault) { try Self.routes(row.bytes) }
    }

    @Test(arguments: ["", "..", "a/b"])
    func `a link whose name could leave its folder is no link`(_ name: String) {
        #expect(throws: Fault.malformed("a link without a name")) {
            try RouteTable(links: Wire.dump(Wire.link(2, name)), routes: Self.nothing)
        }
    }

    @Test func `a success without an answer is passed over`() throws {
        let acknowledged = Wire.message(Wire.failure, Wire.bytes(Int32(0)))

        let table = try Self.routes(acknowledged + Wire.dump(Wire.route(Wire.over(4))))

        #expect(table.routes == [Self.route(.interfaces([4]))])
    }

    /// The answer of a Linux 6.18 kernel about its main and local tables: two IPv4 routes, one of
    /// them the default route, and the IPv6 default route.
    static let captured = [
        "340000001800020007000000ad29000002000000fe0300010000000008000f00fe00000008000500c00002010800",
        "0400040000003c0000001800020007000000ad29000002180000fe02fd010000000008000f00fe00000008000100",
        "c000020008000700c000020208000400040000003c0000001800020007000000ad29000002080000ff02fe020000",
        "000008000f00ff000000080001007f000000080007007f0000010800040001000000740000001800020007000000",
        "ad2900000a000000fe0300010000000008000f00fe000000080006000004000014000500fd000000000000000000",
        "000000000001080004000400000024000c0000000000000000000000000000000000000000000000000000000000",
        "000000000500140000000000140000000300020007000000ad29000000000000",
    ].joined()

    static var capturedBytes: [UInt8] {
        let digits = captured.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { place in
            UInt8(digits[place] * 16 + digits[place + 1])
        }
    }

    @Test func `a real answer is understood`() throws {
        let table = try Self.routes(Self.capturedBytes)

        #expect(
            table.routes == [
                Self.route(.interfaces([4])),
                Self.route(.interfaces([4]), family: .ipv6, metric: 1024),
            ])
        #expect(table.gatewayed == [4])
    }

    @Test func `an answer cut short anywhere is no answer`() {
        let whole = Self.capturedBytes
        // The end message is valid without its number, which is the last four bytes.
        for count in 0..<whole.count - 4 {
            #expect(throws: Fault.self) { try Self.routes(Array(whole.prefix(count))) }
        }
    }

    @Test func `whatever the bytes are, reading them ends`() {
        var generator = SeededGenerator(seed: TrialSeed.first)
        let whole = Self.capturedBytes
        for _ in 0..<3000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            // Any result is right, even a fault, as long as nothing crashes.
            _ = Result { try RouteTable(links: bytes, routes: bytes) }
            _ = RouteNews.matters(bytes[...])
        }
    }
}
