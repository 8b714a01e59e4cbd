import Testing

@testable import ClarityScheduler

struct ZoneRuleTests {
    private static func rule(_ text: String) throws -> ZoneRule {
        try ZoneRule(Array(text.utf8)[...])
    }

    @Test(arguments: [
        ("UTC0", 0), ("EST5", -18_000), ("EST+5", -18_000), ("JST-9", 32_400),
        ("<-03>3", -10_800), ("<+0545>-5:45", 20_700), ("LMT0:01:15", -75),
        ("ABC24:59:59", -89_999), ("ABC-24:59:59", 89_999), ("abcdefghij1", -3600),
    ])
    func `a rule without summer time has one offset`(text: String, offset: Int64) throws {
        let span = try ZoneRuleTests.rule(text).span(at: 0)

        #expect(span == Zone.Span(start: Zone.earliest, end: Zone.latest, offset: offset))
    }

    /// Each rule's saving of 2026, checked against the tz database or a calendar by hand.
    @Test(arguments: [
        // New York, with the default hour and time.
        (
            "EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", -14_400
        ),
        // Half an hour in the southern hemisphere, where summer spans the new year.
        (
            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-10-03T15:30:00Z",
            "2027-04-03T15:00:00Z", 39_600
        ),
        // Dublin, whose daylight saving is an hour back in winter.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00:00Z", "2027-03-28T01:00:00Z", 0),
        // Gaza: 50 hours after midnight of the fourth Thursday, which is a Saturday.
        ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00Z", "2026-10-23T23:00:00Z", 10_800),
        // Nuuk: an hour before midnight of the last Sunday.
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", -3600),
        // The same day by number, not counting and counting 29 February, in a common year.
        ("AAA0BBB,J60,J300", "2026-03-01T02:00:00Z", "2026-10-27T01:00:00Z", 3600),
        ("AAA0BBB,59,299", "2026-03-01T02:00:00Z", "2026-10-27T01:00:00Z", 3600),
        // The limits of RFC 8536 for a time.
        (
            "AAA0BBB,M3.1.0/-167,M10.1.0/167:59:59", "2026-02-22T01:00:00Z",
            "2026-10-10T22:59:59Z", 3600
        ),
    ])
    func `a saving lies between its two changes`(
        text: String, begin: String, end: String, offset: Int64
    ) throws {
        let rule = try ZoneRuleTests.rule(text)
        let begin = try Instant(begin).secondsSince1970
        let end = try Instant(end).secondsSince1970

        #expect(rule.span(at: begin) == Zone.Span(start: begin, end: end, offset: offset))
        #expect(rule.span(at: end - 1) == Zone.Span(start: begin, end: end, offset: offset))
        #expect(rule.span(at: begin - 1).offset == rule.standardOffset)
        #expect(rule.span(at: begin - 1).end == begin)
        #expect(rule.span(at: end).offset == rule.standardOffset)
        #expect(rule.span(at: end).start == end)
    }

    @Test func `a leap year moves a day that counts 29 February and no Julian one`() throws {
        let julian = try ZoneRuleTests.rule("AAA0BBB,J60,J300")
        let ordinal = try ZoneRuleTests.rule("AAA0BBB,59,299")
        let june = try Instant("2028-06-01T00:00:00Z").secondsSince1970

        #expect(try julian.span(at: june).start == Instant("2028-03-01T02:00:00Z").secondsSince1970)
        #expect(
            try ordinal.span(at: june).start == Instant("2028-02-29T02:00:00Z").secondsSince1970)
    }

    @Test func `the fifth week is the last of the month, be it the fourth`() throws {
        let rule = try ZoneRuleTests.rule("AAA0BBB,M2.5.0/0,M8.5.1/0")
        let june = try Instant("2026-06-01T00:00:00Z").secondsSince1970

        let span = rule.span(at: june)

        #expect(try span.start == Instant("2026-02-22T00:00:00Z").secondsSince1970)
        #expect(try span.end == Instant("2026-08-30T23:00:00Z").secondsSince1970)
    }

    @Test func `summer time that ends as it begins anew never ends`() throws {
        let rule = try ZoneRuleTests.rule("XXX3EDT4,0/0,J365/23")

        let offsets = Set(
            (0..<800).map { rule.span(at: 1_767_225_600 + $0 * 86_400 - 1).offset })

        #expect(offsets == [-14_400])
    }

    @Test func `summer time that ends as it begins never is`() throws {
        let rule = try ZoneRuleTests.rule("AAA0BBB,J100/1,J100/2")

        let offsets = Set((0..<800).map { rule.span(at: 1_767_225_600 + $0 * 43_200).offset })

        #expect(offsets == [0])
    }

    @Test(arguments: [
        ("", 0, "a name of three letters or more"),
        ("AB1", 0, "a name of three letters or more"),
        ("<AB>1", 1, "a name of three letters or more"),
        ("<ABC1", 5, "`>`"),
        ("ABC", 3, "hours from 0 to 24"),
        ("ABC25", 3, "hours from 0 to 24"),
        ("ABC1:60", 5, "minutes from 0 to 59"),
        ("ABC1:30:", 8, "seconds from 0 to 59"),
        ("ABC1234", 3, "hours from 0 to 24"),
        ("ABC1 ", 4, "a name of three letters or more"),
        ("ABC1DEF", 7, "hours from 0 to 24"),
        ("ABC1DEF2", 8, "`,`"),
        ("ABC1DEF,M3.2.0", 14, "`,`"),
        ("ABC1DEF,M13.2.0,M11.1.0", 9, "a month from 1 to 12"),
        ("ABC1DEF,M3.6.0,M11.1.0", 11, "a week from 1 to 5"),
        ("ABC1DEF,M3.2.7,M11.1.0", 13, "a weekday from 0 to 6"),
        ("ABC1DEF,M3-2.0,M11.1.0", 10, "`.`"),
        ("ABC1DEF,J0,J300", 9, "a day from 1 to 365"),
        ("ABC1DEF,366,J300", 8, "`M`, `J` or a day from 0 to 365"),
        ("ABC1DEF,J1/168,J300", 11, "hours from 0 to 167"),
        ("ABC1DEF,J1,J300x", 15, "the end"),
        ("ABC1DEF,J1,J99999999999999999999", 12, "a day from 1 to 365"),
        ("ABC\u{FF}1", 3, "hours from 0 to 24"),
    ])
    func `a rule that cannot be read is refused where it fails`(
        text: String, position: Int, wanted: String
    ) {
        let error = #expect(throws: ZoneError.Fault.self) { try ZoneRuleTests.rule(text) }

        #expect(error == .rule(position: position, wanted: wanted))
    }
}
