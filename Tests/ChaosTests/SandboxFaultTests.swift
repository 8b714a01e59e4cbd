import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A backend, or the connection to it, fails while 250 samples are uploaded in three requests.
@Suite("A backend that fails", .timeLimit(.minutes(5)))
struct SandboxFaultTests {
    /// Faults that a single run survives.
    @Test(arguments: [
        "pass, 503 x2", "pass, 503 retry-after=1", "pass, 500", "pass, reset", "pass, drop",
        "pass, truncate", "pass, garbage", "pass, expire", "pass, 413", "pass, 422",
        "429 retry-after=1", "drop, reset, truncate", "502, 504, pass, expire, drop",
    ])
    func `a fault that passes costs nothing but requests`(fault: String) async throws {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try await playground.prepared(samples: 250)
        try await sandbox.addFault("POST /health-data/upload: \(fault)")

        let result = try await playground.run("run", "upload")

        #expect(result.status == 0, "\(result.errors)")
        try await playground.expectEverySampleOnce(250)
    }

    /// A fault that outlasts a run, and the reason that the run then gives.
    struct Outage: CustomTestStringConvertible {
        var fault: String
        var status: Int32 = 75
        var reason: String

        var testDescription: String { fault }
    }

    @Test(arguments: [
        Outage(fault: "503 x*", reason: "the backend is out of order (503)"),
        Outage(fault: "503 retry-after=30 x*", reason: "the backend is out of order (503)"),
        Outage(fault: "503 retry-after=7200 x*", reason: "the backend is out of order (503)"),
        Outage(fault: "500 x*", reason: "the backend is out of order (500)"),
        Outage(
            fault: "429 retry-after=30 x*", reason: "the backend asks for fewer requests (429)"),
        Outage(fault: "reset x*", reason: "the connection to the backend broke off"),
        // Each time the backend accepts the upload, and its answer is lost.
        Outage(fault: "drop x*", reason: "the connection to the backend broke off"),
        Outage(fault: "truncate x*", reason: "the connection to the backend broke off"),
        Outage(
            fault: "413 x*", status: 1,
            reason: "the request is larger than the backend takes at once, in 16 requests in a row"),
        Outage(
            fault: "422 x*", status: 1,
            reason: "the backend does not accept what was sent, in 16 requests in a row"),
        Outage(
            fault: "garbage x*", status: 69,
            reason: "the backend's answer is not understood: upload: it is no valid JSON"),
    ])
    func `an outage is explained, and the run after it completes the upload`(
        outage: Outage
    ) async throws {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try await playground.prepared(samples: 250)
        try await sandbox.addFault("POST /health-data/upload: pass, \(outage.fault)")

        let during = try await playground.run("run", "upload")
        let told = try #require(try await playground.history("upload").first)
        let attempts = try await playground.attempts(of: told.run)
        try await sandbox.clearFaults()
        // Only a forced run starts before the time that the backend named.
        let isHeldBack = outage.fault.contains("retry-after")
        let early = isHeldBack ? try await playground.run("run", "upload") : nil
        let words = ["run", "upload"] + (isHeldBack ? ["--force"] : [])
        let after = try await playground.start(words).finish()

        #expect(early.map { $0.status == 75 && $0.errors.contains("as the backend asked") } ?? true)
        #expect(during.status == outage.status, "\(during.errors)")
        #expect(told.state == (outage.status == 75 ? "enqueued" : "failed"))
        #expect(told.failure == outage.reason)
        #expect(attempts.map(\.result) == ["failed"])
        #expect(attempts.first?.reason == outage.reason)
        #expect(after.status == 0, "\(after.errors)")
        try await playground.expectEverySampleOnce(250)
    }

    @Test func `an upload that hangs is ended by its timeout and completed by the next run`()
        async throws
    {
        let patient = Playground.standardJobFile
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"]) {
            patient($0, $1).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    timeout: 1s")
        }
        let sandbox = try await playground.prepared(samples: 250)
        try await sandbox.addFault("POST /health-data/upload: hang x*")

