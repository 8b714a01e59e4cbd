@testable import ClarityHost
import ClarityScheduler
import Testing

@Suite("The checks of a job file")
struct CheckKeysTests {
    private func file(_ keys: String, top: String = "") throws -> JobFile {
        try JobFileSamples.read(JobFileSamples.file(job: keys, top: top))
    }

    @Test func `a check is a command or a url with its times`() throws {
        let file = try file(
            "",
            top: """
                checks:
                  nas-mounted: { command: [mountpoint, -q, /mnt/nas, ""], timeout: 3s, valid_for: 5m }
                  vpn.up_2: { url: "http://vpn.example:8080/ready?verbose=1" }
                """)

        #expect(
            file.checks == [
                CheckDeclaration(
                    name: "nas-mounted",
                    question: .command(["mountpoint", "-q", "/mnt/nas", ""]),
                    timeout: .seconds(3), validFor: .seconds(300)),
                CheckDeclaration(
                    name: "vpn.up_2", question: .url("http://vpn.example:8080/ready?verbose=1"),
                    timeout: .seconds(10), validFor: .seconds(60)),
            ])
    }

    @Test(arguments: [
        ("mountpoint", "mountpoint"), ("/usr/bin/true", "/usr/bin/true"),
        ("./bin/ask.sh", "/srv/clarity/bin/ask.sh"), ("bin/ask", "/srv/clarity/bin/ask"),
        ("../ask", "/srv/clarity/../ask"), ("~/bin/ask", "/home/ada/bin/ask"),
        ("'./my checks/ask'", "/srv/clarity/my checks/ask"), ("true", "true"), ("'~'", "~"),
    ])
    func `a program is a name for the path or counts from the file's folder`(
        written: String, program: String
    ) throws {
        let file = try file("", top: "checks: { c: { command: [\(written), a, a] } }")

        #expect(file.checks.map(\.question) == [.command([program, "a", "a"])])
    }

    @Test(arguments: [("nas", ["nas"]), ("[vpn, nas]", ["vpn", "nas"]), ("[]", [])])
    func `a job names one check, some or none`(written: String, names: [String]) throws {
        let file = try file(
            "constraints: { check: \(written), idle: true }",
            top: """
                checks:
                  nas: { command: [a], valid_for: 5m }
                  vpn: { url: "https://vpn.example", valid_for: 5m }
                """)

        let checks = names.map { Constraint.check(Check(name: $0, validFor: .seconds(300))) }
        #expect(file.jobs.first?.constraints == [.idle] + checks)
    }

    @Test func `defaults name checks for all, and a job takes them back or names others`() throws {
        let top = """
            checks: { nas: { command: [a] }, vpn: { command: [b] } }
            defaults: { constraints: { check: nas } }
            """

        let silent = try file("", top: top)
        let none = try file("constraints: { check: [] }", top: top)
        let other = try file("constraints: { check: vpn }", top: top)

        #expect(silent.jobs.first?.constraints == [.check(Check(name: "nas"))])
        #expect(none.jobs.first?.constraints == [])
        #expect(other.jobs.first?.constraints == [.check(Check(name: "vpn"))])
    }

    @Test(arguments: [
        ("network: any", [Constraint.connected, .check(Check(name: "probe", subject: "network"))]),
        (
            "network: unmetered, idle: true, check: nas",
            [
                .unmetered, .check(Check(name: "probe", subject: "network")), .idle,
                .check(Check(name: "nas")),
            ]
        ),
        ("network: none, idle: true", [.idle]), ("idle: true", [.idle]),
    ])
    func `a probe is wanted right after the network and by nobody else`(
        written: String, constraints: [Constraint]
    ) throws {
        let file = try file(
            "constraints: { \(written) }",
            top: """
                checks: { nas: { command: [a] } }
                conditions: { probe: "https://example.org/ok" }
                """)

        #expect(file.jobs.first?.constraints == constraints)
        #expect(file.conditions.probe == "https://example.org/ok")
        #expect(
            file.questions == file.checks + [
                CheckDeclaration(name: "probe", question: .url("https://example.org/ok"))
            ])
    }

    @Test func `without a probe the questions are the checks`() throws {
        let file = try file("", top: "checks: { nas: { command: [a] } }")

        #expect(file.questions == file.checks)
        #expect(file.checks.count == 1)
    }

    @Test func `a late run may do without checks`() throws {
        let file = try file(
            "constraints: { check: nas, window: 22:00-06:00 }\n"
                + "relax: [{ after: 1h, drop: check }, { after: 2h, drop: window }]",
            top: "checks: { nas: { command: [a] } }")

        #expect(file.jobs.first?.relaxations.map(\.drops) == ["check", "window"])
    }

    @Test func `a hundred checks are read and one more is refused`() {
        func faults(_ count: Int) -> [String] {
            let checks = (1...count).map { "c\($0): { command: [a] }" }.joined(separator: ", ")
            return JobFileSamples.faults(JobFileSamples.file(job: "", top: "checks: { \(checks) }"))
        }

        #expect(faults(100) == [])
        #expect(faults(101) == ["jobs.yaml:7:9: `checks` has 101 entries, wanted at most 100"])
    }

    @Test(arguments: [
        MessageCase(
            job: "constraints: { check: nas-monted }",
            top: "checks: { nas-mounted: { command: [a] } }",
            "jobs.yaml:6:27: unknown check `nas-monted` in `constraints` of job `a`; "
                + "did you mean `nas-mounted`?"),
        MessageCase(
            job: "constraints: { check: [nas, wlan] }",
            top: "checks: { nas: { command: [a] }, vpn: { command: [a] } }",
            """
            jobs.yaml:6:33: unknown check `wlan` in `constraints` of job `a`
            help: the file declares `nas` and `vpn`
            """),
        MessageCase(
            job: "constraints: { check: nas }",
            """
            jobs.yaml:6:27: unknown check `nas` in `constraints` of job `a`
            help: the file declares none; declare it under `checks`
            """),
        MessageCase(
            job: "constraints: { check: probe }",
            top: "conditions: { probe: \"https://example.org\" }\n"
                + "checks: { probes: { command: [a] } }",
            """
            jobs.yaml:6:27: unknown check `probe` in `constraints` of job `a`
            help: jobs with a `network` constraint ask the `probe` of `conditions` by themselves
            """),
        MessageCase(
            job: "", top: "  - { id: b, kind: cleanup }\ndefaults: { constraints: { check: nas } }",
            """
            jobs.yaml:8:35: unknown check `nas` in `constraints` of `defaults`
            help: the file declares none; declare it under `checks`
            """),
        MessageCase(
            job: "constraints: { check: [nas, nas] }", top: "checks: { nas: { command: [a] } }",
            "jobs.yaml:6:33: `check` of `constraints` of job `a` has `nas` twice"),
        MessageCase(
            job: "constraints: { check: { nas: true } }",
            "jobs.yaml:6:27: `check` of `constraints` of job `a` is a mapping, "
                + "wanted text or a list"),
        MessageCase(
            job: "constraints: { check: }",
            "jobs.yaml:6:27: `check` of `constraints` of job `a` is empty, wanted text or a list"),
        MessageCase(
            job: "constraints: { check: nas }", top: "checks: [nas]",
            "jobs.yaml:7:9: `checks` is a list, wanted a mapping"),
        MessageCase(
            job: "constraints: { check: nas }", top: "checks: { nas: true }",
            "jobs.yaml:7:16: check `nas` is a boolean, wanted a mapping"),
        MessageCase(
            job: "constraints: { check: [nas] }\nrelax: [{ after: 1h, drop: chek }]",
            top: "checks: { nas: {} }",
            "jobs.yaml:7:32: unknown constraint `chek`; did you mean `check`?",
            "jobs.yaml:8:16: check `nas` has none of `command` and `url`"),
    ])
    func `a check that a job cannot have is told with its place`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test(arguments: [
        (
            "'my nas': { command: [a] }",
            """
            11: check name `my nas` is not allowed
            help: a name is 1 to 64 letters, digits, `-`, `_` or `.`
            """
        ),
        (
            "'': { command: [a] }",
            """
            11: check name `` is not allowed
            help: a name is 1 to 64 letters, digits, `-`, `_` or `.`
            """
        ),
        (
            "probe: { command: [a] }",
            """
            11: check name `probe` is taken
            help: `probe` is the check that `conditions: { probe: ... }` declares
            """
        ),
        (
            "n: { command: [a], url: \"https://example.org\" }",
            "14: check `n` has `command` and `url`, wanted one of them"
        ),
        (
            "n: { comand: [a], url: \"https://example.org\" }",
            "16: unknown key `comand` in check `n`; did you mean `command`?"
        ),
        (
            "n: { command: mountpoint -q /mnt/nas }",
            """
            25: `command` of check `n` is text, wanted a list
            help: write each word as an entry: `[sh, -c, "..."]` for a shell's line
            """
        ),
        (
            "n: { command: ./ask.sh }",
            """
            25: `command` of check `n` is text, wanted a list
            help: write it as `[./ask.sh]`
            """
        ),
        (
            "n: { command: [mountpoint -q /mnt/nas] }",
            """
            26: the program `mountpoint -q /mnt/nas` of `command` of check `n` holds a blank
            help: write each word as an entry: `[sh, -c, "..."]` for a shell's line
            """
        ),
        ("n: { command: [] }", "25: `command` of check `n` names no program"),
        ("n: { command: [''] }", "26: command `` is not a path"),
        (
            "n: { command: [~eve/ask] }",
            """
            26: command `~eve/ask` starts with another user's home folder
            help: write the whole path; only `~/` is understood
            """
        ),
        ("n: { command: [\"a\\eb\"] }", "26: command `a<U+001B>b` is not a program's name"),
        (
            "n: { command: [a, [b]] }",
            "29: entry 2 of `command` of check `n` is a list, wanted text"
        ),
        (
            "n: { command: [a], timeout: 50ms }",
            "39: timeout `50ms` is out of range, wanted 100ms to 5m"
        ),
        (
            "n: { command: [a], timeout: 301s }",
            "39: timeout `301s` is out of range, wanted 100ms to 5m"
        ),
        (
            "n: { command: [a], valid_for: 25h }",
            "41: valid_for `25h` is out of range, wanted 1s to 1d"
        ),
        (
            "n: { command: [a], valid_for: 9s }",
            """
            41: check `n` has a valid_for of `9s`, less than its timeout of `10s`
            help: make `valid_for` at least as long as `timeout`
            """
        ),
        (
            "n: { command: [a], valid_for: 60 }",
            "41: valid_for `60` has no unit; write `60s`, `60m` or `60h`"
        ),
        (
            "n: { url: \"https://ada:secret@example.org\" }",
            """
            21: url holds a user name or password
            help: secrets never stand in a job file
            """
        ),
        ("n: { url: \"ftp://example.org\" }", "21: url does not start with `https://`"),
        ("n: { url: \"https://example.org/#top\" }", "21: url has a fragment (`#`), wanted none"),
    ])
    func `a check that cannot be asked is told with its place`(checks: String, printed: String) {
        let text = JobFileSamples.file(job: "", top: "checks: { \(checks) }")

        #expect(JobFileSamples.faults(text) == ["jobs.yaml:7:" + printed])
    }

    @Test func `a command of more than a hundred words is refused`() {
        let words = Array(repeating: "a", count: 101).joined(separator: ", ")
        let text = JobFileSamples.file(job: "", top: "checks: { n: { command: [\(words)] } }")

        #expect(
            JobFileSamples.faults(text) == [
                "jobs.yaml:7:25: `command` of check `n` has 101 words, wanted at most 100"
            ])
    }

    @Test func `an endless url is refused without being shown`() {
        let url = "https://example.org/" + String(repeating: "x", count: 1981)
        let text = JobFileSamples.file(job: "", top: "conditions: { probe: '\(url)' }")

        #expect(
            JobFileSamples.faults(text) == [
                "jobs.yaml:7:22: probe has more than 2000 characters, the most of a url"
            ])
    }
}
