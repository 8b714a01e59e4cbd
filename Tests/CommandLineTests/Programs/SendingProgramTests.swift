import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// What the programs report about samples that are sent, judged by what the sandbox received and
/// stored.
@Suite("The truth of what is sent", .timeLimit(.minutes(5)))
struct SendingProgramTests {
    private static let loop = ["--dialect", "loop", "--quirks", "measured"]
    private static let mended = ["--dialect", "loop", "--quirks", "repaired"]

    private func playground(
        _ options: [String], _ jobOptions: String = "batch_size: 100"
    ) async throws -> Playground {
        try await Playground(sandboxOptions: options) {
            Playground.standardJobFile(url: $0, folder: $1).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    options: { \(jobOptions) }")
        }
    }

    @Test(
        arguments: [
            ("stored=400", "hold"), ("stored=500", "hold"), ("stored=409", "hold"),
            ("stored=400 x2", "resend"), ("stored=500 x2", "resend"),
        ])
    func `a backend that stores and then fails gets no uncounted copy`(
        fault: String, policy: String
    ) async throws {
        let playground = try await playground(
            Self.loop, "batch_size: 100, on_ambiguous: \(policy)")
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 100)
        try await playground.logIn()
        try await sandbox.addFault("POST /healthkit: \(fault)")

        for _ in 0..<4 { _ = try await playground.run("run", "upload") }

