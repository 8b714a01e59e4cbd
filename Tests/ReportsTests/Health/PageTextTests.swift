import HealthModel
import HealthStore
import ClarityScheduler
import Testing

@testable import Reports

@Suite struct PageTextTests {
    @Test(
        arguments: [
            ([], Int.max, ""), ([nil, nil], .max, ""), ([5], .max, "▄"),
            ([5, 5, nil, 5], .max, "▄▄ ▄"),
            ([0, 1, 2, 3, 4, 5, 6, 7], .max, "▁▂▃▄▅▆▇█"), ([-10, 10, 0], .max, "▁█▅"),
            ([9, 0, 1, 2], 3, "▁▅█"), ([1, .infinity, 2, .nan], .max, "▁ █ "),
            ([1.7e308, -1.7e308, 0], .max, "█▁▅"), ([0, Double.leastNonzeroMagnitude], .max, "▄▄"),
            ([-1.7e308, 1.7e308, .nan, 1e300], .max, "▁█ ▅"),
        ] as [([Double?], Int, String)])
    func `a bar stands for each value`(values: [Double?], width: Int, bars: String) {
        #expect(Sparkline.text(values, width: width) == bars)
    }

    @Test(arguments: [
        ("", 0), ("plain", 5), ("naïve", 5), ("nai\u{308}ve", 5), ("睡眠", 4), ("👍🏽", 2),
        ("👩‍👩‍👧", 2), ("❤️", 2), ("ﬁ", 1), ("ｶ", 1), ("가", 2), ("🇩🇪", 2), ("a\u{200B}b", 2),
    ])
    func `a text takes the columns of what is shown`(text: String, width: Int) {
        #expect(DisplayText.width(of: text) == width)
    }

    @Test(arguments: [
        ("", 20, [""]), ("one two", 20, ["one two"]), ("one two three", 8, ["one two", "three"]),
        ("one  two\nthree", 20, ["one two", "three"]), ("a\n\nb", 20, ["a", "", "b"]),
        ("abcdefghijkl mn", 8, ["abcdefgh", "ijkl mn"]),
        ("睡眠睡眠睡眠", 8, ["睡眠睡眠", "睡眠"]), ("12345678 1", 8, ["12345678", "1"]),
        ("x\u{1B}[31mred\u{202E}y\u{7}", 40, ["x\u{FFFD}[31mred\u{FFFD}y\u{FFFD}"]),
        ("a\u{2028}b\u{85}c\td", 40, ["a\u{FFFD}b\u{FFFD}c d"]),
    ])
    func `a text is broken between words and shows nothing raw`(
        text: String, width: Int, lines: [String]
    ) {
        #expect(DisplayText.wrapped(text, width: width) == lines)
    }

    @Test func `a list's lines are moved in below its sign`() {
        let lines = DisplayText.wrapped("go to bed early", width: 10, first: "- ", indent: 2)

        #expect(lines == ["- go to", "  bed", "  early"])
    }

