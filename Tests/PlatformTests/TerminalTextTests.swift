import Testing

@testable import Platform

struct TerminalTextTests {
    @Test(arguments: [
        ("a\u{1B}[31mb", "a\u{FFFD}[31mb"), ("a\u{202E}b", "a\u{FFFD}b"),
        ("a\nb\tc", "a\u{FFFD}b\u{FFFD}c"), ("a\u{2028}b\u{9B}", "a\u{FFFD}b\u{FFFD}"),
        // The joiners of an emoji and of a word.
        ("\u{1F468}\u{200D}\u{1F469}", "\u{1F468}\u{200D}\u{1F469}"),
        ("\u{645}\u{200C}\u{647}", "\u{645}\u{200C}\u{647}"), ("plain", "plain"),
    ])
    func `printable text cannot steer a terminal`(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    @Test func `printable lines keep their line ends`() {
        #expect("a\u{7}\nb\r\n".printableLines == "a\u{FFFD}\nb\u{FFFD}\n")
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("\u{E4}bcdef", 6, "\u{E4}b..."),
    ])
    func `a text is cut between characters`(text: String, limit: Int, cut: String) {
        #expect(text.cut(toBytes: limit) == cut)
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "abc"), ("a\u{E9}\u{E9}", 4, "a\u{E9}"),
        ("\u{20AC}\u{20AC}", 5, "\u{20AC}"), ("\u{1F600}", 3, ""), ("e\u{301}", 2, "e"),
    ])
    func `the beginning of a text has no part of a character`(
        text: String, limit: Int, cut: String
    ) {
        #expect(Array(text.prefix(bytes: limit).utf8) == Array(cut.utf8))
    }

    @Test func `a text for a report has at most 900 bytes`() {
        #expect(String(repeating: "a", count: 1000).forReport.utf8.count == 900)
    }
}
