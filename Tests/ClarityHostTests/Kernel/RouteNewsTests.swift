import Testing

@testable import ClarityHost

private typealias Wire = NetlinkBytes

@Suite struct RouteNewsTests {
    static let announcements: [(name: String, bytes: [UInt8], matters: Bool)] = [
        ("a link", Wire.link(2, "eth0"), true),
        ("a link that is gone", Wire.message(17, [UInt8](repeating: 0, count: 16)), true),
        ("news of Wi-Fi", Wire.link(3, "wlan0", Wire.attribute(11, [1, 2, 3, 4])), false),
        ("a route", Wire.route(Wire.over(2)), true),
        ("a route that is gone", Wire.message(25, []), true),
        ("a rule", Wire.message(32, []), true),
        ("a rule that is gone", Wire.message(33, []), true),
        ("an address", Wire.message(20, []), false),
        ("an address that is gone", Wire.message(21, []), true),
        ("a next hop", Wire.message(104, []), true),
        ("a next hop that is gone", Wire.message(105, []), true),
        ("a neighbour", Wire.message(28, []), false),
        (
            "something behind what does not matter",
            Wire.message(20, []) + Wire.message(25, []), true
        ),
        ("nothing", [], false),
        ("garbage", [1, 2, 3], true),
        (
            "a link cut short", Wire.message(16, [UInt8](repeating: 0, count: 16) + [9, 0, 3, 0]),
            true
        ),
    ]

    @Test(arguments: announcements)
    func `links, routes and rules matter, and what cannot be read`(
        _ row: (name: String, bytes: [UInt8], matters: Bool)
    ) {
        #expect(RouteNews.matters(row.bytes[...]) == row.matters, "\(row.name)")
    }
}
