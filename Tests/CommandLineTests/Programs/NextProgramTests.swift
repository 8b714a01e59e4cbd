import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite(
    "next and --now", .timeLimit(.minutes(5)),
    .enabled(if: access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0))
struct NextProgramTests {
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/api/v1" }
            jobs:
              - { id: night, kind: cleanup, schedule: { cron: "30 2 * * *", time_zone: Europe/Berlin } }
              - { id: half, kind: cleanup, schedule: { cron: "*/30 * * * *", time_zone: Europe/Berlin } }
              - { id: often, kind: cleanup, schedule: { every: 6h } }
              - { id: once, kind: cleanup, schedule: { at: "2026-03-29T00:40:00Z" } }
              - { id: past, kind: cleanup, schedule: { at: "2020-01-01T00:00:00Z" } }
              - { id: asked, kind: cleanup }
              - { id: told, kind: cleanup, on: [source-changed, network-restored] }
              - { id: off, kind: cleanup, enabled: false, schedule: { every: 1h } }

            """
        }
    }

    private func next(
        _ playground: Playground, _ arguments: String..., zone: String = "America/New_York"
    ) async throws -> ProgramResult {
        try await playground.start(["next"] + arguments, environment: ["TZ": zone]).finish()
    }

    @Test func `the occurrences of all jobs come in order, each in its own zone`() async throws {
        let playground = try await playground()

        let result = try await next(playground, "-n", "5", "--now", "2026-03-29T00:20:00Z")

        #expect(result.status == 0)
        #expect(
            result.outputLines == [
                "JOB    AT                         TIME ZONE",
                "half   2026-03-29T01:30:00+01:00  Europe/Berlin",
                "once   2026-03-28T20:40:00-04:00  America/New_York",
                "night  2026-03-29T03:00:00+02:00  Europe/Berlin",
                "half   2026-03-29T03:00:00+02:00  Europe/Berlin",
                "half   2026-03-29T03:30:00+02:00  Europe/Berlin",
            ])
        #expect(
            result.errorLines == [
                "past: no occurrence after 2026-03-28T20:20:00-04:00", "asked: no schedule",
                "told: no schedule; starts on network-restored, source-changed",
                "off: `enabled: false` in the job file",
            ])
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `the JSON output has the job, the instant and the local time of each occurrence`()
        async throws
    {
        let playground = try await playground()

        let result = try await next(
            playground, "often", "past", "-n2", "-o", "ndjson", "--now", "2026-03-29T00:20:00.5Z")
        let all = try await next(playground, "-o", "json", "--now", "2026-03-29T00:20:00Z")

        #expect(result.status == 0 && result.errors == "")
        #expect(
            result.outputLines == [
                #"{"job":"often","at":"2026-03-29T06:20:00.500Z","#
                    + #""local":"2026-03-29T02:20:00.500-04:00"}"#,
                #"{"job":"often","at":"2026-03-29T12:20:00.500Z","#
                    + #""local":"2026-03-29T08:20:00.500-04:00"}"#,
            ])
        #expect(try JSONValue(all.output).elements.count == 20)
    }

    @Test func `--around-dst says what a change of the clock does`() async throws {
        let playground = try await playground()

        let result = try await next(
            playground, "night", "-n", "6", "--around-dst", "--now", "2026-03-28T00:00:00Z")
        let half = try await next(
            playground, "half", "-n", "1000", "--around-dst", "-o", "ndjson", "--now",
            "2026-10-20T00:00:00Z")

        #expect(
            result.outputLines == [
                "JOB    AT                         TIME ZONE      NOTE",
                "night  2026-03-28T02:30:00+01:00  Europe/Berlin",
                "night  2026-03-29T03:00:00+02:00  Europe/Berlin  after the skipped hour",
                "night  2026-03-30T02:30:00+02:00  Europe/Berlin",
                "night  2026-10-24T02:30:00+02:00  Europe/Berlin",
                "night  2026-10-25T02:30:00+02:00  Europe/Berlin  the first of the repeated hour",
                "night  2026-10-26T02:30:00+01:00  Europe/Berlin",
            ])
        let lines = try half.outputLines.map { try JSONValue($0) }
        // 36 hours on both sides of three changes, including both ends of each stretch.
        #expect(lines.count == 3 * 145)
        #expect(lines.first?["at"] == .string("2026-10-23T13:00:00Z"))
        #expect(lines.first?["note"] == .null)
        #expect(
            lines.compactMap { $0["note"].text }.prefix(4) == [
                "the first of the repeated hour", "the first of the repeated hour",
                "the second of the repeated hour", "the second of the repeated hour",
            ])
    }

    @Test func `--around-dst names a zone without changes and a job far from one`()
        async throws
    {
        let playground = try await playground()

        let result = try await next(
            playground, "often", "once", "--around-dst", "--now", "2026-03-10T00:00:00Z",
            zone: "Asia/Tokyo")
        let once = try await next(
            playground, "once", "--around-dst", "--now", "2026-03-10T00:00:00Z")

        #expect(result.status == 0 && result.output == "")
        #expect(
            result.errorLines == [
                "often: no change of offset in Asia/Tokyo within 400d of 2026-03-10T09:00:00+09:00",
                "once: no change of offset in Asia/Tokyo within 400d of 2026-03-10T09:00:00+09:00",
            ])
        #expect(
            once.errorLines == [
                "once: no occurrence within 1d 12h of a change of offset in America/New_York"
            ])
    }

    @Test func `a job that has run keeps its interval`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.run("run", "cleanup")
        let due = try await playground.json("list").elements.first {
            $0["job"] == .string("cleanup")
        }

        let coming = try await playground.json("next", "cleanup", "-n", "1").elements

        #expect(coming.count == 1)
        #expect(isInstant(coming[0]["at"].text))
        #expect(coming[0]["at"] == due?["next"])
    }

    @Test func `a job that the file does not declare is listed only if it is named`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            notify: [{ kind: ntfy, url: "https://ntfy.example/topic" }]
            jobs:
              - { id: say, kind: command, schedule: 1h, options: { command: ["true"] } }

            """
        }

        let all = try await playground.json("next").elements
        let named = try await playground.json("next", "notify", "-n", "1").elements
        let validate = try await playground.run("validate")

        #expect(Set(all.map { $0["job"].text }) == ["say"])
        #expect(named.map { $0["job"].text } == ["notify"])
        #expect(validate.output == "\(playground.jobFilePath): valid, 1 job and notify\n")
    }

    @Test(arguments: [
        (["-n", "0"], "--limit is a number from 1 to 10000, got `0`"),
        (["-n", "10001"], "--limit is a number from 1 to 10000, got `10001`"),
        (["nihgt"], "no job `nihgt` in the job file; did you mean `night`?"),
        (
            ["--now", "soon"],
            "--now is a time such as `2026-11-20T06:00:00Z` or `2026-11-20 06:00`, got `soon`"
        ),
    ])
    func `a question that it cannot answer is refused in one line`(words: [String], message: String)
        async throws
    {
        let playground = try await playground()

        let result = try await playground.start(["next"] + words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
    }

    @Test(arguments: [
        ("2026-10-25 03:00", "2026-10-25T03:00:00+01:00"),
        ("2026-10-25T01:59:59", "2026-10-25T01:59:59+02:00"),
        ("2026-07-01", "2026-07-01T00:00:00+02:00"),
        ("2026-07-01T00:00:00-05:00", "2026-07-01T07:00:00+02:00"),
    ])
    func `a time without an offset is local time`(
        time: String, instant: String
    ) async throws {
        let result = try await next(playground(), "past", "--now", time, zone: "Europe/Berlin")

        #expect(result.errorLines == ["past: no occurrence after \(instant)"])
    }

    @Test func `a local time that the clock skips or repeats is refused`() async throws {
        let playground = try await playground()

        let twice = try await next(playground, "--now", "2026-10-25 02:30", zone: "Europe/Berlin")
        let never = try await next(playground, "--now", "2026-03-29 02:30", zone: "Europe/Berlin")
        let nowhere = try await next(playground, "--now", "2026-03-29 02:30", zone: "Mars/Base")

        #expect(
            twice.isRefusal(
                64, "clarity-jobs: --now `2026-10-25 02:30` comes twice in Europe/Berlin",
                "help: write `2026-10-25T02:30:00+02:00` or `2026-10-25T02:30:00+01:00`"))
        #expect(
            never.isRefusal(
                64, "clarity-jobs: --now `2026-03-29 02:30` never comes in Europe/Berlin",
                "help: its clocks are put forward to `2026-03-29T03:00:00+02:00`"))
        #expect(
            nowhere.isRefusal(78, "clarity-jobs: unknown time zone `Mars/Base` of this machine"))
    }

    @Test func `a machine whose zone is unknown shows times in UTC and says so`() async throws {
        let result = try await next(
            playground(), "often", "-n1", "--now", "2026-03-29T00:20:00Z", zone: "Mars/Base")

        #expect(result.status == 0)
        #expect(result.outputLines.last == "often  2026-03-29T06:20:00+00:00  UTC")
        #expect(
            result.errorLines == [
                "unknown time zone `Mars/Base` of this machine; its times are shown in UTC"
            ])
    }

    @Test(arguments: [
        ["list"], ["next"], ["history"], ["history", "show", "7"], ["validate"],
        ["dry-run", "cleanup"], ["explain", "cleanup"], ["simulate", "cleanup"],
    ])
    func `every reading command accepts --now and creates nothing`(
        words: [String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words + ["--now", "2031-05-06T07:08:09Z"]).finish()

        let status: Int32 = words.contains("show") ? 64 : 0
        #expect(result.status == status, "\(result.errors)")
        #expect(!result.errors.contains("--now"))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `list and dry-run answer as of --now`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let list = try await playground.json("list", "--now", "2031-05-06T07:08:09Z").elements
        let dryRun = try await playground.run(
            "dry-run", "cleanup", "--now", "2031-05-06T07:08:09Z")

        #expect(list.map(\.["next"]) == Array(repeating: .string("2031-05-06T07:08:09Z"), count: 5))
        #expect(
            dryRun.output.hasPrefix(
                "what counts as old was confirmed or last listed before 2031-02-05T07:08:09Z"),
            "\(dryRun.output)")
    }

    @Test(arguments: [
        ["run", "--due"], ["loop"], ["auth", "status"], ["trace", "record"],
    ])
    func `a command that changes something or waits refuses --now`(
        words: [String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words + ["--now", "2031-05-06T07:08:09Z"]).finish()

        #expect(result.status == 64 && result.output == "")
        #expect(result.errors.hasPrefix("clarity-jobs: unknown option `--now`"))
    }
}
