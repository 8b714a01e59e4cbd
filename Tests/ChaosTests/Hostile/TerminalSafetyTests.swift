import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("What steers a terminal", .timeLimit(.minutes(40)))
struct TerminalSafetyTests {
    /// A title, a colour by a one-byte control, characters that move the cursor back or change the
    /// direction of text, and a readable word that proves that the text was shown.
    static let attack =
        "\u{1B}]0;pwned\u{7}\u{9B}31m\r\u{8}\u{7F}\u{202E}\u{2066}\u{85}\u{200E}\u{200F}\u{61C}"
    /// The same attack as an escape sequence of the job file.
    private static let written =
        #"\e]0;pwned\a\x9b31m\r\b\x7f\u202e\u2066\x85\u200e\u200f\u061c"#
    /// The part of the attack that a path may contain.
    private static let writtenInPath = #"\x9b31m\x7f\u202e\u2066\x85\u200e\u200f\u061c"#
    private static let forms = ["table", "json", "ndjson"]

    /// The fields that the client compares or parses: it would only refuse them with the attack.
    private static let untouched: Set<String> = [
        "access_token", "token_type", "created_at", "generated_at", "timestamp", "server_timestamp",
        "metric_type", "type", "expires_at", "upload_source", "user_id", "metric_id",
        "date_recorded", "recorded_at", "updated_at", "service",
    ]

    /// The commands that a person may run after data was pulled.
    private static let questions = [
        ["auth", "status"], ["insights"], ["profile"], ["metrics"], ["metrics", "heart_rate"],
        ["summary"], ["archive", "list"], ["outbox", "list"], ["outbox", "show", "1"], ["outbox"],
        ["history"], ["list"], ["status"], ["doctor"], ["next"], ["audit"], ["audit", "log"],
        ["explain", "refresh"],
    ]

    /// The commands among them that quote the backend.
    private static let quotations = ["auth status", "profile", "summary", "outbox show 1"]

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

