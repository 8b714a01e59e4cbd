import ClarityScheduler
import Testing

@testable import ClarityClient

@Suite("JSON bytes")
struct JSONBytesTests {
    @Test(arguments: [
        ("plain", #"{"t":"plain"}"#), ("", #"{"t":""}"#), ("é😀", #"{"t":"é😀"}"#),
        ("a\"b", #"{"t":"a\"b"}"#), ("a\\b", #"{"t":"a\\b"}"#),
        ("a\nb", #"{"t":"a\u000ab"}"#), ("\u{1F}", #"{"t":"\u001f"}"#),
        ("\u{7F}", "{\"t\":\"\u{7F}\"}"),
        (
            "a text longer than any that fits a word \"",
            #"{"t":"a text longer than any that fits a word \""}"#
        ),
    ])
    func `a text is escaped where JSON asks for it, and only there`(text: String, json: String) {
        var writer = JSONWriter()

        writer.object { $0.field("t", text) }

        #expect(String(decoding: writer.bytes, as: UTF8.self) == json)
    }

    @Test func `an instant is written as it describes itself`() {
        let instants = [
            Instant(millisecondsSince1970: 0), Instant(millisecondsSince1970: 1_795_158_000_123),
            Instant(millisecondsSince1970: -62_198_755_200_000),
            Instant(millisecondsSince1970: 253_402_300_800_000),
        ]
        for instant in instants {
            var writer = JSONWriter()

            writer.object { $0.field("t", instant) }

            #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\"t\":\"\(instant)\"}")
        }
    }
}
