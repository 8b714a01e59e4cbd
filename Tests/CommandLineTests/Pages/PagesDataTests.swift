import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// What the pages read: the JSON of commands.
@Suite("The data of the pages", .timeLimit(.minutes(5)))
struct PagesDataTests {
    /// Returns a playground after a login, an upload of 3 samples and a job that failed.
    private func playground() async throws -> Playground {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder) + """
                  - id: broken
                    kind: command
                    retry: { attempts: 1 }
                    options: { command: [/bin/false] }

                """
        }
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        #expect(try await playground.run("run", "upload").status == 0)
        #expect(try await playground.run("run", "refresh").status == 0)
        #expect(try await playground.run("run", "insights").status == 0)
        #expect(try await playground.run("run", "broken").status == 1)
        try playground.writeExport(heartRates: 5)
        #expect(
            try await playground.run("import", "\(playground.folder.path)/export.xml").status == 0)
        return playground
    }

    @Test func `each path has the JSON of its command`() async throws {
        let playground = try await playground()
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let run = try #require(try await playground.lastRun(of: "upload")["run"].number)
        let insight = try #require(
            try await playground.json("insights").elements.first?["id"].text)
        let sample = try #require(
            try await playground.json("outbox", "list").elements.first?["id"].number)
        let pairs: [(path: String, command: [String])] = [
            ("history", ["history"]),
            ("history?job=upload&limit=1", ["history", "upload", "-n", "1"]),
            (
                "history?since=2026-01-01T00:00:00Z&until=2099-12-31",
                [
                    "history", "--since", "2026-01-01T00:00:00Z", "--until", "2099-12-31",
                ]
            ),
            ("runs/\(run)", ["history", "show", "\(run)"]),
            (
                "missed?job=upload&limit=5&since=2026-01-01",
                ["history", "missed", "upload", "-n", "5", "--since", "2026-01-01"]
            ),
            ("metrics", ["metrics"]),
            (
                "metrics/heart_rate?since=2026-10-01",
                [
                    "metrics", "heart_rate", "--since", "2026-10-01",
                ]
            ),
            ("records", ["records"]),
            (
                "records?type=HeartRate&by=raw&since=2026-10-01&until=2026-10-02",
                [
                    "records", "HeartRate", "--by", "raw", "--since", "2026-10-01", "--until",
                    "2026-10-02",
                ]
            ),
            ("records?type=HeartRate&by=month", ["records", "HeartRate", "--by", "month"]),
            (
                "metrics/heart_rate?since=2026-09-01&until=2026-10-01",
                [
                    "metrics", "heart_rate", "--since", "2026-09-01", "--until", "2026-10-01",
                ]
            ),
            ("insights", ["insights"]), ("insights/\(insight)", ["insights", insight]),
            (
                "insights?limit=1&offset=0", ["insights", "--limit", "1", "--offset", "0"]
            ),
            ("analyses?since=90d", ["analyses", "--since", "90d"]), ("outbox", ["outbox"]),
            (
                "outbox/list?state=queued&kind=heart_rate&limit=2",
                [
                    "outbox", "list", "--in-state", "queued", "--type", "heart_rate", "-n", "2",
                ]
            ),
            ("outbox/\(sample)", ["outbox", "show", "\(sample)"]),
            ("sources", ["sources"]), ("notices", ["notices", "list"]), ("profile", ["profile"]),
        ]

        for (path, command) in pairs {
            let told = try await playground.start(command + ["-o", "json"]).finish()
            let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: cookie)
            let head = try await pages.send("HEAD", "/api/v1/\(path)", cookie: cookie)

            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(answer.text == told.output, "\(path)")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(head.status == 200 && head.text == "", "\(path)")
        }
        let absent = try await pages.send(
            "GET", "/api/v1/records?type=HeartRat", cookie: cookie)
        #expect(absent.status == 404)
        #expect(
            try absent.error
                == "the archive has no records of the type `HeartRat`; did you mean `HeartRate`?")
        // What depends on the present.
        for (path, command) in [
            ("status", ["status"]), ("jobs", ["list"]), ("next?count=3", ["next", "-n", "3"]),
            ("explain?job=broken", ["explain", "broken"]), ("summary", ["summary"]),
            ("doctor", ["doctor"]), ("access", ["audit", "log"]),
        ] {
            let told = try await playground.start(command + ["-o", "json"]).finish()
            let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: cookie)

            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(try answer.json.keys == JSONValue(told.output).keys, "\(path)")
            #expect(try answer.json.elements.count == JSONValue(told.output).elements.count)
        }
    }

    @Test func `the session says what the pages begin with`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing("export.xml", with: "export.xml\n    time_zone: Asia/Tokyo")
        }
        let open = try await PagesProgram(playground)
        let closed = try await PagesProgram(playground, ["--read-only"])

        let mine = try await open.send(
            "GET", "/api/v1/session", cookie: try await open.enter()
        ).json
        let other = try await closed.send(
            "GET", "/api/v1/session", cookie: try await closed.enter()
        ).json

        #expect(
            mine.keys == [
                "csrf", "session", "read_only", "zone", "backend", "health", "version", "viewer",
                "account",
            ])
        #expect(mine["viewer"].text == "person" && mine["account"] == .null)
        #expect(mine["zone"].text == "Asia/Tokyo" && mine["read_only"] == .bool(false))
        #expect(other["read_only"] == .bool(true))
        #expect(mine["csrf"].text?.count == 64 && mine["csrf"] != other["csrf"])
    }

    @Test(arguments: [
        ("explain", 400, "`job` is missing"),
        ("explain?job=--help", 400, "`job` is the id of a job"),
        ("explain?job=a%20b", 400, "`job` is the id of a job"),
        ("explain?job=nobody", 404, nil),
        ("history?job=nobody", 404, nil),
        ("history?limit=0", 400, "`limit` is a number from 1 to 10000"),
        ("history?limit=1e3", 400, "`limit` is a number from 1 to 10000"),
        ("history?limit=1&limit=2", 400, "`limit` is given twice"),
        (
            "history?since=yesterday", 400,
            "`since` is a time such as 2026-11-20T06:00:00Z, or a day"
        ),
        (
            "history?config=/tmp/x", 400,
            "there is no parameter of this name; see `clarity-jobs schema api`"
        ),
        ("records?type=HeartRate&by=week", 400, "`by` is one of raw, hour, day, month"),
        ("records?type=-x", 400, "`type` is a type such as `heart_rate` or `HeartRate`"),
        ("records?by=day", 400, nil),
        ("metrics/-x", 400, "`type` is a type such as `heart_rate` or `HeartRate`"),
        ("records?type=Nothing", 404, nil),
        ("records?type=Nothing&since=2026-02-30", 400, nil),
        ("metrics/nothing", 404, nil),
        ("insights?limit=1001", 400, "`limit` is a number from 1 to 1000"),
        ("insights?offset=-1", 400, "`offset` is a number from 0 to 1000000"),
        ("runs/999", 404, "no run 999 in the history"),
        ("runs/-1", 400, "`id` is a number from 1 to 9223372036854775807"),
        ("runs/1/2", 404, "there is no such path"),
        ("outbox/list?state=lost", 400, nil),
        ("profile", 404, nil),
        ("session?x=1", 400, "`session` has no parameters"),
        ("nothing", 404, "there is no such path"),
        ("", 404, "there is no such path"),
    ])
    func `a faulty question gets one clear line`(
        path: String, status: Int, error: String?
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: cookie)

        #expect(answer.status == status, "\(answer.text)")
        let told = try #require(try answer.error)
        #expect(!told.isEmpty && !told.contains("\n"))
        if let error { #expect(told == error) }
    }

    @Test func `a command that fails is told of with its line`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let faulty = "version: 1\nbackend: { url: \(playground.url) }\njobs: 7\n"
        try playground.folder.write("jobs.yaml", Array(faulty.utf8))

        let answer = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)

        #expect(answer.status == 503)
        #expect(try answer.error?.contains("jobs.yaml:3:7:") == true)
    }
}