    @Test func `no line is wider than there is room, whatever is in it`() {
        let text = "Ein 睡眠 👩‍👩‍👧 mit überlangenwörternohneende und\nneuen Zeilen " + "x y "
        for width in 8...60 {
            let lines = DisplayText.wrapped(text, width: width, first: "- ", indent: 2)
            #expect(lines.allSatisfy { DisplayText.width(of: $0) <= max(width, 10) }, "\(width)")
            #expect(
                lines.joined().filter { $0 != " " && $0 != "-" }
                    == text.filter { $0 != " " && $0 != "\n" })
        }
    }

    @Test func `of an endless text as much is shown as a person reads`() {
        let shown = DisplayText.harmless(String(repeating: "a", count: 200_000))

        #expect(shown.utf8.count == DisplayText.limit + 3)
        #expect(shown.hasSuffix("a..."))
    }

    @Test(arguments: [
        (0, "just now"), (59, "just now"), (60, "1 min ago"), (7199, "119 min ago"),
        (7200, "2 h ago"), (86_400, "24 h ago"), (172_799, "47 h ago"), (172_800, "2 d ago"),
        (864_000, "10 d ago"), (-60, "just now"), (-61, "at 2025-10-09T08:54:21Z"),
    ])
    func `an age is told in the unit that fits`(seconds: Int64, text: String) {
        let now = Instant(secondsSince1970: 1_760_000_000)

        #expect(AsOf.age(of: now - .seconds(seconds), at: now) == text)
    }

    @Test func `what is a day old is stale, and what never was says so`() {
        let now = Instant(secondsSince1970: 1_760_000_000)
        func text(_ seconds: Int64) -> String {
            AsOf.text("synced", now - .seconds(seconds), at: now)
        }

        #expect(text(86_399) == "synced 23 h ago")
        #expect(text(86_400) == "synced 24 h ago, stale")
        #expect(AsOf.text("synced", nil, at: now) == "not fetched back yet")
        #expect(
            AsOf.fullText("read", now - .seconds(300), at: now)
                == "read 5 min ago (2025-10-09T08:48:20Z)")
        #expect(AsOf.isStale(nil, at: now))
    }

    @Test(arguments: [
        ([], ""), (["a", "1.5", ""], "a,1.5,"), (["a,b"], "\"a,b\""),
        (["say \"no\""], "\"say \"\"no\"\"\""), (["a\"\u{301}"], "\"a\"\"\u{301}\""),
        (["two\nlines"], "\"two\nlines\""),
        (["=1+1", "-5", "+4.5", "-x", "@a"], "'=1+1,-5,+4.5,'-x,'@a"),
        (["=1;2", "a;=1+1", "a\t=1"], "\"'=1;2\",\"a;=1+1\",\"a\t=1\""),
        (["\n=1", "\t=1", "\r=1"], "\"'\n=1\",\"'\t=1\",\"'\r=1\""),
        (["＝1", "＋1", "－1", "＠a"], "'＝1,'＋1,'－1,'＠a"),
        ([" =1", "\u{FEFF}=1", "\u{A0}@a"], "' =1,'\u{FEFF}=1,'\u{A0}@a"),
        (["-5e3", "-0.5", "-inf", "+0x1p4", "-"], "-5e3,-0.5,'-inf,'+0x1p4,'-"),
    ])
    func `a record of values is one that a spreadsheet reads`(fields: [String], line: String) {
        #expect(CSVText.record(fields) == line)
    }

    @Test(arguments: [
        (0.0, 0, "0"), (61.5, 0, "62"), (0.914, 2, "0.91"), (-0.004, 2, "0.00"), (-1.5, 1, "-1.5"),
        (5.05, 1, "5.1"), (1_234_567.0, 0, "1234567"), (1e300, 0, "1e+300"),
    ])
    func `a number has its fixed decimals`(number: Double, decimals: Int, text: String) {
        #expect(fixedText(number, decimals: decimals) == text)
    }

    @Test(arguments: [
        ("30d", HealthReader.Since.days(30)), ("12h", .days(1)), ("36h", .days(2)),
        ("2026-01-31", .date(.init(daysSince1970: 20_484))),
    ])
    func `a start is a count of days or a date`(text: String, since: HealthReader.Since) {
        #expect(HealthReader.Since(text) == since)
    }

    @Test(arguments: ["", "30", "0d", "-3d", "2026-02-30", "2026-01-31T00:00:00Z", "999999999d"])
    func `anything else is no start`(text: String) {
        #expect(HealthReader.Since(text) == nil)
    }

    @Test func `a table is no wider than there is room and stands out only where it may`() {
        let rows = [["heart_rate", "7"], ["x", "1234"]]

        let plain = PageStyle(width: 80, isPlain: true).table(["TYPE", "N"], rows, right: [1])
        let narrow = PageStyle(width: 20, isPlain: true)
            .table(["TYPE", "TEXT"], [["a", String(repeating: "睡", count: 30)]])
        let bold = PageStyle(width: 80, isPlain: false).table(["TYPE", "N"], rows, right: [1])

        #expect(plain == ["TYPE           N", "heart_rate     7", "x           1234"])
        #expect(narrow.allSatisfy { DisplayText.width(of: $0) <= 20 } && narrow[1].hasSuffix("..."))
        #expect(bold[0] == "\u{1B}[1mTYPE           N\u{1B}[0m" && bold[1] == plain[1])
        #expect(PageStyle(width: 80, isPlain: true).table(["A"], []) == [])
    }
}
