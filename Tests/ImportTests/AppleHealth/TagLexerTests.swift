import Testing

@testable import Import

@Suite struct TagLexerTests {
    /// Lexes the attributes of a tag, and audits the same bytes.
    private func lex(_ text: [UInt8]) -> (isPlain: Bool, isClean: Bool, end: TagEnd) {
        text.withUnsafeBufferPointer { bytes in
            var lexer = TagLexer<RecordFields>()
            let end = lexer.lex(bytes, from: 0)
            var tally = MalformationTally()
            if case .complete(let next, _) = end {
                TagAudit.audit(bytes, from: 0, to: next, position: 0, into: &tally)
            }
            return (lexer.isPlain, tally.isEmpty, end)
        }
    }

    /// A record's attributes as a phone writes them.
    private static let usual =
        #" type="HKQuantityTypeIdentifierHeartRate" sourceName="Ana’s Watch &amp; é" "#
        + #"sourceVersion="8.7" device="&lt;&lt;HKDevice: 0x2803d9810&gt;, name:Watch&gt;" "#
        + #"unit="count/min" creationDate="2024-01-21 08:30:00 -0500" "#
        + #"startDate="2024-01-21 08:30:00 -0500" endDate="2024-01-21 08:30:00 -0500" value="61"/>"#

    @Test func `a record as a phone writes it is seen to be plain on the way`() {
        let text = Array(TagLexerTests.usual.utf8)

        let result = lex(text + [UInt8](repeating: 0x20, count: 16))

        #expect(result.isPlain)
        #expect(result.isClean)
    }

    @Test func `a tag is taken for plain only where an audit finds nothing in it`() {
        let bytes = Array(TagLexerTests.usual.utf8) + [UInt8](repeating: 0x20, count: 16)
        let marks: [UInt8] = Array("<>\"'/=&; \n\t".utf8) + [0, 0x0B, 0x1F, 0x7F, 0x80, 0xBF]
        let others: [UInt8] = [0xC0, 0xC2, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xFF]
        var plain = 0
        for place in 0..<bytes.count - 16 {
            for mark in marks + others {
                var text = bytes
                text[place] = mark

                let result = lex(text)

                if result.isPlain { plain += 1 }
                #expect(!result.isPlain || result.isClean, "byte \(mark) at \(place)")
            }
        }
        #expect(plain > 1000)
    }

    @Test(arguments: [" type", " type=", " type=\"a", " type=\"a\" ", " type=\"a\" /", " a b"])
    func `a tag that does not end in the bytes is incomplete`(text: String) {
        guard case .incomplete = lex(Array(text.utf8)).end else {
            Issue.record("\(text) is taken for whole")
            return
        }
    }

    @Test func `a tag without an equals sign ends at its own end`() throws {
        let body = String(repeating: "<X a><X b>", count: 100_000)

        let report = try ScannedText(body: body).report

        #expect(report.malformations == ["attribute without a value": 200_000])
    }
}
