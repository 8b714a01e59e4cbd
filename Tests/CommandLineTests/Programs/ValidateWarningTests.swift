import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A setting that can never work, the warnings of `validate` about it, and similar settings that
/// can.
struct WarningCase: Sendable, CustomTestStringConvertible {
    /// The keys of job `a` from line 6 on.
    var setting: String
    /// Each warning as `line:column path: message`.
    var warnings: [String]
    /// Other settings in its place that give no warning.
    var neighbours: [String]

    init(_ setting: String, _ warnings: String..., beside neighbours: [String]) {
        self.setting = setting
        self.warnings = warnings
        self.neighbours = neighbours
    }

    var testDescription: String { warnings.first ?? setting }
}

@Suite("What validate warns of", .timeLimit(.minutes(10)))
struct ValidateWarningTests {
    private static let now = "2026-11-20T12:00:00Z"
    private static let daily = "schedule: { every: 1d }"

    /// Returns a job file whose job `a` has these keys. Text below `---` is not indented.
    private static func file(_ keys: String) -> String {
        let parts = keys.split(separator: "\n---\n", maxSplits: 1).map(String.init)
        return """
            version: 1
            backend: { url: http://127.0.0.1:9/api/v1 }
            jobs:
              - id: a
                kind: cleanup
                \(parts[0].replacing("\n", with: "\n    "))
            \(parts.count == 2 ? parts[1] : "")

            """
    }

