@testable import clarity_jobs

import Reports
import ClarityScheduler
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

    @Test func `on a terminal the last cell wraps under itself, between words`() {
        let table = Table(
            heading: ["JOB", "WAITS"],
            rows: [["upload", "network: wanted unmetered, is metered (netlink)"], ["b", "no"]])

        let lines = table.lines(in: PageStyle(width: 32, isPlain: true))

        #expect(
            lines == [
                "JOB     WAITS", "upload  network: wanted", "        unmetered, is metered",
                "        (netlink)", "b       no",
            ])
    }

    @Test(arguments: [60, 80, 100])
    func `columns without room follow below, and no line is wider than the terminal`(width: Int) {
        let table = Table(
            heading: ["RUN", "JOB", "STATE", "SCHEDULED FOR", "FINISHED", "SUMMARY"],
            rows: [
                [
                    "1", "com.clarity.healthkit.upload", "succeeded", "2026-11-25T04:00:38Z",
                    "2026-11-25T04:00:39Z", "130 samples read, 5 samples queued, 4 samples known",
                ]
            ])

        let lines = table.lines(in: PageStyle(width: width, isPlain: true))

        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(lines.first?.hasPrefix("RUN  JOB ") == true)
        let words = lines.joined(separator: " ").split(separator: " ")
        #expect(words.suffix(9).joined(separator: " ").hasSuffix("4 samples known"))
        #expect(words.contains("2026-11-25T04:00:39Z"))
    }

    @Test func `a state has a colour, which takes no room`() {
        let table = Table(
            heading: ["JOB", "STATE", "WHY"], rows: [["a", "failed", "x"], ["b", "idle", "y"]],
            stateColumn: 1)

        #expect(
            table.lines(in: PageStyle(width: 60, isPlain: false))
                == ["JOB  STATE   WHY", "a    \u{1B}[31mfailed\u{1B}[0m  x", "b    idle    y"])
        #expect(table.lines(in: PageStyle(width: 60, isPlain: true)) == table.lines)
    }

    @Test func `only a terminal shows instants as a person says them`() {
        let now = Instant(secondsSince1970: 1_795_154_400)
        let table = Table(
            heading: ["JOB", "NEXT", "WHY"], rows: [["a", "2026-11-20T06:38:00Z", "2026"]])
        var style = PageStyle(width: 60, isPlain: true)
        style.times = NearTimes(zone: .utc, now: now)

        #expect(
            table.lines(in: style)
                == ["JOB  NEXT       WHY", "a    in 38 min  2026"])
        #expect(table.lines.last == "a    2026-11-20T06:38:00Z  2026")
    }

    @Test func `no word is broken, whatever has to give way`() {
        let word = String(repeating: "x", count: 19)
        let table = Table(
            heading: ["A", "B"], rows: [["a", "b \(word)"], ["c", "\(word)yyy z"]])

        #expect(
            table.lines(in: PageStyle(width: 20, isPlain: true))
                == ["A", "  B", "a", "  b", " \(word)", "c", "\(word)yyy", "  z"])
    }

    @Test func `control characters cannot reach the terminal`() {
        let table = Table(heading: ["A"], rows: [["\u{1B}[2Jred\u{9B}31m\nnext"]])

        #expect(table.lines.last == "\u{FFFD}[2Jred\u{FFFD}31m\u{FFFD}next")
    }
}
