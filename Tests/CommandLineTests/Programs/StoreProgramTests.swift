import ClarityTestSupport
import ClarityHost
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

/// A history and health data in PostgreSQL, through the built programs.
@Suite(
    "A state in PostgreSQL", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct StoreProgramTests {
    /// A server that asks for passwords, which the tests of this suite share.
    static let starting = Task { try await PostgresServer(asksPasswords: true) }

    /// A playground whose state is in a database of its own, without tables yet.
    struct Place {
        var playground: Playground
        var server: PostgresServer
        var database: ServerAddress
    }

    func place(_ jobs: String, accounts: String = "") async throws -> Place {
        let server = try await StoreProgramTests.starting.value
        var database = try server.makeDatabase()
        // Roles belong to a server and not to a database.
        database.user = "users_\(database.database)"
        try server.administrator().execute(
            "CREATE ROLE \(database.user) LOGIN PASSWORD 'invented'")
        let playground = try await Playground()
        try playground.folder.write("pass", Array("*:*:*:*:invented\n".utf8))
        try playground.write { url, folder in
            var address = database
            address.passwordFile = "\(folder)/pass"
            return """
                version: 1
                backend: { url: \(url), retry_wait: 1ms }
                store: { url: "\(address.uri)" }
                sources: [{ kind: apple-health-export, path: "\(folder)/export.xml\(accounts.isEmpty ? "" : "/{account}")" }]
                \(accounts)
                jobs:
                \(jobs)

                """
        }
        return Place(playground: playground, server: server, database: database)
    }

    static let upload = "  - { id: upload, kind: bulk-upload }"

    func make(_ place: Place) async throws {
        let made = try await place.playground.run("store", "init", "--apply", "--owner", "admin")
        try #require(made.status == 0, "\(made.errors)")
    }

    @Test func `a sample goes from an export through the database to the backend, once`()
        async throws
    {
        let place = try await place(StoreProgramTests.upload)
        let playground = place.playground
        let before = try await playground.run("run", "upload")
        try await make(place)
        try await playground.logIn()
        try playground.writeExport(heartRates: 300)
        let status = try await playground.json("store", "status")
        let first = try await playground.run("run", "upload")
        let again = try await playground.run("run", "upload", "--force")
        let audit = try await playground.run("audit")
        let dryRun = try await playground.run("dry-run", "upload")

        #expect(before.status == 69)
        #expect(before.errors.contains("make it with `clarity-jobs store init`"))
        #expect(
            status.keys == [
                "url", "server_version", "history_version", "health_version", "loops",
                "missing_roles",
            ])
        #expect(status["missing_roles"].elements.isEmpty && status["loops"].elements.isEmpty)
        #expect(first.status == 0, "\(first.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(audit.status == 0, "\(audit.output)\(audit.errors)")
        #expect(audit.output.contains("the outbox is sound: 300 samples"), "\(audit.output)")
        #expect(dryRun.status == 0, "\(dryRun.errors)")
        #expect(try await #require(playground.sandbox).count("distinct_metric_ids") == 300)
        #expect(try await #require(playground.sandbox).count("metrics") == 300)
        // Nothing of it is in a file here, and the server has no key.
        let files = try playground.folder.contents().keys.filter { $0.hasPrefix("state/") }
        #expect(!files.contains { $0.contains(".db") }, "\(files)")
        let name = place.database.database
        for (command, help) in [
            (
                ["backup"],
                "as its superuser, back it up with `pg_dump -n clarity_history -n clarity_health "
                    + "\(name) > clarity.sql`, and keep the master keys elsewhere"
            ),
            (
                ["restore"],
                "stop the loops, `DROP SCHEMA clarity_health, clarity_history CASCADE` in it, give it "
                    + "the dump as its superuser with `psql -v ON_ERROR_STOP=1 \(name) < "
                    + "clarity.sql`, and accept the older state with `clarity-jobs audit --repair`"
            ),
        ] {
            let refused = try await playground.start(command).finish()
            #expect(refused.status == 78, "\(command)")
            #expect(refused.errors.contains("works on files"), "\(refused.errors)")
            #expect(refused.errorLines.last == "help: \(help)")
        }
    }

    @Test func `migrate changes nothing of this version, and says what one of no release needs`()
        async throws
    {
        let place = try await place(StoreProgramTests.upload)
        let playground = place.playground
        try await make(place)
        try await playground.logIn()
        try playground.writeExport(heartRates: 300)
        let admin = try place.server.administrator(of: place.database.database)
        let made = try StoreProgramTests.form(of: admin)
        func migrate() async throws -> ProgramResult {
            try await playground.run("store", "migrate", "--apply", "--owner", "admin")
        }

        let migrated = try await migrate()
        let upload = try await playground.run("run", "upload")
        let after = try StoreProgramTests.form(of: admin)
        try admin.execute("UPDATE clarity_history.schema_version SET version = version - 1")
        let refused = [try await playground.run("run", "upload"), try await migrate()]

        #expect(migrated.status == 0, "\(migrated.errors)")
        #expect(after == made)
        #expect(upload.status == 0, "\(upload.errors)")
        // It is known who is logged in.
        #expect(
            try admin.all("SELECT account FROM clarity_health.logins") { $0.text(0) } == ["-"])
        #expect(refused.map(\.status) == [69, 78])
        for result in refused {
            #expect(result.errors.contains("of a build before the first release with databases"))
        }
    }

    /// Returns the columns, rights, policies, triggers and versions of the tables.
    private static func form(of admin: ServerConnection) throws -> [String] {
        try admin.all(
            """
            SELECT concat_ws(' ', table_schema, table_name, column_name, data_type, is_nullable,
                column_default)
                FROM information_schema.columns WHERE table_schema LIKE 'clarity%'
            UNION ALL SELECT concat_ws(' ', table_schema, table_name, column_name, grantee,
                privilege_type)
                FROM information_schema.column_privileges WHERE table_schema LIKE 'clarity%'
            UNION ALL SELECT concat_ws(' ', relname, relacl, relrowsecurity, relforcerowsecurity)
                FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'clarity%'
            UNION ALL SELECT concat_ws(' ', schemaname, tablename, policyname, roles, cmd, qual)
                FROM pg_policies
            UNION ALL SELECT concat_ws(' ', tgname, tgrelid::regclass) FROM pg_trigger
                WHERE NOT tgisinternal
            UNION ALL SELECT concat_ws(' ', 'history', version) FROM clarity_history.schema_version
            UNION ALL SELECT concat_ws(' ', 'health', version) FROM clarity_health.schema_version
            """
        ) { $0.text(0) }.sorted()
    }

    @Test func `an account's role needs its password and sees no other account`() async throws {
        let place = try await place(
            StoreProgramTests.upload,
            accounts: "accounts: [{ id: anna }, { id: ben }]")
        let playground = place.playground
        let key = String(repeating: "7", count: 64)
        let made = try await playground.run(
            "store", "init", "--apply", "--owner", "admin", environment: ["CLARITY_JOBS_KEY": key])
        try #require(made.status == 0, "\(made.errors)")
        let login = try await playground.run(
            "--account", "anna", "auth", "login", "--email", "demo@example.com",
            "--password-stdin", input: "Demo-Passw0rd!\n", environment: ["CLARITY_JOBS_KEY": key])
        let otherKey = try await playground.run(
            "--account", "anna", "outbox", "list",
            environment: ["CLARITY_JOBS_KEY": String(repeating: "8", count: 64)])
        let bens = try await playground.run(
            "--account", "ben", "auth", "status", environment: ["CLARITY_JOBS_KEY": key])

        // Anna's data gets the keys that follow from another master key; ben's keeps its own.
        let newKey = String(repeating: "9", count: 64)
        let rotated = try await playground.run(
            "--account", "anna", "key", "rotate", "--new-key-variable", "NEW_KEY",
            environment: ["CLARITY_JOBS_KEY": key, "NEW_KEY": newKey])
        let former = try await playground.run(
            "--account", "anna", "auth", "status", environment: ["CLARITY_JOBS_KEY": key])
        let present = try await playground.run(
            "--account", "anna", "auth", "status", environment: ["CLARITY_JOBS_KEY": newKey])
        let bensAfter = try await playground.run(
            "--account", "ben", "auth", "status", environment: ["CLARITY_JOBS_KEY": key])

        #expect(rotated.status == 0, "\(rotated.errors)")
        #expect(
            rotated.output.contains("put the new key into the variable `CLARITY_JOBS_KEY`"),
            "\(rotated.output)")
        #expect(former.errors.contains("copy the new one to this machine"), "\(former.errors)")
        #expect(present.status == 0, "\(present.errors)")
        #expect(bensAfter.errors == bens.errors)
        #expect(login.status == 0, "\(login.errors)")
        #expect(otherKey.status != 0)
        #expect(otherKey.errors.contains("password authentication failed"), "\(otherKey.errors)")
        #expect(bens.errors.contains("nobody is logged in"), "\(bens.errors)")
        // The schedulers' role learns who is logged in, and nothing else.
        var scheduler = place.database
        scheduler.password = "invented"
        let connection = try ServerConnection(scheduler, schema: "clarity_health")
        #expect(try connection.all("SELECT account FROM logins") { $0.text(0) } == ["anna"])
        for query in [
            "SELECT account FROM session", "SELECT * FROM outbox", "SELECT 1 FROM canary",
        ] {
            let error = #expect(throws: DatabaseError.self) {
                _ = try connection.integer(query)
            }
            #expect(error?.kind == .access, "\(query)")
        }
        // The history has no rows of one account, so no account's role reaches it.
        let admin = try place.server.administrator(of: place.database.database)
        let tables = try admin.all(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'clarity_history'"
        ) { $0.text(0) }
        try admin.execute("SET ROLE \"\(place.database.user)/anna\"")
        #expect(tables.count > 15)
        for table in tables {
            let error = #expect(throws: DatabaseError.self) {
                _ = try admin.integer("SELECT 1 FROM clarity_history.\(table)")
            }
            #expect(error?.kind == .access, "\(table)")
        }
    }

    @Test func `a state moves into a database and back, and no sample is sent twice`() async throws
    {
        let place = try await place(StoreProgramTests.upload)
        let playground = place.playground
        let sandbox = try #require(playground.sandbox)
        let onServer = try TemporaryFolder.read(playground.jobFilePath)
        let onFiles = Array(
            String(decoding: onServer, as: UTF8.self)
                .replacing(try Regex("store: .*\\n"), with: "").utf8)
        try playground.folder.write("jobs.yaml", onFiles)
        try await playground.logIn()
        try playground.writeExport(heartRates: 300)
        _ = try await playground.run("run", "upload")
        try playground.writeExport(heartRates: 350)
        _ = try await playground.run("import", "\(playground.folder.path)/export.xml")

        try playground.folder.write("jobs.yaml", onServer)
        try await make(place)
        let copied = try await playground.run("store", "copy", "--to", "database")
        let again = try await playground.json("store", "copy", "--to", "database")
        let upload = try await playground.run("run", "upload")
        let late = try await playground.run("store", "copy", "--to", "database")
        let audits = [
            try await playground.run("audit"), try await playground.run("audit", "log", "--verify"),
        ]
        let log = try await playground.run("audit", "log")
        try playground.folder.write("jobs.yaml", onFiles)
        let former = try await playground.run("auth", "status")

        #expect(copied.status == 0, "\(copied.errors)")
        #expect(copied.outputLines.allSatisfy { $0.contains("the same in both places") })
        #expect(again.keys == ["to", "parts"])
        #expect(again["parts"].elements.allSatisfy { Set($0.keys) == ["name", "outcome", "rows"] })
        #expect(again["parts"].elements.map { $0["outcome"].text } == ["same", "same"])
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(late.status == 1 && late.errors.contains("left as it is"), "\(late.errors)")
        for audit in audits { #expect(audit.status == 0, "\(audit.output)\(audit.errors)") }
        #expect(log.output.contains("store copy"), "\(log.output)")
        #expect(former.errors.contains("nobody is logged in"), "\(former.errors)")
        #expect(try await sandbox.count("metrics") == 350)
        #expect(try await sandbox.count("distinct_metric_ids") == 350)

        // Back, into a folder without data.
        let (state, other) = (playground.statePath, "\(playground.folder.path)/former")
        try #require(rename(state, other) == 0 && mkdir(state, 0o700) == 0)
        try #require(rename("\(other)/keys", "\(state)/keys") == 0)
        try playground.folder.write("jobs.yaml", onServer)
        let back = try await playground.run("store", "copy", "--to", "files")
        let backAgain = try await playground.json("store", "copy", "--to", "files")
        try playground.folder.write("jobs.yaml", onFiles)
        try playground.writeExport(heartRates: 360)
        let last = try await playground.run("run", "upload")
        let runs = try await playground.json("history").elements.compactMap { $0["run"].number }

        #expect(back.status == 0, "\(back.errors)")
        #expect(backAgain["parts"].elements.map { $0["outcome"].text } == ["same", "same"])
        #expect(last.status == 0, "\(last.errors)")
        for words in [["audit"], ["audit", "log", "--verify"]] {
            let audit = try await playground.start(words).finish()
            #expect(audit.status == 0, "\(audit.output)\(audit.errors)")
        }
        #expect(runs.count == 3 && Set(runs).count == 3, "\(runs)")
        #expect(try await sandbox.count("metrics") == 360)
        #expect(try await sandbox.count("distinct_metric_ids") == 360)
    }

    @Test func `nothing is copied while a loop uses either place`() async throws {
        let place = try await place(
            "  - { id: tick, kind: command, options: { command: [/bin/true] }, schedule: { every: 1s } }"
        )
        let playground = place.playground
        try await make(place)
        let elsewhere = try playground.start(
            ["loop"], environment: ["CLARITY_JOBS_STATE": "\(playground.folder.path)/elsewhere"])
        _ = try await line(of: elsewhere, with: "tick: succeeded")
        let onServer = try await playground.run("store", "copy", "--to", "files")
        elsewhere.signal(SIGTERM)
        _ = await elsewhere.finish()
        let here = try playground.start(["loop"])
        _ = try await line(of: here, with: "tick: succeeded")
        let onFiles = try await playground.run("store", "copy", "--to", "files")
        here.signal(SIGTERM)
        _ = await here.finish()

        #expect(onServer.status == 69 && onServer.errors.contains("stop all loops"))
        #expect(onFiles.status == 69 && onFiles.errors.contains("stop the loop"))
        for words in [["--to", "cloud"], []] {
            let wrong = try await playground.start(["store", "copy"] + words).finish()
            #expect(wrong.status == 64 && wrong.errors.contains("`database` or `files`"))
        }
    }

    @Test func `when the leading loop is killed, the standby takes over`() async throws {
        let place = try await place(
            "  - { id: tick, kind: command, options: { command: [/bin/true] }, schedule: { every: 1s } }"
        )
        let playground = place.playground
        try await make(place)
        let first = try playground.start(["loop"])
        _ = try await line(of: first, with: "tick: succeeded")
        let second = try playground.start(["loop"])
        _ = try await line(of: second, with: "loop over")
        while try await !playground.run("store", "status").output.contains("ready to take over") {}
        first.signal(SIGKILL)
        _ = await first.finish()
        _ = try await line(of: second, with: "tick: succeeded")

        // A loop whose sessions the server ends comes back by itself.
        try place.server.endSessions(of: place.database.database)
        _ = try await line(of: second, with: "tries again")
        _ = try await line(of: second, with: "tick: succeeded")
        second.signal(SIGTERM)
        let end = await second.finish()
        let history = try await playground.run("audit")
        let shown = try await playground.json("history", "show", "1")
        let host = HostIdentity.name
        #expect(shown["attempt_list"].elements.first?["machine"].text == host)

        #expect(end.status == 143)
        #expect(history.status == 0, "\(history.output)\(history.errors)")
    }

    /// Reads the lines of a loop up to one with a text.
    private func line(of loop: ChildProgram, with text: String) async throws -> String {
        while true {
            let line = try #require(await loop.readErrorLine())
            if line.contains(text) { return line }
        }
    }
}
