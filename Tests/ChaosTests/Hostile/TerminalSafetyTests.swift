import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("What steers a terminal", .timeLimit(.minutes(40)))
struct TerminalSafetyTests {
    /// A title, a colour by one byte and by two, a line that goes back, another direction.
    static let attack = "\u{1B}]0;pwned\u{7}\u{9B}31m\r\u{8}\u{7F}\u{202E}\u{2066}\u{85}"

    /// What is compared or parsed, and would else only be refused.
    private static let untouched: Set<String> = [
        "access_token", "token_type", "created_at", "generated_at", "timestamp", "server_timestamp",
        "metric_type", "type", "expires_at", "upload_source", "user_id", "metric_id",
        "date_recorded", "recorded_at", "updated_at", "service",
    ]

    /// Everything that a person asks for after it was pulled, in every form.
    private static let questions = [
        ["auth", "status"], ["insights"], ["profile"], ["metrics"], ["metrics", "heart_rate"],
        ["summary"], ["archive"], ["outbox", "list", "--all"], ["outbox"], ["history"], ["list"],
        ["status"], ["doctor"], ["next"], ["audit"], ["explain", "refresh"],
    ]

    @Test(arguments: StandInBackend.dialects)
    func `nothing that a backend says reaches the terminal as it came`(
        dialect: String
    ) async throws {
        let backend = try HostileBackend(dialect)
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            Playground.standardJobFile(url: backend.url, folder: folder)
        }
        try playground.writeExport(heartRates: 5)
        backend.tamper { _, answer in
            var answer = answer
            answer.body = Tampering.appending(
                TerminalSafetyTests.attack, to: answer.body,
                except: TerminalSafetyTests.untouched)
            return answer
        }

        var shown: [(String, ProgramResult)] = []
        shown.append(
            (
                "login",
                try await playground.run(
                    "auth", "login", "--email", "demo@example.com", "--password-stdin",
                    input: "Demo-Passw0rd!\n")
            ))
        for job in ["refresh", "insights", "upload", "status"] {
            shown.append((job, try await playground.run("run", job)))
        }
        for question in TerminalSafetyTests.questions {
            for form in ["table", "json", "ndjson"] {
                let words = question + ["--output", form]
                let program = try playground.start(words)
                shown.append((words.joined(separator: " "), await program.finish()))
            }
        }

