import Testing

@testable import ClarityHost

private typealias Wire = NetlinkBytes

@Suite struct RouteNewsTests {
    struct Row: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var matters: Bool

        init(_ name: String, _ bytes: [UInt8], _ matters: Bool) {
            testDescription = name
            self.bytes = bytes
            self.matters = matters
        }
    }

    static let announcements = [
        Row("a link", Wire.link(2, "eth0"), true),
        Row("a link that is gone", Wire.message(17, [UInt8](repeating: 0, count: 16)), true),
        Row("news of Wi-Fi", Wire.link(3, "wlan0", Wire.attribute(11, [1, 2, 3, 4])), false),
        Row("a route", Wire.route(Wire.over(2)), true),
        Row("a route that is gone", Wire.message(25, []), true),
        Row("a rule", Wire.message(32, []), true),
        Row("a rule that is gone", Wire.message(33, []), true),
        Row("an address", Wire.message(20, []), false),
        Row("an address that is gone", Wire.message(21, []), true),
        Row("a next hop", Wire.message(104, []), true),
        Row("a next hop that is gone", Wire.message(105, []), true),
        Row("a neighbour", Wire.message(28, []), false),
        Row(
            "something behind what does not matter",
            Wire.message(20, []) + Wire.message(25, []), true
        ),
        Row("nothing", [], false),
        Row("garbage", [1, 2, 3], true),
        Row(
            "a link cut short", Wire.message(16, [UInt8](repeating: 0, count: 16) + [9, 0, 3, 0]),
            true
        ),
    ]

    @Test(arguments: announcements)
    func `links, routes and rules matter, and what cannot be read`(_ row: Row) {
        #expect(RouteNews.matters(row.bytes[...]) == row.matters)
    }
}
