import HealthModel
import ClarityScheduler
import Testing

@testable import Import

@Suite struct MinuteAggregationTests {
    private let watch = FoldBench.watch
    private let phone = FoldBench.phone

    /// Returns the minutes with steps, such as `2024-01-15 08:00 12`.
    private func minutes(_ days: [StepDay]) -> [String] {
        days.flatMap { day in
            day.counts.enumerated().filter { $0.element > 0 }.map { minute, count in
                let hour = minute / 60
                let rest = minute % 60
                return "\(day.day) \(hour < 10 ? "0" : "")\(hour):\(rest < 10 ? "0" : "")\(rest) "
                    + "\(count)"
            }
        }
    }

    @Test func `a record's steps are shared out over its minutes and add up to it`() {
        var bench = FoldBench(until: "2024-01-15T20:00:00Z")
        bench.add(.steps, 10, watch, at: "2024-01-15T08:00:30Z", for: 180)

        let days = bench.finish().outcome.steps

        // The first minute and a half has half of the steps. Fractions carry over to the next
        // minute.
        #expect(
            minutes(days) == [
                "2024-01-15 08:00 1", "2024-01-15 08:01 4", "2024-01-15 08:02 3",
                "2024-01-15 08:03 2",
            ])
        #expect(days.map(\.knownMinutes) == [1200])
        #expect(days.map(\.zone) == ["UTC"])
    }

    @Test func `minutes are merged as days are`() {
        var bench = FoldBench(until: "2024-01-15T20:00:00Z")
        bench.add(.steps, 60, phone, at: "2024-01-15T08:00:00Z", for: 180)
        bench.add(.steps, 5, watch, at: "2024-01-15T08:01:00Z", for: 30)
        bench.add(.steps, 3, watch, at: "2024-01-15T08:01:10Z", for: 0)

        // The phone covers the second half of the watch's minute.
        #expect(
            minutes(bench.finish().outcome.steps) == [
                "2024-01-15 08:00 20", "2024-01-15 08:01 18", "2024-01-15 08:02 20",
            ])
    }

    @Test func `the eight days up to the export count, and copies once`() {
        var bench = FoldBench(until: "2024-06-01T00:00:00Z")
        bench.exportDate("2024-01-15T12:00:00Z")
        for date in ["2024-01-07", "2024-01-08", "2024-01-14", "2024-01-15", "2024-01-16"] {
            for _ in 0..<2 {
                bench.add(.steps, 9, watch, at: "\(date)T08:00:00Z", for: 60)
            }
        }

        let days = bench.finish().outcome.steps

        #expect(
            minutes(days) == [
                "2024-01-08 08:00 9", "2024-01-14 08:00 9", "2024-01-15 08:00 9",
            ])
        #expect(days.map(\.knownMinutes) == [1440, 1440, 720])
    }

    @Test func `a record of more than an hour tells nothing of its minutes`() {
        var bench = FoldBench(until: "2024-01-15T20:00:00Z")
        bench.add(.steps, 3600, watch, at: "2024-01-15T08:00:00Z", for: 3601)
        bench.add(.distance, 1, watch, at: "2024-01-15T08:00:00Z", for: 60)

        #expect(bench.finish().outcome.steps == [])
    }

    @Test func `minutes are those of the clock, also where it is changed`() throws {
        var forward = FoldBench(try TestZones.london, until: "2024-04-01T10:00:00Z")
        forward.add(.steps, 20, watch, at: "2024-03-31T00:59:00Z", for: 120)
        var back = FoldBench(try TestZones.london, until: "2024-10-28T10:00:00Z")
        back.add(.steps, 1, watch, at: "2024-10-27T00:30:00Z", for: 60)
        back.add(.steps, 2, watch, at: "2024-10-27T01:30:00Z", for: 60)

        #expect(
            minutes(forward.finish().outcome.steps) == [
                "2024-03-31 00:59 10", "2024-03-31 02:00 10",
            ])
        #expect(minutes(back.finish().outcome.steps) == ["2024-10-27 01:30 3"])
    }
}
