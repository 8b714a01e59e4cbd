import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// An owner of an export who has no server finds the program whole, and loses nothing by adding a
/// server later.
@Suite("Without a server", .timeLimit(.minutes(5)))
struct NoServerProgramTests {
    private static let read = "  - { id: read, kind: import, schedule: { every: 1h } }\n"
    private static let upload = "  - { id: upload, kind: bulk-upload, schedule: { every: 1h } }\n"

    private static func jobFile(
        _ folder: String, backend: String = "", jobs: String = read
    ) -> String {
        """
        version: 1
        \(backend)
        sources:
          - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
          - { kind: spool, path: \(folder)/spool }
        jobs:
        \(jobs)
        """
    }

    /// Returns a playground with a source of each kind and no backend in its job file.
    private func playground(
        jobs: String = read, sandboxOptions: [String]? = nil
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: sandboxOptions) { _, folder in
            Self.jobFile(folder, jobs: jobs)
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        return playground
    }

    /// Adds the sandbox to the job file, with a job that uploads.
    private func addServer(_ playground: Playground) async throws {
        try playground.write { url, folder in
            Self.jobFile(
                folder, backend: "backend: { url: \(url), retry_wait: 1ms }",
                jobs: Self.read + Self.upload)
        }
        try await playground.logIn()
    }

    private func sample(_ minute: Int) -> [UInt8] {
        Array(
            "{\"kind\":\"heart_rate\",\"start\":\"2026-01-02T03:\(10 + minute):05Z\",\"value\":61}\n"
                .utf8)
    }

