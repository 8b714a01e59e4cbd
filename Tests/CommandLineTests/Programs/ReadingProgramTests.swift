import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("Reading what is kept", .timeLimit(.minutes(5)))
struct ReadingProgramTests {
    private static let clock = ["TZ": "UTC"]

    /// Returns a playground with heart rates of 2026-10-01 in the outbox, one a minute from
    /// midnight. Nobody is logged in, and there is no backend.
    private func offline(heartRates count: Int) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: count)
        let path = "\(playground.folder.path)/export.xml"
        let result = try await playground.run("import", path, "-q", environment: Self.clock)
        #expect(result.status == 0, "\(result.errors)")
        return playground
    }

    private func read(
        _ playground: Playground, _ arguments: String...
    ) async throws -> ProgramResult {
        try await playground.start(arguments, environment: Self.clock).finish()
    }

    // MARK: Time zones

    @Test func `a machine in another time zone shows the person's own days`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try playground.useExample("export.zip")
        let zurich = ["TZ": "Europe/Zurich"]
        let utc = ["TZ": "UTC", "CLARITY_JOBS_STATE": "\(playground.folder.path)/second"]
        let login = ["auth", "login", "--email", "demo@example.com", "--password-stdin"]
        _ = try await playground.start(["run", "upload"], environment: zurich).finish()
        _ = try await playground.start(login, environment: utc).finish(input: "Demo-Passw0rd!\n")

        let refresh = try await playground.start(["run", "refresh"], environment: utc).finish()
        let words = ["summary", "--now", "2026-11-10T18:00:00Z", "--output", "json"]
        let first = try JSONValue(
            try await playground.start(words, environment: zurich).finish().output)
        let second = try JSONValue(
            try await playground.start(words, environment: utc).finish().output)

        #expect(refresh.status == 0, "\(refresh)")
        #expect(first["time_zone"] == .string("Europe/Zurich"))
        #expect(second["time_zone"] == .string("UTC"))
        func values(_ summary: JSONValue) -> [JSONValue: [JSONValue]] {
            let items = summary["items"].elements.filter {
                ["steps", "resting_heart_rate", "distance", "total_sleep_minutes"]
                    .contains($0["name"].text)
            }
            return Dictionary(
                uniqueKeysWithValues: items.map { ($0["name"], [$0["value"], $0["day"]]) })
        }
        #expect(values(first).count == 4 && values(first) == values(second))
        #expect(values(first)[.string("steps")]?[1] == .string("2026-11-10"))
    }

    @Test func `before the first import, the job file's time zone applies`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "path: \(folder)/export.xml",
                with: "path: \(folder)/export.xml\n    time_zone: Europe/Madrid")
        }
        // The state that an earlier version leaves: no time zone is recorded.
        _ = try await playground.run(
            "import", try playground.folder.write("a.ndjson", []), "-q")
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("DELETE FROM day_zone")

        let result = try await read(playground, "summary", "--now", "2026-11-10T23:30:00Z")
        try playground.writeExport(heartRates: 3)
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml", "-q")
        try playground.write { Playground.standardJobFile(url: $0, folder: $1) }
        let settled = try await read(playground, "summary", "--now", "2026-11-10T23:30:00Z")

        for summary in [result, settled] {
            #expect(summary.outputLines.first == "2026-11-11, days of Europe/Madrid", "\(summary)")
        }
    }

    // MARK: metrics

    @Test func `a type is shown day by day without a login and without a backend`() async throws {
        // 1,440 minutes of a day and 60 of the next.
        let playground = try await offline(heartRates: 1500)

        let result = try await read(
            playground, "metrics", "heart_rate", "--since", "3d", "--now", "2026-10-02T12:00:00Z")

        #expect(result.status == 0 && result.errors == "", "\(result.errors)")
        #expect(
            result.outputLines.prefix(5) == [
                "heart_rate in 1/min, days of UTC", " █▁", "DAY         COUNT  MIN  MEAN  MAX",
                "2026-10-01   1440   60    80   99", "2026-10-02     60   60    76   99",
            ])
        #expect(result.outputLines[5] == "not fetched back yet")
        #expect(result.outputLines[6].hasPrefix("sources read "))
        #expect(result.outputLines.count == 7)
    }

    @Test func `metrics are also written as JSON, NDJSON and CSV`() async throws {
        let playground = try await offline(heartRates: 3)
        let words = ["metrics", "heart_rate", "--since", "1d", "--now", "2026-10-01T12:00:00Z"]
        func text(_ form: String) async throws -> String {
            try await playground.start(words + ["--output", form], environment: Self.clock)
                .finish().output
        }

        let json = try JSONValue(try await text("json"))
        let lines = try await text("ndjson")
        let csv = try await text("csv")

        #expect(json["type"] == .string("heart_rate") && json["time_zone"] == .string("UTC"))
        #expect(json["since"] == .string("2026-10-01") && json["until"] == .string("2026-10-01"))
        #expect(json["synced_at"] == .null && isInstant(json["read_at"].text))
        let day = json["measures"].elements.first?["days"].elements.first
        #expect(day?["day"] == .string("2026-10-01") && day?["mean"] == .number(61))
        #expect(
            lines
                == #"{"measure":"heart_rate","unit":"1/min","day":"2026-10-01","count":3,"min":60,"#
                + "\"mean\":61,\"max\":62}\n")
        #expect(
            csv
                == "measure,unit,day,count,min,mean,max,total\r\n"
                + "heart_rate,1/min,2026-10-01,3,60,61,62,\r\n")
    }

    @Test func `without a type, metrics lists all types`() async throws {
        let playground = try await offline(heartRates: 3)
        try playground.useExample("export.zip")
        let path = "\(playground.folder.path)/export.xml"
        _ = try await playground.run("import", path, "-q", environment: Self.clock)

        let table = try await read(playground, "metrics")
        let json = try await playground.json("metrics")

        #expect(table.status == 0 && table.errors == "")
        #expect(table.outputLines[0].hasPrefix("TYPE "))
        #expect(table.outputLines.contains { $0.hasPrefix("activity ") && $0.contains("steps, ") })
        #expect(table.outputLines.contains { $0.hasPrefix("sleep ") })
        // A pipe has no width: nothing is cut for it.
        #expect(!table.output.contains("..."))
        let types = json.elements.compactMap { $0["type"].text }
        #expect(types == types.sorted() && types.contains("heart_rate"))
        #expect(json.elements.allSatisfy { ($0["count"].number ?? 0) > 0 })
        #expect(json.elements.allSatisfy { isInstant($0["first_at"].text) })
    }

    @Test(arguments: [
        (["metrics", "hart_rate"], "no type `hart_rate` of metrics; did you mean `heart_rate`?"),
        (["metrics", "steps", "sleep"], "`metrics` wants one type at most, got 2"),
        (["metrics", "--since", "7d"], "--since wants a type: `metrics heart_rate`"),
        (
            ["metrics", "steps", "--since", "yesterday"],
            "--since is a span such as `30d` or a date such as `2026-01-31`, got `yesterday`"
        ),
        (["insights", "a", "b"], "`insights` wants one id at most, got 2"),
        (["analyses", "x"], "`analyses` wants the number of one analysis, got `x`"),
        (["analyses", "1", "--since", "7d"], "--since wants no number of an analysis"),
        (
            ["analyses", "--until", "7d"], "--until is a date such as `2026-01-31`, got `7d`"
        ),
        (["archive", "list", "--since", "x"], "--since is a span such as `7d`, got `x`"),
        (
            ["archive", "show", "x"],
            "`archive show` wants the number of one version, as `archive list` has it"
        ),
    ])
    func `a misunderstood argument is reported in one line`(words: [String], message: String)
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"), "\(result)")
    }

    @Test func `only these commands write CSV`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("list", "-o", "csv")

        #expect(
            result.isRefusal(
                64, "clarity-jobs: `-o` is one of `table`, `json`, `ndjson`, got `csv`",
                "help: clarity-jobs list --help"))
    }

    @Test(arguments: [
        ["metrics"], ["insights"], ["analyses"], ["profile"], ["summary"], ["archive", "list"],
    ])
    func `without data, a reading command says so and creates nothing`(words: [String]) async throws
    {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(
            result.isRefusal(
                66,
                "clarity-jobs: no health data is kept yet; run `clarity-jobs auth login`"))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `a type without data says so`() async throws {
        let playground = try await offline(heartRates: 3)

        let result = try await read(playground, "metrics", "sleep", "--since", "7d")

        #expect(result.status == 0)
        #expect(result.outputLines.first == "no sleep is known of in these 7 days")
    }

    // MARK: With a backend

    @Test func `a metric that was sent and fetched counts once, and reading sends no request`()
        async throws
    {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 30)
        try await playground.logIn()
        for job in ["upload", "refresh"] {
            let result = try await playground.run("run", job, environment: Self.clock)
            #expect(result.status == 0, "\(result.errors)")
        }
        let requests = try await sandbox.count("requests")
        func counts() async throws -> [Int?] {
            let all = try await playground.json("metrics").elements
            let days = try await playground.json(
                "metrics", "heart_rate", "--since", "1d", "--now", "2026-10-01T12:00:00Z")
            return [
                all.first { $0["type"] == .string("heart_rate") }?["count"].number,
                days["measures"].elements.first?["days"].elements.first?["count"].number,
            ]
        }

        let both = try await counts()
        let commands = [["insights"], ["analyses"], ["profile"], ["summary"], ["archive", "list"]]
        for command in commands {
            let result = try await playground.start(command, environment: Self.clock).finish()
            #expect(result.status == 0 && result.errors == "", "\(result.errors)")
        }
        // As if nothing had been pulled: only the samples remain.
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("DELETE FROM metrics WHERE id NOT LIKE 'x%' AND sample IS NOT NULL")
        let own = try await counts()

        // Four heart rates of other days come from the sandbox's own history.
        #expect(both == [34, 30])
        #expect(own == [34, 30])
        #expect(try await sandbox.count("requests") == requests)
    }

    @Test func `the profile, the insights and a day are shown with their age`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        for job in ["refresh", "insights"] { _ = try await playground.run("run", job) }

        let profile = try await read(playground, "profile")
        let list = try await playground.json("insights")
        let id = try #require(list.elements.first?["id"].text)
        let one = try await read(playground, "insights", id)
        let short = try await read(playground, "insights", String(id.prefix(12)))
        let missing = try await read(playground, "insights", "nothing-like-it")
        let summary = try await read(playground, "summary")

        #expect(
            profile.outputLines.contains { $0.hasPrefix("email ") && $0.hasSuffix("example.com") })
        #expect(profile.outputLines.contains { $0.hasPrefix("role ") && $0.hasSuffix("user") })
        #expect(profile.outputLines.last?.hasPrefix("synced just now (") == true)
        #expect(list.elements.count == 23)
        #expect(one.outputLines.first?.hasPrefix("insight \(id), made ") == true)
        #expect(one.outputLines.last?.hasPrefix("synced just now (") == true)
        #expect(short.output == one.output)
        #expect(
            missing.isRefusal(
                66, "clarity-jobs: no single insight whose id is or begins with `nothing-like-it`"))
        let lines = summary.outputLines
        #expect(lines.contains { $0.wholeMatch(of: /steps +- +missing/) != nil }, "\(lines)")
        #expect(lines.contains { $0.wholeMatch(of: /sleep +- +missing/) != nil })
        #expect(lines.contains { $0.hasPrefix("latest insight, made ") })
        #expect(lines.count <= 24)
    }

    @Test func `a day's summary shows the values of its sources`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let date = "2026-10-01"
        func record(_ type: String, _ unit: String, _ from: String, _ to: String, _ value: String)
            -> String
        {
            """
             <Record type="HK\(type)" sourceName="Watch" unit="\(unit)" \
            startDate="\(from) +0000" endDate="\(to) +0000" value="\(value)"/>

            """
        }
        let asleep = "HKCategoryValueSleepAnalysisAsleepCore"
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_GB\">\n"
            + " <ExportDate value=\"2026-10-02 08:00:00 +0000\"/>\n"
            + record(
                "QuantityTypeIdentifierStepCount", "count", "\(date) 09:00:00", "\(date) 09:30:00",
                "4321")
            + record(
                "QuantityTypeIdentifierRestingHeartRate", "count/min", "\(date) 00:00:00",
                "\(date) 00:00:00", "57")
            + record(
                "CategoryTypeIdentifierSleepAnalysis", "", "2026-09-30 22:30:00",
                "\(date) 05:41:00", asleep)
            + "</HealthData>\n"
        try playground.folder.write("export.xml", Array(text.utf8))
        let path = "\(playground.folder.path)/export.xml"
        let imported = try await playground.run("import", path, "-q", environment: Self.clock)
        #expect(imported.status == 0, "\(imported.errors)")

        let result = try await read(playground, "summary", "--now", "2026-10-01T20:00:00Z")
        let json = try await playground.json("summary", "--now", "2026-10-01T20:00:00Z")

        #expect(result.status == 0 && result.errors == "")
        let lines = result.outputLines
        #expect(lines.first == "2026-10-01, days of UTC")
        #expect(
            lines.contains { $0.wholeMatch(of: /steps +4321 +today +exported .*/) != nil },
            "\(lines)")
        #expect(
            lines.contains {
                $0.wholeMatch(of: /resting heart rate +57 1\/min +today +exported .*/) != nil
            })
        #expect(
            lines.contains { $0.wholeMatch(of: /sleep +7 h 11 min +today +exported .*/) != nil })
        #expect(lines.last == "latest insight: missing")
        let steps = json["items"].elements.first
        #expect(steps?["name"] == .string("steps") && steps?["value"] == .number(4321))
        #expect(steps?["unit"] == .string("count") && json["insight"] == .null)
    }

    @Test(arguments: [["metrics", "steps"], ["records", "HeartRate"], ["analyses"]])
    func `a range that ends before it begins is refused`(words: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let range = ["--since", "2026-11-10", "--until", "2026-11-01"]

        let result = try await playground.start(words + range).finish()

        #expect(
            result.isRefusal(
                64, "clarity-jobs: --since `2026-11-10` is later than --until `2026-11-01`"),
            "\(result.errors)")
    }

    @Test func `a date means the day in the time zone of the sources`() async throws {
        let playground = try await offline(heartRates: 3)

        for zone in ["Asia/Tokyo", "UTC", "America/New_York"] {
            let result = try await playground.start(
                ["summary", "--now", "2026-10-01"], environment: ["TZ": zone]
            ).finish()

            #expect(result.status == 0, "\(result.errors)")
            #expect(result.outputLines.first == "2026-10-01, days of UTC", "\(zone)")
            #expect(result.outputLines.contains { $0.hasPrefix("heart rate ") }, "\(zone)")
        }
    }

    // MARK: The terminal

    @Test func `on a terminal, lines fit its width and headings stand out`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        _ = try await playground.run("run", "insights")
        let id = try #require(try await playground.json("insights").elements.first?["id"].text)
        func screen(_ words: [String], _ extra: [String: String] = [:]) async throws -> String {
            let environment = [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
                "TERM": "xterm", "TZ": "UTC",
            ]
            let program = try TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", words,
                environment: environment.merging(extra) { $1 }, columns: 40)
            let (status, screen) = await program.finish()
            #expect(status == 0)
            return screen
        }

        for words in [["insights", id], ["insights"], ["metrics"], ["summary"]] {
            let coloured = try await screen(words)
            let plain = try await screen(words, ["NO_COLOR": "1"])

            let bare = coloured.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: "")
                .replacing("\u{1B}[33m", with: "")
            #expect(bare == plain)
            #expect(coloured.contains("\u{1B}["), "\(words)")
            #expect(plain.split(separator: "\n").allSatisfy { $0.count <= 40 }, "\(plain)")
            #expect(!plain.contains("\u{1B}"))
        }
    }

    // MARK: Damage and the audit log

    @Test func `a damaged row is named and the others are shown`() async throws {
        let playground = try await offline(heartRates: 3)
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("UPDATE outbox SET end_s = end_s + 1 WHERE id = 2")

        let result = try await read(
            playground, "metrics", "heart_rate", "--since", "1d", "--now", "2026-10-01T12:00:00Z")

        #expect(result.status == 1)
        #expect(result.outputLines.contains("2026-10-01      2   60    61   62"))
        #expect(
            result.errorLines == [
                "clarity-jobs: 1 row is damaged and left out: `2` of outbox"
            ])
    }

    @Test func `the audit log records who reads and who exports`() async throws {
        let playground = try await offline(heartRates: 3)
        let now = "2026-10-01T12:00:00Z"

        _ = try await read(playground, "metrics", "heart_rate", "--now", now)
        _ = try await read(playground, "metrics", "heart_rate", "--now", now, "-o", "csv")

        let log = try await playground.json("audit", "log").elements.suffix(2)
        #expect(log.map { $0["action"] } == [.string("read"), .string("exported")])
        #expect(
            log.map { $0["detail"] } == [.string("shown: metrics"), .string("as csv: metrics")])
        #expect(log.allSatisfy { $0["counts"]["heart_rate"] == .number(3) })
        #expect(log.allSatisfy { $0["program"] == .string("metrics") })
    }
}
