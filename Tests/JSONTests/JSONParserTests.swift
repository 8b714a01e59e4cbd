import JSON
import Testing

@Suite("Reading JSON")
struct JSONParserTests {
    @Test(arguments: [
        ("null", "null"), (" [ true , false ] ", "[true,false]"), ("-0", "0"),
        ("12", "12"), ("-12.50", "-12.5"), ("1e3", "1000.0"), ("2E-2", "0.02"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9.223372036854776e+18"), ("9007199254740993", "9007199254740993"),
        (#"{"b":1,"a":{}}"#, #"{"b":1,"a":{}}"#), (#""""#, #""""#),
        (#""a\u00e9\n\u0001\/\"\\""#, "\"aé\\n\\u0001/\\\"\\\\\""),
        (#""\t\r\b\f""#, #""\t\r\u0008\u000c""#), (#""\ud83d\ude00""#, "\"😀\""),
        (#""\u0000""#, #""\u0000""#),
    ])
    func `what is valid is read and written`(_ text: String, _ written: String) throws {
        let value = try JSONParser.parse(Array(text.utf8))

        #expect(value.line == written)
    }

    @Test(arguments: [
        ("", 0), ("  ", 2), ("nul", 0), ("[1,]", 3), ("[1 2]", 3), ("{\"a\" 1}", 5),
        ("{a:1}", 1), ("{\"a\":1,}", 7), ("01", 2), ("-", 1), (".5", 0), ("1.", 2), ("1e", 2),
        ("+1", 0), ("1e400", 0), ("NaN", 0), ("\"a", 2), ("\"a\u{1}b\"", 2), ("\"\\x\"", 3),
        ("\"\\ud800\"", 7), ("\"\\ud800\\u0041\"", 13), ("\"\\udc00\"", 7), ("\"\\u12\"", 5),
        ("1 2", 2), ("\u{FEFF}1", 0),
    ])
    func `what is invalid is refused where it stands`(_ text: String, _ offset: Int) {
        let error = #expect(throws: JSONFault.self) {
            try JSONParser.parse(Array(text.utf8))
        }

        #expect(error?.offset == offset, "\(error?.reason ?? "")")
    }

    @Test func `a string that is not UTF-8 is refused`() {
        #expect(throws: JSONFault(offset: 1, reason: "the string is not UTF-8")) {
            try JSONParser.parse([0x5B, 0x22, 0xC3, 0x28, 0x22, 0x5D])
        }
    }

    @Test func `arrays nest 64 deep and no deeper`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth)
                + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }

        #expect(throws: Never.self) { try JSONParser.parse(nested(64)) }
        #expect(throws: JSONFault(offset: 65, reason: "nested deeper than 64")) {
            try JSONParser.parse(nested(65))
        }
    }

    @Test func `a text of the limit is read and one byte more is not`() throws {
        let text = Array("[1,2]".utf8)

        #expect(try JSONParser.parse(text, limit: 5) == [1, 2])
        #expect(throws: JSONFault(offset: 4, reason: "more than 4 bytes")) {
            try JSONParser.parse(text, limit: 4)
        }
    }

    @Test func `of members with one name the last counts`() throws {
        let value = try JSONParser.parse(Array(#"{"a":1,"a":2}"#.utf8))

        #expect(value["a"] == 2)
        #expect(value["b"] == nil)
    }
}
