import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("What is kept of a command's output") struct CapturedOutputTests {
    /// Captures a text that arrives in parts of `size` bytes.
    private func capture(_ text: String, limit: Int, by size: Int) -> AttemptOutput? {
        var captured = CapturedOutput(limit: limit)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            captured.read(rest.prefix(size)) { _, _ in }
            rest = rest.dropFirst(size)
        }
        return captured.output
    }

    private func output(_ head: String, _ leftOut: Int64, _ tail: String) -> AttemptOutput {
        AttemptOutput(head: Array(head.utf8), leftOutBytes: leftOut, tail: Array(tail.utf8))
    }

    @Test(arguments: [1, 3, 4, 100])
    func `up to its limit everything is kept, beyond it the beginning and the end`(size: Int) {
        #expect(capture("", limit: 8, by: size) == nil)
        #expect(capture("abc", limit: 8, by: size) == output("abc", 0, ""))
        #expect(capture("abcdefgh", limit: 8, by: size) == output("abcd", 0, "efgh"))
        #expect(capture("abcdefghi", limit: 8, by: size) == output("abcd", 1, "fghi"))
        #expect(
            capture("abcdefghijklmnopqrstuvwxyz", limit: 7, by: size)
                == output("abc", 19, "wxyz"))
    }

    /// Texts in which each character has 1 to 4 bytes, and what each half has of them.
    private static let characters = [
        (String(repeating: "a", count: 30), "aaaaaaaa", 14, "aaaaaaaa"),
        (String(repeating: "é", count: 15), "éééé", 14, "éééé"),
        (String(repeating: "€", count: 10), "€€", 18, "€€"),
        (String(repeating: "😀", count: 8), "😀😀", 16, "😀😀"),
        ("x" + String(repeating: "é", count: 15), "xééé", 16, "éééé"),
        ("xx" + String(repeating: "😀", count: 8) + "y", "xx😀", 24, "😀y"),
    ]

    @Test(arguments: characters, [1, 3, 100])
    func `neither half has a part of a character`(
        row: (text: String, head: String, leftOut: Int, tail: String), size: Int
    ) {
        let found = capture(row.text, limit: 16, by: size)

        #expect(found == output(row.head, Int64(row.leftOut), row.tail))
    }

    @Test func `a character that lies in both halves stays if nothing is left out`() {
        let found = capture("abc€xyz", limit: 10, by: 4)

        #expect(found.map { $0.head + $0.tail } == Array("abc€xyz".utf8))
        #expect(found?.leftOutBytes == 0)
    }

    @Test func `bytes that are no text are kept but for what may be a part of a character`() {
        var captured = CapturedOutput(limit: 8)

        captured.read([0xFF, 0xE9, 0x61, 0xE9, 0, 0, 0x80, 0x80, 0x80, 0x80]) { _, _ in }

        #expect(
            captured.output
                == AttemptOutput(head: [0xFF, 0xE9, 0x61], leftOutBytes: 6, tail: [0x80]))
    }

    @Test func `what comes is a sign of life`() {
        var captured = CapturedOutput(limit: 4)
        var told: [Int64] = []

        captured.read([1, 2, 3]) { done, total in told += [done, total] }
        captured.read([4]) { done, total in told += [done, total] }

        #expect(told == [3, 0, 4, 0])
    }

    @Test(arguments: [
        (LongText(""), nil), ("\n \t\n", nil), ("one", "one"), ("one\ntwo\n", "two"),
        ("one\r\n  two  \r\n\n", "two  "), ("a\u{1B}[31mb", "a<U+001B>[31mb"),
        (LongText("x", times: 300), String(repeating: "x", count: 200) + "..."),
    ])
    func `the last line is one that says something, made harmless and short`(
        text: LongText, line: String?
    ) {
        #expect(AttemptOutput(head: Array(text.text.utf8)).lastLine == line)
    }

    @Test func `the last line is whole where head and tail meet in it`() {
        #expect(output("first\nsec", 0, "ond\n").lastLine == "second")
        #expect(output("first\nsec", 7, "ond\n").lastLine == "ond")
        #expect(AttemptOutput(head: [0x61, 0xFF]).lastLine == "a\u{FFFD}")
    }
}
