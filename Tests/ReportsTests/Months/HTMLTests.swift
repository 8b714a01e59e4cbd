import Testing

@testable import Reports

@Suite struct HTMLTests {
    @Test(arguments: [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a\" onload=\"x", "a&quot; onload=&quot;x"), ("it's & it", "it&#39;s &amp; it"),
        ("]]><!--", "]]&gt;&lt;!--"), ("&lt;", "&amp;lt;"),
        ("a\u{0}b\u{1B}c", "a\u{FFFD}b\u{FFFD}c"), ("a\u{202E}b", "a\u{FFFD}b"),
        ("a\u{FFFE}b\u{1FFFF}", "a\u{FFFD}b\u{FFFD}"), ("Zoë 😀", "Zoë 😀"),
    ])
    func `a hostile text is the same text in an element and in an attribute`(
        text: String, escaped: String
    ) {
        #expect(HTML("p", text: text).markup == "<p>\(escaped)</p>")
        #expect(HTML("p", ["title": text]).markup == "<p title=\"\(escaped)\"></p>")
    }

    @Test func `elements have their classes, attributes and content in order`() {
        let element = HTML(
            "li.card.small", ["id": "a", "lang": "en"], HTML("br"), HTML("span", text: "x"))

        #expect(
            element.markup
                == #"<li class="card small" id="a" lang="en"><br/><span>x</span></li>"#)
    }
}
