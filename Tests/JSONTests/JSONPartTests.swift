import JSON
import Testing

@Suite("Parts of a JSON text")
struct JSONPartTests {
    private func elements(_ text: String, _ path: String...) -> [String]? {
        do throws(JSONPart.Fault) {
            var part = try JSONPart(of: Array(text.utf8))
            for name in path { part = try part.member(name) }
            return try part.elements().map { String(decoding: $0.bytes, as: UTF8.self) }
        } catch {
            return nil
        }
    }

    @Test func `elements are the bytes between the commas`() {
        let text =
            #"{ "a" : {"data":[0]}, "data" : [ {"x": "],\"}" , "y":[1,2]} , 2.50e1,"\\",null ] }"#

        #expect(
            elements(text, "data") == [
                #"{"x": "],\"}" , "y":[1,2]}"#, "2.50e1", #""\\""#, "null",
            ])
    }

    @Test func `a path leads into objects`() {
        #expect(
            elements(#"{"n":null,"data":{"k":"v","rows":[[1],[]]}}"#, "data", "rows") == [
                "[1]", "[]",
            ])
    }

    @Test func `an empty list has no elements`() {
        #expect(elements(#"{"data":[ ]}"#, "data") == [])
    }

    @Test(arguments: [
        "", "{", "[", #"{"data"}"#, #"{"data":1}"#, #"{"other":[1]}"#, #"{"data":[1"#,
        #"{"data":[,]}"#, #"{"data":[1 2]}"#, #"{"data":["#, #"{"x":"\"#, #"{"x":}"#, "[]",
    ])
    func `anything else is no list`(text: String) {
        #expect(elements(text, "data") == nil)
    }

    /// Reads `{"a":{"b":[...]}}` and returns the fault of its last element as a text.
    private func fault(_ element: String, _ read: (JSONPart) throws -> Void) -> String? {
        do {
            let text = "\u{FEFF} {\"a\" : {\"b\":[0, \(element) ]}}"
            let list = try JSONPart(of: Array(text.utf8)).member("a").member("b").elements()
            try read(list[1])
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        ("1", "`a.b[1]` has another type"), ("null", "`a.b[1]` is null"),
        (#""\x""#, "`a.b[1]` is no valid JSON"), (#""x""#, nil), ("nul", "it is no valid JSON"),
        ("[1,]", "it is no valid JSON"), ("\"a\u{1}b\"", "it is no valid JSON"),
        ("1 2", "it is no valid JSON"), ("12x", "it is no valid JSON"),
        (String(repeating: "[", count: 510), "it is no valid JSON"),
    ])
    func `a fault names the part and not its content`(element: String, fault: String?) {
        #expect(self.fault(element) { _ = try $0.text() } == fault)
    }

    @Test(arguments: [
        ("7", 7), ("7.0", 7), ("7e1", 70), ("-9223372036854775808", Int.min), ("7.5", nil),
        ("9223372036854775808", nil), ("1e400", nil), ("07", nil), (#""7""#, nil), ("true", nil),
    ])
    func `a whole number may be written in any way`(element: String, number: Int?) {
        var read: Int?
        let fault = fault(element) { read = try $0.integer() }

        #expect(read == number)
        #expect((fault == nil) == (number != nil))
    }

    @Test func `of members with one name the first counts, and null is like none`() throws {
        let text = #"{"a":1,"a":2,"b":null,"\u0063":true,"d":2.5}"#

        let part = try JSONPart(of: Array(text.utf8))

        #expect(try part.member("a").integer() == 1)
        #expect(try part["b"] == nil)
        #expect(try part.has("b"))
        #expect(try part.has("e") == false)
        #expect(try part["c"]?.flag() == true)
        #expect(try part.member("b", or: "d").number() == 2.5)
        #expect(try part.names() == ["a", "a", "b", "c", "d"])
        #expect(throws: part.fault("is missing", at: "e")) { try part.member("b", or: "e") }
    }

    @Test func `a message nests 512 deep at most`() {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth)
                + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }

        #expect(throws: Never.self) { try JSONPart(of: nested(512)) }
        #expect(throws: JSONPart.Fault.self) { try JSONPart(of: nested(513)) }
    }
}
