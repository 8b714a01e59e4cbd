import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("simulate", .timeLimit(.minutes(5)))
struct SimulateProgramTests {
    private static let trace = "\(Playground.examples)/laptop-day.ndjson"

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - id: upload
                kind: bulk-upload
                schedule: { cron: "0 */6 * * *", time_zone: UTC }
                constraints: { network: unmetered, idle: true }
                then: [status]
              - { id: status, kind: processing-status }
              - { id: off, kind: cleanup, enabled: false }

            """
        }
    }

    @Test func `a trace decides which runs start when, and what holds them back`() async throws {
        let playground = try await playground()

        let result = try await playground.run(
            "simulate", "--trace", Self.trace, "--days", "1", "--attempt", "1m")

        #expect(result.status == 0 && result.errors == "")
        #expect(
            result.outputLines == [
                "RUN  JOB     SCHEDULED FOR         STARTED               FINISHED"
                    + "              STATE      ATTEMPTS  HELD BACK BY",
                "1    upload  2026-11-20T00:00:00Z  2026-11-20T00:00:00Z  2026-11-20T00:01:00Z"
                    + "  succeeded  1",
                "2    status  2026-11-20T00:01:00Z  2026-11-20T00:01:00Z  2026-11-20T00:02:00Z"
                    + "  succeeded  1",
                "3    upload  2026-11-20T06:00:00Z  2026-11-20T06:00:00Z  2026-11-20T06:01:00Z"
                    + "  succeeded  1",
                "4    status  2026-11-20T06:01:00Z  2026-11-20T06:01:00Z  2026-11-20T06:02:00Z"
                    + "  succeeded  1",
                "5    upload  2026-11-20T12:00:00Z  2026-11-20T12:00:00Z  2026-11-20T12:01:00Z"
                    + "  succeeded  1",
                "6    status  2026-11-20T12:01:00Z  2026-11-20T12:01:00Z  2026-11-20T12:02:00Z"
                    + "  succeeded  1",
                "7    upload  2026-11-20T18:00:00Z  2026-11-20T19:00:00Z  2026-11-20T19:01:00Z"
                    + "  succeeded  1         idle 1h, network 1h",
                "8    status  2026-11-20T19:01:00Z  2026-11-20T19:01:00Z  2026-11-20T19:02:00Z"
                    + "  succeeded  1",
                "JOB     OCCURRENCES  RUNS  STARTS  SUCCEEDED  COALESCED  SKIPPED  EXPIRED"
                    + "  WORST AGE  HELD BACK BY",
                "upload  4            4     4       4          0          0        0"
                    + "        7h         idle 1h, network 1h",
                "status  0            4     4       4          0          0        0"
                    + "        7h",
            ])
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `the JSON output is one object with runs and jobs`() async throws {
        let playground = try await playground()

        let all = try await playground.json(
            "simulate", "upload", "--trace", Self.trace, "--days", "1", "--from",
            "2026-11-20T17:00:00Z")

        #expect(all["from"] == .string("2026-11-20T17:00:00Z"))
        #expect(all["until"] == .string("2026-11-21T17:00:00Z"))
        let run = try #require(all["runs"].elements.first)
        #expect(run["scheduled_for"] == .string("2026-11-20T18:00:00Z"))
        #expect(run["started_at"] == .string("2026-11-20T19:00:00Z"))
        #expect(run["finished_at"] == .string("2026-11-20T19:00:30Z"))
        #expect(run["state"] == .string("succeeded") && run["attempts"] == .number(1))
        #expect(run["held_back"].elements.first?["subject"] == .string("idle"))
        #expect(run["held_back"].elements.first?["total_ms"] == .number(3_600_000))
        #expect(all["jobs"].elements.count == 1)
        let job = try #require(all["jobs"].elements.first)
        #expect(job["occurrences"] == .number(4) && job["runs"] == .number(4))
        #expect(job["coalesced"] == .number(0) && job["worst_age_ms"] == .number(21_600_000))
    }

    @Test func `without a trace, every constraint holds from now on`() async throws {
        let playground = try await playground()

        let all = try await playground.json(
            "simulate", "upload", "--days", "2", "--now", "2031-05-06T00:00:00Z")

        #expect(all["from"] == .string("2031-05-06T00:00:00Z"))
        #expect(all["jobs"].elements.first?["succeeded"] == .number(8))
        #expect(all["jobs"].elements.first?["held_back"] == .array([]))
    }

    @Test func `simulated attempts take as long as real ones did`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "cleanup")

        let all = try await playground.json(
            "simulate", "cleanup", "--days", "1", "--from", "2031-05-06T00:00:00Z", "--attempt",
            "10m")

        let run = try #require(all["runs"].elements.first)
        let (started, finished) = (run["started_at"].text, run["finished_at"].text)
        #expect(isInstant(started) && isInstant(finished))
        #expect(started?.prefix(15) == finished?.prefix(15), "\(run)")
    }

    @Test func `a trace may assume that the backend is down`() async throws {
        let playground = try await playground()
        let machine = #""connected":true,"metered":false,"idle":true"#
        let lines = [
            #"{"at":"2026-11-20T00:00:00Z",\#(machine)}"#,
            #"{"at":"2026-11-20T05:00:00Z","attempts":{"*":"retry"}}"#,
            #"{"at":"2026-11-20T11:00:00Z","attempts":{"*":"ok","upload":{"duration":"3m"}}}"#,
        ]
        let path = try playground.folder.write("down.ndjson", lines.joined(separator: "\n").utf8)

        let all = try await playground.json(
            "simulate", "--trace", path, "--days", "1", "--attempt", "1m")

        let uploads = all["runs"].elements.filter { $0["job"] == .string("upload") }
        #expect(
            uploads.map { $0["state"].text } == ["succeeded", "failed", "succeeded", "succeeded"])
        #expect(uploads.map { $0["attempts"] } == [.number(1), .number(5), .number(1), .number(1)])
        #expect(uploads.last?["finished_at"] == .string("2026-11-20T18:03:00Z"))
    }

    @Test func `a trace that names an unknown job is refused`() async throws {
        let playground = try await playground()
        let line = #"{"at":"2026-11-20T00:00:00Z","attempts":{"uplaod":"retry"}}"#
        let path = try playground.folder.write("typo.ndjson", line.utf8)

        let result = try await playground.run("simulate", "--trace", path)

        #expect(
            result.isRefusal(
                64,
                "clarity-jobs: the trace supposes something of `uplaod`, which is no job of the "
                    + "job file; did you mean `upload`?"))
    }

    @Test(arguments: [
        (["--days", "0"], "--days is a number from 1 to 3660, got `0`"),
        (["--attempt", "5"], "--attempt is a span such as `30s` or `5m`, got `5`"),
        (
            ["--from", "soon"],
            "--from is a time such as `1d`, `yesterday`, `2026-11-20 06:00` or "
                + "`2026-11-20T06:00:00Z`, got `soon`"
        ),
        (["uplaod"], "no job `uplaod` in the job file; did you mean `upload`?"),
        (["off"], "job `off` has `enabled: false` in the job file"),
        (["--trace", "no/trace"], "no/trace: cannot read it: no such file or directory"),
    ])
    func `an impossible simulation is refused in one line`(words: [String], message: String)
        async throws
    {
        let playground = try await playground()

        let result = try await playground.start(["simulate"] + words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }
}
