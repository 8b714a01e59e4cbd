import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// What the programs report when nobody watches: a scheduler that died, a night in which nothing
/// ran.
@Suite("silence", .timeLimit(.minutes(5)))
struct SilenceProgramTests {
    private func playground(_ job: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9" }
            jobs:
              - { id: tidy, kind: cleanup, \(job) }

            """
        }
    }

    /// Returns the end of the only run.
    private func end(_ playground: Playground) async throws -> Instant {
        let run = try #require(try await playground.json("history").elements.first)
        return try #require(run["finished_at"].text.flatMap { Instant(rfc3339: $0) })
    }

    @Test func `a scheduler that no longer runs shows as an overdue job`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        #expect(try await playground.run("run", "--due").status == 0)
        let end = try await end(playground)
        let later = "\(end + .seconds(2 * 86_400 + 3600 + 60))"

        let healthy = try await playground.run("status")
        let status = try await playground.run("status", "--now", later)
        let quiet = try await playground.run("status", "--quiet", "--now", later)
        let list = try await playground.json("list", "--now", later).elements

        #expect(healthy.status == 0)
        #expect(status.status == 1)
        let line = try #require(status.outputLines.dropLast(3).last)
        #expect(line.contains("is overdue by 1d 1h"), "\(line)")
        #expect(
            line.contains(": no scheduler has run since \(String("\(end)".prefix(10)))"), "\(line)")
        #expect(quiet.status == 1)
        #expect(quiet.outputLines == [line])
        #expect(list.first?["overdue"].text?.hasPrefix("overdue by 1d 1h") == true)
    }

    @Test func `a job is not overdue within 15 minutes of its time`() async throws {
        let playground = try await playground("schedule: { every: 1h }")
        #expect(try await playground.run("run", "--due").status == 0)
        let soon = "\(try await end(playground) + .seconds(3600 + 14 * 60))"

        let status = try await playground.run("status", "--now", soon)

        #expect(status.status == 0, "\(status.output)")
    }

    @Test func `explain --at names the time without a scheduler`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        #expect(try await playground.run("run", "--due").status == 0)
        let end = try await end(playground)
        let now = "\(end + .seconds(3 * 86_400))"

        let first = try await playground.run(
            "explain", "tidy", "--at", "\(end + .seconds(60))", "--now", now)
        let pending = try await playground.run(
            "explain", "tidy", "--at", "\(end + .seconds(86_400 + 60))", "--now", now)

        #expect(first.status == 0, "\(first.errors)")
        #expect(first.outputLines.contains { $0.hasPrefix("tidy: succeeded") }, "\(first.output)")
        #expect(
            pending.outputLines.last
                == "no scheduler has looked at it yet: start `loop` or `run --due`")
    }

    @Test func `what started no run is listed with what became of it`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        #expect(try await playground.run("run", "--due").status == 0)
        let run = try #require(try await playground.json("history").elements.first)
        let first = try #require(run["scheduled_for"].text.flatMap { Instant(rfc3339: $0) })
        let (second, third) = (first + .seconds(86_400), first + .seconds(2 * 86_400))
        let now = "\(third + .seconds(3600))"

        let none = try await playground.run("history", "missed")
        let late = try await playground.run("history", "missed", "--now", now)
        let json = try await playground.json("history", "missed", "tidy", "--now", now).elements
        let since = try await playground.json(
            "history", "missed", "--since", "\(third + .seconds(1))", "--now", now)
        let unknown = try await playground.run("history", "missed", "tidi")
        let two = try await playground.run("history", "missed", "a", "b")

        #expect(none.errors == "no occurrence was missed\n")
        #expect(none.status == 0 && none.output == "" && since.elements.isEmpty)
        #expect(late.outputLines.count == 2 && late.outputLines[0].hasPrefix("JOB   FIRST"))
        #expect(late.outputLines[1].hasSuffix("  2       pending: neither run nor skipped yet"))
        #expect(json.count == 1 && json[0]["job"].text == "tidy")
        #expect(json[0]["first_at"].text == "\(second)" && json[0]["latest_at"].text == "\(third)")
        #expect(json[0]["occurrences"].number == 2 && json[0]["run"] == .null)
        #expect(json[0]["fate"].text == "pending")
        #expect(
            unknown.isRefusal(
                64,
                "clarity-jobs: no job `tidi` in the job file or in the history; did you mean `tidy`?"
            ))
        #expect(two.isRefusal(64, "clarity-jobs: `history missed` takes one job, got 2"))
    }

    @Test func `explain --at takes a minute as a whole`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        #expect(try await playground.run("run", "--due").status == 0)
        let run = try #require(try await playground.json("history").elements.first)
        let minute = String(try #require(run["scheduled_for"].text).prefix(16))

        let result = try await playground.start(
            ["explain", "tidy", "--at", minute], environment: ["TZ": "UTC"]
        ).finish()

        #expect(result.status == 0, "\(result)")
        #expect(result.outputLines.first?.hasPrefix("tidy: due \(minute)") == true, "\(result)")
    }

    @Test func `explain --at names the constraint that held the run back`() async throws {
        let playground = try await playground(
            "schedule: { every: 1d }, constraints: { storage_free: 1024TiB }")
        #expect(try await playground.run("run", "--due").status == 75)
        let now = try #require(
            try await playground.json("history").elements.first?["scheduled_for"].text)

        let result = try await playground.run("explain", "tidy", "--at", now)

        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputLines.contains { $0.hasPrefix("storage_free held it back for ") },
            "\(result.output)")
    }

    @Test func `the history can be limited to failures, deferred runs and a time range`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9" }
            jobs:
              - { id: fails, kind: command, options: { command: ["false"] }, retry: { attempts: 1 }, schedule: { every: 1d } }
              - { id: works, kind: command, options: { command: ["true"] }, schedule: { every: 1d } }
              - { id: waits, kind: command, options: { command: ["true"] }, schedule: { every: 1d }, constraints: { storage_free: 1024TiB } }

            """
        }
        _ = try await playground.run("run", "--due")
        func jobs(_ words: String...) async throws -> [String] {
            let result = try await playground.start(["history"] + words + ["-o", "ndjson"]).finish()
            return try result.outputLines.map { try JSONValue($0)["job"].text ?? "" }.sorted()
        }

        #expect(try await jobs() == ["fails", "waits", "works"])
        #expect(try await jobs("--failed") == ["fails"])
        #expect(try await jobs("--deferred") == ["waits"])
        #expect(try await jobs("--since", "2099-01-01") == ["waits"])
        #expect(try await jobs("--until", "2001-01-01") == [])
        #expect(try await jobs("waits", "--failed") == [])
    }

    @Test func `run --due prints nothing about a paused job`() async throws {
        let playground = try await playground("schedule: { every: 1d }")
        #expect(try await playground.run("pause", "tidy").status == 0)

        let result = try await playground.run("run", "--due")

        #expect(result.status == 0)
        #expect(result.output == "" && result.errors == "")
    }
}
