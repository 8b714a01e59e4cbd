import Testing

@testable import Platform

@Suite struct WordingTests {
    @Test(
        arguments: [
            ("retrys", "retry"), ("rtery", "retry"), ("timezone", "time_zone"),
            ("timeZone", "time_zone"), ("Retry", "retry"), ("memory-limits", "memory_limit"),
            ("mem", "memory_limit"), ("tim", nil), ("retri", "retry"), ("rerri", nil),
            ("i", nil), ("xx", nil), ("colour", nil), ("", nil),
        ] as [(String, String?)])
    func `the nearest name is the one that few slips lead to`(typed: String, near: String?) {
        let names = ["id", "on", "retry", "time_zone", "timeout", "memory_limit", "then"]

        #expect(nearest(to: typed, among: names) == near)
    }

    @Test func `of equally near names the first wins`() {
        #expect(nearest(to: "bat", among: ["cat", "hat"]) == "cat")
    }

    @Test(arguments: [
        ("plain", "`plain`"), ("", "``"), ("\u{1B}[2J\u{202E}", "`<U+001B>[2J<U+202E>`"),
        (String(repeating: "x", count: 61), "`" + String(repeating: "x", count: 60) + "...`"),
        ("a\u{301}\u{301}\u{301}\u{301}\u{301}", "`a\u{301}\u{301}\u{301}`"),
    ])
    func `text from a file is shown short and harmless`(text: String, expected: String) {
        #expect(shown(text).unicodeScalars.elementsEqual(expected.unicodeScalars))
    }

    @Test(
        arguments: [
            ([], ""), (["a"], "`a`"), (["a", "b"], "`a` or `b`"),
            (["a", "b", "c"], "`a`, `b` or `c`"),
        ] as [([String], String)])
    func `names are listed as people list them`(names: [String], expected: String) {
        #expect(listed(names, "or") == expected)
    }
}
