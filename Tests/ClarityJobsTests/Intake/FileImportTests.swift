import HealthModel
import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Import
@testable import ClarityJobs

@Suite struct FileImportTests {
    private let bench = WorkBench()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func run(
        _ path: String, in zone: String, _ options: [String: String] = [:]
    ) throws -> ImportAccount {
        var entries = ["import.path": path]
        for (key, value) in options { entries["import.\(key)"] = value }
        return try FileImport(
            bench.order("bulk-upload", entries), store: bench.store(), clock: bench.clock,
            zones: SourceZones(environment: ["TZ": zone])
        ).run { _ in }
    }

    private func writeSteps(_ name: String, _ day: String) throws -> String {
        try folder.write(
            name,
            Array(
                """
                {"data":{"metrics":[{"name":"step_count","units":"count",\
                "data":[{"date":"\(day)","qty":100}]}]}}
                """.utf8))
    }

    @Test func `days follow the time zone of the first import`() throws {
        for (day, zone, options) in [
            ("2024-02-06", "Europe/London", [:]),
            // After a journey.
            ("2024-02-07", "America/New_York", [:]),
            // Another name of the same zone.
            ("2024-02-08", "America/New_York", ["time_zone": "GB"]),
        ] as [(String, String, [String: String])] {
            _ = try run(try writeSteps("\(day).json", day), in: zone, options)
        }
        let path = try writeSteps("2024-02-09.json", "2024-02-09")
        let refusal = SourceError.otherTimeZone(
            path: path, named: "America/New_York", settled: "Europe/London")
        #expect(throws: refusal) {
            try run(path, in: "Europe/London", ["time_zone": "America/New_York"])
        }

        let batch = try #require(try bench.store().outbox.nextBatch(limit: 9, at: bench.clock.now))

        #expect(
            batch.samples.map(\.start.description).sorted() == [
                "2024-02-06T00:00:00Z", "2024-02-07T00:00:00Z", "2024-02-08T00:00:00Z",
            ])
    }

    @Test func `a point from the future does not make its file be read again`() throws {
        let path = try writeSteps("a.json", "2094-02-06")
        bench.clock.set(Instant(secondsSince1970: 3_900_000_000))

        let first = try run(path, in: "UTC")
        let again = try run(path, in: "UTC")
        bench.clock.set(Instant(secondsSince1970: 3_920_000_000))
        let late = try run(path, in: "UTC")

        #expect(first.report.refused == ["in the future": 1])
        #expect(again.unchanged == 1)
        #expect(late.enqueued.metricsQueued == 1)
    }

    @Test func `a machine's clock that is no zone is not kept`() throws {
        let path = try writeSteps("a.json", "2024-02-06")

        #expect(throws: Failure.self) { try run(path, in: "CET-1CEST,M3.5.0,M10.5.0/3") }
        _ = try run(path, in: "America/New_York")

        let batch = try #require(try bench.store().outbox.nextBatch(limit: 9, at: bench.clock.now))
        #expect(batch.samples.map(\.start.description) == ["2024-02-06T05:00:00Z"])
    }

    @Test func `a folder is read on behind a bad file`() throws {
        _ = try writeSteps("1.json", "2024-02-06")
        try folder.write("2.json", Array("[]".utf8))
        try folder.write("3.json", [])
        _ = try writeSteps("4.json", "2024-02-07")

        let account = try run(folder.path, in: "UTC", ["kind": "health-auto-export"])

        // The second good file's day is merged together with the first one's, which is known by
        // then.
        #expect(account.report.made == [.activity: 3])
        #expect(account.enqueued.metricsQueued == 2 && account.enqueued.metricsKnown == 1)
        #expect(
            account.complaint
                == "`\(folder.path)/2.json` is no file of Health Auto Export; "
                + "1 more could not be read")
    }
}
