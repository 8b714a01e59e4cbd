import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("validate", .timeLimit(.minutes(5)))
struct ValidateProgramTests {
    @Test func `a job file without errors is valid`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.folder.write("export.xml", [])

        let result = try await playground.run("validate")
        let quiet = try await playground.run("validate", "--quiet")

        #expect(result.status == 0 && result.errors == "")
        #expect(result.output == "\(playground.jobFilePath): valid, 5 jobs\n")
        #expect(quiet.status == 0 && quiet.output == "")
    }

    @Test func `texts that would leave their line, and names that no variable has, are refused`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            #"""
            version: 1
            backend: { url: "https://clarity.example/api/v1" }
            key: { variable: 1X }
            notify:
              - { kind: mail, to: "you@example.com\nBcc: all@example.com" }
              - { kind: mail, to: "you@example.com", from: "a@example.com\u0085X: y" }
              - { kind: ntfy, url: "https://ntfy.example/a", secret: "A\tB" }
            accounts:
              - { id: anna, login: "anna@example.com\u001b[2J", key: { variable: "A-B" } }
              - { id: ben, login: "ben@example.com\u2028" }
            jobs: []

            """#
        }

        let result = try await playground.run("validate")

        let places = result.errorLines.filter { !$0.hasPrefix("help: ") }
        let line = "is empty or has a line break or another control character, wanted one line"
        #expect(result.status == 65)
        #expect(
            places.map { String($0.dropFirst("\(playground.folder.path)/".count)) } == [
                "jobs.yaml:3:18: variable `1X` is not the name of a variable",
                "jobs.yaml:5:23: `to` of entry 1 of `notify` \(line)",
                "jobs.yaml:6:48: `from` of entry 2 of `notify` \(line)",
                "jobs.yaml:7:58: `secret` of entry 3 of `notify` \(line)",
                "jobs.yaml:9:24: `login` of account `anna` \(line)",
                "jobs.yaml:9:70: variable `A-B` is not the name of a variable",
                "jobs.yaml:10:23: `login` of account `ben` \(line)",
            ])
    }

    @Test func `eight errors are eight messages with line and column, and nothing runs`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://clarity.example/api/v1" }
            sources:
              - { kind: apple-health-exprt, path: export.xml }
            jobs:
              - { id: refresh, kind: refresh, schedule: { every: 4 } }
              - { id: refresh, kind: cleanup }
              - { id: upload, kind: bulk-uplaod, colour: red }
              - id: status
                kind: processing-status
                then: [statsu]
                constraints: { battery_above: 120% }

            """
        }

        let result = try await playground.run("validate")
        let run = try await playground.run("run", "--due")

        let places = result.errorLines.filter { !$0.hasPrefix("help: ") }
        #expect(result.status == 65 && result.output == "")
        #expect(
            places.map { String($0.dropFirst("\(playground.folder.path)/".count)) } == [
                "jobs.yaml:2:17: url leads to `clarity.example` over http, where anybody on the way "
                    + "can read it",
                "jobs.yaml:4:13: unknown kind `apple-health-exprt`; did you mean "
                    + "`apple-health-export`?",
                "jobs.yaml:6:54: every `4` has no unit; write `4s`, `4m` or `4h`",
                "jobs.yaml:7:11: duplicate job id `refresh`; first at line 6",
                "jobs.yaml:8:25: unknown kind `bulk-uplaod`; did you mean `bulk-upload`?",
                "jobs.yaml:8:38: unknown key `colour` in job `upload`",
                "jobs.yaml:11:12: unknown job `statsu` in `then` of job `status`; did you mean "
                    + "`status`?",
                "jobs.yaml:12:35: battery_above `120%` is out of range, wanted 0% to 99%",
            ])
        #expect(run.status == 65 && run.errors == result.errors)
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test(arguments: [
        (
            "insight-generate", "language: german!",
            "option `language` is no language tag such as `en` or `pt-BR`"
        ),
        ("export-data", "folder: /out, patient: Patient/4", "`patient` is for `format: fhir`"),
        (
            "fhir-upload", "url: \"https://fhir.example/r4\", patient: Anna",
            "`patient` is `Patient/ID`, or the system and the value of an identifier with `|` "
                + "between them, got `Anna`"
        ),
        (
            "publish", "to: influx, url: \"https://home.example:8086\"",
            "`to: influx` wants one of the options `bucket` and `database`"
        ),
        (
            "publish", "to: mqtt, url: \"mqtts://home.example\", secret: TOKEN",
            "option `secret` is the password of a user; add `username`"
        ),
        (
            "publish",
            "to: mqtt, url: \"mqtts://home.example\", username: a, org: home",
            "option `org` is for `to: influx`"
        ),
    ])
    func `options that do not fit together are refused before the job runs`(
        kind: String, options: String, fault: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "https://clarity.example/api/v1" }
            jobs:
              - id: odd
                kind: \(kind)
                options: { \(options) }

            """
        }

        let result = try await playground.run("validate")

        let place = "\(playground.folder.path)/jobs.yaml:6:14"
        #expect(result.isRefusal(65, "\(place): `options` of job `odd`: \(fault)"))
    }

    @Test(
        .enabled(
            if: access("/etc/clarity-jobs/jobs.yaml", F_OK) != 0, "this machine has a job file"))
    func `a missing job file is reported with the places that were tried`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        mkdir("\(playground.folder.path)/empty", 0o700)

        let given = try await playground.run(
            "validate", "-c", "\(playground.folder.path)/none/jobs.yaml")
        let usual = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "-C", "\(playground.folder.path)/empty", "\(ChildProgram.folder)/clarity-jobs",
                "list",
            ],
            environment: ["HOME": playground.folder.path])

        let home = playground.folder.path
        #expect(given.isRefusal(66, "clarity-jobs: no job file `\(home)/none/jobs.yaml`"))
        #expect(
            usual.isRefusal(
                66,
                "clarity-jobs: no job file: tried `jobs.yaml`, "
                    + "`\(home)/.config/clarity-jobs/jobs.yaml`, `/etc/clarity-jobs/jobs.yaml`",
                "help: name one with --config FILE"))
    }

    @Test func `a folder in place of the job file, and an empty one, are reported`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let empty = try playground.folder.write("empty.yaml", [])

        let folder = try await playground.run("validate", "-c", playground.folder.path)
        let nothing = try await playground.run("validate", "-c", empty)

        #expect(folder.isRefusal(65, "\(playground.folder.path): cannot read it: is a directory"))
        #expect(
            nothing.isRefusal(65, "\(empty): the file is empty, wanted `version: 1` and `jobs`"))
    }
}
