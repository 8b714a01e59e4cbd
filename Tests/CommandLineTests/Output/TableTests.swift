@testable import clarity_jobs

import Testing

@Suite("Writing tables")
struct TableTests {
    @Test func `columns are as wide as their widest cell, and lines have no trailing space`() {
        let table = Table(heading: ["A", "LONG"], rows: [["wide cell", "x"], ["b", ""]])

        #expect(table.lines == ["A          LONG", "wide cell  x", "b"])
    }

    @Test func `a table without rows prints nothing`() {
        #expect(Table(heading: ["A"]).lines == [])
    }

    @Test func `control characters cannot reach the terminal`() {
        let table = Table(heading: ["A"], rows: [["\u{1B}[2Jred\u{9B}31m\nnext"]])

        #expect(table.lines.last == "\u{FFFD}[2Jred\u{FFFD}31m\u{FFFD}next")
    }
}
