import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct ReportReaderTests {
    /// Returns a reader that has read `text` in parts of `size` bytes, and then the end.
    static func reader(_ text: String, parts size: Int = .max) -> ReportReader {
        reader(Array(text.utf8), parts: size)
    }

    static func reader(_ bytes: [UInt8], parts size: Int = .max) -> ReportReader {
        var reader = ReportReader()
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.read(rest.prefix(size)) { _, _ in }
            rest = rest.dropFirst(size)
        }
        reader.finish()
        return reader
    }

    @Test(arguments: [1, 2, 7, 4096])
    func `reports are the same however they are cut`(_ size: Int) {
        let text =
            "count read 2\nnote é first\nnote second\ncount sent 1\ncount read 3\n"
            + "checkpoint a\ncheckpoint b\noutcome retry 5000 unreachable no answer\n"

        let reader = Self.reader(text, parts: size)

        #expect(reader.fault == nil)
        #expect(reader.tally.summary == "3 read, 1 sent")
        #expect(reader.notes == ["é first", "second"])
        #expect(reader.checkpoint == "b")
        #expect(
            reader.outcome == .retry(after: .seconds(5), Failure(.unreachable, "no answer")))
    }

    @Test func `progress is handed on in its order`() {
        var reader = ReportReader()
        var seen: [[Int64]] = []

        reader.read(Array("progress 1 2\nprogress 2 2\nprog".utf8)[...]) { seen.append([$0, $1]) }

        #expect(seen == [[1, 2], [2, 2]])
    }

    @Test(arguments: [
        (
            "hello\n",
            "line 1: expected `progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"
        ),
        (
            "note a\n\n",
            "line 2: expected `progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"
        ),
        ("outcome success", "line 1: expected a newline at the end"),
        ("outcome success\nnote late\n", "line 2: expected nothing after the outcome"),
        ("count a minus\n", "line 1: expected a count after its name"),
    ])
    func `what is no report is a fault that does not quote it`(_ text: String, _ fault: String) {
        #expect(Self.reader(text).fault == fault)
        #expect(Self.reader(text, parts: 1).fault == fault)
    }

    @Test func `what happened is told once, and is bounded`() {
        let twice = Self.reader("event a\nevent b\nevent a\noutcome success\n")
        let many = Self.reader((1...17).map { "event e\($0)\n" }.joined())

        #expect(twice.events == [EventName("a"), EventName("b")])
        #expect(twice.fault == nil)
        #expect(many.fault == "line 17: expected at most 16 different events")
    }

    @Test func `the last fact of a name holds, and more than 100 are a fault`() {
        let twice = Self.reader("fact a 1 1\nfact b 1 -\nfact a 2 2\noutcome success\n")
        let many = Self.reader((1...101).map { "fact f\($0) 1 1\n" }.joined())

        #expect(
            twice.facts == [
                AttemptFact("b", nil, at: Instant(millisecondsSince1970: 1)),
                AttemptFact("a", 2, at: Instant(millisecondsSince1970: 2)),
            ])
        #expect(twice.fault == nil)
        #expect(many.fault == "line 101: expected at most 100 different facts")
    }

    @Test func `bytes that are no text are a fault`() {
        #expect(Self.reader([0x6E, 0xC3, 0x28, 0x0A]).fault == "line 1: expected UTF-8")
    }

    @Test func `nothing after a fault counts`() {
        let reader = Self.reader("count a 1\nnonsense\ncount a 2\noutcome success\n")

        #expect(reader.tally["a"] == 1)
        #expect(reader.outcome == nil)
    }

    @Test(arguments: [1, 4097])
    func `a line may have 4,096 bytes and no more`(_ size: Int) {
        let longest = "note " + String(repeating: "x", count: 4091)

        #expect(Self.reader(longest + "\n", parts: size).fault == nil)
        #expect(
            Self.reader(longest + "x\n", parts: size).fault == "line 1: expected at most 4096 bytes"
        )
    }

    @Test func `a line without end is a fault before it ends`() {
        var reader = ReportReader()

        reader.read(ArraySlice(repeating: 0x78, count: 4097)) { _, _ in }

        #expect(reader.fault == "line 1: expected at most 4096 bytes")
    }

    @Test func `of more than 100 notes the first 99 are kept`() {
        let hundred = Self.reader((1...100).map { "note \($0)\n" }.joined())
        let more = Self.reader((1...140).map { "note \($0)\n" }.joined())

        #expect(hundred.notes == (1...100).map { "\($0)" })
        #expect(more.notes == (1...99).map { "\($0)" } + ["41 further notes are not kept"])
    }

    @Test func `more than 1,000 counts are a fault`() {
        let thousand = (1...1000).map { "count c\($0) 1\n" }.joined()

        #expect(Self.reader(thousand + "count c7 2\n").fault == nil)
        #expect(
            Self.reader(thousand + "count c1001 1\n").fault
                == "line 1001: expected at most 1000 counts")
    }

    @Test func `more than 16 MiB of reports are a fault`() {
        let line = Array(("note " + String(repeating: "x", count: 4090) + "\n").utf8)
        var reader = ReportReader()

        for _ in 0..<4096 { reader.read(line[...]) { _, _ in } }
        let faultAtLimit = reader.fault
        reader.read([0x6E]) { _, _ in }

        #expect(line.count * 4096 == 16 << 20)
        #expect(faultAtLimit == nil)
        #expect(reader.fault == "more than 16777216 bytes of reports")
    }
}