    private static let cases = [
        WarningCase(
            "priority: high",
            "4:5 jobs[0]: nothing starts job `a`: it has no `schedule` and no `on`, and no job "
                + "names it in `then`",
            beside: [
                daily, "on: [boot]",
                "priority: low\n---\n  - { id: b, kind: refresh, \(daily), then: [a] }",
                "priority: low\n---\n  - { id: b, kind: refresh, \(daily), then: { failed: [a] } }",
                "enabled: false", "schedule: { cron: '@reboot' }",
            ]),
        WarningCase(
            "priority: high\n---\n"
                + "  - { id: b, kind: refresh, \(daily), then: [a], enabled: false }",
            "4:5 jobs[0]: nothing starts job `a`: it has no `schedule` and no `on`, and no job "
                + "names it in `then`",
            beside: []),
        WarningCase(
            "schedule: { at: 2026-11-20T11:59:59Z }",
            "6:21 jobs[0].schedule.at: at `2026-11-20T11:59:59Z` is in the past, and starts nothing",
            beside: ["schedule: { at: 2026-11-20T12:00:00Z }"]),
        WarningCase(
            "schedule: { calendar: '2012,2026-11-20', time_zone: UTC }",
            "6:27 jobs[0].schedule.calendar: calendar `2012,2026-11-20` is in the past, and starts "
                + "nothing",
            beside: [
                "schedule: { calendar: '2012,2027-11-20', time_zone: UTC }",
                "schedule: { calendar: '2026-11-20 12:00:00', time_zone: UTC }",
            ]),
        WarningCase(
            "schedule: { every: 1h, not_after: 2026-11-20T11:59:59Z }",
            "6:39 jobs[0].schedule.not_after: not_after `2026-11-20T11:59:59Z` leaves "
                + "nothing that is still to come",
            beside: ["schedule: { every: 1h, not_after: 2026-11-20T15:00:00Z }"]),
        WarningCase(
            "\(daily)\ntimeout: 10m\nstall: 10m",
            "8:12 jobs[0].stall: stall `10m` is not shorter than the timeout of `10m`, and never "
                + "ends an attempt",
            beside: ["\(daily)\ntimeout: 10m\nstall: 599s", "\(daily)\nstall: 14m"]),
        WarningCase(
            "\(daily)\nstall: 15m",
            "7:12 jobs[0].stall: stall `15m` is not shorter than the timeout of `15m`, and never "
                + "ends an attempt",
            beside: ["\(daily)\nstall: 15m\ntimeout: 16m"]),
        WarningCase(
            "\(daily)\n---\n  - { id: b, kind: refresh, \(daily) }\n"
                + "defaults: { timeout: 1m, stall: 2m }",
            "8:33 defaults.stall: stall `2m` is not shorter than the timeout of `1m`, and never "
                + "ends an attempt",
            beside: ["\(daily)\n---\ndefaults: { timeout: 2m, stall: 1m }"]),
        WarningCase(
            "\(daily)\ntimeout: 30s\n---\ndefaults: { stall: 1m }",
            "7:14 jobs[0].timeout: stall `1m` is not shorter than the timeout of `30s`, and never "
                + "ends an attempt",
            beside: ["\(daily)\ntimeout: 61s\n---\ndefaults: { stall: 1m }"]),
        WarningCase(
            "\(daily)\nstart_within: 6h\nconstraints: { idle: true }\n"
                + "relax: [{ after: 50%, drop: idle }, { after: 7h, drop: idle }]",
            "9:50 jobs[0].relax[1].after: after `7h` is later than the start_within of `6h`: a run "
                + "that is so late has expired",
            beside: [
                "\(daily)\nstart_within: 6h\nconstraints: { idle: true }\n"
                    + "relax: [{ after: 6h, drop: idle }]"
            ]),
        WarningCase(
            "schedule: { cron: '0 3 * * *', time_zone: UTC }\n"
                + "constraints: { window: 08:00-10:00 }",
            "6:23 jobs[0].schedule.cron: cron `0 3 * * *` names no time within the job's window "
                + "`08:00-10:00`: each run starts late",
            beside: [
                "schedule: { cron: '0 3,9 * * *', time_zone: UTC }\n"
                    + "constraints: { window: 08:00-10:00 }",
                "schedule: { every: 1d, phase: 3h }\nconstraints: { window: 08:00-10:00 }",
                "schedule: { cron: '0 3 * * *', time_zone: UTC }\n"
                    + "constraints: { window: [08:00-10:00, 22:00-04:00] }",
            ]),
        WarningCase(
            "schedule: { calendar: 'Sun 09:00', time_zone: UTC }\n"
                + "constraints: { window: Mon..Fri 08:00-10:00 }",
            "6:27 jobs[0].schedule.calendar: calendar `Sun 09:00` names no time within the job's "
                + "window `Mon,Tue,Wed,Thu,Fri 08:00-10:00`: each run starts late",
            beside: [
                "schedule: { calendar: '09:00', time_zone: UTC }\n"
                    + "constraints: { window: Mon..Fri 08:00-10:00 }",
                // This day is a Monday now and then.
                "schedule: { calendar: '*-12-24 09:00', time_zone: UTC }\n"
                    + "constraints: { window: Mon 08:00-10:00 }",
                // New York is four hours behind in summer and five in winter.
                "schedule: { calendar: '04:00 America/New_York', time_zone: UTC }\n"
                    + "constraints: { window: 08:00-08:30 }",
                "schedule: { calendar: '04:00 America/New_York', time_zone: UTC }\n"
                    + "constraints: { window: 09:00-09:30 }",
            ]),
        WarningCase(
            "schedule: { calendar: '04:00 America/New_York', time_zone: UTC }\n"
                + "constraints: { window: 04:00-07:30 }",
            "6:27 jobs[0].schedule.calendar: calendar `04:00 America/New_York` names no time within "
                + "the job's window `04:00-07:30`: each run starts late",
            beside: []),
        WarningCase(
            "\(daily)\ncatch_up: { at_most: 5 }\noverlap: replace",
            "7:15 jobs[0].catch_up: `catch_up: all` has no effect with `overlap: replace`: a later "
                + "occurrence takes the place of the one before",
            beside: [
                "\(daily)\ncatch_up: all\noverlap: queue",
                "\(daily)\ncatch_up: latest\noverlap: replace",
            ]),
        WarningCase(
            "\(daily)\noverlap: replace\n---\ndefaults: { catch_up: all }",
            "7:14 jobs[0].overlap: `catch_up: all` has no effect with `overlap: replace`: a later "
                + "occurrence takes the place of the one before",
            beside: ["\(daily)\noverlap: skip\n---\ndefaults: { catch_up: all }"]),
        WarningCase(
            "\(daily)\n---\n  - { id: b, kind: bulk-upload, \(daily) }\n"
                + "  - { id: c, kind: bulk-upload, \(daily) }",
            "8:20 jobs[2].kind: job `c` is of kind `bulk-upload`, as is `b`: one job of this kind "
                + "does all that there is to do",
            beside: [
                "\(daily)\n---\n  - { id: b, kind: bulk-upload, \(daily) }\n"
                    + "  - { id: c, kind: bulk-upload, \(daily), enabled: false }"
            ]),
        WarningCase(
            "schedule: { cron: '0 */36 * * *', time_zone: UTC }",
            "6:23 jobs[0].schedule.cron: cron `0 */36 * * *` has `*/36` for the hour, a step beyond "
                + "its range, which names the first value alone",
            beside: [
                "schedule: { cron: '0 */23 * * *', time_zone: UTC }",
                "schedule: { cron: '0 0 */100,1-7 * mon', time_zone: UTC }",
            ]),
    ]

    /// Returns the findings of `validate` in its JSON output, and its exit status.
    private func findings(
        _ keys: String, _ playground: Playground
    ) async throws -> (status: Int32, texts: [String]) {
        try playground.write { _, _ in Self.file(keys) }
        let result = try await playground.run("validate", "--output", "json", "--now", Self.now)
        try #require(result.errors == "", "\(keys)")
        let findings = try JSONValue(result.output).elements.map { finding in
            let place = "\(finding["line"].number ?? 0):\(finding["column"].number ?? 0)"
            return "\(place) \(finding["path"].text ?? "?"): \(finding["message"].text ?? "?")"
        }
        return (result.status, findings)
    }

