import JSON
import Testing

@Suite("Writing JSON")
struct JSONWriterTests {
    @Test(
        arguments: [
            (.null, "null"), (.bool(true), "true"), (.integer(-12), "-12"),
            (.string("plain"), "\"plain\""), (.string("a\"b\\c"), "\"a\\\"b\\\\c\""),
            (.string("line\nfeed\ttab\rreturn"), "\"line\\nfeed\\ttab\\rreturn\""),
            (.string("\u{1B}[31m\u{7F}"), "\"\\u001b[31m\\u007f\""),
            (.string("\u{9B}31m\u{A0}\u{80}"), "\"\\u009b31m\u{A0}\\u0080\""),
            // Characters that change the text direction, or that some readers take for line ends.
            (.string("a\u{202E}b\u{2069}\u{200F}"), "\"a\\u202eb\\u2069\\u200f\""),
            (.string("\u{61C}\u{61D}\u{2028}\u{2030}"), "\"\\u061c\u{61D}\\u2028\u{2030}\""),
            (.string("h\u{E9} \u{1F600}"), "\"h\u{E9} \u{1F600}\""), (.array([]), "[]"),
            (.object([]), "{}"), (.number(2.5), "2.5"), (.number(.infinity), "null"),
            (.number(.nan), "null"), (.integer(.min), "-9223372036854775808"),
            (["b": 1, "a": [.null, false]], "{\"b\":1,\"a\":[null,false]}"),
        ] as [(JSON, String)])
    func `a value is one line of RFC 8259`(value: JSON, line: String) {
        #expect(value.line == line)
    }

    @Test func `a page has each element on its own line`() {
        let page = JSON.array([["a": 1, "b": [2]], []]).page

        #expect(page == "[\n  {\n    \"a\": 1,\n    \"b\": [\n      2\n    ]\n  },\n  []\n]")
    }

    @Test func `what is written is read again as it was`() throws {
        let value: JSON = [
            "text": "a\u{0}b\u{7F}\u{85}\u{A0}\u{E9}\u{1F600}\u{202E}\u{61C}\"\\",
            "numbers": [-1, 0.1, 1e300],
            "nested": [[], [:], [.null, true]],
        ]

        #expect(try JSONParser.parse(value.bytes) == value)
        #expect(try JSONParser.parse(Array(value.page.utf8)) == value)
    }

    @Test func `a description, or nothing, is a string or null`() {
        #expect(JSON.text(12) == "12")
        #expect(JSON.text(String?.none) == .null)
    }
}
