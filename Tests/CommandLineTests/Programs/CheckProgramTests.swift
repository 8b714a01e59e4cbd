import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("Checks and windows as the programs show them", .timeLimit(.minutes(5)))
struct CheckProgramTests {
    private func playground(_ constraints: String, top: String = "") async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/api/v1" }
            checks:
              door: { command: [test, -e, \(folder)/door] }
              shut: { command: [false] }
              slow: { command: [sleep, 60], timeout: 100ms }
              nobody: { url: "http://127.0.0.1:9/?key=hidden" }
            \(top)
            defaults: { time_zone: UTC }
            jobs:
              - id: cleanup
                kind: cleanup
                schedule: { every: 1d }
                constraints: { \(constraints) }

            """
        }
    }

    @Test func `a failing check defers a due run and is asked again each time`()
        async throws
    {
        let playground = try await playground("check: door")

        let shut = try await playground.run("run", "--due")
        let waits = try await playground.lastRun(of: "cleanup")["waiting_on"].elements.first
        try playground.folder.write("door", [])
        let open = try await playground.run("run", "--due")

        #expect(shut.status == 75 && shut.errors == "")
        #expect(waits?["subject"] == .string("check"))
        #expect(waits?["wanted"] == .string("`door` passes"))
        #expect(waits?["measured"] == .string("does not pass"))
        let source = try #require(waits?["source"].text)
        #expect(
            source.wholeMatch(of: /command test: exit 1 in \d+ ms, at 2.*Z/) != nil, "\(source)")
        #expect(open.status == 0, "\(open.errors)")
        #expect(try await playground.lastRun(of: "cleanup")["state"] == .string("succeeded"))
    }

    @Test(arguments: [
        ("slow", "unknown", "command sleep: no answer within 100 ms"),
        ("nobody", "does not pass", "http://127.0.0.1:9/: could not connect"),
        ("shut", "does not pass", "command false: exit 1 in "),
    ])
    func `explain asks the checks and names the source of each answer`(
        check: String, measured: String, source: String
    )
        async throws
    {
        let playground = try await playground("check: \(check)")
        _ = try await playground.run("run", "--due")

        let explain = try await playground.json("explain", "cleanup")

        let constraint = try #require(explain["constraints"].elements.first)
        #expect(constraint["measured"] == .string(measured))
        #expect(constraint["source"].text?.hasPrefix(source) == true, "\(constraint["source"])")
        #expect(constraint["verdict"] == .string("unmet"))
        #expect(explain["changes"] == .array([.string("make check `\(check)` pass")]))
    }

    @Test func `a job may run without an answer if the job file allows it`() async throws {
        let playground = try await playground("check: slow, unknown: { check: run }")

        let due = try await playground.run("run", "--due")

        #expect(due.status == 0, "\(due.errors)")
    }

    @Test func `the command of a check gets no key`() async throws {
        let playground = try await playground(
            "check: clean",
            top: """
                  clean:
                    command: [sh, -c, 'test -z "$CLARITY_JOBS_KEY$CREDENTIALS_DIRECTORY$HEALTH_KEY"']
                key: { variable: HEALTH_KEY }
                """)
        let secrets = [
            "HEALTH_KEY": String(repeating: "0", count: 64),
            "CLARITY_JOBS_KEY": String(repeating: "0", count: 64),
            "CREDENTIALS_DIRECTORY": "\(playground.folder.path)/none",
        ]

        let doctor = try await playground.run("doctor", environment: secrets)

        let row = try #require(doctor.outputLines.first { $0.hasPrefix("checks.clean ") })
        #expect(row.contains(" passes "), "\(row)")
    }

    @Test(arguments: [
        ("2026-11-20T12:00:00Z", "closed until 2026-11-20T22:00:00Z", "unmet"),
        ("2026-11-20T23:00:00Z", "open until 2026-11-21T06:00:00Z", "met"),
    ])
    func `a window shows until when it is open or closed`(
        now: String, measured: String, verdict: String
    ) async throws {
        let playground = try await playground("window: \"22:00-06:00\"")
        _ = try await playground.run("run", "--due")

        let explain = try await playground.json("explain", "cleanup", "--now", now)

        let window = try #require(
            explain["constraints"].elements.first { $0["subject"] == .string("window") })
        #expect(window["wanted"] == .string("22:00-06:00"))
        #expect(window["measured"] == .string(measured))
        #expect(window["source"] == .string("clock of UTC"))
        #expect(window["verdict"] == .string(verdict))
    }

    @Test func `a loop asks the checks of an edited job file`() async throws {
        let playground = try await playground("check: door")
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        while try await playground.json("history").elements.first?["waiting_on"].elements.first?[
            "measured"] != .string("does not pass")
        {}

        let text = String(decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.folder.write(
            "jobs.yaml", Array(text.replacing("[test, -e", with: "[test, \"!\", -e").utf8))
        let reloaded = try #require(await loop.readErrorLine())
        let done = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(reloaded.hasPrefix("clarity-jobs: reloaded"), "\(reloaded)")
        #expect(done.hasPrefix("cleanup: succeeded"), "\(done)")
    }
}
