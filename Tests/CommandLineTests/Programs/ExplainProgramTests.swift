import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("explain", .timeLimit(.minutes(5)))
struct ExplainProgramTests {
    private func playground(_ job: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - { id: cleanup, kind: cleanup, \(job) }
              - { id: off, kind: processing-status, enabled: false }

            """
        }
    }

    @Test func `a job that could start is explained in a few lines`() async throws {
        let playground = try await playground(
            #"priority: high, schedule: { cron: "30 3 * * *", time_zone: UTC }"#)

        let result = try await playground.run(
            "explain", "cleanup", "--now", "2031-05-06T07:08:09Z")

        #expect(result.status == 0 && result.errors == "")
        #expect(
            result.outputLines == [
                "cleanup: cleanup, processing, high priority",
                "schedule: cron 30 3 * * * UTC",
                "next: 2031-05-07T03:30:00Z",
                "state: idle",
                "no scheduler has run yet: it starts with `clarity-jobs loop` or `run --due`",
                "REASON    WANTED                         MEASURED   SOURCE    VERDICT",
                "schedule  2031-05-07T03:30:00Z or later  too early  schedule  unmet",
                "to start: wait until 2031-05-07T03:30:00Z, or clarity-jobs run cleanup",
                "likely: 2031-05-07T03:30:00Z, if conditions stay as they are",
            ])
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `a due job with nothing to wait for says so`() async throws {
        let playground = try await playground("schedule: { every: 1d }")

        let result = try await playground.run(
            "explain", "cleanup", "--now", "2031-05-06T07:08:09Z")

        #expect(
            result.outputLines.suffix(4) == [
                "state: idle",
                "no scheduler has run yet: it starts with `clarity-jobs loop` or `run --due`",
                "nothing holds it back", "likely: as soon as a scheduler runs",
            ])
    }

    @Test func `an unmet constraint shows its measurement, its wait and what would end it`()
        async throws
    {
        let playground = try await playground(
            "schedule: { every: 1d }, constraints: { storage_free: 900TiB }")
        _ = try await playground.run("run", "cleanup")

        let explanation = try await playground.json("explain", "cleanup")
        let lines = try await playground.run("explain", "cleanup").outputLines

        #expect(explanation["state"] == .string("enqueued") && explanation["run"] == .number(1))
        let constraint = try #require(explanation["constraints"].elements.first)
        #expect(constraint["subject"] == .string("storage_free"))
        #expect(constraint["wanted"] == .string("900 TiB free"))
        #expect(constraint["measured"].text?.hasSuffix("iB free") == true)
        #expect(constraint["source"] == .string(playground.statePath))
        #expect(constraint["verdict"] == .string("unmet"))
        #expect(isInstant(constraint["since"].text))
        #expect(constraint["last_7_days"]["times"] == .number(1))
        #expect(constraint["last_7_days"]["runs"] == .number(1))
        #expect((constraint["last_7_days"]["total_ms"].number ?? -1) >= 0)
        #expect(explanation["changes"] == .array([.string("make room: 900 TiB free")]))
        #expect(explanation["start"]["certainty"] == .string("unknown"))
        #expect(
            lines.suffix(2) == [
                "to start: make room: 900 TiB free",
                "likely: unknown: storage_free holds it back for the first time in 7 days",
            ])
    }

    @Test func `a pause shows its reason and its end`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        _ = try await playground.run("pause", "cleanup", "--reason", "a trip")

        let explanation = try await playground.json("explain", "cleanup")

        #expect(explanation["paused"]["reason"] == .string("a trip"))
        #expect(explanation["paused"]["until"] == .null)
        #expect(explanation["reasons"].elements.map { $0["subject"] }.contains(.string("pause")))
        #expect(
            explanation["changes"].elements.contains(.string("clarity-jobs resume cleanup")))
        #expect(
            explanation["start"]["words"].text?.hasSuffix(
                "it is paused until somebody resumes it") == true)
    }

    @Test(arguments: [
        ([], "`explain` wants one job, got 0"),
        (["clenup"], "no job `clenup` in the job file; did you mean `cleanup`?"),
        (["off"], "job `off` has `enabled: false` in the job file"),
        (["cleanup", "off"], "`explain` wants one job, got 2"),
    ])
    func `a question that it cannot answer is refused in one line`(words: [String], message: String)
        async throws
    {
        let playground = try await playground("schedule: { every: 1d }")

        let result = try await playground.start(["explain"] + words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }
}
