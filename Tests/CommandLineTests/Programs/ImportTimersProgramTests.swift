import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// `import-jobs systemd` through the built program: what it prints is a job file again.
@Suite("import-jobs systemd", .timeLimit(.minutes(5)))
struct ImportTimersProgramTests {
    private func imported(
        _ units: [String: String], _ operands: String...
    ) async throws -> (Playground, ProgramResult) {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in "" }
        for folder in [".config", ".config/systemd", ".config/systemd/user"] {
            try #require(mkdir("\(playground.folder.path)/\(folder)", 0o700) == 0)
        }
        for (name, text) in units {
            let path = ".config/systemd/user/\(name)"
            if let slash = name.lastIndex(of: "/") {
                mkdir("\(playground.folder.path)/.config/systemd/user/\(name[..<slash])", 0o700)
            }
            let folder = playground.folder.path
            try playground.folder.write(path, Array(text.replacing("FOLDER", with: folder).utf8))
        }
        let result = try await playground.start(["import-jobs", "systemd", "--user"] + operands)
            .finish()
        try playground.write { _, _ in result.output }
        return (playground, result)
    }

    /// Imports units, and checks that the result is a job file.
    private func valid(
        _ units: [String: String], _ operands: String...
    ) async throws -> (Playground, yaml: String) {
        let (playground, result) = try await imported(units, operands[0])
        try #require(result.status == 0 && result.errors == "", "\(result)")
        let valid = try await playground.run("validate")
        #expect(valid.status == 0 && valid.errors == "", "\(valid)\n\(result.output)")
        return (playground, result.output)
    }

    private static let service = "[Service]\nType=oneshot\nExecStart=/bin/true\n"

    @Test(
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0),
        arguments: [
            "Mon..Fri *-*-* 02,14:15:00", "Sat,Sun 06:00", "*-*-1..7 18:00:30", "weekly",
            "quarterly", "*-02~01 12:00", "Mon *-*~07/1 03:00", "*:0/20", "2027..2028-*-29 0/6:30",
            "Fri *-*-13 09:00 America/New_York", "*-*-* 00:00:00/30",
        ])
    func `OnCalendar starts when systemd would start it`(_ rule: String) async throws {
        let (playground, _) = try await valid(
            [
                "x.timer": "[Timer]\nOnCalendar=\(rule)\n",
                "x.service": ImportTimersProgramTests.service,
            ], "x")

        let ours = try await playground.start(
            ["next", "x", "-n", "8", "--now", "2026-11-29T12:34:56Z", "-o", "ndjson"],
            environment: ["TZ": "UTC"]
        ).finish().outputLines.map { try #require(JSONValue($0)["at"].text) }
        let analysis = try await ChildProgram(
            "/usr/bin/systemd-analyze",
            ["calendar", "--iterations=8", "--base-time=2026-11-29 12:34:56 UTC", rule],
            environment: ["TZ": "UTC", "LC_ALL": "C"]
        ).finish().outputLines

        // `Next elapse: Mon 2026-11-30 02:15:00 UTC`; for another zone, a line in UTC follows.
        let theirs = analysis.compactMap { line -> String? in
            let words = line.split(separator: " ").map(String.init)
            guard words.last == "UTC", words.count > 4,
                line.contains("elapse:") || line.contains("Iter") || line.contains("(in UTC)")
            else { return nil }
            return "\(words[words.count - 3])T\(words[words.count - 2])Z"
        }
        #expect(theirs.count == 8, "\(analysis)")
        #expect(ours == theirs)
    }

    @Test func `a timer and its service keep what a job can have`() async throws {
        let (playground, yaml) = try await valid(
            [
                "backup.timer": """
                [Unit]
                Description=Nightly backup
                [Timer]
                OnCalendar=*-*-* 02:00
                OnCalendar=
                OnCalendar=Mon *-*-* 03:00 UTC
                Persistent=true
                RandomizedDelaySec=1h 30min
                FixedRandomDelay=yes
                WakeSystem=yes
                [Install]
                WantedBy=timers.target
                """,
                "backup.service": """
                [Unit]
                After=network-online.target
                ConditionACPower=true
                [Service]
                Type=oneshot
                Nice=10
                Environment="REPO=/mnt/na s" LANG=C
                WorkingDirectory=%h
                ExecStart=/bin/echo \\
                # a comment within
                  'two words' 100%% $$HOME %n
                TimeoutStartSec=2h
                MemoryMax=2G
                ProtectSystem=strict
                """,
                "backup.service.d/more.conf": "[Service]\nEnvironment=LANG=de_DE.UTF-8\n",
            ], "backup.timer")

        let folder = playground.folder.path
        #expect(
            yaml.hasSuffix(
                """
                jobs:

                  # backup.timer: Nightly backup
                  # not kept: WakeSystem: clarity-jobs does not wake the machine
                  # not kept: \(folder)/.config/systemd/user/backup.service:14: \
                ProtectSystem=strict: no key of a job does this
                  - id: backup
                    kind: command
                    schedule: { calendar: "Mon *-*-* 03:00 UTC", randomized_delay: 1h30m }
                    catch_up: latest
                    constraints: { network: any, external_power: true }
                    timeout: 2h
                    memory_limit: 2GiB
                    options:
                      command: ["nice", "-n", "10", "/bin/echo", "two words", "100%", "$HOME", \
                "backup.service"]
                      folder: "\(folder)"
                      umask: "022"
                      environment: ["REPO=/mnt/na s", "LANG=de_DE.UTF-8"]

                """), "\(yaml)")
    }

    @Test func `several programs run as the service manager would run them`() async throws {
        let (playground, _) = try await valid(
            [
                "many@.timer": "[Timer]\nOnBootSec=5min\nOnUnitActiveSec=1h\n",
                "many@.service": #"""
                [Service]
                Type=oneshot
                Environment=LIST="b  *  c" ONE="x  y"
                EnvironmentFile=-FOLDER/absent
                EnvironmentFile=FOLDER/file.env
                ExecStartPre=-/bin/false
                ExecStart=/bin/sh -c 'printf "<%%s>" "$@" > FOLDER/%i' sh $LIST ${ONE}-${FROM_FILE} a\x20b ~/c ';' $NONE
                ExecStart=/bin/touch FOLDER/second ; /bin/touch FOLDER/third
                ExecStart=/bin/sh -c "exit 67"
                ExecStartPost=/bin/touch FOLDER/never
                """#,
            ], "many@one")
        let path = playground.folder.path
        try playground.folder.write("file.env", Array("FROM_FILE='a file'\n".utf8))

        let result = try await playground.run("run", "many-one")
        let run = try await playground.json("history", "show", "many-one")

        // The status of the first program that counts is that of the run, and 67 is not retried.
        #expect(result.status != 0)
        #expect(run["failure"].text?.contains("67") == true, "\(run)")
        #expect(
            String(decoding: try TemporaryFolder.read("\(path)/one"), as: UTF8.self)
                == "<b><*><c><x  y-a file><a b><~/c><;>")
        let files = try playground.folder.contents().keys
        #expect(files.contains("second") && files.contains("third") && !files.contains("never"))
        let listed = try #require(try await playground.json("next", "-n", "2").elements.first)
        #expect(listed["job"] == .string("many-one"))
    }

    @Test(arguments: [
        ("", "0022"), ("UMask=0027", "0027"), ("UMask=77", "0077"), ("UMask=0137", "0137"),
    ])
    func `a program starts with the umask of its unit`(
        setting: String, umask: String
    ) async throws {
        let (playground, _) = try await valid(
            [
                "x.timer": "[Timer]\nOnCalendar=daily\n",
                "x.service": "[Service]\n\(setting)\nExecStart=/bin/sh -c 'umask > FOLDER/mask'\n",
            ], "x")

        let run = try await playground.run("run", "x")

        #expect(run.status == 0, "\(run)")
        let mask = try TemporaryFolder.read("\(playground.folder.path)/mask")
        #expect(String(decoding: mask, as: UTF8.self) == "\(umask)\n")
    }

    @Test(arguments: [
        ("OnClockChange=yes\nOnBootSec=5min\nOnUnitActiveSec=1h", "on: [boot, clock-changed]"),
        ("OnClockChange=yes\nOnCalendar=daily", "on: [clock-changed]"),
        ("OnClockChange=yes", "on: [clock-changed]"),
        ("OnTimezoneChange=yes\nOnBootSec=5min\nOnUnitActiveSec=1h", "on: [boot]"),
    ])
    func `the events of a timer are one list`(timer: String, on: String) async throws {
        // `validate` reads what is printed.
        let (_, yaml) = try await valid(
            [
                "x.timer": "[Timer]\n\(timer)\n",
                "x.service": ImportTimersProgramTests.service,
            ], "x")

        #expect(yaml.split(separator: "\n").filter { $0.contains(" on: ") } == ["    \(on)"])
        #expect(
            yaml.contains("OnTimezoneChange=yes: no key of a job does this")
                == timer.contains("OnTimezoneChange"))
    }

    @Test func `a remark says what a service does at another time or reads in another way`()
        async throws
    {
        let remark =
            "ExecStartPost: systemd runs it once the program has started, this job when it has"
        func yaml(_ type: String) async throws -> String {
            try await valid(
                [
                    "x.timer": "[Timer]\nOnCalendar=daily\n",
                    "x.service": """
                    [Service]
                    \(type)
                    EnvironmentFile=/etc/x.env
                    ExecStart=/bin/true
                    ExecStartPost=/bin/true
                    """,
                ], "x"
            ).yaml
        }

        let simple = try await yaml("")
        let notify = try await yaml("Type=notify")
        let oneshot = try await yaml("Type=oneshot")

        #expect(simple.contains("  # \(remark) ended\n") && notify.contains(remark))
        #expect(!oneshot.contains("ExecStartPost"))
        #expect(
            oneshot.contains(
                "  # /etc/x.env is read by the shell now: put single quotes around each value there that "
                    + "has anything but letters, digits and `_-+=.,:/@%`; a comment begins with `#`\n"
            ))
    }

    @Test func `the files of a pattern are read as the service manager reads them`() async throws {
        let (playground, _) = try await valid(
            [
                "x.timer": "[Timer]\nOnCalendar=daily\n",
                "x.service": #"""
                [Service]
                Type=oneshot
                EnvironmentFile=-FOLDER/none-*.env
                EnvironmentFile=FOLDER/file-[!b].env
                ExecStart=/bin/sh -c 'printf "<%%s>" "$@" > FOLDER/out' sh $LIST ${A}${B}${C}
                """#,
            ], "x")
        let folder = playground.folder
        for (name, text) in [("a", "A=a\nLIST='* x'"), ("b", "B=b"), ("c", "C=c")] {
            try folder.write("file-\(name).env", Array("\(text)\n".utf8))
        }

        let run = try await playground.run("run", "x")

        #expect(run.status == 0, "\(run)")
        let out = try TemporaryFolder.read("\(folder.path)/out")
        #expect(String(decoding: out, as: UTF8.self) == "<*><x><ac>")
    }

    @Test func `what no job can do is a reason, and a broken unit a place`() async throws {
        let service = ImportTimersProgramTests.service
        func lines(_ units: [String: String]) async throws -> (Int32?, [String]) {
            let (playground, result) = try await imported(units, "x")
            #expect(result.output == "")
            return (
                result.status,
                result.errorLines.map { $0.replacing(playground.folder.path, with: "~") }
            )
        }

        let user = try await lines([
            "x.timer": "[Timer]\nOnCalendar=daily\n",
            "x.service": service + "User=somebody-else\n",
        ])
        let daemon = try await lines([
            "x.timer": "[Timer]\nOnCalendar=daily\nUnit=y.service\n",
            "y.service": "[Service]\nType=forking\nExecStart=/bin/true\n",
        ])
        let odd = try await lines([
            "x.timer": "[Timer]\nOnCalendar=*-*-* 25:00\n", "x.service": service,
        ])
        let broken = try await lines([
            "x.timer": "[Timer]\nOnCalendar=daily\nwhat is this\n", "x.service": service,
        ])
        let alone = try await lines(["x.timer": "[Timer]\nOnCalendar=daily\n"])

        #expect(user.0 == 65)
        #expect(
            user.1.last
                == "x.timer: not kept: it runs as `somebody-else`, and a job file has one user: "
                + "import it as that one")
        #expect(
            daemon.1.last
                == "x.timer: not kept: `Type=forking` leaves a daemon behind; a job ends with its program"
        )
        #expect(
            odd.1.last
                == "x.timer: not kept: ~/.config/systemd/user/x.timer:2: OnCalendar=*-*-* 25:00: "
                + "hour of the calendar expression: got `25`, wanted 0 to 23")
        #expect(broken.0 == 65)
        #expect(
            broken.1 == [
                "~/.config/systemd/user/x.timer:3: wanted `[SECTION]` or `KEY=VALUE` in one, "
                    + "got `what is this`"
            ])
        #expect(
            alone.0 == 66
                && alone.1.first?.hasPrefix("clarity-jobs: no unit `x.service` in ") == true)
    }
}