        let during = try await playground.run("run", "upload")
        let told = try #require(try await playground.history("upload").first)
        let attempts = try await playground.attempts(of: told.run)
        try await sandbox.clearFaults()
        // Removes the timeout of one second, which is short for an upload on a busy machine.
        try playground.folder.write(
            "jobs.yaml", Array(patient(playground.url, playground.folder.path).utf8))
        let after = try await playground.run("run", "upload")

        #expect(during.status == 75, "\(during.errors)")
        // The warning may find the worker between two requests or within one. On a busy machine the
        // kill that follows 200 ms later may come first.
        #expect(
            [
                "its time ended before everything was done", "stopped before it was done",
                "did not end within its time of 1s",
            ].contains(told.failure))
        #expect(attempts.map(\.stopReason) == ["timeout"])
        #expect(after.status == 0, "\(after.errors)")
        try await playground.expectEverySampleOnce(250)
    }

    @Test func `a session that has ended asks for a login, after which nothing is missing`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try await playground.prepared(samples: 250)
        try await sandbox.expireAllTokens()

        let during = try await playground.run("run", "upload")
        let told = try #require(try await playground.history("upload").first)
        try await playground.logIn()
        let after = try await playground.run("run", "upload")

        #expect(during.status == 75)
        #expect(told.state == "enqueued")
        #expect(
            told.failure
                == "waits for a login: the session has ended; run `clarity-jobs auth login`")
        #expect(after.status == 0, "\(after.errors)")
        try await playground.expectEverySampleOnce(250)
    }

    @Test func `one sample that the backend would refuse holds back none of a hundred others`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try await playground.prepared(samples: 101)
        // This heart rate is outside the range that the backend accepts.
        try playground.change("export.xml") {
            try $0.replacingFirst("value=\"77\"", "value=\"300\"")
        }

        let first = try await playground.run("run", "upload")
        let told = try #require(try await playground.history("upload").first)
        let requests = try await sandbox.count("uploads")
        let second = try await playground.run("run", "upload")

        #expect(first.status == 0, "\(first.errors)")
        #expect(
            told.summary.contains(": 100 sent; 1 sample rejected;"), "\(told.summary)")
        #expect(try await sandbox.count("metrics") == 100)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples == ["confirmed": 100, "rejected": 1])
        #expect(audit.reasons == ["its value is outside the range that the backend accepts"])
        #expect(second.status == 0, "\(second.errors)")
        #expect(try await sandbox.count("uploads") == requests, "it is not sent again")
    }
}

extension Playground {
    /// Writes an export of `samples` samples and logs in.
    fileprivate func prepared(samples: Int) async throws -> Sandbox {
        try writeExport(heartRates: samples)
        try await logIn()
        return try #require(sandbox)
    }

    /// Checks that the backend has each sample once, and that the outbox agrees.
    fileprivate func expectEverySampleOnce(
        _ count: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let sandbox = try #require(sandbox)
        let audit = try StateAudit(statePath: statePath)
        let verdict = DeliveryJudge(
            expected: .export(heartRates: count), record: try await sandbox.sends(),
            claims: .init(audit)
        ).verdict()
        #expect(verdict.findings == [], sourceLocation: sourceLocation)
        #expect(audit.unsent == 0, sourceLocation: sourceLocation)
        #expect(
            audit.samples.values.reduce(0, +) == count, sourceLocation: sourceLocation)
        #expect(audit.runs["running"] == nil, sourceLocation: sourceLocation)
        #expect(audit.damage == [], sourceLocation: sourceLocation)
    }

    /// Rewrites a file of the folder.
    fileprivate func change(_ name: String, _ edit: (String) throws -> String) throws {
        let text = String(
            decoding: try TemporaryFolder.read("\(folder.path)/\(name)"), as: UTF8.self)
        try folder.write(name, Array(try edit(text).utf8))
    }
}

extension String {
    /// Returns the text with the first `part` replaced.
    fileprivate func replacingFirst(_ part: String, _ other: String) throws -> String {
        var text = self
        text.replaceSubrange(try #require(text.firstRange(of: part)), with: other)
        return text
    }
}
