import Testing

@testable import clarity_jobs

@Suite("Writing JSON")
struct JSONTextTests {
    @Test(arguments: [
        (JSONText.null, "null"), (.bool(true), "true"), (.number(-12), "-12"),
        (.string("plain"), "\"plain\""), (.string("a\"b\\c"), "\"a\\\"b\\\\c\""),
        (.string("line\nfeed\ttab\rreturn"), "\"line\\nfeed\\ttab\\rreturn\""),
        (.string("\u{1B}[31m\u{7F}"), "\"\\u001b[31m\\u007f\""),
        (.string("\u{9B}31m"), "\"\\u009b31m\""),
        (.string("h\u{E9} \u{1F600}"), "\"h\u{E9} \u{1F600}\""), (.array([]), "[]"),
        (.object([]), "{}"),
        (
            .object([("b", .number(1)), ("a", .array([.null, .bool(false)]))]),
            "{\"b\":1,\"a\":[null,false]}"
        ),
    ])
    func `a value is one line of RFC 8259`(value: JSONText, line: String) {
        #expect(value.line == line)
    }

    @Test func `a page has each element on its own line`() {
        let page = JSONText.array([.object([("a", .number(1))]), .array([])]).page

        #expect(page == "[\n  {\n    \"a\": 1\n  },\n  []\n]")
    }
}
