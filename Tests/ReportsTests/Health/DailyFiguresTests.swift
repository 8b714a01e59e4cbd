import HealthModel
import ClarityScheduler
import Platform
import Testing

@testable import HealthStore
@testable import Reports

@Suite struct DailyFiguresTests {
    /// 2026-01-05, a Monday.
    private static let day = 20_458
    private let zone: Zone

    init() throws {
        zone = try #require(SystemZones(environment: [:]).zone(named: "Europe/Berlin"))
    }

    private func instant(_ text: String) throws -> Instant {
        try #require(Instant(rfc3339: text))
    }

    private func record(
        _ start: String, to end: String? = nil, asOf: Instant? = nil, _ values: [Measure: Double]
    ) throws -> MetricRecord {
        var numbers = MetricNumbers()
        for (measure, number) in values { numbers[measure] = number }
        return MetricRecord(
            start: try instant(start), end: try instant(end ?? start), origin: .source, asOf: asOf,
            numbers: numbers)
    }

    private func figures(
        _ group: MetricGroup, _ records: [MetricRecord]
    ) -> [Measure: [DayFigure]] {
        var figures = DailyFigures(group, in: zone)
        for record in records { figures.add(record) }
        return figures.figures()
    }

    @Test func `measured values are counted and averaged on the zone's own days`() throws {
        // Half an hour before and after midnight in Berlin.
        let found = figures(
            .heartRate,
            [
                try record("2026-01-05T22:30:00Z", [.heartRate: 60]),
                try record("2026-01-05T23:30:00Z", [.heartRate: 70]),
                try record("2026-01-06T11:00:00Z", [.heartRate: 100]),
            ])

        #expect(
            found == [
                .heartRate: [
                    DayFigure(day: Self.day, count: 1, least: 60, most: 60, sum: 60),
                    DayFigure(day: Self.day + 1, count: 2, least: 70, most: 100, sum: 170),
                ]
            ])
        #expect(found[.heartRate]?.last?.value(of: .heartRate) == 85)
    }

    @Test func `of an hour's averages those of the latest file count, in any order`() throws {
        let (early, late) = (
            try instant("2026-01-05T09:30:00Z"), try instant("2026-01-05T12:00:00Z")
        )
        let records = [
            try record("2026-01-05T08:00:00Z", asOf: early, [.heartRate: 72]),
            try record("2026-01-05T08:00:00Z", asOf: late, [.heartRate: 75]),
            // Another source in the same file, another hour, and a reading.
            try record("2026-01-05T08:00:00Z", asOf: late, [.heartRate: 77]),
            try record("2026-01-05T09:00:00Z", asOf: early, [.heartRate: 80]),
            try record("2026-01-05T08:00:00Z", [.heartRate: 60]),
            try record("2026-01-05T08:00:00Z", asOf: early, [.restingHeartRate: 50]),
        ]

        for found in [figures(.heartRate, records), figures(.heartRate, records.reversed())] {
            #expect(
                found[.heartRate] == [
                    DayFigure(day: Self.day, count: 4, least: 60, most: 80, sum: 292)
                ])
            #expect(found[.restingHeartRate]?.map(\.sum) == [50])
        }
    }

    @Test func `parts of a day are added up`() throws {
        let found = figures(
            .activity,
            [
                try record("2026-01-05T09:00:00Z", to: "2026-01-05T09:05:00Z", [.steps: 300]),
                try record("2026-01-05T10:00:00Z", to: "2026-01-05T10:05:00Z", [.steps: 200]),
            ])

        #expect(found[.steps]?.map(\.sum) == [500])
        #expect(found[.steps]?.first?.value(of: .steps) == 500)
    }

    @Test func `where the whole day is known its parts are not added to it`() throws {
        let found = figures(
            .activity,
            [
                try record(
                    "2026-01-04T23:00:00Z", to: "2026-01-05T23:00:00Z",
                    [.steps: 8000, .restingHeartRate: 58]),
                try record("2026-01-05T09:00:00Z", to: "2026-01-05T09:05:00Z", [.steps: 300]),
                try record("2026-01-05T09:00:00Z", [.restingHeartRate: 60]),
                try record("2026-01-06T09:00:00Z", to: "2026-01-06T09:05:00Z", [.steps: 7]),
            ])

        #expect(found[.steps]?.map(\.day) == [Self.day, Self.day + 1])
        #expect(found[.steps]?.map(\.sum) == [8000, 7])
        // A mean uses all values.
        #expect(found[.restingHeartRate]?.map(\.mean) == [59])
    }

    @Test func `of two versions of a day the one that is true as of later counts`() throws {
        let day = ("2026-01-04T23:00:00Z", "2026-01-05T23:00:00Z")
        let early = try record(
            day.0, to: day.1, asOf: instant("2026-01-05T12:00:00Z"), [.steps: 9000])
        let late = try record(
            day.0, to: day.1, asOf: instant("2026-01-06T12:00:00Z"), [.steps: 8000])
        let unknown = try record(day.0, to: day.1, [.steps: 99_999])

        for records in [[early, late, unknown], [unknown, late, early]] {
            #expect(figures(.activity, records)[.steps]?.map(\.sum) == [8000])
        }
    }

    @Test func `without such an instant the version with more in it counts`() throws {
        let day = ("2026-01-04T23:00:00Z", "2026-01-05T23:00:00Z")
        let records = [
            try record(day.0, to: day.1, [.steps: 5000]),
            try record(day.0, to: day.1, [.steps: 8000]),
        ]

        #expect(figures(.activity, records)[.steps]?.map(\.sum) == [8000])
        #expect(figures(.activity, records.reversed())[.steps]?.map(\.sum) == [8000])
    }

    @Test func `a night belongs to the day on which it ends, and naps are added`() throws {
        let found = figures(
            .sleep,
            [
                try record(
                    "2026-01-04T21:30:00Z", to: "2026-01-05T05:30:00Z",
                    [.totalSleep: 400, .sleepEfficiency: 0.9]),
                // The same night with a late record.
                try record(
                    "2026-01-04T21:30:00Z", to: "2026-01-05T06:00:00Z",
                    [.totalSleep: 420, .sleepEfficiency: 0.8]),
                try record("2026-01-05T12:00:00Z", to: "2026-01-05T12:30:00Z", [.totalSleep: 25]),
            ])

        #expect(
            found[.totalSleep] == [
                DayFigure(day: Self.day, count: 2, least: 25, most: 420, sum: 445)
            ])
        #expect(found[.sleepEfficiency]?.map(\.mean) == [0.8])
    }

    @Test func `a day of 23 hours is a whole one, a walk of 17 is none`() throws {
        // The clock goes forward on 2026-03-29.
        let found = figures(
            .activity,
            [
                try record("2026-03-28T23:00:00Z", to: "2026-03-29T22:00:00Z", [.steps: 5000]),
                try record("2026-03-29T01:00:00Z", to: "2026-03-29T18:00:00Z", [.steps: 4000]),
                try record("2026-03-30T01:00:00Z", to: "2026-03-30T18:00:00Z", [.steps: 4000]),
            ])

        #expect(found[.steps]?.map(\.sum) == [5000, 4000])
    }

    @Test func `without values there are no days`() {
        #expect(figures(.heartRate, []) == [:])
    }
}
