import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Uploads to a backend that stores one metric of each type from a request, accepts five types and
/// limits the requests of an hour.
@Suite("Uploads of typed metrics to the deployed backend", .timeLimit(.minutes(5)))
struct LoopUploadProgramTests {
    private func jobFile(_ url: String, _ folder: String, _ route: String) -> String {
        Playground.standardJobFile(url: url, folder: folder).replacing(
            "kind: bulk-upload", with: "kind: bulk-upload\n    options: { route: \(route) }")
    }

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: ["--dialect", "loop", "--quirks", "repaired"]) {
            jobFile($0, $1, "metrics")
        }
    }

    @Test func `an upload drops nothing and keeps within the hourly limit`()
        async throws
    {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 130)
        try await playground.logIn()

        let first = try await playground.run("run", "upload")
        let told = try #require(try await playground.history("upload").first)
        let second = try await playground.run("run", "upload")

        #expect(first.status == 75, "\(first.errors)")
        #expect(
            told.failure == "the requests that the backend allows in an hour are used up",
            "\(told.failure ?? "")")
        #expect(
            first.errorLines.first?.wholeMatch(
                of:
                    /upload: goes on at \d{4}-[^ ]*: read 130 .* in an hour are used up \(run 1\)/
            )
                != nil, "\(first.errors)")
        #expect(second.status == 75)
        #expect(try await sandbox.count("metrics") == 100)
        #expect(try await sandbox.count("distinct_metric_ids") == 100)
        #expect(try await sandbox.count("uploads") == 100)
        #expect(try await sandbox.answers("429") == 0)
        #expect(try await sandbox.says(#""dropped":{},"refused":{}"#))
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples == ["accepted": 100, "queued": 30])
    }

    @Test func `outbox and explain say how long the rest takes and which route is faster`()
        async throws
    {
        let playground = try await playground()
        try playground.writeExport(heartRates: 330)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let outbox = try await playground.run("outbox")
        let explain = try await playground.run("explain", "upload")
        let dry = try await playground.run("dry-run", "upload")

        let forecast =
            "230 samples take about 3 h at 100 requests an hour; `route: samples` needs 1 request"
        #expect(outbox.outputLines.last == forecast, "\(outbox.output)")
        #expect(explain.output.contains(forecast), "\(explain.output)")
        // The dry run ends with the status of a run.
        #expect(dry.status == 75, "\(dry.errors)")
    }

    @Test func `a kind that one route does not accept uses another`() async throws {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeRecords([
            ("HeartRate", "count/min", "61"), ("OxygenSaturation", "%", "0.97"),
            ("RespiratoryRate", "count/min", "14"), ("StepCount", "count", "812"),
            ("HeartRate", "count/min", "5"),
        ])
        try await playground.logIn()

        let first = try await playground.run("run", "upload")
        let between = try StateAudit(statePath: playground.statePath)
        try playground.folder.write(
            "jobs.yaml", Array(jobFile(playground.url, playground.folder.path, "auto").utf8))
        let second = try await playground.run("run", "upload")

        #expect(first.status == 0, "\(first.errors)")
        #expect(between.samples == ["stored": 2, "setAside": 2, "rejected": 1])
        #expect(
            between.reasons == [
                "its value is outside the range that the backend accepts",
                "the backend does not accept this kind",
            ])
        for note in [
            "not sent: oxygen_saturation (1): the backend does not accept this kind",
            "not sent: respiratory_rate (1): the backend does not accept this kind",
            "not sent: heart_rate (1): its value is outside the range that the backend accepts",
        ] {
            #expect(first.errors.contains(note), "\(first.errors)")
        }
        #expect(second.status == 0, "\(second.errors)")
        #expect(try await sandbox.count("samples") == 5)
        #expect(try await sandbox.count("doubled") == 0)
        #expect(try StateAudit(statePath: playground.statePath).samples == ["stored": 5])
    }

    @Test func `a backend that breaks on every upload loses and rejects nothing`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"]
        ) { jobFile($0, $1, "metrics") }
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()

        let result = try await playground.run("run", "upload")

        #expect(result.status == 75, "\(result.errors)")
        let failure = try #require(try await playground.history("upload").first).failure
        #expect(failure?.hasPrefix("a known fault of the backend, ") == true, "\(failure ?? "")")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["queued": 5])
    }
}

extension Playground {
    /// Writes an export with these records, each in a minute of its own, to the path in the job
    /// file.
    fileprivate func writeRecords(
        _ records: [(type: String, unit: String, value: String)]
    ) throws {
        var text = "<HealthData locale=\"en_GB\">\n"
        for (minute, record) in records.enumerated() {
            let date = "2026-10-01 10:0\(minute):00 +0000"
            text += """
                 <Record type="HKQuantityTypeIdentifier\(record.type)" sourceName="Watch" \
                unit="\(record.unit)" startDate="\(date)" endDate="\(date)" \
                value="\(record.value)"/>

                """
        }
        try folder.write("export.xml", Array("\(text)</HealthData>\n".utf8))
    }
}

extension Sandbox {
    /// Returns whether the summary contains this text.
    fileprivate func says(_ text: String) async throws -> Bool {
        try await LoopbackRequest.send("GET", "/_sandbox/summary", port: port).contains(text)
    }
}
