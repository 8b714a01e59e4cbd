import Testing

@testable import ClarityClient

struct JSONSlicesTests {
    private func elements(_ text: String, _ path: String...) -> [String]? {
        JSONSlices.elements(of: Array(text.utf8), at: path)?.map {
            String(decoding: $0, as: UTF8.self)
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
}
