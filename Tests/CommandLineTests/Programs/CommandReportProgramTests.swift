import ClarityTestSupport
import Glibc
import Testing

@testable import ProgramTestSupport

/// What a program may say of its work, and what it finds when it starts.
@Suite("The report of a program", .timeLimit(.minutes(5)))
struct CommandReportProgramTests {
    /// A job whose program runs the lines of a shell script.
    private func playground(_ script: String, options: String = "") async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            jobs:
              - id: fetch
                kind: command
                schedule: { every: 1h }
                options:
                  command: [sh, \(folder)/script]
                  \(options)

            """
        }
        try playground.folder.write("script", Array("\(script)\n".utf8))
        return playground
    }

    private func say(_ json: String) -> String { "echo '\(json)' >> \"$CLARITY_REPORT\"\n" }

    @Test func `its summary is what the run did`() async throws {
        let playground = try await playground(say(#"{"summary": "14 files saved"}"#))

        let run = try await playground.run("run", "fetch")
        let row = try #require(try await playground.json("history").elements.first)

        #expect(run.status == 0 && run.output == "fetch: succeeded: 14 files saved (run 1)\n")
        #expect(row["summary"] == .string("14 files saved"))
    }

    @Test func `its progress is seen while it runs`() async throws {
        let playground = try await playground(
            say(#"{"progress": 3, "total": 10}"#) + "echo said; cat \"${0%script}gate\"")
        let gate = "\(playground.folder.path)/gate"
        try #require(mkfifo(gate, 0o600) == 0)
        let run = try playground.start(["run", "fetch"])
        var listed = try await playground.json("list").elements.first?["progress"]
        while listed?["done"].number == nil {
            listed = try await playground.json("list").elements.first?["progress"]
        }
        let table = try await playground.run("list")
        let shown = try await playground.run("history", "show", "fetch")
        let writer = try await blocking { open(gate, O_WRONLY) }
        close(writer)
        _ = await run.finish()

        #expect(listed?["done"].number == 3 && listed?["total"].number == 10)
        #expect(table.output.contains("30 %, 3 of 10"), "\(table.output)")
        #expect(shown.output.contains("30 %, 3 of 10"), "\(shown.output)")
    }

    @Test func `not before: after a success the job is paused until then`() async throws {
        let playground = try await playground(say(#"{"not_before": "2099-01-01T00:00:00Z"}"#))

        let run = try await playground.run("run", "fetch")
        let list = try await playground.json("list").elements

        #expect(run.status == 0)
        let waits = list.first?["waiting_on"].elements.map { $0["reason"].text } ?? []
        #expect(waits.contains("paused"), "\(list)")
        #expect(list.first?["next"].text == "2099-01-01T00:00:00Z", "\(list)")
    }

    @Test func `not before: a run that ends with status 75 goes on then, and nothing failed`()
        async throws
    {
        let playground = try await playground(say(#"{"not_before": "3h"}"#) + "exit 75")

        let run = try await playground.run("run", "fetch")
        let row = try #require(try await playground.json("history").elements.first)

        #expect(run.status == 75 && run.errors.contains("fetch: goes on at "), "\(run.errors)")
        #expect(row["state"].text == "enqueued" && row["attempts"].number == 1)
    }

    @Test func `pause: the job starts no more until somebody resumes it`() async throws {
        let playground = try await playground(say(#"{"pause": "the disk is full"}"#) + "exit 1")

        _ = try await playground.run("run", "fetch")
        let again = try await playground.run("run", "fetch")
        let explained = try await playground.run("explain", "fetch")
        let resumed = try await playground.run("resume", "fetch")

        #expect(again.status == 75)
        #expect(explained.output.contains("the disk is full"), "\(explained.output)")
        #expect(resumed.status == 0)
    }

    @Test(arguments: [
        ("nonsense", "line 1 of its report: it is no valid JSON"),
        (#"{"sumary": "x"}"#, "line 1 of its report: unknown key `sumary`"),
        (#"{"progress": 11, "total": 10}"#, "`progress` is not between 0 and its `total`"),
        (#"{"not_before": "soon"}"#, "is no span such as `2h` and no time such as"),
    ])
    func `a line of another form changes nothing, and the run says so`(
        line: String, note: String
    ) async throws {
        let playground = try await playground(say(line))

        let run = try await playground.run("run", "fetch")
        let row = try #require(try await playground.json("history").elements.first)

        #expect(run.status == 0 && row["state"].text == "succeeded")
        #expect(row["notes"].elements.contains { $0.text?.contains(note) == true }, "\(row)")
    }

    @Test func `a report without end is not read for ever`() async throws {
        let playground = try await playground(
            say(#"{"summary": "read"}"#)
                + "head -c 3000000 /dev/zero | tr '\\0' x >> \"$CLARITY_REPORT\"\n"
                + say(#"{"summary": "never read"}"#))

        let run = try await playground.run("run", "fetch")

        #expect(run.status == 0 && run.output == "fetch: succeeded: read (run 1)\n", "\(run)")
    }

    @Test(arguments: [("", "0077"), ("umask: 022", "0022"), ("umask: \"002\"", "0002")])
    func `it starts with the umask of the job file`(option: String, umask: String) async throws {
        let playground = try await playground("umask", options: option)

        _ = try await playground.run("run", "fetch")
        let logs = try await playground.run("logs", "fetch")

        #expect(logs.output == "\(umask)\n")
    }

    @Test func `validate warns of a program, a folder and a source that are not there`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            sources: [{ kind: apple-health-export, path: \(folder)/export.zip }]
            notify: [{ kind: command, command: [\(folder)/tell] }]
            jobs:
              - id: a
                kind: command
                schedule: 1h
                options: { command: [resitc, backup], folder: \(folder)/none }
              - id: b
                kind: command
                schedule: 1h
                options: { command: [\(folder)/tool] }
              - { id: c, kind: command, schedule: 1h, options: { command: ["true"] } }
              - { id: d, kind: command, schedule: 1h, options: { command: [./windows] } }
              - { id: e, kind: command, schedule: 1h, options: { command: [./bare] } }

            """
        }
        let folder = playground.folder.path
        try playground.folder.write("tool", [])
        for (name, text) in [("windows", "#!/bin/sh\r\n"), ("bare", "echo hi\n")] {
            try #require(chmod(try playground.folder.write(name, text.utf8), 0o700) == 0)
        }

        // Whoever runs jobs refuses a file that others may write, and `validate` says so.
        chmod(playground.jobFilePath, 0o666)
        let writable = try await playground.run("validate")
        chmod(playground.jobFilePath, 0o600)
        let result = try await playground.run("validate")

        #expect(writable.status == 0 && writable.errors.contains("may write"), "\(writable)")
        #expect(result.status == 0)
        let warnings = result.errorLines.filter { $0.contains("warning: ") }
            .map { $0.replacing("\(playground.jobFilePath): warning: ", with: "") }
        #expect(
            warnings == [
                "job `a`: program `resitc` is not found in PATH `/usr/bin:/bin`",
                "job `a`: there is no folder `\(folder)/none`",
                "job `b`: program `\(folder)/tool` cannot be run: permission denied",
                "job `d`: program `\(folder)/windows` cannot be run: its first line names `/bin/sh` "
                    + "with a Windows line end: save it with Unix line ends",
                "job `e`: program `\(folder)/bare` cannot be run: it lacks a first line such as "
                    + "`#!/bin/sh`",
                "target `command` of `notify`: program `\(folder)/tell` cannot be run: no such file "
                    + "or directory",
                "source `\(folder)/export.zip` is not there: no such file or directory",
            ], "\(result.errors)")
    }
}
