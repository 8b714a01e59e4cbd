import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// `import-jobs crontab` through the built program: what it prints is a job file again.
@Suite(
    "import-jobs crontab", .timeLimit(.minutes(5)),
    .enabled(if: access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0))
struct ImportCrontabProgramTests {
    /// Imports a crontab from a file and makes the result the playground's job file.
    private func playground(
        _ crontab: String, _ options: String...
    ) async throws -> (Playground, yaml: String) {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in "" }
        try playground.folder.write("cron.tab", Array(crontab.utf8))
        let result = try await playground.start(
            ["import-jobs", "crontab", "\(playground.folder.path)/cron.tab"] + options
        ).finish()
        try #require(result.status == 0 && result.errors == "", "\(result)")
        try playground.write { _, _ in result.output }
        let valid = try await playground.run("validate")
        #expect(valid.status == 0 && valid.errors == "", "\(valid)\n\(result.output)")
        return (playground, result.output)
    }

    /// Returns the occurrences of a job that the program lists after an instant.
    private func next(
        _ job: String, _ count: Int, after now: String, _ playground: Playground
    ) async throws -> [String] {
        let result = try await playground.start(
            ["next", job, "-n", "\(count)", "--now", now, "-o", "ndjson"],
            environment: ["TZ": "Europe/Berlin"]
        ).finish()
        return try result.outputLines.map { try #require(JSONValue($0)["local"].text) }
    }

    @Test func `each line starts when cron would start it`() async throws {
        let (playground, yaml) = try await playground(
            """
            # either
            0 9 13 * fri x
            # both
            0 9 */2 * 1 x
            # steps
            5-59/20 0-4/2,23 * jan,DEC * x
            # gap
            30 2 * * * x
            # wild
            */30 2-3 * * * x
            # weekly
            @weekly x
            # sunday
            0 0 * * 6-7 x
            CRON_TZ=America/New_York
            # abroad
            0 18 * * * x
            """)

        // The 13th is a Sunday, so that day of month or day of week counts.
        #expect(
            try await next("either", 4, after: "2026-12-01T00:00:00Z", playground) == [
                "2026-12-04T09:00:00+01:00", "2026-12-11T09:00:00+01:00",
                "2026-12-13T09:00:00+01:00", "2026-12-18T09:00:00+01:00",
            ])
        // A field that begins with `*` restricts nothing by itself: odd days that are Mondays.
        #expect(
            try await next("both", 3, after: "2026-12-01T00:00:00Z", playground) == [
                "2026-12-07T09:00:00+01:00", "2026-12-21T09:00:00+01:00",
                "2027-01-11T09:00:00+01:00",
            ])
        #expect(
            try await next("steps", 4, after: "2026-12-31T22:30:00Z", playground) == [
                "2026-12-31T23:45:00+01:00", "2027-01-01T00:05:00+01:00",
                "2027-01-01T00:25:00+01:00", "2027-01-01T00:45:00+01:00",
            ])
        // cron(8) of Debian: a fixed time in the skipped hour runs right after it, once.
        #expect(
            try await next("gap", 2, after: "2026-03-28T12:00:00Z", playground) == [
                "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
            ])
        #expect(
            try await next("wild", 3, after: "2026-03-28T12:00:00Z", playground) == [
                "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00",
                "2026-03-30T02:00:00+02:00",
            ])
        #expect(
            try await next("weekly", 1, after: "2026-12-01T00:00:00Z", playground) == [
                "2026-12-06T00:00:00+01:00"
            ])
        #expect(
            try await next("sunday", 2, after: "2026-12-01T00:00:00Z", playground) == [
                "2026-12-05T00:00:00+01:00", "2026-12-06T00:00:00+01:00",
            ])
        #expect(
            try await next("abroad", 1, after: "2026-12-01T00:00:00Z", playground) == [
                "2026-12-01T18:00:00-05:00"
            ])
        #expect(
            yaml.contains(
                """
                # As close to cron as a job file can be; delete a line to get the default beside it. One
                # difference is left: an occurrence during a run of the same job is skipped, and cron would
                # start a second one beside it.
                defaults:
                  catch_up: none # default: latest
                  max_parallel: 64 # default: 2
                  retry: { attempts: 1 } # default: 5
                  timeout: 7d # default: 15m
                  memory_limit: 1TiB # default: 256MiB

                """), "\(yaml)")
    }

    @Test func `each command gets what cron would give it`() async throws {
        let (playground, _) = try await playground(
            #"""
            GREETING = "  two  blanks "
            EMPTY=
            OUT=out
            # words
            0 0 1 1 * printf '<\%s>' "$GREETING" "it's" \\\% 10\% "$EMPTY" > words
            # input
            0 0 1 1 * cat > input%first line%second \% line
            # accent
            0 0 1 1 * cat > accent%ACCENTa%ACCENTb
            # ends
            0 0 1 1 * cat > ends%with a line end%
            # mask
            0 0 1 1 * umask > mask
            # where
            0 0 1 1 * pwd > "$OUT"; echo "$0" >> out
            SHELL=/bin/bash
            # bash
            0 0 1 1 * [[ a < b ]] && echo {1..3} > bash
            HOME=/tmp
            # home
            0 0 1 1 * pwd > FOLDER/home
            """#.replacing("ACCENT", with: "\u{301}"))
        let yaml = try playground.folder.contents()["jobs.yaml"].map {
            String(decoding: $0, as: UTF8.self)
        }
        try playground.write { _, folder in
            (yaml ?? "").replacing("FOLDER", with: folder)
        }

        for job in ["words", "input", "accent", "ends", "mask", "where", "bash", "home"] {
            let result = try await playground.run("run", job)
            #expect(result.status == 0, "\(job): \(result)")
        }

        func file(_ name: String) throws -> String {
            String(
                decoding: try TemporaryFolder.read("\(playground.folder.path)/\(name)"),
                as: UTF8.self)
        }
        // `\%` is a percent sign; a backslash before another one is the shell's.
        #expect(try file("words") == #"<  two  blanks ><it's><\%><10%><>"#)
        #expect(try file("input") == "first line\nsecond % line\n")
        #expect(try file("accent") == "\u{301}a\n\u{301}b\n")
        #expect(try file("ends") == "with a line end\n")
        #expect(try file("mask") == "0022\n")
        #expect(try file("out") == "\(playground.folder.path)\n/bin/sh\n")
        #expect(try file("bash") == "1 2 3\n")
        #expect(try file("home") == "/tmp\n")
    }

    @Test func `comments name the jobs, and programs those without one`() async throws {
        let (playground, yaml) = try await playground(
            """
            # m h  dom mon dow   command
            MAILTO=ops@example.org
            # Back up the photos: every night!
            # (to the NAS)
            15 2 * * * restic backup /srv/photos
            30 2 * * * restic backup /srv/photos

            # This is about nothing below.

            @reboot cd / && LANG=C /usr/local/bin/hello.sh -v
            #0 5 * * 1 tar -zcf /var/backups/home.tgz /home/
            0 0 30 2 * never
            0~59 * * * * random
            17 * * * * cd / && run-parts --report /etc/cron.hourly
            RANDOM_DELAY=30
            @hourly 7zip
            """)

        let jobs = try await playground.json("list").elements.map { $0["job"].text }
        #expect(
            jobs == [
                "back-up-the-photos-every-night", "restic", "hello.sh", "run-parts-cron.hourly",
                "job-7zip",
            ])
        let path = "\(playground.folder.path)/cron.tab"
        for line in [
            "# \(path):2: not kept: MAILTO=ops@example.org: cron mails all output. `clarity-jobs logs JOB`",
            "#   notify: [{ kind: mail, to: \"ops@example.org\" }]",
            "# \(path):12: not kept: no month that it names has a day that it names",
            "# \(path):13: not kept: `~` is a random minute of cronie; write one, and `randomized_delay`",
            "schedule: { cron: \"@reboot\" }",
            "schedule: { cron: \"@hourly\", randomized_delay: 30m }",
        ] {
            #expect(yaml.contains("  \(line)\n"), "\(line)\n\(yaml)")
        }
    }

    @Test func `a line with a user is kept for that user alone`() async throws {
        let user = try #require(getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) })
        let (playground, yaml) = try await playground(
            "17 *\t* * *\t\(user)\ttrue a  b\n25 6 * * * somebody-else  false\n", "--system")

        #expect(try await playground.json("list").elements.count == 1)
        #expect(yaml.contains(#"command: ["/bin/sh", "-c", "true a  b"]"#))
        #expect(
            yaml.contains(
                "not kept: it runs as `somebody-else`, and a job file has one user: import it as that one"
            ))
    }

    @Test func `a faulty crontab gets a line for each fault, and no job file`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in "" }

        let faulty = try await playground.run(
            "import-jobs", "crontab", "-",
            input: """
                61 * * * * a
                * * * * *
                1/20 * * * * b
                foo
                CRON_TZ=Nowhere/Else
                RANDOM_DELAY=soon
                @often c
                0 0 * * * d\r

                """)
        let absent = try await playground.run("import-jobs", "crontab", "/nowhere/tab")
        let empty = try await playground.run("import-jobs", "crontab", "-", input: "# nothing\n")
        let foreign = try await playground.run(
            "import-jobs", "crontab", "-", "--system", input: "0 0 * * * somebody-else x\n")
        let bytes = try await playground.start(["import-jobs", "crontab", "/bin/true"]).finish()

        #expect(faulty.status == 65 && faulty.output == "")
        #expect(
            faulty.errorLines == [
                "-:1: minute of the cron expression: got `61`, wanted 0 to 59",
                "-:2: has no command",
                "-:3: minute of the cron expression: got `1/20`, wanted a range before the `/`, "
                    + "such as `1-59/20`",
                "-:4: wanted five fields and a command, or NAME=VALUE, got `foo`",
                "-:5: CRON_TZ: this machine knows no time zone `Nowhere/Else`",
                "-:6: RANDOM_DELAY: got `soon`, wanted 0 to 1440 minutes",
                "-:7: cron expression: got `@often`, wanted `@hourly`, `@daily`, `@midnight`, "
                    + "`@weekly`, `@monthly`, `@yearly` or `@annually`",
                "-:8: holds a carriage return or NUL, which cron gives to the shell",
            ])
        #expect(absent.status == 66 && absent.output == "")
        #expect(
            absent.errorLines == [
                "clarity-jobs: cannot read `/nowhere/tab`: no such file or directory"
            ])
        #expect(empty.status == 65 && empty.output == "")
        #expect(
            empty.errorLines == ["`import-jobs crontab -` finds no job that a job file can have"])
        #expect(foreign.status == 65 && foreign.output == "")
        #expect(foreign.errorLines.count == 3)
        #expect(bytes.status == 65 && bytes.errorLines == ["/bin/true: is not UTF-8"])
    }

    @Test func `without a file it is what crontab -l shows`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in "" }
        try playground.folder.write(
            "crontab", Array("#!/bin/sh\n[ \"$*\" = -l ] && echo '@daily mine'\n".utf8))
        try #require(chmod("\(playground.folder.path)/crontab", 0o700) == 0)
        func run(_ path: String) async throws -> ProgramResult {
            try await playground.start(
                ["import-jobs", "crontab"], environment: ["PATH": path]
            ).finish()
        }

        let own = try await run("\(playground.folder.path):/usr/bin:/bin")
        try playground.folder.write(
            "crontab", Array("#!/bin/sh\necho 'no crontab for me' >&2; exit 1\n".utf8))
        let none = try await run("\(playground.folder.path):/usr/bin:/bin")

        #expect(own.status == 0 && own.output.contains(#"command: ["/bin/sh", "-c", "mine"]"#))
        #expect(own.output.contains("  # crontab:1: @daily mine\n  - id: mine\n"))
        #expect(none.status == 66)
        #expect(
            none.errorLines == [
                "clarity-jobs: `crontab -l` ended with status 1: no crontab for me",
                "help: name a file, or `-` for the standard input",
            ])
    }
}
