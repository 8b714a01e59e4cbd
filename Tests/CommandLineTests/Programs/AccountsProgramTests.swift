import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@testable import HealthStore

/// The accounts of a job file, through the built programs: a family's and a study's ways.
@Suite("accounts", .timeLimit(.minutes(5)))
struct AccountsProgramTests {
    let key = String(repeating: "5a", count: 32)

    func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"]) {
            url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            accounts: accounts.d
            sources:
              - { kind: apple-health-export, path: "\(folder)/{account}.xml", time_zone: UTC }
            fresh: { heart_rate: 3650d }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
        try #require(mkdir("\(playground.folder.path)/accounts.d", 0o755) == 0)
        return playground
    }

    func run(
        _ playground: Playground, _ arguments: String..., input: String = ""
    ) async throws -> ProgramResult {
        try await playground.start(arguments, environment: ["CLARITY_JOBS_KEY": key])
            .finish(input: input)
    }

    func password(of id: String) -> String { "Invented-Passw0rd-\(id)!" }

    /// Adds accounts by a table, registers them at the backend, and logs them all in.
    func logIn(_ ids: [String], _ playground: Playground) async throws {
        let table = "id,login\n" + ids.map { "\($0),\($0)@example.org\n" }.joined()
        try playground.folder.write("wearers.csv", Array(table.utf8))
        let path = "\(playground.folder.path)/wearers.csv"
        let added = try await run(playground, "accounts", "add", "--from", path)
        try #require(added.status == 0, "\(added.errors)")
        for id in ids {
            let registered = try await run(
                playground, "--account", id, "auth", "register", "--email", "\(id)@example.org",
                "--first-name", "In", "--last-name", "Vented", "--accept-terms",
                "--password-stdin", input: "\(password(of: id))\n")
            try #require(registered.status == 0, "\(registered.errors)")
        }
        let lines = ids.map { "\($0) \(password(of: $0))\n" }.joined()
        let login = try await run(
            playground, "auth", "login", "--accounts-from", path, "--password-stdin", input: lines)
        try #require(login.status == 0, "\(login.errors)")
    }

    /// Writes an account's export, and uploads it.
    func upload(_ count: Int, as id: String, _ playground: Playground) async throws {
        try playground.writeExport(heartRates: count)
        let path = playground.folder.path
        try #require(rename("\(path)/export.xml", "\(path)/\(id).xml") == 0)
        let result = try await run(playground, "run", "\(id)/upload")
        try #require(result.status == 0, "\(result.errors)")
    }

    func exists(_ path: String, _ playground: Playground) -> Bool {
        access("\(playground.folder.path)/\(path)", F_OK) == 0
    }

    @Test func `a family shares a machine, and each has its own data`() async throws {
        let playground = try await playground()
        try await logIn(["anna", "ben", "kid"], playground)
        try await upload(3, as: "anna", playground)
        try await upload(5, as: "ben", playground)

        let list = try await run(playground, "accounts", "list")
        let status = try await run(playground, "status", "--all")
        let sums = try await run(playground, "outbox", "--all", "-o", "ndjson")
        let text = try await run(playground, "outbox", "--all")
        let audit = try await run(playground, "audit", "--all")
        let out = "\(playground.folder.path)/out"
        let export = try await run(playground, "export-data", "--all", "--out", out, "-o", "json")
        let refused = try await run(
            playground, "export-data", "--all", "--account", "anna", "--out", "\(out)-2")
        let both = try await run(playground, "outbox", "--all", "--account", "anna")

        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 8)
        #expect(list.outputLines.count == 4 && list.errors == "")
        #expect(list.outputLines[1] == "anna     enabled  1     yes   anna@example.org")
        #expect(status.status == 1)
        #expect(status.outputLines.last == "3 accounts: 2 fresh, 1 not known")
        let objects = try sums.outputLines.map { try JSONValue($0) }
        #expect(objects.map { $0["account"].text } == ["anna", "ben", "kid"])
        #expect(objects.map { $0["outbox"]["samples"].number } == [3, 5, 0])
        #expect(text.outputLines.filter { $0.hasSuffix(":") } == ["anna:", "ben:", "kid:"])
        #expect(audit.status == 0, "\(audit.errors)")
        #expect(audit.outputLines.first?.hasPrefix("the history is sound") == true)
        #expect(audit.outputLines.contains("ben:"))
        #expect(export.status == 0, "\(export.errors)")
        let exports = try JSONValue(export.output).elements
        #expect(exports.map { $0["account"].text } == ["anna", "ben"])
        #expect(exports.map { $0["records"].number } == [3, 5])
        #expect(exists("out/ben", playground) && !exists("out/kid", playground))
        #expect(refused.status == 64 && !exists("out-2", playground))
        #expect(
            both.isRefusal(64, "clarity-jobs: --all is for each account, and --account names one"))
    }

    @Test func `the data of one account opens with its key and no other's`() async throws {
        let playground = try await playground()
        try await logIn(["anna", "ben"], playground)
        try await upload(3, as: "anna", playground)
        // Anna's database and her wrapped key, taken alone.
        try #require(mkdir("\(playground.folder.path)/alone", 0o700) == 0)
        let files = try playground.folder.contents()
        for end in ["", "-wal"] {
            guard let bytes = files["state/accounts/anna/health.db\(end)"] else { continue }
            try playground.folder.write("alone/health.db\(end)", bytes)
        }
        try playground.folder.write(
            "alone/account.key", files["state/accounts/anna/account.key"] ?? [])
        try playground.folder.write(
            "alone.yaml",
            Array(
                "version: 1\nbackend: { url: \"http://127.0.0.1:9/\" }\njobs: [{ id: cleanup, kind: cleanup }]\n"
                    .utf8))
        let environment = AccountEnvironment(["CLARITY_JOBS_KEY": key], secretVariables: [])

        func open(as id: String?) async throws -> ProgramResult {
            let own = try id.map {
                try environment.variables(for: AccountID($0)!, keyVariable: nil)
            }
            return try await playground.start(
                [
                    "-c", "\(playground.folder.path)/alone.yaml", "--state",
                    "\(playground.folder.path)/alone", "outbox",
                ], environment: own ?? ["CLARITY_JOBS_KEY": key]
            ).finish()
        }
        let anna = try await open(as: "anna")
        let ben = try await open(as: "ben")
        let main = try await open(as: nil)

        #expect(anna.status == 0, "\(anna.errors)")
        #expect(anna.output.contains("3"))
        #expect(ben.status == 78 && ben.output == "", "\(ben.errors)")
        #expect(main.status == 78 && main.output == "", "\(main.errors)")
    }

    @Test func `a study adds thirty accounts, and one leaves and is wiped`() async throws {
        let playground = try await playground()
        let ids = (1...30).map { $0 < 10 ? "w0\($0)" : "w\($0)" }
        try await logIn(ids, playground)
        try await upload(4, as: "w07", playground)
        try await upload(2, as: "w08", playground)

        let removed = try await run(playground, "accounts", "remove", "w07", "--wipe", "--yes")
        let again = try await run(playground, "accounts", "remove", "w07", "--wipe")
        let shown = try await run(playground, "accounts", "show", "w07", "-o", "json")
        let run = try await run(playground, "run", "w07/upload")
        let added = try await self.run(playground, "accounts", "add", "w07")
        let all = try await self.run(playground, "status", "--all")
        let other = try await self.run(playground, "--account", "w08", "outbox", "-o", "json")

        // Somebody writes the account's file again.
        try playground.folder.write("accounts.d/w07.yaml", Array("login: x@example.org\n".utf8))
        let byHand = try await self.run(playground, "run", "w07/upload")
        #expect(byHand.status != 0 && !exists("state/accounts/w07", playground))
        try #require(unlink("\(playground.folder.path)/accounts.d/w07.yaml") == 0)

        #expect(removed.status == 0, "\(removed.errors)")
        #expect(removed.output.contains("account w07 was removed at 2"))
        #expect(removed.output.contains("4 samples"), "\(removed.output)")
        #expect(again.status == 0 && again.output == removed.output)
        let receipt = try JSONValue(shown.output)
        #expect(receipt["session_ended"] == .bool(true))
        #expect(receipt["removed"]["samples"].number == 4, "\(shown.output)")
        #expect(
            !exists("state/accounts/w07", playground) && !exists("accounts.d/w07.yaml", playground))
        #expect(run.status != 0 && !exists("state/accounts/w07", playground))
        #expect(added.status == 1 && added.errors.contains("was removed with its data before"))
        #expect(all.outputLines.last == "29 accounts: 1 fresh, 28 not known")
        #expect(try JSONValue(other.output)["outbox"]["samples"].number == 2)
    }

    @Test func `a removal that was killed between its steps is finished by the next`() async throws
    {
        let playground = try await playground()
        try await logIn(["anna", "ben"], playground)
        try await upload(3, as: "anna", playground)
        let path = playground.folder.path
        // Killed after the first step: the account's file is gone, and all its data is there.
        try #require(unlink("\(path)/accounts.d/anna.yaml") == 0)
        let list = try await run(playground, "accounts", "list")
        let first = try await run(playground, "accounts", "remove", "anna", "--wipe", "--yes")
        // Killed before the last: the receipt is there, and the folder too.
        try #require(mkdir("\(path)/state/accounts/anna", 0o700) == 0)
        try playground.folder.write("state/accounts/anna/health.db", [])
        let second = try await run(playground, "accounts", "remove", "anna", "--wipe", "--yes")

        #expect(list.output.contains("anna     not declared"))
        #expect(first.status == 0 && first.output.contains("3 samples"), "\(first.output)")
        #expect(second.status == 0 && second.output == first.output)
        #expect(!exists("state/accounts/anna", playground))
        #expect(exists("state/accounts/ben/health.db", playground))
    }

    @Test func `an account that is wiped while its attempt sends comes back by nothing`()
        async throws
    {
        let playground = try await playground()
        try await logIn(["anna"], playground)
        try await upload(1, as: "anna", playground)
        let sandbox = try #require(playground.sandbox)
        try await sandbox.addFault("POST /health-data/upload: latency=8s")
        try playground.writeExport(heartRates: 40)
        let path = playground.folder.path
        try #require(rename("\(path)/export.xml", "\(path)/anna.xml") == 0)
        let before = try await sandbox.count("uploads")
        let attempt = try playground.start(
            ["run", "anna/upload"], environment: ["CLARITY_JOBS_KEY": key])
        try await sandbox.wait(for: before + 1) { try await $0.count("uploads") }
        let worker = try #require(ProcessTable.children(of: attempt.processID).first)
        kill(worker, SIGSTOP)

        let removed = try await run(playground, "accounts", "remove", "anna", "--wipe", "--yes")
        kill(worker, SIGCONT)
        let end = await attempt.finish()

        #expect(removed.status == 0, "\(removed.errors)")
        #expect(end.status != 0)
        #expect(!exists("state/accounts/anna", playground))
        #expect(try await sandbox.count("uploads") == before + 1)
    }

    @Test(arguments: [
        ("id\nw01\nw 2\n", "TABLE:3: account id `w 2` is not allowed"),
        ("id,login\nw01\n", "TABLE:2: has 1 field, wanted 2"),
        ("id,zone\nw01,UTC\n", "TABLE:1: unknown column `zone`"),
        ("id\nw01\nw01\n", "TABLE:3: `w01` is there twice"),
        (
            "login\na@example.org\n",
            "TABLE:1: wanted a line with the columns, such as `id,login,time_zone`"
        ),
        ("id\n\"w01\n", "TABLE:2: a quote is not closed"),
        ("id,time_zone\nw01,UTC\nw02,Mars/Base\n", "TABLE:3: unknown time zone `Mars/Base`"),
    ])
    func `one wrong line of a table adds nobody`(table: String, fault: String) async throws {
        let playground = try await playground()
        try playground.folder.write("table.csv", Array(table.utf8))
        let path = "\(playground.folder.path)/table.csv"

        let added = try await run(playground, "accounts", "add", "--from", path)

        #expect(added.status == 65)
        #expect(
            added.errors.contains(fault.replacing("TABLE", with: path)), "\(added.errors)")
        #expect(try playground.folder.contents().keys.allSatisfy { !$0.hasPrefix("accounts.d/") })
    }

    @Test func `a backup of all accounts brings back each account's data`() async throws {
        let playground = try await playground()
        try await logIn(["anna", "ben", "kid"], playground)
        try await upload(3, as: "anna", playground)
        try await upload(5, as: "ben", playground)
        let nas = "\(playground.folder.path)/nas"

        let own = try await run(playground, "backup", "--all", "-o", "json")
        let elsewhere = try await run(playground, "backup", nas, "--all")
        let name = try #require(
            try playground.folder.contents().keys.first {
                $0.hasPrefix("nas/ben/") && $0.split(separator: "/").count == 3
            })
        try #require(unlink("\(playground.folder.path)/state/accounts/ben/health.db") == 0)
        let broken = try await run(playground, "--account", "ben", "outbox")
        let restored = try await run(
            playground, "--account", "ben", "restore", "\(playground.folder.path)/\(name)")
        let sums = try await run(playground, "outbox", "--all", "-o", "ndjson")

        let made = try JSONValue(own.output).elements
        #expect(own.status == 0 && elsewhere.status == 0, "\(own.errors)\(elsewhere.errors)")
        #expect(made.map { $0["account"].text } == [nil, "anna", "ben", "kid"])
        #expect(exists("state/accounts/anna/backups", playground) && exists("nas/anna", playground))
        #expect(broken.status != 0 && restored.status == 0, "\(restored.errors)")
        let samples = try sums.outputLines.map { try JSONValue($0)["outbox"]["samples"].number }
        #expect(samples == [3, 5, 0])
    }

    @Test func `a fault of an account's file is told with the file`() async throws {
        let playground = try await playground()
        try playground.folder.write("accounts.d/ben.yaml", Array("enabled: true\n".utf8))
        let valid = try await run(playground, "validate")
        try playground.folder.write("accounts.d/anna.yaml", Array("\nlogn: x\n".utf8))

        let told = try await run(playground, "validate")
        let json = try await run(playground, "validate", "-o", "json")

        let path = "\(playground.folder.path)/accounts.d/anna.yaml"
        let finding = try #require(try JSONValue(json.output).elements.first)
        #expect(valid.outputLines.first?.hasSuffix("valid, 1 job for 1 account") == true)
        #expect(told.status == 65 && told.errors.hasPrefix("\(path):2:1: unknown key `logn`"))
        #expect(finding["file"].text == path && finding["line"].number == 2)
    }

    @Test(arguments: [
        ("anna x\n", "standard input has no password of account `ben`"),
        ("anna x\nben y\nkid z\n", "standard input:3: its account is not in TABLE"),
        (
            "anna x\nben\n",
            "standard input:2: wanted an account id, a space and a password of at most 1024 bytes"
        ),
        ("anna x\nanna y\n", "standard input:2: its account has a password already"),
    ])
    func `a fault in the passwords is found before any login`(
        passwords: String, fault: String
    ) async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/table.csv"
        try playground.folder.write(
            "table.csv", Array("id,login\nanna,a@example.org\nben,b@example.org\n".utf8))
        try #require(try await run(playground, "accounts", "add", "--from", path).status == 0)

        let login = try await run(
            playground, "auth", "login", "--accounts-from", path, "--password-stdin",
            input: passwords)

        #expect(
            login.isRefusal(65, "clarity-jobs: " + fault.replacing("TABLE", with: path))
                || login.isRefusal(65, fault.replacing("TABLE", with: path)), "\(login.errors)")
        #expect(try await playground.sandbox?.count("requests") == 0)
    }

    @Test func `on an unattended machine the passwords come from credentials`() async throws {
        let playground = try await playground()
        try await logIn(["anna", "ben"], playground)
        for id in ["anna", "ben"] {
            _ = try await run(
                playground, "--account", id, "auth", "logout", "--forget-data", "--yes")
        }
        let path = playground.folder.path
        try #require(mkdir("\(path)/credentials", 0o700) == 0)
        try playground.folder.write(
            "credentials/clarity-jobs.password.anna", Array(password(of: "anna").utf8))

        let login = try await playground.start(
            ["auth", "login", "--accounts-from", "\(path)/wearers.csv"],
            environment: [
                "CLARITY_JOBS_KEY": key, "CREDENTIALS_DIRECTORY": "\(path)/credentials",
            ]
        ).finish()
        let anna = try await run(playground, "--account", "anna", "auth", "status")
        let ben = try await run(playground, "--account", "ben", "auth", "status")

        // Anna's is used, and no one else's.
        #expect(login.status != 0 && login.errors.hasPrefix("ben: "), "\(login.errors)")
        #expect(anna.status == 0 && ben.status == 77)
        try playground.folder.write(
            "credentials/clarity-jobs.password.ben", Array("\(password(of: "ben"))\n".utf8))
        let both = try await playground.start(
            ["auth", "login", "--accounts-from", "\(path)/wearers.csv"],
            environment: [
                "CLARITY_JOBS_KEY": key, "CREDENTIALS_DIRECTORY": "\(path)/credentials",
            ]
        ).finish()
        #expect(both.status == 0, "\(both.errors)")
        #expect(try await run(playground, "--account", "ben", "auth", "status").status == 0)
    }

    @Test func `a login again tries only who is not logged in`() async throws {
        let playground = try await playground()
        try await logIn(["anna", "ben"], playground)
        _ = try await run(
            playground, "--account", "ben", "auth", "logout", "--forget-data", "--yes")
        let path = "\(playground.folder.path)/wearers.csv"

        let again = try await run(
            playground, "auth", "login", "--accounts-from", path, "--password-stdin",
            input: "anna \(password(of: "anna"))\nben wrong\n")

        #expect(again.status == 77 && !again.output.contains("anna"))
        #expect(again.errors.hasPrefix("ben: ") && !again.errors.contains("wrong"))
    }

    @Test func `logins that the backend limits go on after its window`() async throws {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        let ids = ["anna", "ben", "kid"]
        try await logIn(ids, playground)
        for id in ids {
            _ = try await run(
                playground, "--account", id, "auth", "logout", "--forget-data", "--yes")
        }
        try await sandbox.addFault("POST /auth/login: pass x2, 429 retry-after=1")

        let login = try await run(
            playground, "auth", "login", "--accounts-from",
            "\(playground.folder.path)/wearers.csv", "--password-stdin",
            input: ids.map { "\($0) \(password(of: $0))\n" }.joined())

        #expect(login.status == 0, "\(login.errors)")
        #expect(
            login.errors
                == "clarity-jobs: the backend takes no further login for 1s; 1 of 3 accounts is left, which takes about 1s\n"
        )
        #expect(try await sandbox.answers("429") == 1)
        for id in ids {
            #expect(try await run(playground, "--account", id, "auth", "status").status == 0)
        }
    }
}
