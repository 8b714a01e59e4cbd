import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// An export and Health Auto Export with the same days, judged by what the sandbox stores.
@Suite("Days of several sources", .timeLimit(.minutes(5)))
struct MergedDayProgramTests {
    /// Returns a playground whose sources are an export and a file of Health Auto Export.
    private func playground() async throws -> Playground {
        let playground = try await Playground { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "export.xml\n",
                with: "export.xml\n    time_zone: Etc/UTC\n"
                    + "  - kind: health-auto-export\n    path: \(folder)/auto.json\n"
                    + "    time_zone: Etc/UTC\n")
        }
        try await playground.logIn()
        return playground
    }

    /// Writes an export in which the watch walks 1,000 steps from 08:00 to 08:10 on three days.
    private func writeExport(_ playground: Playground) throws {
        let records = (6...8).map {
            #"<Record type="HKQuantityTypeIdentifierStepCount" sourceName="Watch" unit="count" "#
                + #"value="1000" startDate="2024-02-0\#($0) 08:00:00 +0000" "#
                + #"endDate="2024-02-0\#($0) 08:10:00 +0000"/>"#
        }
        try playground.folder.write(
            "export.xml",
            Array(
                (#"<HealthData><ExportDate value="2024-02-10 12:00:00 +0000"/>"#
                    + records.joined() + "</HealthData>").utf8))
    }

    /// Writes the same walk as minutes, and a minute at noon that the export does not have.
    private func writePoints(_ playground: Playground) throws {
        let points = (6...8).flatMap { day in
            (0..<10).map {
                #"{"date":"2024-02-0\#(day) 08:0\#($0):00 +0000","qty":100,"source":"Watch"}"#
            }
                + [#"{"date":"2024-02-0\#(day) 12:01:00 +0000","qty":50,"source":"Watch"}"#]
        }
        try playground.folder.write(
            "auto.json",
            Array(
                (#"{"data":{"metrics":[{"name":"step_count","units":"count","data":["#
                    + points.joined(separator: ",") + "]}]}}").utf8))
    }

    private let days = (6...8).map { "2024-02-0\($0)T00:00:00Z" }

    @Test(arguments: [true, false])
    func `an export and Health Auto Export make one sample a day, in either order`(
        isExportFirst: Bool
    ) async throws {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try isExportFirst ? writeExport(playground) : writePoints(playground)
        let first = try await playground.run(
            "import", "\(playground.folder.path)/\(isExportFirst ? "export.xml" : "auto.json")",
            "--time-zone", "Etc/UTC", "-q")
        try isExportFirst ? writePoints(playground) : writeExport(playground)

        let upload = try await playground.run("run", "upload")
        let again = try await playground.run("run", "upload", "--force")
        let audit = try await playground.run("audit")

        #expect(first.status == 0 && upload.status == 0 && again.status == 0, "\(first) \(upload)")
        #expect(audit.status == 0, "\(audit)")
        let sent = try await sandbox.sends().samples
        #expect(sent.map(\.type) == Array(repeating: "activity_level", count: 3), "\(sent)")
        #expect(sent.map(\.start).sorted() == days && sent.allSatisfy { $0.copies == 1 }, "\(sent)")
        #expect(try playground.sentSteps() == [1050, 1050, 1050])
    }

    @Test func `discarded days come back with --reason discarded`() async throws {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try writeExport(playground)
        try writePoints(playground)
        let queued = try await playground.run(
            "import", "\(playground.folder.path)/export.xml", "--time-zone", "Etc/UTC", "-q")
        let discarded = try await playground.run("outbox", "discard", "--all", "--yes")

        let back = try await playground.run("outbox", "retry", "--reason", "discarded", "--yes")
        let upload = try await playground.run("run", "upload")
        let audit = try await playground.run("audit")

        #expect([queued, discarded, back, upload, audit].map(\.status) == [0, 0, 0, 0, 0])
        let sent = try await sandbox.sends().samples
        #expect(sent.map(\.start).sorted() == days && sent.allSatisfy { $0.copies == 1 }, "\(sent)")
    }

    @Test func `days that an earlier version sent are not sent again after the upgrade`()
        async throws
    {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try playground.useExample("export.zip")
        try playground.folder.write("auto.json", Array(#"{"data":{"metrics":[]}}"#.utf8))
        let upload = try await playground.run("run", "upload")
        let before = try await sandbox.lastSend()
        // As 0.1.0 left a state of a version that recorded neither partial aggregates nor records.
        try makeFirstReleaseHealthFile(state: playground.statePath)
        let file = try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
        for table in ["sources", "contributions", "segments", "segment_marks", "segment_days"] {
            try file.execute("DELETE FROM \(table)")
        }

        let again = try await playground.run("run", "upload")
        let audit = try await playground.run("audit")
        let partialAggregates = try file.first("SELECT count(*) FROM contributions") {
            $0.integer(0)
        }

        #expect(upload.status == 0 && again.status == 0, "\(upload) \(again)")
        #expect(audit.status == 0, "\(audit)")
        #expect(try await sandbox.lastSend() == before)
        #expect(before > 0 && partialAggregates ?? 0 > 0)
    }
}

extension Playground {
    /// Returns the steps of each day in the sandbox's own file.
    fileprivate func sentSteps() throws -> [Int64] {
        try FileConnection(path: "\(folder.path)/sandbox/sandbox.db", access: .readOnly).all(
            """
            SELECT json_extract(body, '$.activity_data.steps') FROM metrics
            WHERE type = 'activity_level' ORDER BY created_at_ms, sequence
            """
        ) { $0.integer(0) }
    }
}
