import HealthStore
import ClarityScheduler
import Platform
import Testing

@testable import Reports

@Suite struct CivilMonthTests {
    @Test(arguments: [
        ("2026-02", 28, "2026-01"), ("2024-02", 29, "2024-01"), ("2026-01", 31, "2025-12"),
        ("0001-01", 31, "0000-12"),
    ])
    func `a month has its days, and one before it`(text: String, days: Int, before: String) throws {
        let month = try #require(CivilMonth(text))

        #expect(month.description == text && month.days.count == days)
        #expect(month.before.description == before)
        #expect(CivilMonth(of: month.days.upperBound) == month)
        #expect(CivilMonth(of: month.days.upperBound + 1) > month)
    }

    @Test(arguments: ["2026", "2026-13", "2026-00", "2026-1", "26-10", "2026-+1", "2026-10-01", ""])
    func `anything else is no month`(text: String) {
        #expect(CivilMonth(text) == nil)
    }

    @Test func `months are counted from January 1970`() {
        #expect(CivilMonth(monthsSince1970: 0).description == "1970-01")
        #expect(CivilMonth(monthsSince1970: 681).description == "2026-10")
        #expect(CivilMonth(monthsSince1970: -1).description == "1969-12")
    }

    @Test func `days and times are those of the zone`() throws {
        let zone = try #require(SystemZones(environment: [:]).zone(named: "Pacific/Auckland"))
        let dates = LocalDates(zone: zone)
        let instant = try #require(Instant(rfc3339: "2026-09-30T11:05:00Z"))

        #expect(dates.moment(instant) == "Thu 1 Oct, 00:05")
        #expect(dates.fullMoment(instant) == "Thu 1 Oct 2026, 00:05")
    }

    @Test(
        arguments: [
            ([], ""), ([3], "3"), ([3, 4, 5], "3\u{2013}5"), ([1, 3], "1 and 3"),
            ([1, 3, 4, 9], "1, 3\u{2013}4 and 9"),
        ] as [([Int], String)])
    func `days are named by ranges`(days: [Int], text: String) throws {
        let first = try #require(CivilMonth("2026-10")).days.lowerBound
        #expect(LocalDates.list(days.map { first + $0 - 1 }) == text)
    }
}
