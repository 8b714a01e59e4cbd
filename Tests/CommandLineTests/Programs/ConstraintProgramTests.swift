import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("Constraints as the programs show them", .timeLimit(.minutes(5)))
struct ConstraintProgramTests {
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "every: 1d } }",
                with: "every: 1d }, constraints: { storage_free: 900TiB, battery_above: 1% } }")
        }
    }

    @Test func `a run that waits shows the wanted value, the measured one and its source`()
        async throws
    {
        let playground = try await playground()
        try playground.writeExport(heartRates: 1)

        let run = try await playground.run("run", "cleanup")
        let due = try await playground.run("run", "--due")

        #expect(run.status == 75 && run.output == "")
        let shape =
            /(?:.* )?waits for storage_free: wanted 900 TiB free, is [0-9.]+ [KMGT]iB free \((.*)\)/
        let line = try #require(run.errorLines.first)
        let match = try #require(line.wholeMatch(of: shape), "\(line)")
        #expect(match.output.1 == playground.statePath[...])
        #expect(run.errorLines.dropFirst().first?.hasPrefix("run 1 stays: no loop runs") == true)
        // A constraint prints nothing for cron. A missing login prints a line.
        #expect(due.status == 75, "\(due.errors)")
        #expect(due.errorLines.allSatisfy { $0.contains("waits for a login") }, "\(due.errors)")
        let wanted = try await playground.json("list").elements.last?["waiting_on"]
        let reasons = try await playground.lastRun(of: "cleanup")
        let shown = try await playground.json("history", "show", "1")["deferrals"].elements
        for deferral in [wanted?.elements.first, reasons["waiting_on"].elements.first, shown.first]
        {
            let deferral = try #require(deferral)
            #expect(deferral["reason"] == .string("constraint"))
            #expect(deferral["subject"] == .string("storage_free"))
            #expect(deferral["wanted"] == .string("900 TiB free"))
            #expect(deferral["measured"].text?.hasSuffix("iB free") == true)
            #expect(deferral["source"] == .string(playground.statePath))
        }
        #expect(reasons["state"] == .string("enqueued"))
        #expect(reasons["summary"].text?.wholeMatch(of: shape) != nil)
        #expect(isInstant(shown.first?["since"].text) && shown.first?["until"] == .null)
        let table = try await playground.run("history", "cleanup").outputLines
        #expect(table.last?.wholeMatch(of: shape) != nil, "\(table)")
        let text = try await playground.run("history", "show", "1").outputLines
        #expect(text.last?.hasPrefix("has waited since 2") == true)
        #expect(
            text.last?.contains(": for storage_free: wanted 900 TiB free, is ") == true)
    }

    /// The dynamic loader's own log shows which files it was asked for after the start (ld.so(8)).
    @Test(arguments: [("storage_free: 900TiB", false), ("idle: true", true)])
    func `clarity-jobs connects to the bus only if a job depends on a service`(
        constraint: String, isReached: Bool
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - id: a
                kind: command
                schedule: { every: 1h }
                constraints: { \(constraint) }
                options: { command: ["true"] }

            """
        }

        _ = try await playground.run(
            "run", "--due",
            environment: [
                "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": "\(playground.folder.path)/loader",
            ])

        let loaded = try playground.folder.contents().keys.filter { $0.hasPrefix("loader.") }
        let texts = try loaded.map { name in
            String(
                decoding: try TemporaryFolder.read("\(playground.folder.path)/\(name)"),
                as: UTF8.self)
        }
        #expect(texts.contains { $0.contains("libc.so") })
        #expect(texts.contains { $0.contains("libsystemd") } == isReached)
    }

    /// The file system /proc never has free space, so that the measured value stays the same.
    @Test func `a command that changes nothing about a waiting job does not lock the history`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - id: a
                kind: command
                schedule: { every: 1h }
                constraints: { storage_free: { /proc: 1GiB } }
                options: { command: ["true"] }

            """
        }
        let first = try await playground.run("run", "--due", "--verbose")
        let lock = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        try lock.execute("BEGIN IMMEDIATE")

        let second = try await playground.run("run", "--due", "--verbose")
        let object = try await playground.run("run", "--due", "--output", "json")

        #expect(first.status == 75 && second.status == 75)
        #expect(first.errorLines.count == 1 && second.errors == first.errors)
        #expect(first.errors.hasPrefix("a: waits for storage_free: wanted 1 GiB free, is "))
        #expect(object.status == 75 && object.output == "[]\n" && object.errors == "")
    }

    @Test func `--force runs a waiting job, and the history keeps why it waited`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "cleanup")

        let forced = try await playground.run("run", "cleanup", "--force")

        #expect(forced.status == 0)
        #expect(forced.output == "cleanup: succeeded: nothing to do (run 1)\n")
        let run = try await playground.json("history", "show", "1")
        #expect(run["state"] == .string("succeeded") && run["attempt_list"].elements.count == 1)
        #expect(isInstant(run["deferrals"].elements.first?["until"].text))
        #expect(try await playground.lastRun(of: "cleanup")["waiting_on"] == .array([]))
    }

    @Test func `a backoff shows the failure that caused it`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try await playground.sandbox?.addFault("GET /auth/me: 503 x*")

        let run = try await playground.run("run", "refresh")

        #expect(run.status == 75)
        #expect(run.errorLines.count == 2)
        #expect(run.errorLines.first?.hasPrefix("refresh: failed once, tries again at 2") == true)
        #expect(
            run.errorLines.first?.hasSuffix("Z: the backend is out of order (503) (run 1)") == true)
        let last = try await playground.lastRun(of: "refresh")
        #expect(last["state"] == .string("enqueued") && last["attempts"] == .number(1))
        #expect(last["failure"] == .string("the backend is out of order (503)"))
        let waiting = try #require(last["waiting_on"].elements.first)
        #expect(waiting["reason"] == .string("backoff"))
        #expect(waiting["source"] == .string("failure 1 of the run"))
    }

    @Test func `explain asks a check and uses its answer`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "every: 1d } }", with: "every: 1d }, constraints: { check: door } }"
            ) + "checks: { door: { command: [\"true\"] } }\n"
        }

        let explanation = try await playground.run("explain", "cleanup")
        let earlier = try await playground.run(
            "explain", "cleanup", "--now", "2026-11-20T06:00:00Z")
        let dryRun = try await playground.run("dry-run", "cleanup")

        for lines in [explanation.outputLines, earlier.outputLines] {
            let line = lines.first { $0.hasPrefix("check ") }
            #expect(line?.contains(#/`door` passes +passes +command true: exit 0 in /#) == true)
        }
        #expect(dryRun.errors.contains("  met: check: wanted `door` passes, is passes ("))
    }
}
