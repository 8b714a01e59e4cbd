import Testing

@testable import Import

@Suite struct ReferenceTests {
    @Test(arguments: [
        ("plain", "plain"), ("a &amp; b", "a & b"), ("&lt;&gt;&quot;&apos;", "<>\"'"),
        ("Alex&#8217;s", "Alex\u{2019}s"), ("Alex&#x2019;s", "Alex\u{2019}s"),
        ("mmol&lt;180.1558800000541&gt;/L", "mmol<180.1558800000541>/L"),
        ("&amp;lt;", "&lt;"), ("Salt & Pepper", "Salt & Pepper"), ("&made-up;", "&made-up;"),
        ("&", "&"), ("&;", "&;"), ("&#;", "&#;"), ("&#x;", "&#x;"), ("&#xG;", "&#xG;"),
        ("a&#x0B;b", "a b"), ("&#xD800;", " "), ("&#1114112;", " "), ("&#99999999999;", " "),
        ("a\u{0B}b", "a b"),
    ])
    func `references are decoded and nothing else is lost`(text: String, wanted: String) {
        let decoded = Array(text.utf8).withUnsafeBufferPointer { Reference.text($0) }

        #expect(decoded == wanted)
    }
}
