import HealthModel
import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Testing

@testable import Import
@testable import ClarityJobs

/// Tests what counts when pushes of Health Auto Export have points of the same time, judged by the
/// samples that wait to be sent.
@Suite struct PushedPointsTests {
    private typealias Metric = (name: String, unit: String, points: [String])

    private let bench = WorkBench()
    private let folder: TemporaryFolder
    private let zone: Zone

    init() throws {
        folder = try TemporaryFolder()
        zone = try testZone("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3")
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
    }

    /// Writes a push at a minute of its own, and reads the folder.
    private func push(_ number: Int, _ metrics: [Metric], in zone: Zone? = nil) throws {
        let texts = metrics.map {
            #"{"name":"\#($0.name)","units":"\#($0.unit)","data":[\#($0.points.joined(separator: ","))]}"#
        }
        let path = try folder.write(
            "\(number).json",
            Array("{\"data\":{\"metrics\":[\(texts.joined(separator: ","))]}}".utf8))
        let time = timespec(tv_sec: 1_800_000_000 + 60 * number, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        let entry = SourceEntry(
            kind: .healthAutoExport, path: folder.path, zone: zone ?? self.zone,
            zones: SystemZones(environment: [:]))
        for source in entry.sources(now: bench.clock.now) {
            _ = try SourceIntake(store: try bench.store(), clock: bench.clock).read(source) { _ in }
        }
    }

    private func sum(_ date: String, _ value: Double, _ source: String? = "Phone") -> String {
        let source = source.map { #","source":"\#($0)""# } ?? ""
        return #"{"date":"\#(date)","qty":\#(value)\#(source)}"#
    }

    private func average(
        _ date: String, _ value: Double, _ source: String = "Watch", spread: Double = 9
    ) -> String {
        #"{"date":"\#(date)","Min":\#(value - spread),"Avg":\#(value),"Max":\#(value + spread),"#
            + #""source":"\#(source)"}"#
    }

    private func steps(_ points: String...) -> Metric { ("step_count", "count", points) }
    private func rates(_ points: String...) -> Metric { ("heart_rate", "count/min", points) }

    /// Returns the samples by kind, start, length in seconds, and value, in that order.
    private func samples() throws -> [String] {
        let store = try bench.store()
        return try (1...80).compactMap { try store.outbox.sample($0, withValue: true)?.sample }
            .map { sample in
                let length = (sample.end - sample.start).components.seconds
                return "\(sample.kind.rawValue) \(sample.start)+\(length) \(sample.canonicalValue)"
            }.sorted()
    }

    /// Returns the sum of the steps of all days.
    private func allSteps() throws -> Int {
        let store = try bench.store()
        return try (1...80).compactMap { try store.outbox.sample($0, withValue: true)?.sample }
            .reduce(0) { sum, sample in
                guard case .activity(let day) = sample.value else { return sum }
                return sum + Int(day.steps ?? 0)
            }
    }

    private func day(_ steps: Int) -> [String] {
        ["activity 2024-11-24T23:00:00Z+86400 \(steps)/-/-/-/-/-/-"]
    }

    private let eight = "2024-11-25 08:00:00 +0100"
    private let nine = "2024-11-25 09:00:00 +0100"
    private let midnight = "2024-11-25 00:00:00 +0100"

    // MARK: Names of several sources

    @Test(
        arguments: [
            ("A Watch", "A Watch|B Phone"), ("A Watch|B Phone", "B Phone|A Watch"),
            ("Kim's Watch", "Kim’s Watch"), ("A Watch", nil), (nil, "A Watch"),
        ] as [(String?, String?)])
    func `sums of a later push count, whatever their source`(
        first: String?, second: String?
    ) throws {
        try push(1, [steps(sum(eight, 1200, first), sum(nine, 300, first))])
        try push(2, [steps(sum(eight, 2000, second), sum(nine, 450, second))])

        #expect(try samples() == day(2450))
    }

    @Test func `averages of a later push replace those of the same time`() throws {
        func hourly(_ first: Double, _ source: String) -> [Metric] {
            [
                rates(average(eight, 30 + first, source), average(nine, 70, source)),
                (
                    "heart_rate_variability", "ms",
                    [sum(eight, first, source), sum(nine, 40, source)]
                ),
                ("mindful_minutes", "min", [sum(eight, first / 10, source), sum(nine, 5, source)]),
            ]
        }
        try push(1, hourly(40, "A Watch"))
        try push(2, hourly(44, "A Watch|Strap"))

        #expect(
            try samples() == [
                "heart_rate 2024-11-25T07:00:00Z+0 74.0", "heart_rate 2024-11-25T08:00:00Z+0 70.0",
                "heart_rate_variability 2024-11-25T07:00:00Z+0 44.00",
                "heart_rate_variability 2024-11-25T08:00:00Z+0 40.00",
                "meditation_minutes 2024-11-25T07:00:00Z+0 4.40",
                "meditation_minutes 2024-11-25T08:00:00Z+0 5.00",
            ])
    }

    @Test func `the average of an hour replaces the only reading of that hour`() throws {
        try push(1, [rates(average(eight, 72, spread: 0), average(nine, 70))])
        try push(2, [rates(average(eight, 75, "Watch|Strap"), average(nine, 70))])

        #expect(
            try samples() == [
                "heart_rate 2024-11-25T07:00:00Z+0 75.0", "heart_rate 2024-11-25T08:00:00Z+0 70.0",
            ])
    }

