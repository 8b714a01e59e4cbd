import Testing

@testable import Backend
@testable import BackendContract

@Suite struct ServerWordsTests {
    @Test(arguments: [
        ("Input should be less than or equal to 220", "Input should be less than or equal to #"),
        ("heart rate 117.31415 is too high", "heart rate # is too high"),
        ("got -1.5e+10 mg/dL", "got -# mg/dL"),
        ("at 2026-11-20T06:00:00Z, or later", "at # or later"),
        ("unknown source 'Ada\u{2019}s Watch'", "unknown source ..."),
        ("unknown source \"Ada's \u{1F40E}\" here", "unknown source ... here"),
        ("`note` is \u{201C}fell asleep\u{201D}", "... is ..."),
        ("it doesn't fit", "it doesn't fit"),
        ("bad input {\"value\": 72, \"x\": [1]} given", "bad input ... given"),
        ("never closed 'secret words", "never closed ..."),
        ("tabs\tand\u{1B}[31m lines\r\nhere", "tabs and ..."),
        ("one\u{202E}two", "one two"),
        ("\u{FF17}\u{FF12} beats", "# beats"),
    ])
    func `values and quotations are taken out of a sentence`(sentence: String, wanted: String) {
        #expect(ServerWords.redacted(sentence) == wanted)
    }

    @Test(arguments: ["", "72", "\"72\"", "  ", "{\"a\": 1}", "12:30 - 14:00"])
    func `of a sentence that is only values nothing is kept`(sentence: String) {
        #expect(ServerWords.redacted(sentence) == nil)
    }

    @Test func `a long sentence is cut`() throws {
        let words = try #require(
            ServerWords.redacted(String(repeating: "too high \u{E9} ", count: 1000)))

        #expect(words.utf8.count <= 160 && words.hasSuffix("..."))
    }
}
