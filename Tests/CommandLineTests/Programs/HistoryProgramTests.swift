import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@testable import ProgramTestSupport

@Suite("list and history", .timeLimit(.minutes(5)))
struct HistoryProgramTests {
    @Test func `history is an array of runs, newest first`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "status", "cleanup")
        _ = try await playground.run("run", "refresh")

        let runs = try await playground.json("history").elements
        let ofOne = try await playground.json("history", "cleanup").elements
        let newest = try await playground.json("history", "--limit", "1").elements

        for run in runs {
            #expect(
                run.keys.isSuperset(of: [
                    "run", "job", "kind", "trigger", "state", "attempts", "scheduled_for",
                    "started_at", "finished_at", "summary",
                ]))
            #expect(isInstant(run["scheduled_for"].text))
        }
        let numbers = runs.compactMap { $0["run"].number }
        #expect(numbers == numbers.sorted(by: >) && numbers.count == 5)
        let cleanup = try #require(runs.first { $0["job"] == .string("cleanup") })
        #expect(cleanup["kind"] == .string("cleanup"))
        #expect(cleanup["trigger"] == .string("manual"))
        #expect(cleanup["state"] == .string("succeeded"))
        #expect(cleanup["attempts"] == .number(1))
        #expect(isInstant(cleanup["started_at"].text) && isInstant(cleanup["finished_at"].text))
        #expect(cleanup["summary"] == .string("0 samples removed"))
        let waiting = try #require(runs.first { $0["job"] == .string("upload") })
        #expect(waiting["state"] == .string("enqueued") && waiting["attempts"] == .number(0))
        #expect(waiting["started_at"] == .null && waiting["finished_at"] == .null)
        #expect(ofOne == [cleanup])
        #expect(newest == Array(runs.prefix(1)))
    }

    @Test func `NDJSON has the same objects, one a line`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "status", "cleanup")

        for command in ["history", "list"] {
            let whole = try await playground.json(command).elements
            let lines = try await playground.run(command, "-o", "ndjson").outputLines

            #expect(try lines.map { try JSONValue($0) } == whole)
        }
    }

    @Test func `history is a table for people`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let empty = try await playground.run("history")
        _ = try await playground.run("run", "status")

        let lines = try await playground.run("history", "status").outputLines

        #expect(empty.status == 0 && empty.output == "" && empty.errors == "")
        try #require(lines.count == 2)
        #expect(
            lines[0].split(separator: #/  +/#) == [
                "RUN", "JOB", "TRIGGER", "STATE", "WHEN", "SUMMARY",
            ])
        let cells = lines[1].split(separator: #/  +/#)
        #expect(cells.prefix(4) == ["1", "status", "manual", "succeeded"])
        #expect(cells.last == "0 uploads confirmed")
    }

    @Test func `a run is shown with its attempts and all that held it back`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.folder.write("export.xml", Array("no export\n".utf8))
        try await failed(playground)
        let reason = "`export.xml` is neither a zip archive nor an Apple Health export".replacing(
            "export.xml", with: "\(playground.folder.path)/export.xml")

        let run = try await playground.json("history", "show", "1")
        let text = try await playground.run("history", "show", "1")

        #expect(
            run.keys.isSuperset(of: [
                "run", "job", "kind", "trigger", "state", "scheduled_for", "started_at",
                "finished_at", "summary", "attempts", "deferrals", "failure",
            ]))
        #expect(run["state"] == .string("failed"))
        #expect(run["failure"] == .string(reason))
        let attempt = try #require(run["attempt_list"].elements.first)
        #expect(run["attempt_list"].elements.count == 1)
        #expect(attempt["attempt"] == .number(1) && attempt["result"] == .string("failed"))
        #expect(isInstant(attempt["started_at"].text) && isInstant(attempt["finished_at"].text))
        #expect(attempt["reason"] == run["failure"])
        // 0 for an attempt that ended before its memory was measured.
        #expect(attempt["peak_memory_bytes"].number != nil)
        #expect(run["deferrals"] == .array([]))
        #expect(text.outputLines.first == "run 1 of upload (bulk-upload): failed")
        #expect(text.outputLines.contains("why: \(reason)"))
    }

    private func failed(_ playground: Playground) async throws {
        let result = try await playground.run("run", "upload")
        #expect(result.status == 78)
    }

    @Test(arguments: [
        ("1d", 1), ("yesterday", 2), ("yesterday 12:00", 2), ("today", 1), ("06:00", 1),
        ("2026-11-19", 2), ("2026-11-19 12:00", 2), ("now", 0), ("2026-11-20T05:00:00Z", 1),
    ])
    func `a time may be said as people say it`(since: String, runs: Int) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        for _ in 1...2 { _ = try await playground.run("run", "cleanup", "--force") }
        let history = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        let numbers = try await playground.json("history", "cleanup").elements
            .compactMap { $0["run"].number }
        let times = ["2026-11-20T10:00:00Z", "2026-11-19T20:00:00Z"]
        try #require(numbers.count == times.count)
        for (run, time) in zip(numbers, times) {
            let instant = try #require(Instant(rfc3339: time)).millisecondsSince1970
            try history.execute(
                """
                UPDATE runs SET enqueued_at_ms = \(instant), finished_at_ms = \(instant)
                WHERE id = \(run)
                """)
        }

        let found = try await playground.json(
            "history", "cleanup", "--since", since, "--now", "2026-11-20T21:00:00Z")

        #expect(found.elements.count == runs)
    }

    @Test func `history leaves out the upkeep that did nothing, unless somebody asks for it`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            notify: [{ kind: command, command: ["true"] }]
            jobs:
              - { id: fetch, kind: command, schedule: 1h, options: { command: ["true"] } }

            """
        }
        _ = try await playground.run("run", "fetch", "notify")

        let jobs = { (result: ProgramResult) in
            result.outputLines.dropFirst().map { $0.split(separator: " ")[1] }
        }
        let plain = try await playground.run("history")
        let all = try await playground.run("history", "--all")
        let named = try await playground.run("history", "notify")
        let json = try await playground.json("history").elements.map { $0["job"].text }

        #expect(jobs(plain) == ["fetch"])
        #expect(jobs(all).sorted() == ["fetch", "notify"] && jobs(named) == ["notify"])
        #expect(json.count == 2)
    }

    @Test func `list shows the state of each job`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                + "  - { id: off, kind: cleanup, enabled: false }\n"
        }
        let before = try await playground.json("list").elements
        _ = try await playground.run("run", "status")

        let after = try await playground.json("list").elements
        let lines = try await playground.run("list").outputLines

        try #require(before.count == 6 && after.count == 6 && lines.count == 7)
        for job in before + after {
            #expect(
                job.keys == [
                    "job", "kind", "class", "last_at", "last_failure", "next", "set_back_until",
                    "state", "fault", "overdue", "progress", "running_since", "usual_ms",
                    "slow_at", "waiting_on",
                ])
        }
        #expect(
            before.map { $0["job"].text } == [
                "refresh", "upload", "status", "insights", "cleanup", "off",
            ])
        #expect(before.map { $0["class"].text }.prefix(2) == ["app-refresh", "processing"])
        #expect(before.dropLast().allSatisfy { isInstant($0["next"].text) })
        #expect(before.dropLast().allSatisfy { $0["state"] == .string("idle") })
        #expect(before.last?["state"] == .string("disabled") && before.last?["next"] == .null)
        #expect(
            after.map { $0["state"].text } == [
                "enqueued", "enqueued", "idle", "enqueued", "enqueued", "disabled",
            ])
        let waiting = try #require(after[2]["waiting_on"].elements.first)
        #expect(waiting.keys == ["reason", "subject", "wanted", "measured", "source"])
        #expect(waiting["reason"] == .string("notDue"))
        #expect(
            lines.first?.split(separator: #/  +/#)
                == ["JOB", "KIND", "LAST", "NEXT", "STATE", "WAITING ON"])
        #expect(lines[3].split(separator: #/  +/#).last == "not due")
    }

    @Test(arguments: [
        (["history", "show", "99"], "no run 99 in the history"),
        (["history", "show", "x"], "no job `x` in the job file"),
        (["history", "show"], "`history show` wants a run's number or a job"),
        (["history", "a", "b"], "`history` takes one job, got 2"),
        (["history", "-n", "0"], "--limit is a number from 1 to 1000000, got `0`"),
        (
            ["history", "clenup"],
            "no job `clenup` in the job file or in the history; did you mean `cleanup`?"
        ),
    ])
    func `an unknown run or job is reported`(words: [String], message: String) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }

    @Test func `a job that left the job file keeps its history`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "status")
        let text = Playground.standardJobFile(url: playground.url, folder: playground.folder.path)
            .replacing("then: [status]", with: "then: []")
            .split(separator: "\n").filter { !$0.contains("id: status") }
        try playground.folder.write("jobs.yaml", Array((text.joined(separator: "\n") + "\n").utf8))

        let runs = try await playground.json("history", "status").elements

        #expect(runs.map { $0["kind"].text } == ["processing-status"])
    }
}
