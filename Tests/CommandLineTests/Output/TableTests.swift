import Testing

@testable import clarity_jobs

@Suite("Writing tables")
struct TableTests {
    @Test func `columns are as wide as their widest cell and lines have no tail`() {
        let table = Table(heading: ["A", "LONG"], rows: [["wide cell", "x"], ["b", ""]])

        #expect(table.lines == ["A          LONG", "wide cell  x", "b"])
    }

    @Test func `no rows make no lines`() {
        #expect(Table(heading: ["A"]).lines == [])
    }

    @Test func `control characters cannot reach the terminal`() {
        let table = Table(heading: ["A"], rows: [["\u{1B}[2Jred\u{9B}31m\nnext"]])

        #expect(table.lines.last == "?[2Jred?31m?next")
    }

    @Test func `what turns the direction of a text cannot either, what joins a picture may`() {
        #expect(printable("a\u{202E}b\u{2066}c\u{2028}d") == "a?b?c?d")
        #expect(
            printable("\u{1F468}\u{200D}\u{1F467} h\u{E9}") == "\u{1F468}\u{200D}\u{1F467} h\u{E9}")
    }
}
