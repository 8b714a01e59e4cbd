import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Backend
import BackendContract
import Testing

@testable import Import
@testable import ClarityJobs

/// Tests what the backend gets of files with unusual dates.
@Suite struct OddDatesTests {
    private let folder: TemporaryFolder
    private let bench: WorkBench

    init() throws {
        folder = try TemporaryFolder()
        let desk = UploadDesk()
        bench = WorkBench { desk.take($0) }
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
        try bench.logIn()
    }

    /// Uploads a file, and returns the attempt's reports.
    private func upload(_ kind: String, _ name: String, _ text: String) async throws -> Reports {
        let path = try folder.write(name, Array(text.utf8))
        let (outcome, reports) = await bench.attempt(
            "bulk-upload", ["sources.0.kind": kind, "sources.0.path": path])
        #expect(outcome == .success)
        return reports
    }

    /// How often the backend got a text.
    private func received(_ text: String) -> Int {
        bench.backend.requests.reduce(0) { count, request in
            count + String(decoding: request.body ?? [], as: UTF8.self).ranges(of: text).count
        }
    }

    @Test func `an hour in the afternoon is never twelve hours off`() async throws {
        let times = [
            "2:05:00 p. m.", "2:06:00\u{202F}p.\u{A0}m.", "2:07:00 PM", "下午2:08:00", "14:09:00",
        ]
        let points = times.map {
            #"{"date":"2026-11-20 \#($0) +0100","Min":60,"Avg":60,"Max":60,"source":"W"}"#
        }

        let reports = try await upload(
            "health-auto-export", "points.json",
            #"{"data":{"metrics":[{"name":"heart_rate","units":"count/min","data":["#
                + points.joined(separator: ",") + "]}]}}")

        for minute in [5, 6, 7, 9] { #expect(received("2026-11-20T13:0\(minute):00") > 0) }
        #expect(received("2026-11-20T01:") == 0)
        #expect(reports.tally["samples_sent"] == 4 && reports.tally["samples_refused"] == 1)
        #expect(reports.notes.contains { $0.hasSuffix("refused bad date (1)") })
    }

    @Test func `a year of another calendar is a bad date, and the file counts as read`()
        async throws
    {
        let date = "2569-10-05 08:00:00 +0700"
        let text = """
            <HealthData><ExportDate value="2026-11-25 20:00:00 +0100"/>
            <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="W" unit="count/min"
            startDate="\(date)" endDate="\(date)" value="60"/></HealthData>
            """

        let first = try await upload("apple-health-export", "export.xml", text)
        let second = await bench.attempt(
            "bulk-upload",
            [
                "sources.0.kind": "apple-health-export",
                "sources.0.path": "\(folder.path)/export.xml",
            ])

        #expect(first.notes.contains { $0.hasSuffix("refused bad date (1)") })
        #expect(bench.backend.requests.isEmpty)
        #expect(second.reports.tally["samples_read"] == 0)
        #expect(
            try bench.store().outbox.lastReading(of: "\(folder.path)/export.xml")?.dueAt == nil)
    }
}
