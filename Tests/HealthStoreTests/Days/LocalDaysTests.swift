import HealthStore
import ClarityScheduler
import ClarityTestSupport

import Testing

@Suite struct LocalDaysTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        let time: String
        let start: String
        let hours: Double

        init(_ rule: String, _ time: String, _ start: String, _ hours: Double) {
            self.rule = rule
            self.time = time
            self.start = start
            self.hours = hours
        }

        var testDescription: String { "\(rule) \(time)" }
    }

    static let london = "GMT0BST,M3.5.0/1,M10.5.0"
    static let havana = "CST5CDT,M3.2.0/0,M11.1.0/1"
    static let backOverMidnight = "XXX3YYY,M10.3.0/0,M2.3.0/0"

    @Test(arguments: [
        Row("UTC0", "2024-01-15T23:59:59Z", "2024-01-15T00:00:00Z", 24),
        Row("UTC0", "1969-12-31T12:00:00Z", "1969-12-31T00:00:00Z", 24),
        Row(london, "2024-03-31T12:00:00Z", "2024-03-31T00:00:00Z", 23),
        Row(london, "2024-06-30T23:30:00Z", "2024-06-30T23:00:00Z", 24),
        Row(london, "2024-10-27T23:30:00Z", "2024-10-26T23:00:00Z", 25),
        Row(
            "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2024-04-07T00:00:00Z",
            "2024-04-06T13:00:00Z", 24.5),
        Row("<+0545>-5:45", "2024-01-15T18:15:00Z", "2024-01-15T18:15:00Z", 24),
        // The clock skips midnight: the day begins at 01:00.
        Row(havana, "2024-03-10T12:00:00Z", "2024-03-10T05:00:00Z", 23),
        // The clock shows midnight twice: the day begins at the first.
        Row(havana, "2024-11-03T05:30:00Z", "2024-11-03T04:00:00Z", 25),
        // At midnight the clock goes back into the previous day.
        Row(backOverMidnight, "2024-02-18T02:30:00Z", "2024-02-17T02:00:00Z", 25),
        Row(backOverMidnight, "2024-02-18T03:00:00Z", "2024-02-18T03:00:00Z", 24),
    ])
    func `a day begins when the clocks show its date`(row: Row) throws {
        var days = LocalDays(zone: try testZone("Test/Zone", row.rule))

        let day = days.day(at: try #require(Instant(rfc3339: row.time)).secondsSince1970)

        #expect(Instant(secondsSince1970: day.start).description == row.start)
        #expect(Double(day.end - day.start) / 3600 == row.hours)
        #expect(days.day(at: day.start).number == day.number)
        #expect(days.day(at: day.end).number == day.number + 1)
        #expect(days.day(at: day.start - 1).number == day.number - 1)
    }

    @Test func `every hour of five years lies in the day that it is asked for`() throws {
        for rule in [LocalDaysTests.london, LocalDaysTests.havana, LocalDaysTests.backOverMidnight]
        {
            var days = LocalDays(zone: try testZone("Test/Zone", rule))
            var last: LocalDay?
            let first = try #require(Instant(rfc3339: "2022-01-01T00:30:00Z"))
            for hour in 0..<5 * 366 * 24 {
                let time = first.secondsSince1970 + Int64(hour) * 3600
                let day = days.day(at: time)
                #expect(day.start <= time && time < day.end)
                if let last, last != day {
                    #expect(day.number == last.number + 1 && day.start == last.end)
                }
                last = day
            }
        }
    }
}