    @Test(arguments: cases)
    func `a setting that can never take effect gives a warning, and a similar one does not`(
        row: WarningCase
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let found = try await findings(row.setting, playground)

        #expect(found.status == 0)
        #expect(found.texts == row.warnings)
        for neighbour in row.neighbours {
            let none = try await findings(neighbour, playground)
            #expect(none.status == 0, "\(neighbour)")
            #expect(none.texts == [], "\(neighbour)")
        }
    }

    @Test func `a warning follows the file's name, with its remedy below`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            Self.file("schedule: { cron: '*/90 * * * *', time_zone: UTC }")
        }

        let result = try await playground.run("validate", "--now", Self.now)
        let quiet = try await playground.run("validate", "--quiet", "--now", Self.now)
        let run = try await playground.run("list")

        let path = playground.jobFilePath
        #expect(result.status == 0)
        #expect(result.output == "\(path): valid, 1 job, 1 warning\n")
        #expect(
            result.errorLines == [
                "\(path):6:23: warning: cron `*/90 * * * *` has `*/90` for the minute, a step "
                    + "beyond its range, which names the first value alone",
                "help: `every: 90m` runs each 90 minutes",
            ])
        #expect(quiet.status == 0 && quiet.output == "" && quiet.errors == "")
        #expect(run.status == 0 && run.errors == "")
    }

    @Test func `JSON lists errors and warnings with positions, and certain remedies`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: http://127.0.0.1:9/api/v1, dialekt: auto }
            jobs:
              - retrys: {}
                id: a
                kind: refresh
                schedule: { every: 4, phase: 1h }
                then: [c]
              - id: b
                kind: cleanup
                on: [upload-completed]
                stall: 1h
                timeout: 1h
                constraints:
                  window:
                    - 08:00-10:00
                    - 25:00-26:00
                options: { retain: 5 years }

            """
        }

        let result = try await playground.run("validate", "--output", "json", "--now", Self.now)
        let lines = try await playground.run("validate", "--output", "ndjson", "--now", Self.now)

        #expect(result.status == 65 && result.errors == "")
        let findings = try JSONValue(result.output).elements
        #expect(
            findings.map {
                "\($0["severity"].text ?? "") \($0["path"].text ?? "") "
                    + "\($0["line"].number ?? 0):\($0["column"].number ?? 0)"
            } == [
                "fault backend.dialekt 2:44", "fault jobs[0].retrys 4:5",
                "fault jobs[0].schedule.every 7:24", "fault jobs[0].then[0] 8:12",
                "warning jobs[1].stall 12:12", "fault jobs[1].constraints.window[1] 17:11",
                "fault jobs[1].options.retain 18:24",
            ])
        #expect(
            findings.first?["message"].text
                == "unknown key `dialekt` in `backend`; did you mean `dialect`?")
        #expect(findings.first?["remedy"] == .null)
        #expect(
            findings.last?["remedy"].text
                == "write it as `30s`, `15m`, `6h`, `90d` or `1h30m`")
        #expect(lines.status == 65 && lines.outputLines.count == findings.count)
        #expect(try JSONValue(lines.outputLines[0]) == findings[0])
    }

    @Test func `JSON reports an error of the whole file, and nothing for a file without errors`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.folder.write("export.xml", [])

        let sound = try await playground.run("validate", "--output", "json")
        let lines = try await playground.run("validate", "--output", "ndjson")
        try playground.write { _, _ in "jobs: [" }
        let broken = try await playground.run("validate", "--output", "json")
        try playground.write { _, _ in "" }
        let empty = try await playground.run("validate", "--output", "json")

        #expect(sound.status == 0 && sound.errors == "")
        #expect(try JSONValue(sound.output) == .array([]))
        #expect(lines.status == 0 && lines.output == "")
        let fault = try #require(try JSONValue(broken.output).elements.first)
        #expect(broken.status == 65 && fault["path"] == .null)
        #expect(fault["line"] == .number(1))
        let whole = try #require(try JSONValue(empty.output).elements.first)
        #expect(whole["line"] == .null && whole["column"] == .null && whole["path"] == .null)
        #expect(whole["message"].text == "the file is empty, wanted `version: 1` and `jobs`")
    }

    @Test func `a job file with only command jobs needs no backend`() async throws {
        let jobs = "  - { id: a, kind: command, on: [boot], options: { command: [echo] } }\n"
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            "version: 1\njobs:\n\(jobs)"
        }

        let valid = try await playground.run("validate")
        let run = try await playground.run("run", "a")
        let login = try await playground.run("auth", "status")

        #expect(valid.status == 0 && valid.errors == "", "\(valid.errors)")
        #expect(run.status == 0 && run.output == "a: succeeded (run 1)\n", "\(run.errors)")
        #expect(
            login.isRefusal(
                78, "clarity-jobs: the job file has no `backend`",
                "help: name it as `backend: { url: https://... }`"))
    }
}
