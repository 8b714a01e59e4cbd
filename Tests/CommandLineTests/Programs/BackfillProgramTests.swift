import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("backfill", .timeLimit(.minutes(5)))
struct BackfillProgramTests {
    private static let range = ["--from", "2026-11-01T00:00:00Z", "--to", "2026-11-03T23:59:59Z"]

    /// Returns a playground with a job that records the time for which it ran.
    private func playground(
        _ schedule: String = "{ cron: '0 6 * * *', time_zone: UTC }", command: String = "true"
    ) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            jobs:
              - id: report
                kind: command
                schedule: \(schedule)
                retry: { attempts: 1 }
                options:
                  command: [sh, -c, 'echo $CLARITY_SCHEDULED_FOR >> \(folder)/ran; \(command)']
              - { id: free, kind: command, on: [boot], options: { command: ["true"] } }

            """
        }
    }

    private func ran(_ playground: Playground) throws -> [String] {
        let path = "\(playground.folder.path)/ran"
        guard access(path, F_OK) == 0 else { return [] }
        return String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
            .split(separator: "\n").map(String.init).filter { $0 < "2026-11-04" }
    }

    @Test func `each occurrence of the range runs once, even if backfill is repeated`()
        async throws
    {
        let playground = try await playground()

        let asked = try await playground.start(["backfill", "report"] + Self.range).finish()
        let again = try await playground.start(["backfill", "report"] + Self.range).finish()
        let due = try await playground.run("run", "--due")
        let done = try await playground.start(["backfill", "report"] + Self.range).finish()
        let later = try await playground.run("run", "--due")
        let audit = try await playground.run("audit")

        #expect(asked.outputLines.first == "report: 3 runs enqueued", "\(asked)")
        #expect(again.outputLines == ["report: 0 runs enqueued, 3 waiting already"])
        #expect(done.outputLines == ["report: 0 runs enqueued, 3 succeeded already"])
        #expect([asked, again, due, done, later, audit].map(\.status) == [0, 0, 0, 0, 0, 0])
        #expect(
            try ran(playground) == [
                "2026-11-01T06:00:00Z", "2026-11-02T06:00:00Z", "2026-11-03T06:00:00Z",
            ])
    }

    @Test func `a failed occurrence can be backfilled again`() async throws {
        let playground = try await playground(command: "false")
        _ = try await playground.start(["backfill", "report"] + Self.range).finish()
        #expect(try await playground.run("run", "--due").status == 1)

        let again = try await playground.start(["backfill", "report"] + Self.range).finish()

        #expect(again.outputLines.first == "report: 3 runs enqueued")
    }

    @Test func `two backfills at the same time run each occurrence once`() async throws {
        let playground = try await playground()

        let words = ["backfill", "report"] + Self.range
        let crowd = try (0..<6).map { _ in try playground.start(words) }
        for program in crowd {
            let end = await program.finish()
            #expect(end.status == 0, "\(end.errors)")
        }

        let runs = try await playground.json("history", "report").elements
        #expect(runs.filter { $0["trigger"] == .string("backfill") }.count == 3)
    }

    @Test func `backfill of every counts back from the first look in the same steps`() async throws
    {
        let playground = try await playground("{ every: 1d }")
        #expect(try await playground.run("run", "--due").status == 0)

        let asked = try await playground.start(
            ["backfill", "report", "-o", "json"] + Self.range
        ).finish()

        #expect(try JSONValue(asked.output)["enqueued"].elements.count == 3)
    }

    @Test(arguments: [
        (["report"], "`backfill` wants one job and --from"),
        (["free", "--from", "2026-11-01"], "job `free` has no schedule, and so no occurrences"),
        (["report", "--from", "2999-01-01T00:00:00Z"], "--from 2999-01-01T00:00:00Z is later"),
        (
            ["report", "--from", "2026-11-01T00:00:00Z", "--to", "2999-01-01T00:00:00Z"],
            "--to 2999-01-01T00:00:00Z is in the future"
        ),
        (
            ["report", "--from", "2020-01-01T00:00:00Z"],
            "the schedule of `report` names "
        ),
        (
            ["report", "--from", "2026-11-01T07:00:00Z", "--to", "2026-11-01T08:00:00Z"],
            "the schedule of `report` names no time from 2026-11-01T07:00:00Z"
        ),
    ])
    func `an impossible backfill is refused in one line`(
        words: [String], start: String
    ) async throws {
        let playground = try await playground()

        let result = try await playground.start(["backfill"] + words).finish()

        #expect(result.status == 64 && result.output == "")
        #expect(result.errors.hasPrefix("clarity-jobs: \(start)"), "\(result.errors)")
        #expect(access(playground.statePath, F_OK) != 0)
    }
}
