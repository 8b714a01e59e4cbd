import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Two unix users with a folder each, one of whom links to the other's files.
@Suite(
    "Links from one unix user's sources to another's", .timeLimit(.minutes(5)),
    .enabled(if: geteuid() == 0 && PlainUser.isAtHand, "only root can become somebody else"))
struct LinkedUserProgramTests {
    private let family = AccountsProgramTests()
    private static let (anna, ben, scheduler): (uid_t, uid_t, uid_t) = (23_451, 23_452, 23_453)

    /// Who runs the jobs: root, or a user whose group both users let in.
    private func run(
        _ words: [String], _ playground: Playground, asRoot: Bool
    ) async throws -> ProgramResult {
        let id = Self.scheduler
        let change =
            asRoot ? [] : ["/usr/bin/setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups"]
        let command = change + ["\(ChildProgram.folder)/clarity-jobs"] + words
        return try await ChildProgram.run(
            command[0], Array(command.dropFirst()),
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath, "CLARITY_JOBS_KEY": family.key,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
            ])
    }

    /// Gives a user a folder that nobody else may enter, but the group of the scheduler if it is not
    /// root.
    private func makeFolders(_ names: [String], of user: uid_t, asRoot: Bool) throws {
        for name in names {
            try #require(mkdir(name, 0o700) == 0)
            try #require(chown(name, user, asRoot ? user : Self.scheduler) == 0)
            try #require(chmod(name, asRoot ? 0o700 : 0o770) == 0)
        }
    }

    /// Writes an export, a push and a file of samples, with two heart rates, one and one.
    private func writeData(of account: String, _ user: uid_t, _ playground: Playground) throws {
        let folder = playground.folder.path
        try playground.writeExport(heartRates: 2)
        try #require(rename("\(folder)/export.xml", "\(folder)/\(account)/export.xml") == 0)
        let push = """
            {"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":[
            {"date":"2024-02-06 14:29:00 +0000","Min":61,"Avg":61,"Max":61}]}]}}
            """
        try playground.folder.write("\(account)/hae/a.json", Array(push.utf8))
        let sample = #"{"kind":"heart_rate","start":"2024-01-02T03:04:05Z","value":61}"# + "\n"
        try playground.folder.write("\(account)/spool/a.ndjson", Array(sample.utf8))
        for name in ["export.xml", "hae/a.json", "spool/a.ndjson"] {
            let path = "\(folder)/\(account)/\(name)"
            try #require(chown(path, user, Self.scheduler) == 0 && chmod(path, 0o640) == 0)
        }
    }

    private func playground(asRoot: Bool) async throws -> Playground {
        let playground = try await family.playground()
        let folder = playground.folder.path
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            accounts: accounts.d
            sources:
              - { kind: apple-health-export, path: "\(folder)/{account}/export.xml", time_zone: UTC }
              - { kind: health-auto-export, path: "\(folder)/{account}/hae", time_zone: UTC,
                  delete_after_reading: true }
              - { kind: spool, path: "\(folder)/{account}/spool" }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, retry: { attempts: 1 } }

            """
        }
        PlainUser.admit(to: playground)
        try await family.logIn(["ben"], playground)
        if !asRoot {
            let changed = try await ChildProgram.run(
                "/bin/chown", ["-R", "\(Self.scheduler)", playground.statePath])
            try #require(changed.status == 0)
            try #require(chmod("\(folder)/accounts.d/ben.yaml", 0o644) == 0)
        }
        return playground
    }

    @Test(
        arguments: [
            ("export.xml", "../anna/export.xml"), ("hae", "../anna/hae"),
            ("hae/a.json", "../../anna/hae/a.json"), ("spool", "../anna/spool"),
            ("spool/a.ndjson", "../../anna/spool/a.ndjson"),
        ], [true, false])
    func `a user's link brings nothing of another user, whoever runs the jobs`(
        link: (path: String, target: String), asRoot: Bool
    ) async throws {
        let playground = try await playground(asRoot: asRoot)
        let folder = playground.folder.path
        try makeFolders(
            ["anna", "anna/hae", "anna/spool"].map { "\(folder)/\($0)" }, of: Self.anna,
            asRoot: asRoot)
        try writeData(of: "anna", Self.anna, playground)
        try makeFolders(
            ["ben", "ben/hae", "ben/spool"].filter { $0 != "ben/\(link.path)" }
                .map { "\(folder)/\($0)" }, of: Self.ben, asRoot: asRoot)
        let made = try await ChildProgram.run(
            "/usr/bin/setpriv",
            [
                "--reuid=\(Self.ben)", "--regid=\(Self.ben)", "--clear-groups", "/bin/ln", "-s",
                link.target, "\(folder)/ben/\(link.path)",
            ])
        try #require(made.status == 0, "\(made)")
        let before = try annas(playground)

        let result = try await run(["run", "ben/upload"], playground, asRoot: asRoot)

        #expect(result.status != 78 || result.errors.contains("symbolic link"), "\(result)")
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 0)
        #expect(try annas(playground) == before)
    }

    @Test(arguments: [true, false])
    func `a user's own files are read, deleted and moved`(asRoot: Bool) async throws {
        let playground = try await playground(asRoot: asRoot)
        let folder = playground.folder.path
        try makeFolders(
            ["ben", "ben/hae", "ben/spool"].map { "\(folder)/\($0)" }, of: Self.ben,
            asRoot: asRoot)
        try writeData(of: "ben", Self.ben, playground)

        let result = try await run(["run", "ben/upload"], playground, asRoot: asRoot)

        #expect(result.status == 0, "\(result)")
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 4)
        #expect(!family.exists("ben/hae/a.json", playground))
        #expect(family.exists("ben/spool/done/a.ndjson", playground))
    }

    /// What Anna's files have, and to whom they belong.
    private func annas(_ playground: Playground) throws -> [String] {
        try ["export.xml", "hae/a.json", "spool/a.ndjson"].map { name in
            let path = "\(playground.folder.path)/anna/\(name)"
            var status = stat()
            try #require(lstat(path, &status) == 0)
            let bytes = try TemporaryFolder.read(path)
            return "\(name) \(status.st_uid) \(status.st_mode) \(bytes)"
        }
    }
}

/// The receiver of pushes for one account of several.
@Suite("A receiver's folder behind a link", .timeLimit(.minutes(5)))
struct LinkedReceiverProgramTests {
    private func playground(_ path: String) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            accounts: [{ id: anna }, { id: ben }]
            sources:
              - { kind: health-auto-export, path: "\(folder)/\(path)", time_zone: UTC,
                  delete_after_reading: true }
            jobs:
              - { id: hello, kind: command, options: { command: ["true"] } }

            """
        }
        for name in ["anna", "anna/hae"] {
            try #require(mkdir("\(playground.folder.path)/\(name)", 0o755) == 0)
            try #require(chmod("\(playground.folder.path)/\(name)", 0o755) == 0)
        }
        return playground
    }

    private let environment = ["CLARITY_JOBS_KEY": String(repeating: "5a", count: 32)]

    @Test(arguments: [("ben", "anna"), ("ben/hae", "../anna/hae")])
    func `a receiver writes nothing through a link into another account's folder`(
        link: (path: String, target: String)
    ) async throws {
        let playground = try await playground("{account}/hae")
        let folder = playground.folder.path
        if link.path != "ben" { try #require(mkdir("\(folder)/ben", 0o700) == 0) }
        try #require(symlink(link.target, "\(folder)/\(link.path)") == 0)

        let receiver = try playground.start(
            ["--account", "ben", "receive", "--listen", "127.0.0.1:0"], environment: environment)
        let line = await receiver.readErrorLine()
        // One that starts all the same would run on.
        receiver.signal(SIGTERM)
        let result = await receiver.finish()

        #expect(
            line == "clarity-jobs: cannot use `\(folder)/ben/hae`: `\(folder)/\(link.path)` is a "
                + "symbolic link, and none is followed in an account's folder")
        #expect(result.status == 78, "\(result)")
        var status = stat()
        #expect(stat("\(folder)/anna/hae", &status) == 0 && status.st_mode & 0o777 == 0o755)
    }

    @Test func `a receiver makes an account's folder below a link of the administrator`()
        async throws
    {
        let playground = try await playground("linked/{account}/hae")
        let folder = playground.folder.path
        try #require(mkdir("\(folder)/disk", 0o700) == 0)
        try #require(symlink("disk", "\(folder)/linked") == 0)
        let added = try await playground.start(
            ["--account", "ben", "receive", "token", "add", "phone"], environment: environment
        ).finish()
        let token = try #require(added.outputLines.first)

        let receiver = try await ReceiverProgram(
            playground, ["--account", "ben"], environment: environment)
        let answer = try await receiver.send(ReceiverProgram.push(1), token: token)
        await receiver.kill()

        #expect(answer == .init(status: 200, text: "stored"))
        unlink("\(folder)/linked")
        let names = try playground.folder.contents().keys
        #expect(names.contains { $0.hasPrefix("disk/ben/hae/") && $0.hasSuffix(".json") })
        var status = stat()
        #expect(stat("\(folder)/disk/ben/hae", &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
}
