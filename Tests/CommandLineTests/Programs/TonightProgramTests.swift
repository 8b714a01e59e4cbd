import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// `tonight` through the built program.
@Suite(
    "tonight", .timeLimit(.minutes(3)),
    .enabled(if: access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0))
struct TonightProgramTests {
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            checks: { nas: { command: [/bin/false] } }
            jobs:
              - { id: backup, kind: command, schedule: "15 2 * * *", options: { command: [/bin/true] },
                  constraints: { storage_free: { /nowhere-at-all: 1GiB } } }
              - { id: often, kind: command, schedule: "0 * * * *", options: { command: [/bin/true] } }
              - { id: open, kind: command, schedule: "0 3 * * *", options: { command: [/bin/true] },
                  constraints: { window: "22:00-06:00" } }
              - { id: closed, kind: command, schedule: "0 9 * * *", options: { command: [/bin/true] },
                  constraints: { window: "22:00-06:00", check: nas } }
              - { id: later, kind: command, schedule: "0 13 * * *", options: { command: [/bin/true] } }
              - { id: manual, kind: command, options: { command: [/bin/true] },
                  constraints: { storage_free: 900TiB } }
              - { id: off, kind: command, enabled: false, schedule: "0 3 * * *",
                  options: { command: [/bin/true] } }

            """
        }
    }

    /// A zone in which it is some time after 18:00, whenever the test runs.
    private static var eveningZone: String {
        let ahead = 18 - time(nil) / 3600 % 24
        // POSIX writes zones west of Greenwich with a plus.
        let west = ahead > 12 ? 24 - ahead : -ahead
        return "Etc/GMT\(west < 0 ? "" : "+")\(west)"
    }

    private func tonight(_ playground: Playground, _ words: String...) async throws -> ProgramResult
    {
        try await playground.start(["tonight"] + words, environment: ["TZ": "Europe/Berlin"])
            .finish()
    }

    @Test func `a line for each job says when it runs until noon, and what it will wait for`()
        async throws
    {
        let playground = try await playground()

        let evening = try await tonight(playground, "--now", "2026-11-29T17:00:00Z")
        let night = try await tonight(playground, "--now", "2026-11-30T04:59:59Z")
        let morning = try await tonight(playground, "--now", "2026-11-30T05:00:00Z")

        #expect(evening.status == 0 && evening.errors == "")
        #expect(
            evening.outputLines == [
                "until Mon 12:00 (Europe/Berlin): 4 jobs, 2 later or not by a schedule",
                "AT         JOB     TIMES  WILL WAIT",
                "Sun 18:00  often   19",
                "Mon 02:15  backup  1      storage_free: unknown",
                // The window is closed now, and open then.
                "Mon 03:00  open    1",
                "Mon 09:00  closed  1      window: opens Mon 22:00; check: not asked",
            ])
        #expect(evening.outputLines.allSatisfy { $0.count <= 80 })
        // Before 6 in the morning it is still this night.
        #expect(
            night.outputLines.first?.hasPrefix("until Mon 12:00 (Europe/Berlin): 2 jobs") == true)
        #expect(
            morning.outputLines.first?.hasPrefix("until Tue 12:00 (Europe/Berlin): 5 jobs") == true)
    }

    @Test func `a job that is faulty in the job file is named with its fault`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - { id: good, kind: command, schedule: "0 * * * *", options: { command: [/bin/true] } }
              - { id: bad, kind: command, schedule: "0 * * * *", nice: 3,
                  options: { command: [/bin/true] } }

            """
        }

        let result = try await tonight(playground, "--now", "2026-11-29T17:00:00Z")

        #expect(result.status == 0)
        #expect(
            result.outputLines == [
                "until Mon 12:00 (Europe/Berlin): 1 job",
                "AT         JOB   TIMES  WILL WAIT", "Sun 18:00  good  19",
            ])
        #expect(result.errors.contains("bad: ") && result.errors.contains("unknown key `nice`"))
    }

    @Test func `it knows what outlasts the start of a job, and the starts of a group`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            groups: { api: { per: 1 per 5h } }
            jobs:
              - id: refused
                kind: command
                schedule: "0 * * * *"
                retry: { attempts: 1 }
                options:
                  command: [sh, -c, 'echo "{\\"not_before\\": \\"4h\\"}" > "$CLARITY_REPORT"; exit 1']
              - id: distant
                kind: command
                schedule: { cron: "0 * * * *", earliest_begin: 3h }
                options: { command: [/bin/true] }
              - { id: counted, kind: command, group: api, options: { command: [/bin/true] } }

            """
        }
        _ = try await playground.run("run", "refused")
        _ = try await playground.run("run", "distant")
        let counted = try await playground.run("run", "counted")
        let again = try await playground.run("run", "--ask", "counted")
        try #require(counted.status == 0 && again.status == 0, "\(counted)\n\(again)")

        let rows = try JSONValue(try await tonight(playground, "-o", "json").output).elements

        func waits(_ job: String) -> [String?] {
            rows.first { $0["job"].text == job }?["waiting_on"].elements.map { $0["subject"].text }
                ?? ["no line"]
        }
        #expect(waits("refused") == ["retry_after"], "\(rows)")
        #expect(waits("distant") == ["earliest_begin"], "\(rows)")
        #expect(waits("counted") == ["group api"], "\(rows)")
    }

    @Test func `a run that waits comes first, and JSON has the whole reasons`() async throws {
        let playground = try await playground()
        let asked = try await playground.run("run", "--ask", "manual")
        try #require(asked.status == 0)

        let result = try await playground.start(
            ["tonight", "-o", "json"], environment: ["TZ": Self.eveningZone]
        ).finish()

        let rows = try JSONValue(result.output).elements
        let manual = try #require(rows.first { $0["job"].text == "manual" })
        let backup = try #require(rows.first { $0["job"].text == "backup" })
        #expect(manual["state"].text == "enqueued" && manual["occurrences"].number == 1)
        #expect(rows.first?["job"].text == "manual")
        #expect(backup["state"].text == "idle")
        let wait = try #require(backup["waiting_on"].elements.first)
        #expect(wait["reason"].text == "constraint" && wait["wanted"].text == "1 GiB free")
        #expect(backup["words"].text?.hasPrefix("for storage_free") == true)
        #expect(try await playground.json("history").elements.count == 1)
    }
}