        let steering = TerminalSafetyTests.steering(shown)
        #expect(steering == [])
        // It did come here, or nothing is shown by this.
        #expect(backend.requests.count > 4)
        var line = ChaosLine("hostile-server-words-\(dialect)")
        line.rounds = shown.count
        line.tell()
    }

    @Test func `nothing that a job file says reaches the terminal as it came`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            let attack = #"\e]0;pwned\a\x9b31m\r\b\x7f\u202e\u2066\x85"#
            return """
                version: 1
                backend: { url: \(url), retry_wait: 1ms }
                sources: [ { kind: apple-health-export, path: "\(folder)/\(attack).xml" } ]
                checks: { up: { command: [ "/bin/echo", "\(attack)" ] } }
                jobs:
                  - { id: upload, kind: bulk-upload, schedule: { every: 1h }, constraints: { check: up } }
                  - { id: other, kind: command, options: { command: [ "/no/\(attack)" ] }, schedule: { every: 1h } }
                  - { id: told, kind: command, options: { command: [ /bin/sh, -c, "printf '\(attack)' >&2; exit 3" ] }, schedule: { every: 1h } }

                """
        }

        var shown: [(String, ProgramResult)] = []
        for words in [
            ["validate"], ["list"], ["next"], ["doctor"], ["dry-run", "upload"],
            ["dry-run", "other"], ["run", "other"], ["run", "told"], ["run", "upload"],
            ["history"], ["history", "show", "1"], ["history", "show", "2"], ["explain", "told"],
            ["explain", "upload"], ["status"], ["output", "2"], ["simulate", "--days", "1"],
        ] {
            for form in ["table", "json"] {
                let program = try playground.start(words + ["--output", form])
                let result = await program.finish()
                shown.append(("\(words) as \(form)", result))
            }
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
    }

    @Test func `nothing that a source says reaches the terminal as it came`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let attack = "&#27;]0;x&#7;&#x9b;31m&#13;&#8;&#x7f;&#x202e;&#x2066;&#x85;\u{1B}[2J\u{202E}"
        let dates = "startDate=\"2026-10-01 00:00:00 +0000\" endDate=\"2026-10-01 00:00:00 +0000\""
        let records = ["HKQuantityTypeIdentifierHeartRate", "HKQuantityTypeIdentifier\(attack)"]
            .map { type in
                "<Record type=\"\(type)\" sourceName=\"\(attack)\" unit=\"count/min\" \(dates) "
                    + "device=\"\(attack)\" value=\"60\"/>"
            }
        try playground.folder.write(
            "export.xml",
            Array("<HealthData>\(records.joined())<Thing\(attack) a=\"1\"/></HealthData>".utf8))
        try playground.folder.write(
            "points.json",
            Array(
                #"{"data":{"metrics":[{"name":"\u001b[31m\u202e\u009b","units":"x","data":[{"date":"\u001b","qty":1,"source":"\u001b\u202e"}]}],"\u001b[2J":[1]}}"#
                    .utf8))

        var shown: [(String, ProgramResult)] = []
        for file in ["export.xml", "points.json"] {
            for words in [["--verbose"], ["--output", "json", "--verbose"], ["--dry-run"]] {
                let program = try playground.start(
                    ["import", "\(playground.folder.path)/\(file)"] + words)
                shown.append(("import \(file) \(words)", await program.finish()))
            }
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
    }

    @Test func `nothing that a faulty job file or a word of the command says does either`()
        async throws
    {
        let attack = #"\e]0;pwned\a\x9b31m\r\b\x7f\u202e\u2066\x85"#
        let raw = TerminalSafetyTests.attack
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://\(attack)" }
            "\(attack)": 1
            jobs:
              - { id: "a\(attack)", kind: "\(attack)", schedule: { cron: "\(attack)" }, "\(attack)": 2 }
              - { id: b, kind: refresh, schedule: { calendar: "\(attack)", time_zone: "\(attack)" } }
              - { id: c, kind: refresh, schedule: { every: "\(attack)" }, constraints: { window: "\(attack)", check: "\(attack)" }, then: ["\(attack)"] }

            """
        }

        var shown: [(String, ProgramResult)] = []
        for words in [
            ["validate"], ["list"], ["run", raw], [raw], ["history", "show", raw],
            ["import", "/tmp/\(raw).xml"], ["--config", "/tmp/\(raw)", "list"],
            ["--state", "/proc/\(raw)", "history"], ["simulate", "--trace", "/tmp/\(raw)"],
            ["metrics", raw], ["auth", "login", "--email", raw], ["--\(raw)"],
            ["import", "--kind", raw, "x"], ["insights", raw], ["outbox", "show", raw],
        ] {
            let program = try playground.start(words)
            shown.append(("\(words.map { $0 == raw ? "RAW" : $0 })", await program.finish()))
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
    }

    /// What of the programs' words could steer a terminal, and where; that a program crashed too.
    static func steering(_ shown: [(String, ProgramResult)]) -> [String] {
        shown.flatMap { command, result -> [String] in
            var found: [String] = []
            for (stream, text) in [("output", result.output), ("errors", result.errors)] {
                do {
                    try demandHarmless(text.replacing("\t", with: " "), "\(stream) of \(command)")
                } catch {
                    found.append("\(error)")
                }
            }
            let hasCrashed = (result.output + result.errors).contains("ended by signal")
            if result.status > 128 || hasCrashed { found.append("\(command) crashed") }
            return found
        }
    }
}
