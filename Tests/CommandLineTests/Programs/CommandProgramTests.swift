import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import ClarityScheduler
import Database
import Testing

/// Jobs of the kind `command`, through the built programs.
@Suite("command", .timeLimit(.minutes(5)))
struct CommandProgramTests {
    private func playground(
        _ options: String, more: String = "", top: String = ""
    ) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            \(top)
            jobs:
              - id: nightly
                kind: command
                schedule: { every: 1d }
                options: { \(options.replacing("FOLDER", with: folder)) }
                \(more)

            """
        }
    }

    @Test func `any program can be a job, and the history keeps its output`() async throws {
        let playground = try await playground(
            "command: [sh, -c, 'echo attempt $CLARITY_ATTEMPT of $CLARITY_RUN; "
                + "printf \"\\033[31mred\\n\"; pwd'], folder: FOLDER")

        let run = try await playground.run("run", "nightly")
        let show = try await playground.run("history", "show", "1")
        let json = try await playground.json("history", "show", "1")

        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output == "nightly: succeeded (run 1)\n")
        #expect(
            show.outputLines.filter { $0.hasPrefix("  | ") } == [
                "  | attempt 1 of 1", "  | \u{FFFD}[31mred", "  | \(playground.folder.path)",
            ])
        let output = try #require(json["attempt_list"].elements.first)["output"]
        #expect(
            output["head"].text
                == "attempt 1 of 1\n\u{1B}[31mred\n\(playground.folder.path)\n")
        #expect(output["left_out_bytes"].number == 0 && output["tail"].text == "")
    }

    @Test(arguments: [
        (75, Int32(75), "failed once, tries again at ", "exited with status 75 (later): not yet"),
        (65, 1, "failed", "exited with status 65 (faulty input): not yet"),
        (77, 77, "failed", "exited with status 77 (permission denied): not yet"),
    ])
    func `the exit status of a command decides the outcome, and its last line is the reason`(
        exit: Int, status: Int32, state: String, reason: String
    ) async throws {
        let playground = try await playground(
            "command: [sh, -c, 'echo first; echo not yet >&2; exit \(exit)']")

        let run = try await playground.run("run", "nightly")

        #expect(run.status == status)
        let line = try #require(run.errorLines.first)
        #expect(line.hasPrefix("nightly: \(state)"))
        #expect(line.hasSuffix(": \(reason) (run 1)"))
    }

    @Test func `a command finds no keys and no credentials in its environment`() async throws {
        let playground = try await playground(
            "command: [sh, -c, 'env | cut -d= -f1 | sort'], environment: [OWN=1]",
            top: "key: { variable: MY_HEALTH_KEY }")
        let secrets = [
            "MY_HEALTH_KEY": String(repeating: "0f", count: 32), "CLARITY_JOBS_KEY": "00",
            "CREDENTIALS_DIRECTORY": "\(playground.folder.path)/none", "PLAIN": "yes",
        ]

        let run = try await playground.run("run", "nightly", environment: secrets)
        let show = try await playground.run("history", "show", "1")

        #expect(run.status == 0, "\(run.errors)")
        let names = show.outputLines.filter { $0.hasPrefix("  | ") }.map { $0.dropFirst(4) }
            .filter { !["PWD", "SHLVL", "_", "OLDPWD"].contains($0) }
        #expect(
            names == [
                "CLARITY_ATTEMPT", "CLARITY_DEADLINE", "CLARITY_GENERATION", "CLARITY_JOB",
                "CLARITY_REPORT", "CLARITY_RUN", "CLARITY_SCHEDULED_FOR", "HOME", "OWN", "PATH",
                "PLAIN",
            ])
    }

    @Test func `long output is cut in the middle, and says so`() async throws {
        let playground = try await playground(
            "command: [sh, -c, 'echo begin; head -c 100000 /dev/zero | tr \"\\0\" x; echo; "
                + "echo end; exit 65'], output_limit: 1KiB")

        let run = try await playground.run("run", "nightly")
        let show = try await playground.run("history", "show", "1")

        #expect(run.errorLines.first?.contains("(faulty input): end (run 1)") == true)
        let lines = show.outputLines.filter { $0.hasPrefix("  | ") }
        #expect(lines.first == "  | begin" && lines.last == "  | end")
        #expect(lines.contains("  | ... \(100_000 + 6 + 5 - 1024) bytes are left out ..."))
    }

    @Test func `a command with a warning is asked to stop before its time limit`() async throws {
        let playground = try await playground(
            "command: [sh, -c, 'echo $$; exec sleep 1000']",
            more: "timeout: 1s\n    warning: 100ms\n    retry: { attempts: 1 }")

        let run = try await playground.run("run", "nightly")

        #expect(run.status == 124)
        #expect(
            run.errorLines.first
                == "nightly: failed: asked to stop 100ms before its limit of 1s (run 1)")
    }

    @Test func `a command has its whole time, is then asked to stop, and says how it ended`()
        async throws
    {
        let playground = try await playground(
            "command: [sh, -c, 'trap \"echo asked; exit 3\" TERM; while :; do sleep 0.1; done']",
            more: "timeout: 2s\n    retry: { attempts: 1 }")

        let run = try await playground.run("run", "nightly")
        let story = try await playground.json("history", "show", "1")

        #expect(run.status == 124)
        #expect(
            run.errorLines.first
                == "nightly: failed: did not end within its time of 2s, then it exited with "
                + "status 3: asked (run 1)")
        let attempt = try #require(story["attempt_list"].elements.first)
        let times = ["started_at", "finished_at"].map {
            attempt[$0].text.flatMap { Instant(rfc3339: $0) }
        }
        let (started, finished) = (try #require(times[0]), try #require(times[1]))
        #expect(finished - started >= .seconds(2))
    }

    @Test func `a dry run shows the command, and starts nothing`() async throws {
        let playground = try await playground(
            "command: [touch, \"FOLDER/it's here\"], environment: [SECRET=hush], folder: FOLDER")

        let dry = try await playground.run("dry-run", "nightly")

        #expect(dry.status == 0 && dry.errorLines == ["nightly: would start now"])
        let folder = playground.folder.path
        #expect(
            dry.outputLines == [
                "would run: touch '\(folder)/it'\\''s here'", "program: /usr/bin/touch",
                "folder: \(folder)",
                "environment: CLARITY_ATTEMPT, CLARITY_DEADLINE, CLARITY_GENERATION, CLARITY_JOB, "
                    + "CLARITY_RUN, CLARITY_SCHEDULED_FOR, HOME, PATH, SECRET",
                "keeps 64 KiB of its output",
                "dry run of `nightly`: nothing was started, nothing was changed",
            ])
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `a dry run of a missing program says so`() async throws {
        let playground = try await playground("command: [no-such-program-of-ours]")

        let dry = try await playground.run("dry-run", "nightly")
        let run = try await playground.run("run", "nightly")

        #expect(dry.status == 78 && dry.outputLines.contains("program: not found in PATH"))
        #expect(run.status == 78)
        #expect(
            run.errorLines == ["nightly: failed: the program is not found in PATH (run 1)"])
    }

    @Test func `the output of a run is deleted with the run`() async throws {
        let playground = try await playground("command: [echo, hello]")
        #expect(try await playground.run("run", "nightly").status == 0)
        let history = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        try history.execute("PRAGMA foreign_keys = ON")
        let count = "SELECT count(*) FROM attempt_outputs"
        let before = try history.first(count) { $0.integer(0) }

        try history.execute("DELETE FROM runs")

        #expect(before == 1)
        #expect(try history.first(count) { $0.integer(0) } == 0)
    }
}