    @Test func `a job file needs no backend, and a job that needs one is held by name`()
        async throws
    {
        let playground = try await playground(
            jobs: Self.read + "  - { id: fetch, kind: refresh, schedule: { every: 1h } }\n")
        try playground.writeExport(heartRates: 3)

        let due = try await playground.run("run", "--due")
        let validated = try await playground.run("validate")
        let list = try await playground.json("list").elements
        let status = try await playground.run("status")

        let place = "\(playground.jobFilePath):8:24: "
        let fault =
            "job `fetch` is of the kind `refresh`, which needs a server, and the file has no "
            + "`backend`"
        let help = "add `backend: { url: https://... }`, or remove the job"
        #expect(due.status == 65 && due.errors.contains(place + fault), "\(due.errors)")
        #expect(
            validated.status == 65
                && validated.errorLines.prefix(2) == [place + fault, "help: \(help)"],
            "\(validated.errors)")
        #expect(list.map { $0["state"].text } == ["idle", "held"])
        #expect(status.outputLines.first == "fetch: HELD: \(place)\(fault); \(help)")
        let read = try await playground.lastRun(of: "read")
        #expect(read["state"].text == "succeeded")
    }

    @Test func `every kind that sends to the backend or fetches from it says so without one`()
        async throws
    {
        let kinds = [
            "refresh", "bulk-upload", "processing-status", "pat-analysis", "insight-generate",
            "insight-history",
        ]
        let others = ["import", "cleanup", "notify"]
        let playground = try await playground(
            jobs: (kinds + others).map { "  - { id: \($0), kind: \($0), on: [boot] }\n" }.joined())

        let validated = try await playground.run("validate")

        #expect(
            validated.errorLines.filter { $0.contains("needs a server") }.map {
                $0.split(separator: "`")[1]
            } == kinds.map { Substring($0) }, "\(validated.errors)")
        #expect(validated.errorLines.count == 2 * kinds.count)
    }

    @Test func `accounts share the one fault of a job that needs a server`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources: [{ kind: spool, path: "\(folder)/{account}" }]
            accounts: [{ id: anna }, { id: bert, time_zone: Asia/Tokyo }]
            jobs:
              - { id: fetch, kind: refresh, schedule: { every: 1h } }
              - { id: read, kind: import, schedule: { every: 1h } }

            """
        }

        let validated = try await playground.run("validate")
        let due = try await playground.run("run", "--due")
        let list = try await playground.json("list").elements

        #expect(validated.errors.ranges(of: "needs a server").count == 1, "\(validated.errors)")
        #expect(due.errors.ranges(of: "needs a server").count == 1, "\(due.errors)")
        #expect(list.map { $0["state"].text == "held" } == [true, false, true, false])
    }

    @Test func `an import accounts for every record, and says new where nothing is queued`()
        async throws
    {
        let playground = try await playground()
        try playground.useExample("export.zip")
        try playground.folder.write("spool/a.ndjson", sample(0) + sample(1))

        let run = try await playground.run("run", "read")
        let first = try await playground.lastRun(of: "read")["counts"]
        _ = try await playground.run("run", "read")
        let second = try await playground.lastRun(of: "read")["counts"]

        #expect(run.status == 0, "\(run.errors)")
        let new = first["samples_new"].number ?? 0
        #expect(run.output.contains(" records: \(new) new; "), "\(run.output)")
        for word in ["queued", " sent"] { #expect(!(run.output + run.errors).contains(word)) }
        #expect(!(run.output + run.errors).contains("no field for"))
        let parts = [
            "new", "duplicate", "paired", "folded", "repeated", "kept_here", "refused",
            "before_since",
        ]
        func count(_ counts: JSONValue, _ name: String) -> Int {
            counts["samples_\(name)"].number ?? 0
        }
        #expect(count(first, "read") > 2000)
        #expect(count(first, "read") == parts.reduce(0) { $0 + count(first, $1) }, "\(first)")
        #expect(count(first, "new") > 0 && first["metrics_new"].number ?? 0 > 0)
        #expect(count(first, "queued") == 0 && first["files_done"].number == 1)
        #expect(count(second, "read") == 0, "\(second)")
    }

    @Test func `an import starts when its source changes, and waits while there is none`()
        async throws
    {
        func playground() async throws -> Playground {
            try await Playground(sandboxOptions: nil) { _, folder in
                """
                version: 1
                sources: [{ kind: apple-health-export, path: "\(folder)/export.xml" }]
                jobs: [{ id: read, kind: import, on: [source-changed] }]

                """
            }
        }
        let (followed, empty) = (try await playground(), try await playground())
        _ = try await followed.run("run", "--due")
        try followed.writeExport(heartRates: 2)

        let due = try await followed.run("run", "--due")
        let waits = try await empty.run("run", "read")

        #expect(due.status == 0, "\(due.errors)")
        let run = try await followed.lastRun(of: "read")
        #expect(run["trigger"].text == "event" && run["state"].text == "succeeded", "\(run)")
        #expect(run["counts"]["samples_new"] == .number(2))
        #expect(waits.status == 75, "\(waits.output)\(waits.errors)")
    }

    @Test func `nothing that is shown belongs to a server`() async throws {
        let playground = try await playground()
        try playground.useExample("export.zip")
        let due = try await playground.run("run", "--due")

        let status = try await playground.run("status")
        let json = try await playground.json("status")
        let shown = [
            ["status"], ["summary"], ["metrics"], ["metrics", "heart_rate", "--since", "3650d"],
            ["insights"], ["sources"], ["archive", "list"], ["records"], ["list"], ["history"],
            ["audit"],
            ["notices", "list"], ["doctor"], ["explain", "read"], ["tonight"],
            ["dry-run", "read"],
        ]

        #expect(due.status == 0, "\(due.errors)")
        #expect(status.status == 0, "\(status.output)\(status.errors)")
        #expect(json["session"] == .null && json["outbox"] == .null)
        #expect(json["goals"].elements.allSatisfy { $0["holds"] == .bool(true) })
        for words in shown {
            let result = try await playground.start(words).finish()
            let text = result.output + result.errors
            #expect([0, 1].contains(result.status), "\(words): \(text)")
            for word in [
                "logged in", "auth login", "outbox", "backend", "synced", "fetched", "queued",
            ] {
                #expect(!text.contains(word), "\(words): \(text)")
            }
        }
    }

    @Test func `records, days, reports and backups need no server`() async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        try playground.useExample("export.zip")
        _ = try await playground.run("run", "--due")

        let days = try await playground.json("metrics", "steps", "--since", "3650d")
        let results = [
            try await playground.run("export-data", "--out", "\(folder)/csv"),
            try await playground.run(
                "export-data", "--out", "\(folder)/fhir", "--format", "fhir"),
            try await playground.run("report", "--out", "\(folder)/month.html"),
            try await playground.run("backup"), try await playground.run("audit"),
        ]
        let exported = try playground.folder.contents()
        let page = String(decoding: exported["month.html"] ?? [], as: UTF8.self)

        #expect(results.map(\.status) == [0, 0, 0, 0, 0], "\(results.map(\.errors))")
        #expect(days["measures"].elements.first?["days"].elements.isEmpty == false, "\(days)")
        #expect(exported.keys.contains { $0.hasPrefix("csv/") && $0.hasSuffix(".csv") })
        #expect(
            exported["fhir/Observation.HKQuantityTypeIdentifierHeartRate.ndjson"]?.isEmpty
                == false)
        #expect(page.contains("What is missing") && !page.contains("No insight was made"))
        #expect(!page.contains("not fetched"))
    }

    @Test func `the pages have no page of a server's, and their data asks nobody to log in`()
        async throws
    {
        let playground = try await playground()
        try playground.useExample("export.zip")
        _ = try await playground.run("run", "--due")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        let status = try await pages.send("GET", "/api/v1/status", cookie: cookie).json
        let outbox = try await pages.send("GET", "/api/v1/outbox", cookie: cookie)
        let records = try await pages.send("GET", "/api/v1/records", cookie: cookie)

        #expect(session["backend"] == .bool(false))
        #expect(status["session"] == .null && status["outbox"] == .null)
        #expect(try outbox.error == "the job file has no `backend`", "\(outbox)")
        #expect(records.status == 200)
    }

    @Test(arguments: [
        ["auth", "login", "--email", "a@example.com"], ["auth", "status"],
        ["auth", "register", "--email", "a@example.com"],
        ["doctor", "--backend"], ["outbox"], ["outbox", "list"], ["outbox", "show", "1"],
        ["outbox", "retry", "--all"], ["outbox", "discard", "--all"],
        ["outbox", "erase", "--all"],
    ])
    func `a command that concerns a server says in one line that there is none`(
        words: [String]
    ) async throws {
        let playground = try await playground()

        let result = try await playground.start(words).finish()

        #expect(result.status == 78 && result.output.isEmpty, "\(result.output)\(result.errors)")
        #expect(
            result.errorLines == [
                "clarity-jobs: the job file has no `backend`",
                "help: name it as `backend: { url: https://... }`",
            ])
    }

    @Test func `a logout without a server keeps the archive, and deletes it on request alone`()
        async throws
    {
        let playground = try await playground()
        try playground.useExample("export.zip")
        _ = try await playground.run("run", "read")
        func records() async throws -> Int {
            try await playground.json("records").elements
                .reduce(0) { $0 + ($1["records"].number ?? 0) }
        }

        let before = try await records()
        let plain = try await playground.run("auth", "logout")
        let yes = try await playground.run("auth", "logout", "--yes")
        let kept = try await records()
        let program = try playground.onTerminal("auth", "logout", "--forget-data")
        _ = await program.read(until: "Nobody else has it. [y/N] ")
        program.type("n\n")
        let declined = await program.finish()
        let stillKept = try await records()
        let forgotten = try await playground.run("auth", "logout", "--forget-data", "--yes")
        let after = try await playground.run("records")
        let again = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(before > 2000 && kept == before && stillKept == before)
        #expect(
            plain.isRefusal(
                78,
                "clarity-jobs: the job file has no `backend`, so nobody is logged in, and the data "
                    + "stays here", "help: --forget-data deletes it"), "\(plain.errors)")
        #expect(
            yes.isRefusal(
                64,
                "clarity-jobs: `auth logout --yes` wants --forget-data, to delete the data without "
                    + "asking", "help: `clarity-jobs auth logout` asks nothing, and keeps the data"),
            "\(yes.errors)")
        #expect(declined.status == 1, "\(declined.screen)")
        #expect(forgotten.status == 0, "\(forgotten.errors)")
        #expect(forgotten.outputLines.first == "removed:", "\(forgotten.output)")
        #expect(!after.output.contains("HeartRate"), "\(after.output)")
        #expect(again.isRefusal(66, "clarity-jobs: no health data is kept here"), "\(again.errors)")
    }

    @Test func `an empty list of what a server computes says why it is empty`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 3)
        _ = try await playground.run("run", "read")

        let insights = try await playground.run("insights")
        let analyses = try await playground.run("analyses")
        let profile = try await playground.run("profile")

        let server = "and the job file names none"
        #expect(
            insights.outputLines == ["no insights are kept: a server makes them, \(server)"],
            "\(insights)")
        #expect(
            analyses.outputLines == ["no week was analysed: a server does that, \(server)"],
            "\(analyses)")
        #expect(
            profile.isRefusal(
                66,
                "clarity-jobs: no profile is kept: a server has it, and the job file has no `backend`"
            ), "\(profile)")
    }

    @Test func `an account without a server is removed with its data`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources: [{ kind: spool, path: "\(folder)/spool/{account}" }]
            accounts: accounts
            jobs: [{ id: read, kind: import, schedule: { every: 1h } }]

            """
        }
        let folder = playground.folder.path
        for path in ["accounts", "spool", "spool/anna"] { mkdir("\(folder)/\(path)", 0o700) }
        try playground.folder.write("accounts/anna.yaml", Array("enabled: true\n".utf8))
        try playground.folder.write("spool/anna/a.ndjson", sample(0) + sample(1))
        let run = try await playground.run("run", "anna/read")

        let status = try await playground.json("status", "--all")
        let removed = try await playground.json("accounts", "remove", "anna", "--wipe", "--yes")

        #expect(run.status == 0, "\(run.errors)")
        #expect(status["accounts"].elements.first?["logged_in"] == .null, "\(status)")
        #expect(removed["session_ended"] == .null, "\(removed)")
        #expect(removed["removed"]["samples"] == .number(2), "\(removed)")
        #expect(try playground.folder.contents().keys.allSatisfy { !$0.contains("accounts/anna") })
    }

    @Test func `a goal is met by what is here, and missed when that is old`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources: [{ kind: spool, path: \(folder)/spool }]
            fresh: { heart_rate: 1h, insights: 1d }
            jobs: [{ id: read, kind: import, schedule: { every: 1h } }]

            """
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        try playground.folder.write("spool/a.ndjson", sample(0))
        _ = try await playground.run("run", "--due")

        let fresh = try await playground.json(
            status: 1, "status", "--now", "2026-01-02T03:40:00Z")["goals"].elements
        let old = try await playground.json(
            status: 1, "status", "--now", "2026-01-02T05:40:00Z")["goals"].elements

        let (heart, later) = (try #require(fresh.first), try #require(old.first))
        #expect(heart["goal"].text == "heart_rate" && heart["holds"] == .bool(true), "\(heart)")
        #expect(later["holds"] == .bool(false), "\(later)")
        #expect(fresh.last?["blame"].text == "no_job", "\(fresh)")
    }

    @Test func `a server that comes later gets each sample once, also what its source has lost`()
        async throws
    {
        let playground = try await playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 1500)
        try playground.folder.write("spool/a.ndjson", sample(0) + sample(1))
        let first = try await playground.run("run", "--due")
        unlink("\(playground.folder.path)/export.xml")
        try playground.folder.write("spool/b.ndjson", sample(1) + sample(2))
        let second = try await playground.run("run", "read")
        let rows = try playground.outboxRows().count
        // What is left of the export has its first record alone.
        try playground.writeExport(heartRates: 1)

        try await addServer(playground)
        let before = try await sandbox.count("uploads")
        let upload = try await playground.run("run", "upload")
        let again = try await playground.run("run", "upload")
        let record = try await sandbox.sends()

        #expect(first.status == 0, "\(first.errors)")
        #expect(second.status != 0 && before == 0)
        #expect(rows == 1, "the others are packed")
        #expect(upload.status == 0 && again.status == 0, "\(upload.errors) \(again.errors)")
        #expect(record.samples.count == 1503)
        #expect(record.samples.allSatisfy { $0.copies == 1 })
        #expect(record.sends.flatMap(\.samples).count == 1503)
        #expect(try await playground.run("audit").status == 0)
    }

    @Test func `status counts every sample that waits for a server that was just added`()
        async throws
    {
        let playground = try await playground(sandboxOptions: [])
        try playground.writeExport(heartRates: 1500)
        try playground.folder.write("spool/a.ndjson", sample(0) + sample(1))
        _ = try await playground.run("run", "--due")
        let rows = try playground.outboxRows().count

        try await addServer(playground)
        let status = try await playground.json(status: 1, "status")
        let all = try await playground.json("outbox")

        #expect(rows < 1502, "the others are packed")
        #expect(status["outbox"]["waiting"] == .number(1502), "\(status["outbox"])")
        #expect(all["outbox"]["waiting"] == .number(1502), "\(all)")
    }

    @Test func `after a logout that removed everything, an archive without a server begins anew`()
        async throws
    {
        let playground = try await playground(sandboxOptions: [])
        try playground.writeExport(heartRates: 3)
        try await addServer(playground)
        _ = try await playground.run("run", "upload")
        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")
        let waits = try await playground.run("run", "read")
        try playground.write { _, folder in Self.jobFile(folder) }

        let read = try await playground.run("run", "read", "--force")
        let last = try await playground.lastRun(of: "read")

        #expect(logout.status == 0, "\(logout.errors)")
        #expect(waits.status == 75, "\(waits.output)\(waits.errors)")
        #expect(read.status == 0, "\(read.output)\(read.errors)")
        #expect(last["counts"]["samples_new"] == .number(3), "\(last)")
    }

    @Test func `what was restored before there was a server was never sent to one`() async throws {
        let playground = try await playground(sandboxOptions: ["--dialect", "loop"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 1500)
        _ = try await playground.run("run", "--due")
        let nas = "\(playground.folder.path)/nas"
        let backup = try await playground.run("backup", nas)
        let name = try #require(
            try playground.folder.contents().keys.first {
                $0.hasSuffix("/health.db")
                    && $0.hasPrefix("nas/")
            })

        let restored = try await playground.run(
            "restore", "\(playground.folder.path)/\(name.dropLast("/health.db".count))")
        try await addServer(playground)
        let upload = try await playground.run("run", "upload")
        let outbox = try await playground.json("outbox")
        let record = try await sandbox.sends()

        #expect(backup.status == 0 && restored.status == 0, "\(restored.errors)")
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(outbox["possibly_doubled"]["samples"] == .number(0), "\(outbox)")
        #expect(record.samples.count == 1500)
        #expect(record.samples.allSatisfy { $0.copies == 1 })
    }

    @Test(arguments: [
        (Faultline.Point.commit, Faultline.When.before, 2), (.commit, .after, 2),
        (.commit, .before, 4), (.commit, .after, 4), (.receive, .before, 2), (.receive, .after, 2),
        (.receive, .before, 3), (.receive, .after, 3),
    ])
    func `a kill in the first upload to a later server doubles nothing and loses nothing`(
        point: Faultline.Point, when: Faultline.When, nth: Int
    ) async throws {
        let playground = try await playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 1500)
        _ = try await playground.run("run", "--due")
        unlink("\(playground.folder.path)/export.xml")
        try await addServer(playground)
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let kill = Faultline.Rule(
            program: .worker, point: point, when: when, nth: nth, action: "kill-both")

        let killed = try await playground.run(
            "run", "upload", environment: faultline.environment(rules: [kill]))
        let next = try await playground.run("run", "upload", "--force")
        let record = try await sandbox.sends()

        #expect(try faultline.struck() == 1)
        #expect(killed.status == 137)
        #expect(next.errors.contains("no file or folder `"), "\(next.errors)")
        #expect(record.samples.count == 1500)
        #expect(record.samples.allSatisfy { $0.copies == 1 })
        #expect(try await playground.run("audit").status == 0)
    }
}
