import JSON
import Testing

@Suite("Writing JSON messages")
struct JSONMessageTests {
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

    @Test func `what is written is in the order of the calls`() {
        var writer = JSONWriter()

        writer.object { json in
            json.array("a") { json in
                json.element(1)
                json.array { _ in }
                json.object { $0.field("n", false) }
                json.plain(nil) { $0 += "x".utf8 }
            }
            json.field("b", number: 2.0)
            json.field("c", number: -3)
            json.field("d", true)
        }

        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":[1,[],{"n":false},"x"],"b":2.0,"c":-3,"d":true}"#)
    }
}
