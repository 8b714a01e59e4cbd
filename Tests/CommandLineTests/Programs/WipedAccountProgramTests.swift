import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// What stays of an account after `accounts remove --wipe`, in files and in PostgreSQL.
@Suite("What stays of a wiped account", .timeLimit(.minutes(5)))
struct WipedAccountProgramTests {
    private let family = AccountsProgramTests()
    private let say =
        "  - { id: say, kind: command, retry: { attempts: 1 }, options: { command: "
        + "[sh, -c, 'echo printed by $CLARITY_JOB; exit 3'] } }\n"
    /// What the program of anna's job prints.
    private let printed = "printed by anna/say"

    private func playground() async throws -> Playground {
        let playground = try await family.playground()
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in text + say }
        return playground
    }

    private func contains(_ text: String, in files: [String: [UInt8]]) -> [String] {
        files.filter { $0.value.contains(Array(text.utf8)) }.keys.sorted()
    }

    /// Opens what was saved of anna's rows with all that whoever has the master key can derive.
    private func open(_ folder: String) throws -> HealthStore {
        let anna = try #require(AccountID("anna"))
        let environment = AccountEnvironment(["CLARITY_JOBS_KEY": family.key], secretVariables: [])
        return try HealthStore(
            stateDirectory: folder,
            environment: try environment.variables(for: anna, keyVariable: nil))
    }

    private func folder(_ name: String, _ playground: Playground) throws -> String {
        let path = "\(playground.folder.path)/\(name)"
        try #require(mkdir(path, 0o700) == 0)
        return path
    }

    @Test func `the account's key goes, and what was saved of its rows opens no more`() async throws
    {
        let playground = try await playground()
        try await family.logIn(["anna", "ben"], playground)
        try await family.upload(3, as: "anna", playground)
        let files = try playground.folder.contents()
        // Anna's rows without her key, as a disk keeps blocks, and with it.
        let (rows, whole) = (try folder("rows", playground), try folder("whole", playground))
        for (name, bytes) in files where name.hasPrefix("state/accounts/anna/") {
            let name = name.split(separator: "/").last ?? ""
            if name.hasPrefix("health.db") { try playground.folder.write("rows/\(name)", bytes) }
            if !bytes.isEmpty { try playground.folder.write("whole/\(name)", bytes) }
        }
        let key = files["state/accounts/anna/account.key"] ?? []
        var status = stat()
        stat("\(playground.statePath)/accounts/anna/account.key", &status)

        let removed = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes")

        #expect(removed.status == 0, "\(removed.errors)")
        #expect(key.count > 64 && status.st_mode & 0o777 == 0o600)
        #expect(try open(whole).outbox.size() == 3)
        #expect(throws: HealthStoreError.self) { try open(rows) }
        let left = try playground.folder.contents().filter { $0.key.hasPrefix("state/") }
        #expect(!left.keys.contains { $0.hasPrefix("state/accounts/anna") })
        #expect(!left.values.contains { !key.isEmpty && $0.contains(key) })
        // Ben's data is as before.
        let ben = try await family.run(playground, "--account", "ben", "auth", "status")
        #expect(ben.status == 0, "\(ben.errors)")
    }

    @Test func `a backup made before opens with the master key, in an empty state directory too`()
        async throws
    {
        let playground = try await playground()
        try await family.logIn(["anna"], playground)
        try await family.upload(3, as: "anna", playground)
        let nas = "\(playground.folder.path)/nas"
        let made = try await family.run(playground, "backup", nas, "--all")
        let name = try #require(
            try playground.folder.contents().keys.first {
                $0.hasPrefix("nas/anna/") && $0.split(separator: "/").count == 3
            })
        // The machine is lost. The loop of the next one has begun anna's data anew.
        try #require(rename(playground.statePath, "\(playground.folder.path)/lost") == 0)
        let begun = try await family.run(playground, "run", "anna/upload")
        try #require(unlink("\(playground.statePath)/accounts/anna/health.db") == 0)
        let restored = try await family.run(
            playground, "--account", "anna", "restore", "\(playground.folder.path)/\(name)")
        let outbox = try await family.run(playground, "--account", "anna", "outbox", "-o", "json")
        let rotated = try await family.run(playground, "--account", "anna", "key", "rotate")
        let after = try await family.run(
            playground, "--account", "anna", "audit", "log", "--verify")

        #expect(made.status == 0 && begun.status == 75, "\(made.errors)\(begun.errors)")
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try JSONValue(outbox.output)["outbox"]["samples"].number == 3)
        #expect(rotated.status == 0, "\(rotated.errors)")
        #expect(after.status == 0, "\(after.errors)")
    }

    @Test func `what its programs wrote goes from the history, and the runs stay`() async throws {
        let playground = try await playground()
        try await family.logIn(["anna", "ben"], playground)
        try await family.upload(3, as: "anna", playground)
        for id in ["anna", "ben"] {
            let said = try await family.run(playground, "run", "\(id)/say")
            #expect(said.status == 1, "\(said.errors)")
        }
        let before = try await family.run(playground, "history", "-o", "json")
        let wasThere = contains(printed, in: try playground.folder.contents())

        let removed = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes")
        let after = try await family.run(playground, "history", "-o", "json")
        let backup = try await family.run(
            playground, "backup", "\(playground.folder.path)/nas", "--all")

        #expect(removed.status == 0 && backup.status == 0, "\(removed.errors)\(backup.errors)")
        #expect(wasThere.contains { $0.hasPrefix("state/history.db") }, "\(wasThere)")
        #expect(contains(printed, in: try playground.folder.contents()) == [])
        #expect(
            try !contains("printed by ben/say", in: playground.folder.contents()).isEmpty)
        let runs = (try JSONValue(before.output).elements, try JSONValue(after.output).elements)
        #expect(runs.0.count == runs.1.count && runs.1.count == 3)
        for (old, new) in zip(runs.0, runs.1) {
            for member in ["run", "job", "state", "started_at", "finished_at", "counts"] {
                #expect(old[member] == new[member], "\(member)")
            }
            guard new["job"].text?.hasPrefix("anna/") == true else { continue }
            #expect(new["notes"].elements.isEmpty)
            #expect(
                new["failure"].text ?? ""
                    == (new["state"].text == "failed" ? "removed with its account" : ""))
        }
    }

    @Test func `a removal that was cut short after its receipt is finished by the same command`()
        async throws
    {
        let playground = try await playground()
        try await family.logIn(["anna", "ben"], playground)
        try await family.upload(3, as: "anna", playground)
        _ = try await family.run(playground, "run", "anna/say")
        let history = try TemporaryFolder.read("\(playground.statePath)/history.db")
        let first = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes", "-o", "json")
        // As it was before the steps that follow the receipt.
        let receipt = "state/accounts/.removed/anna.json"
        try playground.folder.write(
            receipt,
            Array(first.output.replacing("\"finished\": true", with: "\"finished\": false").utf8))
        for end in ["-wal", "-shm"] { unlink("\(playground.statePath)/history.db\(end)") }
        try playground.folder.write("state/history.db", history)
        _ = try folder("state/accounts/anna", playground)
        try playground.folder.write("state/accounts/anna/account.key", [1, 2, 3])
        let shown = try await family.run(playground, "accounts", "show", "anna")

        let second = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes", "-o", "json")

        #expect(first.output.contains("\"finished\": true"), "\(first.output)")
        #expect(shown.output.contains("the removal is not finished: run it again"))
        #expect(second.status == 0 && second.output == first.output, "\(second.errors)")
        #expect(!family.exists("state/accounts/anna", playground))
        #expect(contains(printed, in: try playground.folder.contents()) == [])
    }

    @Test(.enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
    func `no row of a wiped account stays in any table of a database`() async throws {
        let server = try await PostgresServer()
        let database = try server.makeDatabase()
        let playground = try await playground()
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in text.placed(in: database) }
        for id in ["anna", "ben", "kid"] {
            try playground.folder.write("accounts.d/\(id).yaml", Array("enabled: true\n".utf8))
        }
        let made = try await family.run(
            playground, "store", "init", "--apply", "--owner", "admin")
        try #require(made.status == 0, "\(made.errors)")
        for id in ["anna", "ben", "kid"] {
            let login = try await family.run(
                playground, "--account", id, "auth", "login", "--email", "demo@example.com",
                "--password-stdin", input: "Demo-Passw0rd!\n")
            try #require(login.status == 0, "\(login.errors)")
            try await family.upload(3, as: id, playground)
            _ = try await family.run(playground, "run", "\(id)/say")
        }
        let admin = try server.administrator(of: database.database)
        let tables = try admin.all(
            """
            SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE attname = 'account' AND relkind = 'r' AND relnamespace = 'clarity_health'::regnamespace
            """
        ) { $0.text(0) }
        let all = try admin.all(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname LIKE 'clarity%'"
        ) { $0.text(0) }
        func filled(by account: String) throws -> Set<String> {
            Set(
                try tables.filter { table in
                    try admin.integer(
                        "SELECT count(*) FROM \(table) WHERE account = ?", .text(account)) != 0
                })
        }
        func hex(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        func mention(of text: String) throws -> [String] {
            try all.filter { table in
                // Outputs are bytes.
                try [text, hex(text.utf8)].contains { text in
                    try admin.integer(
                        "SELECT count(*) FROM \(table) AS entry WHERE CAST(entry AS text) LIKE ?",
                        .text("%\(text)%")) != 0
                }
            }
        }
        try admin.execute("ANALYZE")
        let columns = Set(
            try admin.all("SELECT attname FROM pg_stats WHERE schemaname = 'clarity_health'") {
                $0.text(0)
            })
        // What the history counts besides when runs are missed or wait.
        try admin.execute(
            """
            SET search_path = clarity_history;
            INSERT INTO occurrence_fates (job_id, era, first_ms, latest_ms, occurrences, fate)
                VALUES ('anna/say', 0, 1, 1, 1, 'skipped');
            INSERT INTO wait_totals (job_id, reason, sum_ms) VALUES ('anna/say', 'paused', 1);
            INSERT INTO machines (owner, mark, name, labels, places, conditions, sources, revision)
                VALUES ('nas/1-1', 'x', 'nas', '', 1, '{}', 'only: anna ben', 1);
            RESET search_path;
            """)
        let before = (anna: try filled(by: "anna"), ben: try filled(by: "ben"))
        let named = try mention(of: "anna")
        let ofJobs = try admin.all(
            """
            SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE attname = 'job_id' AND relkind = 'r'
            """
        ) { $0.text(0) }
        let lastRun = try #require(
            try admin.integer("SELECT max(id) FROM clarity_history.runs"))
        // What a dump of before the wipe has of anna, with and without her key.
        let place = try HealthServerPlace(
            address: database, account: "anna", folder: "/nowhere", key: nil)
        for name in ["rows", "whole"] {
            let file = try FileConnection(path: "\(try folder(name, playground))/health.db")
            try HealthSchema.migrations.migrate(file)
            let source = try place.open(keyID: "")
            try source.snapshot { _ = try TableCopy(from: source, to: file).run() }
        }
        let key = try #require(
            try admin.first(
                "SELECT wrapped FROM clarity_health.account_key WHERE account = 'anna'"
            ) { $0.blob(0) })
        try playground.folder.write("whole/account.key", Array((hex(key) + "\n").utf8))
        chmod("\(playground.folder.path)/whole/account.key", 0o600)

        // Kid's rows are deleted by somebody who may not clean the tables.
        let kids = try await family.run(
            playground, "accounts", "remove", "kid", "--wipe", "--yes")
        try admin.execute("GRANT admin TO clarity")
        let removed = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes")
        let again = try await family.run(playground, "accounts", "remove", "anna", "--wipe")
        let others = try await family.run(playground, "--account", "ben", "outbox", "-o", "json")
        let history = try JSONValue(
            try await family.run(playground, "history", "-o", "json").output
        ).elements
        // The last run was kid's.
        _ = try await family.run(playground, "run", "ben/say")
        let next = try #require(
            try admin.integer("SELECT max(id) FROM clarity_history.runs"))

        #expect(columns.contains("account") && columns.isDisjoint(with: ["sealed", "wrapped"]))
        #expect(kids.status == 0, "\(kids.errors)")
        #expect(
            kids.errors.contains("VACUUM (FULL) clarity_health.account_key; VACUUM (ANALYZE);"),
            "\(kids.errors)")
        #expect(removed.status == 0 && !removed.errors.contains("VACUUM"), "\(removed.errors)")
        #expect(again.status == 0 && again.output == removed.output, "\(again.errors)")
        for table in ["canary", "audit", "audit_head", "owner", "tenancy", "outbox", "account_key"]
        {
            #expect(before.anna.contains("clarity_health.\(table)"), "\(before.anna)")
        }
        #expect(try filled(by: "anna") == [] && filled(by: "kid") == [])
        #expect(try filled(by: "ben") == before.ben)
        #expect(named.contains("clarity_health.outbox"))
        #expect(named.contains("clarity_history.machines"))
        #expect(
            try admin.all("SELECT sources FROM clarity_history.machines") { $0.text(0) }
                == ["only: ben"])
        #expect(ofJobs.count >= 7 && Set(ofJobs).isSubset(of: named), "\(ofJobs) \(named)")
        for text in [printed, "anna", "kid"] { #expect(try mention(of: text) == [], "\(text)") }
        #expect(try !mention(of: "printed by ben/say").isEmpty)
        for errors in [removed.errors, kids.errors] {
            #expect(
                errors.contains(
                    "the server's write-ahead log and its backups keep deleted rows until they expire"
                ))
        }
        #expect(Set(history.map { $0["job"].text }) == ["ben/say", "ben/upload"])
        #expect(next > lastRun, "the number of a run is used again")
        #expect(try JSONValue(others.output)["outbox"]["samples"].number == 3)
        // The pages of the table with the keys are new.
        try admin.execute("CHECKPOINT")
        let page = try admin.first(
            """
            SELECT pg_read_binary_file(pg_relation_filepath('clarity_health.account_key'))
            """
        ) { $0.blob(0) }
        #expect(page?.contains(key) == false)
        #expect(try open("\(playground.folder.path)/whole").outbox.size() == 3)
        #expect(throws: HealthStoreError.self) {
            try open("\(playground.folder.path)/rows")
        }
    }
}

extension Outbox {
    /// The number of samples.
    fileprivate func size() throws -> Int64 {
        let counts = try counts()
        return OutboxState.allCases.reduce(0) { $0 + counts[$1] }
    }
}