    @Test func `values of a day of a later push count`() throws {
        func daily(_ steps: Double, _ rate: Double, _ source: String) -> [Metric] {
            let before = "2024-11-24 00:00:00 +0100"
            return [
                self.steps(sum(before, 5000, source), sum(midnight, steps, source)),
                (
                    "resting_heart_rate", "count/min",
                    [sum(before, 55, source), sum(midnight, rate, source)]
                ),
            ]
        }
        try push(1, daily(6000, 56, "A Watch"))
        try push(2, daily(9000, 59, "A Watch|Z"))

        #expect(
            try samples() == [
                "activity 2024-11-23T23:00:00Z+86400 5000/-/-/-/-/-/55.0",
                "activity 2024-11-24T23:00:00Z+86400 9000/-/-/-/-/-/59.0",
            ])
    }

    @Test func `two points of one time in one file both stay, and each is replaced by its source`()
        throws
    {
        try push(1, [rates(average(eight, 61, "Band"), average(eight, 62), average(nine, 63))])
        try push(2, [rates(average(eight, 64, "Band"), average(eight, 62), average(nine, 63))])

        #expect(
            try samples() == [
                "heart_rate 2024-11-25T07:00:00Z+0 62.0", "heart_rate 2024-11-25T07:00:00Z+0 64.0",
                "heart_rate 2024-11-25T08:00:00Z+0 63.0",
            ])
    }

    @Test func `an earlier push that is read later changes nothing`() throws {
        try push(2, [steps(sum(eight, 2000, "A|B")), rates(average(eight, 75, "A|B"))])
        try push(1, [steps(sum(eight, 1200, "A")), rates(average(eight, 72, "A"))])

        #expect(try samples() == day(2000) + ["heart_rate 2024-11-25T07:00:00Z+0 75.0"])
    }

    /// Stores steps of a source entry, from a start on for some hours.
    private func contribute(
        _ steps: Int64, from start: String, hours: Int64 = 1, of entry: String, _ source: DaySource,
        asOf: Int64
    ) throws {
        let start = try #require(Instant(rfc3339: start)).secondsSince1970
        let key = PartialAggregateKey(kind: .steps, period: DayParts.period(of: start))
        let part = DayPart(start: start, end: start + hours * 3600, amount: steps * 100)
        try bench.store().outbox.contribute([key], of: entry) { _, kept in
            var known = kept.flatMap { PartialAggregate(bytes: $0) } ?? PartialAggregate()
            known.merge(PartialAggregate.Layer(asOf: asOf, parts: [source: [part]]))
            return known.bytes
        }
    }

    private static let app = DaySource(name: "A Watch", preferred: [], isTotal: true)
    private static let other = DaySource(name: "A Watch|B Phone", preferred: [], isTotal: true)

    @Test func `two folders with the points of one app make one day`() throws {
        let start = "2024-11-25T07:00:00Z"
        try contribute(1200, from: start, of: "folder 1", Self.app, asOf: 1_800_000_001)
        try contribute(2000, from: start, of: "folder 2", Self.other, asOf: 1_800_000_002)

        try push(1, [steps(sum(nine, 450))])

        #expect(try samples() == day(2450))
    }

    @Test(arguments: [
        [("a", 1200, app), ("b", 2000, other)], [("b", 1200, app), ("a", 2000, other)],
        [("a", 2000, app), ("b", 1200, other)], [("b", 2000, app), ("a", 1200, other)],
    ])
    func `of two files written in the same second the larger sum of an hour counts`(
        files: [(String, Int64, DaySource)]
    ) throws {
        for (entry, steps, source) in files {
            try contribute(
                steps, from: "2024-11-25T07:00:00Z", of: entry, source, asOf: 1_800_000_000)
        }

        try push(1, [steps(sum(nine, 450))])

        #expect(try samples() == day(2450))
    }

    @Test(arguments: [false, true])
    func `a total of another zone's day adds nothing to an export's records`(
        isExportFirst: Bool
    ) throws {
        let days = steps(
            sum("2024-11-20 00:00:00 -0500", 5000), sum("2024-11-21 00:00:00 -0500", 6000))
        if !isExportFirst { try push(1, [days]) }
        let phone = DaySource(name: "Phone", preferred: [])
        for (steps, start) in [
            (Int64(5000), "2024-11-20T14:00:00Z"), (6000, "2024-11-21T14:00:00Z"),
        ] {
            try contribute(steps, from: start, of: "export", phone, asOf: 1_900_000_000)
        }

        try push(2, [days])

        #expect(
            try samples() == [
                "activity 2024-11-19T23:00:00Z+86400 5000/-/-/-/-/-/-",
                "activity 2024-11-20T23:00:00Z+86400 6000/-/-/-/-/-/-",
                // A part of the last total may have been sent for this day.
                "activity 2024-11-21T23:00:00Z+86400 0/-/-/-/-/-/-",
            ])
    }

    // MARK: Days and hours

    @Test func `hours that come one in a push are added up`() throws {
        try push(1, [steps(sum(midnight, 120))])
        #expect(try samples() == day(120))
        try push(2, [steps(sum("2024-11-25 01:00:00 +0100", 10))])
        #expect(try samples() == day(130))
        try push(3, [steps(sum(eight, 400))])
        try push(4, [steps(sum(nine, 500))])

        #expect(try samples() == day(1030))
    }

    @Test(arguments: [[1, 2], [2, 1]], [1, 2])
    func `a day's total and its hours count once`(order: [Int], days: Int) throws {
        let totals = (0..<days).map { sum("2024-11-\(25 - $0) 00:00:00 +0100", 5730) }
        let hours = steps(sum(midnight, 30), sum(eight, 3000.00001), sum(nine, 2700))
        for number in order {
            let metric: Metric = number == 1 ? ("step_count", "count", totals) : hours
            try push(number, [metric])
        }

        #expect(try allSteps() == 5730 * days)
    }

    @Test func `the hours after a day's total was made of a part of the day count`() throws {
        let before = sum("2024-11-24 00:00:00 +0100", 100)
        try push(1, [steps(before, sum(midnight, 2000))])
        try push(2, [steps(sum(eight, 3000), sum(nine, 2700))])

        #expect(try allSteps() == 5800)
    }

    @Test func `the first minute of an hour does not stay the whole hour`() throws {
        try push(1, [steps(sum(eight, 20))])
        try push(2, [steps(sum(eight, 30), sum("2024-11-25 08:01:00 +0100", 40))])

        #expect(try samples() == day(70))
    }

    @Test func `the other metrics of a push show that its only point is an hour`() throws {
        let hours = steps(sum("2024-11-24 23:00:00 +0100", 10), sum(midnight, 10))
        try push(1, [rates(average(midnight, 60)), hours])

        #expect(
            try samples().filter { $0.hasPrefix("heart") } == [
                "heart_rate 2024-11-24T23:00:00Z+0 60.0"
            ])
    }

    @Test func `a sum alone at midnight is an hour once others of its day are known`() throws {
        let hours = steps(sum(midnight, 120), sum(eight, 400))
        func flights(_ points: String...) -> Metric { ("flights_climbed", "count", points) }
        try push(1, [hours, flights(sum(midnight, 1))])
        try push(2, [hours, flights(sum(midnight, 1), sum("2024-11-25 18:00:00 +0100", 9))])

        #expect(try samples() == ["activity 2024-11-24T23:00:00Z+86400 520/-/-/-/10/-/-"])
    }

    @Test(arguments: [[1, 2], [2, 1]])
    func `an average alone at midnight is an hour once others of its day are known`(
        order: [Int]
    ) throws {
        for number in order {
            try push(
                number,
                [
                    number == 1
                        ? rates(average(midnight, 60))
                        : rates(average(midnight, 61, "A|B"), average(eight, 70))
                ])
        }

        #expect(
            try samples() == [
                "heart_rate 2024-11-24T23:00:00Z+0 61.0", "heart_rate 2024-11-25T07:00:00Z+0 70.0",
            ])
    }

    @Test func `the last resting heart rate of a day counts, not that of its first hour`() throws {
        func resting(_ points: String...) -> Metric { ("resting_heart_rate", "bpm", points) }
        try push(1, [resting(sum(midnight, 55))])
        try push(2, [resting(sum(midnight, 55), sum(eight, 58))])

        #expect(try samples() == ["activity 2024-11-24T23:00:00Z+86400 -/-/-/-/-/-/58.0"])
    }

    @Test func `a point that says when it ends is no longer than that`() throws {
        let point =
            #"{"date":"\#(midnight)","start":"\#(midnight)","end":"2024-11-25 01:00:00 +0100","qty":120}"#
        try push(1, [steps(point)])
        try push(2, [steps(sum("2024-11-25 01:00:00 +0100", 10))])

        #expect(try samples() == day(130))
    }

    // MARK: Zones

    @Test func `a point alone at 01:00 is a day where the clock skips midnight`() throws {
        let santiago = try testZone("America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24")
        let date = "2024-09-08 01:00:00 -0300"
        try push(1, [rates(average(date, 65)), steps(sum(date, 6000))], in: santiago)

        #expect(
            try samples() == [
                "activity 2024-09-08T04:00:00Z+82800 6000/-/-/-/-/-/-",
                "heart_rate 2024-09-08T04:00:00Z+82800 65.0",
            ])
    }

    @Test func `days of a phone in a zone that skips midnight are days in another account`() throws
    {
        let points = [
            average("2024-09-07 00:00:00 -0400", 64), average("2024-09-08 01:00:00 -0300", 65),
            average("2024-09-09 00:00:00 -0300", 66),
        ]
        try push(1, [("heart_rate", "bpm", points)])

        #expect(
            try samples() == [
                "heart_rate 2024-09-07T04:00:00Z+86400 64.0",
                "heart_rate 2024-09-08T04:00:00Z+82800 65.0",
                "heart_rate 2024-09-09T03:00:00Z+86400 66.0",
            ])
    }

    @Test(arguments: [false, true])
    func `no total is lost or counted twice when the phone travels`(isOneFile: Bool) throws {
        let points = [
            sum("2024-11-20 00:00:00 +0100", 1000), sum("2024-11-21 00:00:00 +0100", 2000),
            sum("2024-11-22 00:00:00 -0500", 3000), sum("2024-11-23 00:00:00 -0500", 4000),
            sum("2024-11-24 00:00:00 +0100", 5000),
        ]
        if isOneFile {
            try push(1, [("step_count", "count", points)])
        } else {
            for place in points.indices { try push(place, [steps(points[place])]) }
        }

        #expect(try allSteps() == 15_000)
    }

    @Test func `the days of a push from another zone replace those that they overlap most`() throws
    {
        func days(_ offset: String, _ values: [Double]) -> Metric {
            (
                "step_count", "count",
                values.enumerated().map { sum("2024-11-2\($0) 00:00:00 \(offset)", $1) }
            )
        }
        try push(1, [days("+0100", [1000, 2000, 3000])])
        try push(2, [days("-0500", [1000, 2100, 3000])])

        #expect(try allSteps() == 6100)
    }
}
