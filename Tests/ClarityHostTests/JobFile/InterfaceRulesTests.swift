import Testing

@testable import ClarityHost

@Suite struct InterfaceRulesTests {
    static let matches: [(pattern: String, name: String, isMatch: Bool)] = [
        ("wwan*", "wwan0", true), ("wwan*", "wwan", true), ("wwan*", "wwa", false),
        ("wl?0", "wlp0", true), ("wl?0", "wl0", false), ("wl?0", "wlpp0", false),
        ("*", "anything", true), ("*", "", true), ("", "", true), ("", "eth0", false),
        ("?", "", false), ("eth0", "eth0", true), ("eth0", "eth01", false),
        ("eth0", "Eth0", false), ("*usb*", "enx0usb0", true), ("*usb*", "enxus0b", false),
        ("e*0*1", "eth0a01", true), ("e*0*1", "eth0a02", false), ("**a", "ba", true),
        ("*ab", "aab", true), ("en[ps]*", "enp3s0", false), ("en[ps]*", "en[ps]1", true),
        ("a\\*", "a*", false), ("a\\*", "a\\b", true),
        ("*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
    ]

    @Test(arguments: matches)
    func `a pattern matches the whole of a name`(
        _ row: (pattern: String, name: String, isMatch: Bool)
    ) {
        #expect(InterfaceRules.matches(row.pattern, row.name) == row.isMatch)
    }

    @Test func `the first rule that matches counts`() {
        let rules = InterfaceRules([
            .init("wlan0", .unmetered), .init("wl*", .metered), .init("*", .roaming),
        ])

        #expect(rules.rule(for: "wlan0")?.nature == .unmetered)
        #expect(rules.rule(for: "wlp3s0")?.nature == .metered)
        #expect(rules.rule(for: "eth0")?.nature == .roaming)
        #expect(InterfaceRules().rule(for: "eth0") == nil)
    }
}