        let login = try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "Demo-Passw0rd!\n")
        var shown = [("login", login)]
        for job in ["refresh", "insights", "upload", "status"] {
            shown.append((job, try await playground.run("run", job)))
        }
        let insights = try await playground.json("insights")
        let id = String(try #require(insights.elements.first?["id"].text).prefix(8))
        shown += try await TerminalSafetyTests.asked(
            TerminalSafetyTests.questions + [["insights", id]], of: playground)
        // A backend also gives reasons for a refusal.
        backend.tamper { request, answer in
            guard request.method == "POST", !request.target.contains("/auth/") else { return nil }
            let reason = Array(#"{"detail":"insisted on this"}"#.utf8)
            return StandInBackend.Answer(
                status: 422, headers: answer.headers,
                body: Tampering.appending(TerminalSafetyTests.attack, to: reason, except: []))
        }
        try playground.writeExport(heartRates: 6)
        shown.append(("refused", try await playground.run("run", "upload", "--force")))
        shown += try await TerminalSafetyTests.asked([["outbox", "show", "6"]], of: playground)

        let steering = TerminalSafetyTests.steering(shown)
        #expect(steering == [])
        var places = ["login": ["pwned"], "insights --output json": ["pwned"]]
        for form in TerminalSafetyTests.forms {
            for question in TerminalSafetyTests.quotations + ["insights \(id)"] {
                places["\(question) --output \(form)"] = ["pwned"]
            }
            places["outbox show 6 --output \(form)"] = ["insisted on this", "pwned"]
        }
        #expect(TerminalSafetyTests.missing(places, in: shown) == [])
        #expect(TerminalSafetyTests.misunderstood(shown) == [])
        var line = ChaosLine("hostile-server-words-\(dialect)", measures: [])
        line.rounds = shown.count
        line.tell()
    }

    @Test func `nothing that a job file says reaches the terminal as it came`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            let attack = TerminalSafetyTests.written
            let path = TerminalSafetyTests.writtenInPath
            return """
                version: 1
                backend: { url: \(url), retry_wait: 1ms }
                sources: [ { kind: apple-health-export, path: "\(folder)/inpath\(path).xml" } ]
                checks: { up: { command: [ "/no/incheck\(path)" ] } }
                jobs:
                  - { id: upload, kind: bulk-upload, schedule: { every: 1h }, constraints: { check: up } }
                  - { id: free, kind: bulk-upload, schedule: { every: 1h } }
                  - { id: other, kind: command, options: { command: [ "/no/inprogram\(path)", "inword\(attack)" ] }, schedule: { every: 1h } }
                  - { id: told, kind: command, options: { command: [ /bin/sh, -c, "printf 'inoutput\(attack)inlast' >&2; exit 3" ] }, schedule: { every: 1h } }

                """
        }

        // Each command, and the words of the job file that it must show.
        let questions: [(words: [String], places: [String])] = [
            (["validate"], []), (["list"], []), (["next"], []), (["doctor"], ["incheck"]),
            (["dry-run", "upload"], ["incheck", "inpath"]),
            (["dry-run", "other"], ["inprogram", "inword"]),
            (["dry-run", "told"], ["inoutput"]), (["run", "told"], ["inlast"]),
            (["run", "other"], []), (["run", "free"], ["inpath"]),
            (["run", "upload"], ["incheck"]), (["history"], ["incheck", "inlast", "inpath"]),
            (["history", "show", "1"], ["inoutput", "inlast"]), (["history", "show", "2"], []),
            (["explain", "told"], []), (["explain", "upload"], ["incheck"]),
            (["status"], ["inlast", "inpath"]), (["sources"], ["inpath"]),
            (["simulate", "--days", "1"], []),
        ]
        let shown = try await TerminalSafetyTests.asked(questions.map(\.words), of: playground)

        #expect(TerminalSafetyTests.steering(shown) == [])
        var places: [String: [String]] = [:]
        for question in questions {
            for form in TerminalSafetyTests.forms {
                let words = question.words.joined(separator: " ")
                places["\(words) --output \(form)"] = question.places
            }
        }
        #expect(TerminalSafetyTests.missing(places, in: shown) == [])
        #expect(TerminalSafetyTests.misunderstood(shown) == [])
    }

    @Test func `nothing that a source says reaches the terminal as it came`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let attack =
            "&#27;]0;x&#7;&#x9b;31m&#13;&#8;&#x7f;&#x202e;&#x2066;&#x85;&#x200e;&#x200f;&#x61c;"
            + "\u{1B}[2J\u{202E}\u{200E}\u{200F}\u{61C}"
        let dates = "startDate=\"2026-10-01 00:00:00 +0000\" endDate=\"2026-10-01 00:00:00 +0000\""
        let records = ["HKQuantityTypeIdentifierHeartRate", "HKQuantityTypeIdentifier\(attack)"]
            .map { type in
                "<Record type=\"\(type)\" sourceName=\"insource\(attack)\" unit=\"count/min\" "
                    + "\(dates) device=\"\(attack)\" value=\"60\"/>"
            }
        let export = "<HealthData>\(records.joined())<Thing\(attack) a=\"1\"/>"
        try playground.folder.write("export.xml", Array("\(export)</HealthData>".utf8))
        // A truncated export with the attack in its name.
        let cut = "inname\u{1B}[2J\u{9B}31m\u{202E}\u{200E}\u{61C}.xml"
        try playground.folder.write(cut, Array(export.utf8))
        try playground.folder.write(
            "points.json",
            Array(
                #"{"data":{"metrics":[{"name":"\u001b[31m\u202e\u009b","units":"x","data":[{"date":"\u001b","qty":1,"source":"\u001b\u202e"},{"date":1767323045,"note":"\u001b"}]}],"\u001b[2J\u200e":[1]}}"#
                    .utf8))

        // Each file, and the words that its report must show. The name of a type or element appears
        // only if it is a valid name.
        var shown: [(String, ProgramResult)] = []
        var places: [String: [String]] = [:]
        for (file, words) in [
            ("export.xml", ["insource", "(other types)", "(other elements)"]),
            (cut, ["inname", "insource", "breaks off"]), ("points.json", ["(other types)"]),
        ] {
            for options in [[], ["--verbose"], ["--report"], ["--output", "json", "--report"]] {
                let program = try playground.start(
                    ["import", "\(playground.folder.path)/\(file)"] + options)
                let command = "import \(file) \(options)"
                shown.append((command, await program.finish()))
                if options.contains("--report") { places[command] = words }
            }
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
        #expect(TerminalSafetyTests.missing(places, in: shown) == [])
        #expect(TerminalSafetyTests.misunderstood(shown) == [])
    }

    @Test func `nothing that a faulty job file says does either`() async throws {
        let places = [
            "inkey", "inid", "inkind", "incron", "injobkey", "incalendar", "inzone", "inevery",
            "inwindow", "incheck", "inthen",
        ]
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            let attack = TerminalSafetyTests.written
            return """
                version: 1
                backend: { url: "http://\(attack)" }
                "inkey\(attack)": 1
                jobs:
                  - { id: "inid\(attack)", kind: "inkind\(attack)", schedule: { cron: "incron\(attack)" }, "injobkey\(attack)": 2 }
                  - { id: b, kind: refresh, schedule: { calendar: "incalendar\(attack)", time_zone: "inzone\(attack)" } }
                  - { id: c, kind: refresh, schedule: { every: "inevery\(attack)" }, constraints: { window: "inwindow\(attack)", check: "incheck\(attack)" }, then: ["inthen\(attack)"] }

                """
        }

        var shown: [(String, ProgramResult)] = []
        for command in ["validate", "list"] {
            shown.append((command, try await playground.run(command)))
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
        #expect(
            TerminalSafetyTests.missing(["validate": places, "list": places], in: shown) == [])
    }

    @Test func `nothing that a word of the command says does either`() async throws {
        let raw = TerminalSafetyTests.attack
        let playground = try await Playground(sandboxOptions: nil)

        var shown: [(String, ProgramResult)] = []
        var places: [String: [String]] = [:]
        for words in [
            ["run", raw], [raw], ["import", "/tmp/\(raw).xml"], ["--\(raw)"],
            ["--config", "/tmp/\(raw)", "list"], ["--state", "/proc/\(raw)", "run", "cleanup"],
            ["simulate", "--trace", "/tmp/\(raw)"], ["metrics", raw], ["insights", raw],
            ["import", "--kind", raw, "x"], ["restore", raw], ["audit", "log", "--since", raw],
        ] {
            let program = try playground.start(words)
            let command = "\(words.map { $0.replacing(raw, with: "RAW") })"
            shown.append((command, await program.finish()))
            places[command] = ["pwned"]
        }
        // These commands state what they expect, and do not quote what they got.
        for words in [
            ["history", "show", raw], ["auth", "login", "--email", raw], ["outbox", "show", raw],
            ["archive", "show", raw],
        ] {
            let program = try playground.start(words)
            shown.append(("\(words.dropLast())", await program.finish()))
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
        #expect(TerminalSafetyTests.missing(places, in: shown) == [])
    }

    @Test(arguments: attack.unicodeScalars.filter { !(" "..."~").contains($0) } + ["\u{2028}"])
    func `each part of the attack would be noticed`(scalar: Unicode.Scalar) {
        #expect(throws: BrokenProperty.self) { try demandHarmless("a\(scalar)b", "a name") }
    }

    /// Returns the results of each question in every output form.
    private static func asked(
        _ questions: [[String]], of playground: Playground
    ) async throws -> [(String, ProgramResult)] {
        var shown: [(String, ProgramResult)] = []
        for question in questions {
            for form in forms {
                let words = question + ["--output", form]
                let program = try playground.start(words)
                shown.append((words.joined(separator: " "), await program.finish()))
            }
        }
        return shown
    }

    /// Returns the words that a command should have shown and did not. A command that is refused,
    /// or that shows nothing, would not steer a terminal either.
    static func missing(
        _ places: [String: [String]], in shown: [(String, ProgramResult)]
    ) -> [String] {
        places.flatMap { command, words in
            let texts = shown.filter { $0.0 == command }.map { $0.1.output + $0.1.errors }
            return words.filter { word in !texts.contains { $0.contains(word) } }
                .map { "\($0) in \(command)" }
        }.sorted()
    }

    /// Returns the commands that were refused before they did anything, for their arguments or
    /// their job file.
    private static func misunderstood(_ shown: [(String, ProgramResult)]) -> [String] {
        shown.filter { _, result in
            result.status == 64 || result.status == 65 && result.errors.contains("jobs.yaml:")
        }
        .map { "\($0.0): \($0.1.errors)" }
    }

    /// Returns the parts of the output that could steer a terminal, and the commands that crashed.
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
