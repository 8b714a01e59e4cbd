import ClarityTestSupport
import Glibc
import Testing

@testable import ProgramTestSupport

/// What a person or a monitor sees first after a job has failed.
@Suite("A failed job", .timeLimit(.minutes(5)))
struct FailedJobProgramTests {
    /// A backup that fails until there is a repository, a job that works, and one that is disabled.
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            jobs:
              - id: fetch
                kind: command
                schedule: { every: 1h }
                options: { command: ["true"] }
              - id: backup
                kind: command
                retry: { attempts: 1 }
                options:
                  command: [sh, -c, "test -e \(folder)/repository || { echo no repository; exit 1; }"]

            """
        }
    }

    private let failure = "exited with status 1: no repository"

    @Test func `status begins with the failed job and ends with 1 until it works again`()
        async throws
    {
        let playground = try await playground()
        #expect(try await playground.run("run", "fetch").status == 0)
        #expect(try await playground.run("run", "backup").status == 1)

        let failed = try await playground.run("status")
        let quiet = try await playground.run("status", "--quiet")
        let json = try await playground.json(status: 1, "status", "--quiet")
        let list = try await playground.run("list")
        try playground.folder.write("repository", [])
        #expect(try await playground.run("run", "backup").status == 0)
        let works = try await playground.run("status", "--quiet")
        let listed = try await playground.json("list").elements

        let line =
            "backup: FAILED just now: \(failure) (run 2; no success yet); "
            + "starts by an event, after another job or by hand"
        #expect(failed.status == 1 && failed.outputLines.first == line, "\(failed.output)")
        #expect(failed.outputLines.dropFirst().first?.hasPrefix("fetch: succeeded ") == true)
        #expect(!failed.output.contains("outbox") && !failed.output.contains("logged in"))
        #expect(quiet.status == 1 && quiet.outputLines == [line])
        let job = try #require(json["jobs"].elements.first)
        #expect(json["holds"] == .bool(false) && json["jobs"].elements.count == 1)
        #expect(job["failure"].text == failure && job["failed_run"].number == 2)
        #expect(job["last_success_at"] == .null && job["failed_at"].text?.hasPrefix("20") == true)
        #expect(list.outputLines.contains { $0.hasPrefix("backup  command  FAILED 20") })
        #expect(works.status == 0 && works.output == "")
        #expect(listed.map { $0["last_failure"] } == [.null, .null])
        #expect(listed.allSatisfy { $0["last_at"].text?.hasPrefix("20") == true })
    }

    @Test func `a job that is tried again comes first, and a named job is judged alone`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - { id: fetch, kind: command, schedule: 1h, options: { command: ["true"] } }
              - id: upload
                kind: command
                options: { command: [sh, -c, "echo no route; exit 1"] }
              - id: backup
                kind: command
                retry: { attempts: 1 }
                options: { command: ["false"] }

            """
        }
        #expect(try await playground.run("run", "fetch").status == 0)
        let tried = try await playground.run("run", "upload")
        let status = try await playground.run("status")
        let listed = try await playground.run("list")
        #expect(try await playground.run("run", "backup").status == 1)
        let one = try await playground.run("status", "upload")
        let failed = try await playground.run("status", "back")
        let json = try await playground.json("status", "fetch")

        // One line says when it is tried again, one who does that.
        #expect(tried.status == 75 && tried.errorLines.count == 2, "\(tried.errors)")
        let words = "upload: failed once, tries again at "
        #expect(status.status == 0 && status.outputLines.first?.hasPrefix(words) == true)
        #expect(status.outputLines.first?.hasSuffix(": no route; no success yet") == true)
        #expect(listed.output.contains("failed once, tries again at 20"))
        #expect(one.status == 0 && one.outputLines == Array(status.outputLines.prefix(1)))
        #expect(failed.status == 1 && failed.outputLines.count == 1)
        #expect(failed.outputLines.first?.hasPrefix("backup: FAILED just now") == true)
        #expect(json["holds"] == .bool(true) && json["installation"] == .null)
        #expect(json["jobs"].elements.map { $0["job"].text } == ["fetch"])
    }

    @Test func `a failure after a success names the last success`() async throws {
        let playground = try await playground()
        try playground.folder.write("repository", [])
        #expect(try await playground.run("run", "backup").status == 0)
        unlink("\(playground.folder.path)/repository")
        #expect(try await playground.run("run", "backup").status == 1)

        let status = try await playground.run("status", "--quiet")

        let line = try #require(status.outputLines.first)
        #expect(
            line.wholeMatch(
                of:
                    /backup: FAILED just now: exited with status 1: no repository \(run \d+; last success at 20[^ ]*Z\); starts by an event, after another job or by hand/
            ) != nil, "\(line)")
    }

    @Test func `a short name finds the job, its last run and what its program wrote`() async throws
    {
        let playground = try await playground()
        #expect(try await playground.run("run", "back").status == 1)

        let logs = try await playground.run("logs", "back", "-q")
        let found = try await playground.run("logs", "backup", "--grep", "nothing like it", "-q")
        let show = try await playground.run("history", "show", "backup")
        let json = try await playground.json("logs", "backup").elements
        let history = try await playground.json("history", "back").elements
        let explain = try await playground.run("explain", "fet")
        let both = try await playground.run("explain", "c")
        let none = try await playground.run("logs", "fetch")
        let wrong = try await playground.run("logs", "bakup")

        #expect(logs.status == 0 && logs.output == "no repository\n")
        #expect(found.status == 0 && found.output == "")
        #expect(show.outputLines.first == "run 1 of backup (command): failed")
        #expect(json.map { $0["output"]["head"].text } == ["no repository\n"])
        #expect(history.map { $0["job"].text } == ["backup"])
        #expect(explain.status == 0 && explain.outputLines.first?.hasPrefix("fetch: ") == true)
        #expect(
            both.isRefusal(
                64, "clarity-jobs: `c` is part of 2 jobs, wanted one",
                "help: such as `fetch`, `backup`"))
        #expect(
            none.status == 0 && none.output == "" && none.errorLines == ["fetch, run 2: enqueued"])
        #expect(
            wrong.isRefusal(
                64, "clarity-jobs: no job `bakup` in the job file; did you mean `backup`?"))
    }

    @Test func `a job that was removed from the file keeps its name in the history`() async throws {
        let playground = try await playground()
        #expect(try await playground.run("run", "backup").status == 1)
        try playground.folder.write(
            "jobs.yaml",
            """
            version: 1
            jobs:
              - { id: nightly-backup, kind: command, options: { command: ["true"] } }

            """.utf8)
        #expect(try await playground.run("run", "nightly-backup").status == 0)

        let history = try await playground.json("history", "backup").elements
        let logs = try await playground.run("logs", "backup", "-q")

        #expect(history.map { $0["job"].text } == ["backup"])
        #expect(logs.output == "no repository\n")
    }

    @Test func `a run that was cancelled or skipped hides no failure`() async throws {
        let playground = try await playground()
        #expect(try await playground.run("run", "backup").status == 1)
        _ = try await playground.run("pause", "backup")
        #expect(try await playground.run("run", "backup").status == 75)
        #expect(try await playground.run("cancel", "2").status == 0)

        let status = try await playground.run("status", "--quiet")

        #expect(status.status == 1 && status.output.hasPrefix("backup: FAILED"), "\(status.output)")
    }

    @Test func `a job that waits for a login is trouble, and one that waits for its time is not`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: []) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 4h } }

            """
        }
        let before = try await playground.run("status", "--quiet")
        #expect(try await playground.run("run", "refresh").status == 75)

        let waits = try await playground.run("status", "--quiet")
        let json = try await playground.json(status: 1, "status")

        #expect(before.status == 0 && before.output == "")
        #expect(waits.status == 1)
        #expect(
            waits.outputLines.first?.hasPrefix(
                "refresh: no success yet; waits for a login: nobody is logged in") == true,
            "\(waits.output)")
        #expect(json["jobs"].elements.first?["waits_for_login"] == .bool(true))
    }
}
