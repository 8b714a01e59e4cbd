import ClarityScheduler
import Platform
import ClarityTestSupport
import JSON
import Testing

@testable import Import

@Suite struct AutoExportDateTests {
    private let london: Zone

    init() throws {
        london = try #require(SystemZones(environment: [:]).zone(named: "Europe/London"))
    }

    @Test(
        arguments: [
            ("2024-02-06 14:30:00 -0800", "2024-02-06T22:30:00Z"),
            ("2024-02-06 2:30:00 PM -0800", "2024-02-06T22:30:00Z"),
            ("2024-02-06 12:05:00\u{202F}a.m. +0100", "2024-02-05T23:05:00Z"),
            ("2024-02-06 12:05 PM", "2024-02-06T12:05:00Z"),
            ("2024-02-06T14:30:00Z", "2024-02-06T14:30:00Z"),
            ("2024-02-06 2:30:00 p. m. +0100", "2024-02-06T13:30:00Z"),
            ("2024-02-06 2:30:00\u{202F}p.\u{A0}m. +0100", "2024-02-06T13:30:00Z"),
            ("2024-02-06 2:30:00\u{A0}P. M. +0100", "2024-02-06T13:30:00Z"),
            ("2024-02-06 12:05:00 a. m. +0100", "2024-02-05T23:05:00Z"),
            ("2024-02-06T14:30:00.250+01:00", "2024-02-06T13:30:00.250Z"),
            ("2024-02-06T14:30:00,25Z", "2024-02-06T14:30:00.250Z"),
            ("2024-02-06T14:30:00.123456Z", "2024-02-06T14:30:00.123Z"),
            ("2024-07-06 14:30:00", "2024-07-06T13:30:00Z"),
            ("2024-07-06", "2024-07-05T23:00:00Z"),
            // London's clock skips 01:00 to 02:00 on the first date, and repeats it on the second.
            ("2024-03-31 01:30:00", "2024-03-31T01:00:00Z"),
            ("2024-10-27 01:30:00", "2024-10-27T00:30:00Z"),
            ("1707258600", "2024-02-06T22:30:00Z"),
        ])
    func `a text in each form is an instant`(text: String, instant: String) throws {
        let date = try #require(AutoExportDate(.string(text), zone: london))

        #expect(date.instant == Instant(rfc3339: instant))
    }

    @Test(
        arguments: [
            (1_707_258_600, "2024-02-06T22:30:00Z"), (1_707_258_600_000, "2024-02-06T22:30:00Z"),
            (978_307_200, "2001-01-01T00:00:00Z"), (978_307_200_000, "2001-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func `a number is seconds or milliseconds`(number: Int64, instant: String) throws {
        let date = AutoExportDate(.integer(number), zone: .utc)

        #expect(date?.instant == Instant(rfc3339: instant))
    }

    @Test(arguments: [1, 817_000_000, 978_307_199, 978_307_199_999, 99_999_999_999] as [Int64])
    func `a number that may count from 2001, or is of no year, is no date`(number: Int64) {
        #expect(AutoExportDate(.integer(number), zone: .utc) == nil)
        #expect(AutoExportDate(.string("\(number)"), zone: .utc) == nil)
    }

    @Test(arguments: [
        "下午2:30:00", "午後2:30:00", "오후 2:30:00", "2:30:00 μ.μ.", "2:30:00 م", "2:30:00 p. mil",
        "2:30:00 p.  m.", "2:30:00 p", "14:30:00 p. m.", "0:30:00 p. m.", "١٤:٣٠:٠٠", "14.30.00",
        "14:30:00 GMT+1",
    ])
    func `half a day in other words is no date, and never the wrong half`(time: String) {
        #expect(AutoExportDate(.string("2024-02-06 \(time)"), zone: .utc) == nil)
        #expect(AutoExportDate(.string("2024-02-06 \(time) +0100"), zone: .utc) == nil)
    }

    @Test(arguments: [
        JSON.null, true, "", "yesterday", "2024-13-01", "2024-02-30 10:00:00 +0000", "1899-12-31",
        "2200-01-01", "2569-02-06 10:00:00 +0700", "2024-02-06 25:00:00 +0000",
        "2024-02-06 13:00:00 PM +0000",
        "2024-02-06 10:00:00 +2500", "2024-02-06 10:00:00 CET", "2024-02-06T", "20240206", 0, -5,
        1e300, ["2024-02-06"], .object([]),
    ])
    func `anything else is none`(json: JSON) {
        #expect(AutoExportDate(json, zone: .utc) == nil)
    }

    @Test(arguments: [
        ("2024-02-06", true, true), ("2024-02-06 00:00:00 -0800", true, false),
        ("2024-02-06 12:00:00 AM -0800", true, false), ("2024-02-06 00:01:00 -0800", false, false),
        ("2024-02-06T00:00:00Z", true, false), ("1707177600", false, false),
    ])
    func `midnight is that of the clock by which it is written`(
        text: String, isMidnight: Bool, isDay: Bool
    ) throws {
        let date = try #require(AutoExportDate(.string(text), zone: london))

        #expect(date.isMidnight == isMidnight && date.isDay == isDay)
    }

    @Test(arguments: [
        // Days on which the clock changes have 23 or 25 hours.
        ("2024-03-31 00:00:00 +0000", "2024-03-31T23:00:00Z"),
        ("2024-10-27 00:00:00 +0100", "2024-10-28T00:00:00Z"),
        // A midnight on the clock of another zone, and a day there that began at 01:00.
        ("2024-03-31 00:00:00 -0800", "2024-04-01T08:00:00Z"),
        ("2024-09-08 01:00:00 -0300", "2024-09-09T03:00:00Z"),
    ])
    func `a day ends at the next midnight of its own clock`(start: String, end: String) throws {
        let date = try #require(AutoExportDate(.string(start), zone: london))

        #expect(london.endOfDay(from: date) == Instant(rfc3339: end))
    }

    @Test(
        arguments: [
            ("2024-09-08 01:00:00 -0300", true, "2024-09-09T03:00:00Z"),
            ("2024-09-08", true, "2024-09-09T03:00:00Z"),
            ("2024-09-08 01:00:00", true, "2024-09-09T03:00:00Z"),
            ("2024-09-08 02:00:00 -0300", false, nil), ("2024-09-09 01:00:00 -0300", false, nil),
            // The same instant on the clock of another phone.
            ("2024-09-08 04:00:00 +0000", false, nil),
        ] as [(String, Bool, String?)])
    func `a day whose midnight is skipped begins when the clock goes on`(
        text: String, isMidnight: Bool, end: String?
    ) throws {
        let santiago = try testZone("America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24")
        let date = try #require(AutoExportDate(.string(text), zone: santiago))

        #expect(date.isMidnight == isMidnight)
        if let end { #expect(santiago.endOfDay(from: date) == Instant(rfc3339: end)) }
    }
}
