import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport
import Testing

@testable import Import
@testable import ClarityJobs

/// Tests that all sources of an account make one day.
@Suite struct MergedDaysTests {
    private let bench = WorkBench()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
    }

    /// Writes an export with the watch's steps in the 600 seconds from 08:00 on.
    private func export(
        _ steps: Int, name: String = "export.xml", madeOn date: String = "2024-02-09",
        and other: String = ""
    )
        throws -> SourceEntry
    {
        let record =
            #"<Record type="HKQuantityTypeIdentifierStepCount" sourceName="Watch" unit="count" "#
            + #"value="\#(steps)" startDate="2024-02-06 08:00:00 +0000" "#
            + #"endDate="2024-02-06 08:10:00 +0000"/>"#
        let text =
            #"<HealthData><ExportDate value="\#(date) 12:00:00 +0000"/>\#(record)\#(other)"#
            + "</HealthData>"
        return try origin(.appleHealthExport, name, text)
    }

    /// Writes a file of Health Auto Export with points of steps.
    private func points(
        _ points: [(date: String, steps: Int)], name: String = "auto.json", prefer: [String] = []
    ) throws -> SourceEntry {
        let data = points.map { #"{"date":"\#($0.date)","qty":\#($0.steps),"source":"Watch"}"# }
        return try origin(
            .healthAutoExport, name,
            #"{"data":{"metrics":[{"name":"step_count","units":"count","data":["#
                + data.joined(separator: ",") + "]}]}}", prefer: prefer)
    }

    private var minutes: [(date: String, steps: Int)] {
        (0..<10).map { ("2024-02-06 08:0\($0):00 +0000", 90) }
            + [("2024-02-06 12:00:00 +0000", 50), ("2024-02-06 12:01:00 +0000", 7)]
    }

    private func origin(
        _ kind: SourceEntry.Kind, _ name: String, _ text: String, prefer: [String] = []
    ) throws -> SourceEntry {
        SourceEntry(
            kind: kind, path: try folder.write(name, Array(text.utf8)), zone: .utc,
            preferred: prefer, zones: SystemZones(environment: [:]))
    }

    @discardableResult
    private func read(_ origin: SourceEntry) throws -> EnqueueCounts {
        var counts = EnqueueCounts()
        for source in origin.sources(now: bench.clock.now) {
            counts += try SourceIntake(store: try bench.store(), clock: bench.clock)
                .read(source) { _ in }.enqueued
        }
        return counts
    }

    /// Returns all samples of the outbox, such as `activity 2024-02-06T00:00:00Z 1000/-/-/-/-/-/-`.
    private func samples() throws -> [String] {
        let store = try bench.store()
        return try (1...40).compactMap { try store.outbox.sample($0, withValue: true)?.sample }
            .map { "\($0.kind.rawValue) \($0.start) \($0.canonicalValue)" }
    }

    private func day(_ steps: Int) -> [String] {
        ["activity 2024-02-06T00:00:00Z \(steps)/-/-/-/-/-/-"]
    }

    @Test func `an export and Health Auto Export make one day, in either order`() throws {
        try read(try export(1000))
        try read(try points(minutes))
        #expect(try samples() == day(1057))

        try read(try points(minutes.map { ($0.date, $0.steps + 1) }))
        #expect(try samples() == day(1059))
    }

    @Test func `whichever source is read first does not count`() throws {
        try read(try points(minutes))
        #expect(try samples() == day(957))

        try read(try export(1000))
        #expect(try samples() == day(1057))
    }

    @Test func `a total of a day gives way to an export that knows the day`() throws {
        try read(try export(1000))
        try read(try points([("2024-02-06 00:00:00 +0000", 9000)]))

        #expect(try samples() == day(1000))
    }

    @Test func `a total of a day counts where the export ends within the day`() throws {
        try read(try export(1000, madeOn: "2024-02-06"))
        #expect(try samples() == [])

        try read(try points([("2024-02-06 00:00:00 +0000", 9000)]))
        #expect(try samples() == day(9000))
    }

    @Test func `a preferred source of Health Auto Export comes before the export`() throws {
        try read(try export(1000))
        try read(try points(minutes, prefer: ["watch"]))

        #expect(try samples() == day(957))
    }

    @Test func `the same export from another path changes nothing`() throws {
        try read(try export(1000))
        let again = try read(try export(1000, name: "copy.xml"))

        #expect(again.metrics == again.metricsKnown)
        #expect(try samples() == day(1000))
    }

    @Test func `a later export replaces what an earlier one knew`() throws {
        try read(try export(1000))
        try read(try export(800, madeOn: "2024-02-10"))
        #expect(try samples() == day(800))

        try read(try export(900, madeOn: "2024-02-08"))
        #expect(try samples() == day(800))
    }

    @Test func `a day that was there before sources were merged stays known`() throws {
        var value = ActivityDay()
        value.steps = 1000
        let start = Instant(secondsSince1970: 1_707_177_600)
        _ = try bench.store().outbox.enqueue(
            aggregates: [
                Sample(
                    kind: .activity, start: start, end: start + .seconds(86_400),
                    value: .activity(value))
            ], asOf: start + .seconds(2 * 86_400))

        let counts = try read(try export(1000))

        #expect(counts.metricsKnown == 1 && counts.metrics == 1)
        #expect(try samples() == day(1000))
    }

    @Test func `a total that came first gives way to an older export that knows the day`() throws {
        try read(try points([("2024-02-06 00:00:00 +0000", 9000)]))
        try read(try export(1000))

        #expect(try samples() == day(1000))
    }

    @Test func `an instant that two exports have counts once`() throws {
        let record =
            #"<Record type="HKQuantityTypeIdentifierStepCount" sourceName="Watch" unit="count" "#
            + #"value="40" startDate="2024-02-06 08:00:00 +0000" "#
            + #"endDate="2024-02-06 08:00:00 +0000"/>"#
        for (name, date) in [("a.xml", "2024-02-09"), ("b.xml", "2024-02-10")] {
            let text =
                #"<HealthData><ExportDate value="\#(date) 12:00:00 +0000"/>"#
                + record + "</HealthData>"
            try read(try origin(.appleHealthExport, name, text))
        }

        #expect(try samples() == day(40))
    }

    @Test func `another choice of preferred sources ranks the former points too`() throws {
        try read(try export(1000))
        try read(try points(minutes, prefer: ["watch"]))
        try read(try points(minutes))

        #expect(try samples() == day(1057))
    }

    @Test func `what a kill left unmerged the next reading of any source merges`() throws {
        let source = try #require(try export(1000).sources(now: bench.clock.now).first)
        let report = try source.read(progress: nil) { _, _ in }
        let intake = DayIntake(store: try bench.store(), zone: .utc, now: bench.clock.now)
        try intake.keep(try #require(report.days), of: source.entry, since: nil)
        #expect(try samples() == [])

        try read(try points([("2024-05-06 08:00:00 +0000", 5)]))

        #expect(try samples().first == day(1000).first)
        #expect(try bench.store().outbox.prove().findings == [])
    }

    @Test func `every record and every day is in one place of the ledger`() throws {
        let zeros =
            #"<ActivitySummary dateComponents="2024-02-05" activeEnergyBurned="0" "#
            + #"activeEnergyBurnedUnit="kcal" appleExerciseTime="0"/>"#
        try read(try points(minutes))
        try read(try export(1000))
        try read(try export(1000, name: "zeros.xml", and: zeros))

        let proof = try bench.store().outbox.prove()
        let sums = try bench.store().outbox.arithmetic()
        #expect(proof.findings == [])
        #expect(sums.counts[.read] == 13 && sums.counts[.aggregated] == 13)
        #expect(sums.counts[.made] == 3 && sums.counts[.madeQueued] == 1)
        #expect(sums.reasons.madeRefused == ["a day's totals of zero": 1])
    }

    @Test func `a changed time zone merges the days of all sources in it`() throws {
        try read(try export(1000))
        try read(try points(minutes))
        let store = try bench.store()
        try store.outbox.changeDayZone(to: "Etc/GMT-10")

        let zone = try testZone("Etc/GMT-10", "<+10>-10")
        var report = SourceReport()
        _ = try DayIntake(store: store, zone: zone, now: bench.clock.now)
            .run(of: nil, &report) { _, _ in }

        #expect(try samples() == ["activity 2024-02-05T14:00:00Z 1057/-/-/-/-/-/-"])
        #expect(report.made == [.activity: 1])
    }

    @Test func `the minutes of today are a day when it is over, without another file`() throws {
        bench.clock.set(Instant(secondsSince1970: 1_707_228_000))
        try read(try points(minutes))
        #expect(try samples() == [])

        bench.clock.set(Instant(secondsSince1970: 1_707_264_000))
        try read(try points(minutes))

        #expect(try samples() == day(957))
    }
}
