import JSON
import Testing

@testable import ClaritySources

@Suite struct JSONCursorTests {
    /// Returns all values of `{"a": ..., "b": [...]}` in the order in which a cursor reads them.
    private func walk(_ text: String) throws(JSONFault) -> [String] {
        var cursor = JSONCursor(Array(text.utf8))
        var met: [String] = []
        try cursor.enter("{")
        while let name = try cursor.nextName() {
            if cursor.next == UInt8(ascii: "[") {
                try cursor.enter("[")
                while try cursor.nextElement() {
                    met.append("\(name)[]=\(try cursor.value().line)")
                }
            } else {
                met.append("\(name)=\(try cursor.value().line)")
            }
        }
        try cursor.end()
        return met
    }

    @Test func `members and elements are met in their order`() throws {
        let met = try walk(
            #" { "a" : 1 , "b":[ {"x":[1,2]} , "y,]}" ,null], "c":[],"d\u0041":{"e":"\""} } "#)

        #expect(
            met == [
                "a=1", #"b[]={"x":[1,2]}"#, #"b[]="y,]}""#, "b[]=null", #"dA={"e":"\""}"#,
            ])
    }

    @Test(arguments: [
        ("", 0, "`{` should stand here"), ("{", 1, "the text ends where a value should be"),
        (#"{"a" 1}"#, 5, "`:` should stand here"),
        (#"{"a":1 "b":2}"#, 7, "`,` or `}` should stand here"),
        (#"{"a":[1 2]}"#, 8, "`,` or `]` should stand here"),
        (#"{"a":"b"#, 7, "the text ends inside a string"),
        (#"{"a":{"b":1"#, 11, "the text ends where a value should be"),
        (#"{"a":1}}"#, 7, "text after the value"), (#"{"a":nix}"#, 5, "unknown word"),
        (#"{"a":}"#, 5, "no value starts like this"), (#"{"a":,}"#, 5, "no value starts like this"),
        (#"{"a\"#, 4, "the text ends inside a string"),
    ])
    func `a fault has its place`(text: String, offset: Int, reason: String) {
        #expect(throws: JSONFault(offset: offset, reason: reason)) { try walk(text) }
    }

    @Test func `what is passed over is not read, and nests 64 deep at most`() throws {
        func nested(_ depth: Int) -> JSONCursor {
            JSONCursor(
                Array(
                    (String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
                        .utf8))
        }
        var deep = nested(64)
        var tooDeep = nested(65)
        var odd = JSONCursor(Array("[nix, 01e, }]".utf8))

        try deep.skip()
        #expect(throws: JSONFault(offset: 65, reason: "nested deeper than 64")) {
            try tooDeep.skip()
        }
        // `skip` counts brackets without matching them, and does not validate what it skips.
        try odd.skip()

        #expect(deep.position == 128)
    }

    @Test func `a value that is at fault by itself is gone past`() throws {
        var cursor = JSONCursor(Array("[nix, 2]".utf8))

        try cursor.enter("[")
        _ = try cursor.nextElement()
        let first = try cursor.piece()
        _ = try cursor.nextElement()
        let second = try cursor.piece()

        #expect(first == .failure(JSONFault(offset: 1, reason: "unknown word")))
        #expect(second == .success(2))
    }

    @Test func `a value has at most 64 KiB`() throws {
        let text = "\"\(String(repeating: "a", count: 65_534))\""
        var fits = JSONCursor(Array(text.utf8))
        var larger = JSONCursor(Array(" \"a\(text.dropFirst())".utf8))

        #expect(try fits.value() == .string(String(repeating: "a", count: 65_534)))
        #expect(throws: JSONFault.self) { try larger.value() }
    }
}
