import ClarityScheduler
import Testing

struct AttemptWireTests {
    private static func order() throws -> AttemptOrder {
        AttemptOrder(
            run: RunID(42), job: try #require(JobID("com.clarity.refresh")),
            kind: JobKind("refresh"), attempt: 2, fencingToken: 7,
            scheduledFor: Instant(millisecondsSince1970: -1), timeout: .seconds(30),
            warning: .milliseconds(6000), memoryLimitBytes: 268_435_456,
            checkpoint: "page=3\n\\end",
            options: ["sources.0.path": "/a=b\r\nc", "backend.url": "", "page_size": "100"])
    }

    /// Texts that are hard to escape on one line and to split by character.
    private static let hardTexts = [
        "", " ", "plain", "two\nlines", "ends with \\", "\\n", "\\\\n", "\r\n", "a\r\nb", "\n\n",
        "\u{301}accent first", "\\\u{301}", "\n\u{301}", "=\u{301}", "n\u{301}", "  two blanks ",
        "end", "größe 🏃🏽‍♀️", "\u{0}\u{7}\u{2028}",
    ]

    @Test func `an order is written in a fixed order with its options by name`() throws {
        let lines = try AttemptWireTests.order().lines

        #expect(
            lines == [
                "run=42", "job=com.clarity.refresh", "kind=refresh", "attempt=2", "generation=7",
                "scheduled_for_ms=-1", "timeout_ms=30000", "warning_ms=6000",
                "memory_limit_bytes=268435456", "checkpoint=page=3\\n\\\\end",
                "option.backend.url=", "option.page_size=100",
                "option.sources.0.path=/a=b\r\\nc", "end",
            ])
    }

    @Test func `an order is read back, with or without its last line`() throws {
        let order = try AttemptWireTests.order()

        let read = try AttemptOrder(lines: order.lines)
        let readWithoutEnd = try AttemptOrder(lines: Array(order.lines.dropLast().reversed()))

        #expect(read == order)
        #expect(readWithoutEnd == order)
    }

    @Test func `what is known of the machine crosses, what is not leaves no line`() throws {
        var order = try AttemptWireTests.order()
        order.conditions = OrderConditions(metered: true, externalPower: false)
        let both = order.lines
        order.conditions = OrderConditions(metered: nil, externalPower: true)
        let one = order.lines

        #expect(both.contains("metered=true") && both.contains("external_power=false"))
        #expect(!one.contains { $0.hasPrefix("metered=") })
        #expect(
            try AttemptOrder(lines: both).conditions
                == OrderConditions(metered: true, externalPower: false))
        #expect(try AttemptOrder(lines: one).conditions == OrderConditions(externalPower: true))
        let error = #expect(throws: MalformedLine.self) {
            try AttemptOrder(lines: order.lines + ["metered=yes"])
        }
        #expect(error?.expected == "`true` or `false` for `metered`")
    }

    @Test(arguments: hardTexts)
    func `any text crosses in an order on one line`(text: String) throws {
        var order = try AttemptWireTests.order()
        order.checkpoint = text
        order.options["path"] = text

        let lines = order.lines
        let read = try AttemptOrder(lines: lines)

        #expect(!lines.contains { $0.utf8.contains(UInt8(ascii: "\n")) })
        #expect(read.checkpoint.map { Array($0.utf8) } == Array(text.utf8))
        #expect(read.options["path"].map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(arguments: [
        ("run=42", nil, "a number for `run`"),
        ("run=42", "run=", "a number for `run`"),
        ("run=42", "run=9223372036854775808", "a number for `run`"),
        ("job=com.clarity.refresh", nil, "a job's id for `job`"),
        ("job=com.clarity.refresh", "job=two words", "a job's id for `job`"),
        ("kind=refresh", nil, "a job kind for `kind`"),
        ("attempt=2", "attempt=two", "a number for `attempt`"),
        ("generation=7", nil, "a number for `generation`"),
        ("scheduled_for_ms=-1", "scheduled_for_ms=1.5", "a number for `scheduled_for_ms`"),
        ("timeout_ms=30000", nil, "a number for `timeout_ms`"),
        ("warning_ms=6000", nil, "a number for `warning_ms`"),
        ("memory_limit_bytes=268435456", nil, "a number for `memory_limit_bytes`"),
        ("attempt=2", "attempt 2", "an order line `key=value`"),
        ("attempt=2", "", "an order line `key=value`"),
        ("option.page_size=100", "page_size=100", "a field of an order before `=`"),
    ])
    func `an order with a faulty line is refused`(
        line: String, replacement: String?, expected: String
    ) throws {
        let lines = try AttemptWireTests.order().lines.flatMap {
            $0 != line ? [$0] : replacement.map { [$0] } ?? []
        }

        let error = #expect(throws: MalformedLine.self) { try AttemptOrder(lines: lines) }

        #expect(error?.expected == expected)
    }

    @Test(arguments: [
        (AttemptReport.progress(done: 0, total: 0), "progress 0 0"),
        (.progress(done: 5, total: .max), "progress 5 9223372036854775807"),
        (.count(name: "samples_read", 2041), "count samples_read 2041"),
        (
            .fact(AttemptFact("waiting", 3, at: Instant(millisecondsSince1970: 5))),
            "fact waiting 5 3"
        ),
        (.fact(AttemptFact("seen", nil, at: Instant(millisecondsSince1970: 5))), "fact seen 5 -"),
        (.note("two\nlines, a \\"), "note two\\nlines, a \\\\"),
        (.checkpoint(""), "checkpoint "),
        (.happened(EventName("upload-completed")), "event upload-completed"),
        (.outcome(.success), "outcome success"),
        (
            .outcome(.awaits(.externalPower, Failure(.work, "612 samples wait"))),
            "outcome awaits external_power work 612 samples wait"
        ),
        (
            .outcome(.awaits(.unmetered, Failure(.work, ""))),
            "outcome awaits network_unmetered work "
        ),
        (
            .outcome(.retry(after: nil, Failure(.unreachable, "no answer in 30s"))),
            "outcome retry - unreachable no answer in 30s"
        ),
        (
            .outcome(.snooze(after: .seconds(90), Failure(.work, "used up"))),
            "outcome snooze 90000 work used up"
        ),
        (
            .outcome(.retry(after: .seconds(90), Failure(.disk, ""))),
            "outcome retry 90000 disk "
        ),
        (
            .outcome(.failure(Failure(.internalFault, "got `x\r\ny`"))),
            "outcome failure internal got `x\r\\ny`"
        ),
    ])
    func `a report is one line and read back from it`(report: AttemptReport, line: String) throws {
        let read = try AttemptReport(line: line)

        #expect(report.line == line)
        #expect(read == report)
    }

    @Test(arguments: hardTexts)
    func `any text crosses in a report on one line`(text: String) throws {
        let reports: [AttemptReport] = [
            .note(text), .checkpoint(text), .outcome(.failure(Failure(.work, text))),
        ]

        for report in reports {
            let line = report.line
            let read = try AttemptReport(line: line)

            #expect(!line.utf8.contains(UInt8(ascii: "\n")))
            #expect(read == report)
            #expect(read.line.utf8.elementsEqual(line.utf8))
        }
    }

    @Test(arguments: [
        ("", "`progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"),
        ("hello", "`progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"),
        (" note x", "`progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"),
        ("Note x", "`progress`, `count`, `fact`, `note`, `checkpoint`, `event` or `outcome`"),
        ("progress", "a count for `done`"),
        ("progress -1 2", "a count for `done`"),
        ("progress 1", "a count for `total`"),
        ("progress 1 9223372036854775808", "a count for `total`"),
        ("progress  1 2", "a count for `done`"),
        ("count", "a count's name"),
        ("count  5", "a count's name"),
        ("count \(String(repeating: "x", count: 101)) 5", "a count's name"),
        ("count samples_read", "a count after its name"),
        ("count samples_read 1e3", "a count after its name"),
        ("count \u{1B}[31m x", "a count after its name"),
        ("fact", "a fact's name"),
        ("fact \(String(repeating: "x", count: 101)) 5 5", "a fact's name"),
        ("fact waiting", "milliseconds after a fact's name"),
        ("fact waiting -5 1", "milliseconds after a fact's name"),
        ("fact waiting 5", "a number or `-` at the end of a fact"),
        ("fact waiting 5 -1", "a number or `-` at the end of a fact"),
        ("fact waiting 5 1 1", "a report as this program writes it"),
        ("outcome", "`success`, `retry`, `snooze`, `awaits` or `failure`"),
        ("outcome done", "`success`, `retry`, `snooze`, `awaits` or `failure`"),
        ("outcome retry", "milliseconds or `-` after `outcome retry`"),
        ("outcome retry -5 work x", "milliseconds or `-` after `outcome retry`"),
        ("outcome retry 5s work x", "milliseconds or `-` after `outcome retry`"),
        ("outcome retry -", "a failure's category"),
        ("outcome snooze - work x", "milliseconds after `outcome snooze`"),
        ("outcome snooze -5 work x", "milliseconds after `outcome snooze`"),
        ("outcome awaits", "a condition after `outcome awaits`"),
        ("outcome awaits idle work x", "a condition after `outcome awaits`"),
        ("outcome awaits external_power", "a failure's category"),
        ("event", "an event's name"),
        ("event Upload", "an event's name"),
        ("event a b", "a report as this program writes it"),
        ("outcome failure", "a failure's category"),
        ("outcome failure internalFault x", "a failure's category"),
        ("progress 1 2 3", "a report as this program writes it"),
        ("progress +1 2", "a report as this program writes it"),
        ("progress 01 2", "a report as this program writes it"),
        ("note", "a report as this program writes it"),
        ("note a \\ b", "a report as this program writes it"),
        ("note ends with \\", "a report as this program writes it"),
        ("outcome success at last", "a report as this program writes it"),
        ("outcome failure work", "a report as this program writes it"),
    ])
    func `a line that is no report is refused`(line: String, expected: String) {
        let error = #expect(throws: MalformedLine.self) { try AttemptReport(line: line) }

        #expect(error?.expected == expected)
    }
}