        let audit = try StateAudit(statePath: playground.statePath)
        let doubled = try await sandbox.count("doubled")
        #expect(try await sandbox.count("samples") == 100)
        #expect(doubled == (policy == "hold" ? 0 : doubled))
        #expect(doubled <= (try playground.copies()))
        #expect(audit.samples["setAside"] == (policy == "hold" ? 100 : nil))
    }

    @Test func `a sample that the backend could not process is not confirmed`()
        async throws
    {
        let playground = try await playground([])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 1)
        // No status job follows the upload, because it would find the upload processed.
        try playground.write {
            Playground.standardJobFile(url: $0, folder: $1).replacing(
                "    then: [status]\n", with: "")
        }
        try await playground.logIn()
        _ = try await playground.run("run", "upload")
        _ = try await LoopbackRequest.send("POST", "/_sandbox/fail-processing", port: sandbox.port)
        _ = try await playground.run("run", "status")

        var states: [[String]] = []
        for _ in 0..<5 {
            _ = try await playground.run("run", "upload")
            states.append(try playground.failures())
        }

        #expect(
            states == [
                ["queued 2"], ["queued 3"], ["queued 4"], ["setAside 5"], ["setAside 5"],
            ])
        #expect(try await sandbox.count("metrics") == 1)
        let shown = try await playground.run("outbox", "show", "1")
        #expect(
            shown.output.contains("set aside: the backend has it and could not process it"),
            "\(shown.output)")
    }

    @Test func `each kind of sample uses a route that accepts it`() async throws {
        let playground = try await playground([], "batch_size: 100, route: auto")
        let sandbox = try #require(playground.sandbox)
        try playground.folder.write(
            "export.xml",
            Array(
                """
                <HealthData locale="en_GB">
                 <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="A" unit="count/min" \
                startDate="2026-10-01 10:00:00 +0000" endDate="2026-10-01 10:00:00 +0000" value="61"/>
                 <Record type="HKQuantityTypeIdentifierBloodGlucose" sourceName="A" unit="mg/dL" \
                startDate="2026-10-01 10:01:00 +0000" endDate="2026-10-01 10:01:00 +0000" value="95"/>
                 <Record type="HKQuantityTypeIdentifierBodyTemperature" sourceName="A" unit="degC" \
                startDate="2026-10-01 10:02:00 +0000" endDate="2026-10-01 10:02:00 +0000" value="37"/>
                </HealthData>
                """.utf8))
        try await playground.logIn()

        let run = try await playground.run("run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        #expect(try await sandbox.count("metrics") == 1)
        #expect(try await sandbox.count("samples") == 3)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples["setAside"] == nil)
    }

    @Test func `a sample is stored by the answer to its upload, and waits for nothing`()
        async throws
    {
        let playground = try await playground(Self.loop)
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try playground.writeWithoutStatus()
        try await playground.logIn()

        let upload = try await playground.run("run", "upload")
        let before = try StateAudit(statePath: playground.statePath)
        let requests = try await sandbox.count("requests")
        let status = try await playground.run("run", "status")
        let sums = try await playground.run("outbox")
        let retry = try await playground.run("outbox", "retry", "--all", "--yes")

        #expect(upload.status == 0 && status.status == 0, "\(upload.errors)\(status.errors)")
        #expect(try await sandbox.count("samples") == 3)
        #expect(before.samples == ["stored": 3])
        #expect(try await sandbox.count("requests") == requests)
        #expect(sums.output.contains("3 samples = 3 stored\n"), "\(sums.output)")
        #expect(!sums.output.contains("waiting for your decision"))
        #expect(retry.output == "0 samples waiting to be sent again\n")
        #expect(
            retry.errorLines.contains(
                "3 of these are stored: the backend has them; `--in-state stored` sends again those "
                    + "that have their values"), "\(retry.errors)")
    }

    @Test func `stored samples are sent again on purpose, after a warning`() async throws {
        let playground = try await playground(Self.loop)
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let unasked = try await playground.run("outbox", "retry", "--in-state", "stored")
        let kept = try StateAudit(statePath: playground.statePath)
        let retry = try await playground.run("outbox", "retry", "--in-state", "stored", "--yes")
        _ = try await playground.run("run", "upload")

        let cost =
            "the backend has 3 of these or may have them, and keeps what comes again: up to 3 "
            + "would be doubled"
        #expect(unasked.status == 64 && unasked.errorLines.contains(cost), "\(unasked.errors)")
        #expect(kept.samples == ["stored": 3])
        #expect(retry.errorLines.contains(cost), "\(retry.errors)")
        #expect(retry.output == "3 samples waiting to be sent again\n")
        #expect(try await sandbox.count("doubled") == 3)
        #expect(try playground.copies() == 3)
    }

    @Test func `nothing is retried without a reason why not`() async throws {
        let playground = try await playground(Self.mended, "route: metrics")
        try playground.writeExport(heartRates: 3)
        let empty = try await playground.run("outbox", "retry", "--in-state", "accepted", "--yes")
        try playground.writeWithoutStatus(options: "route: metrics")
        try await playground.logIn()
        _ = try await playground.run("run", "upload")

        let accepted = try await playground.run(
            "outbox", "retry", "--in-state", "accepted", "--yes")
        let none = try await playground.run("outbox", "retry", "--in-state", "stored", "--yes")

        let zero = "0 samples waiting to be sent again\n"
        #expect([empty.output, accepted.output, none.output] == [zero, zero, zero])
        #expect(empty.errorLines == ["there is no health data yet"], "\(empty.errors)")
        #expect(
            accepted.errorLines == [
                "3 of these are accepted: the backend accepted them, and `processing-status` asks "
                    + "about them"
            ], "\(accepted.errors)")
        #expect(none.errorLines == ["no sample matches"], "\(none.errors)")
    }

    @Test func `metrics are stored by their status, and unknown ones are sent without a copy`()
        async throws
    {
        let playground = try await playground(Self.mended, "route: metrics")
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try playground.writeWithoutStatus(options: "route: metrics")
        try await playground.logIn()
        _ = try await playground.run("run", "upload")
        let accepted = try StateAudit(statePath: playground.statePath)
        // The backend loses one of the three uploads.
        try FileConnection(
            path: "\(playground.folder.path)/sandbox/sandbox.db", access: .readWrite
        ).execute(
            """
            DELETE FROM metrics WHERE work_id = (SELECT min(id) FROM work WHERE kind = 'metrics');
            DELETE FROM work WHERE id = (SELECT min(id) FROM work WHERE kind = 'metrics');
            """)

        let status = try await playground.run("run", "status")
        let summary = try #require(try await playground.history("status").first).summary
        let asked = try StateAudit(statePath: playground.statePath)
        let retry = try await playground.run(
            "outbox", "retry", "--in-state", "unconfirmed", "--yes")
        _ = try await playground.run("run", "upload")
        _ = try await playground.run("run", "status")

        #expect(accepted.samples == ["accepted": 3])
        #expect(status.status == 0, "\(status.errors)")
        #expect(summary.contains("1 upload unknown"), "\(summary)")
        #expect(asked.samples == ["stored": 2, "unconfirmed": 1])
        #expect(
            retry.errorLines == [
                "the backend does not have 1 of these: none of them would be doubled"
            ], "\(retry.errors)")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["stored": 3])
        #expect(try await sandbox.count("metrics") == 3)
        #expect(try await sandbox.count("doubled") == 0)
        #expect(try playground.copies() == 0)
    }
}

extension Playground {
    /// Writes a job file in which no status job follows the upload.
    fileprivate func writeWithoutStatus(options: String = "batch_size: 100") throws {
        try write {
            Playground.standardJobFile(url: $0, folder: $1).replacing(
                "    then: [status]\n", with: ""
            ).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    options: { \(options) }")
        }
    }

    /// Returns the number of extra copies that may exist, according to the outbox.
    fileprivate func copies() throws -> Int {
        try FileConnection(path: "\(statePath)/health.db", access: .readWrite).first(
            "SELECT coalesce(sum(doubts), 0) FROM samples WHERE state <> 'sending'"
        ) { Int($0.integer(0)) } ?? 0
    }

    /// Returns the state of each sample with its number of failures.
    fileprivate func failures() throws -> [String] {
        try FileConnection(path: "\(statePath)/health.db", access: .readWrite).all(
            "SELECT state || ' ' || failures FROM samples"
        ) { $0.text(0) }
    }
}
