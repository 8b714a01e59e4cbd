import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("Backups of the state directory", .timeLimit(.minutes(5)))
struct BackupProgramTests {
    /// Returns a playground with a session, some sent samples, and both files in use.
    private func filled() async throws -> Playground {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 30)
        let upload = try await playground.run("run", "upload")
        #expect(upload.status == 0, "\(upload.errors)")
        return playground
    }

    private func backups(_ playground: Playground) throws -> [String] {
        try playground.folder.contents().keys.filter { $0.hasPrefix("state/backups/") }.sorted()
    }

    private func makeOlder(_ playground: Playground) throws {
        try makeFirstReleaseFiles(state: playground.statePath)
    }

    private func rows(_ path: String) throws -> [Int64] {
        let file = try FileConnection(path: path, access: .immutable)
        let tables = try file.all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ) { $0.text(0) }
        return try tables.map { name in
            try file.first("SELECT count(*) FROM \(name)") { $0.integer(0) } ?? -1
        }
    }

    @Test func `a backup has both encrypted files, unreadable to others, and not the key`()
        async throws
    {
        let playground = try await filled()

        let made = try await playground.run("backup")
        let listed = try await playground.json("backup", "list").elements
        let log = try await playground.run("audit", "log")
        let proof = try await playground.run("audit", "log", "--verify")

        #expect(made.status == 0 && made.errors == "")
        let lines = made.output.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("backed up history.db and health.db, "))
        let words =
            #/it opens with the master key [0-9a-f]{16} alone, which is not in it; that key is now in the file `.*/state/keys/master.key`, where a restore wants it/#
        #expect(lines[1].wholeMatch(of: words) != nil, "\(made.output)")
        let jobFile = "the job file is in it too, as \(made.backupPath)/jobs.yaml; no file that it"
        #expect(lines[2] == "\(jobFile) names is", "\(made.output)")
        let one = try #require(listed.first)
        #expect(listed.count == 1 && one["reason"] == .string("asked"))
        let path = try #require(made.output.firstRange(of: "/state/backups/")).lowerBound
        #expect(made.output[path...].hasPrefix("/state/backups/2"))
        let names = try backups(playground)
        #expect(names.filter { $0.hasSuffix("master.key") } == [])
        #expect(names.count == 5, "\(names)")
        for name in names {
            var status = stat()
            lstat("\(playground.folder.path)/\(name)", &status)
            let wanted: mode_t = status.st_mode & S_IFMT == S_IFDIR ? 0o700 : 0o600
            #expect(status.st_mode & 0o777 == wanted, "\(name)")
        }
        #expect(log.output.contains("backed up"), "\(log.output)")
        #expect(proof.status == 0)
    }

    /// Each remedy that the program names is taken as it stands.
    @Test func `the messages of a restore on a new machine lead to the records`() async throws {
        let old = try await ArchiveOnlyProgramTests.Home()
        let new = try await ArchiveOnlyProgramTests.Home()
        try old.playground.writeExport(heartRates: 30)
        let setUp = try await old.run(
            "init", "--archive-only", "\(old.folder)/export.xml", "--start", "none")
        let made = try await old.run("backup", "\(old.folder)/nas")
        let backup = made.backupPath
        // In a folder without a job file, and without a variable that names one.
        func onNewMachine(_ line: String) async throws -> ProgramResult {
            try await ChildProgram.run(
                "/bin/sh", ["-c", "cd \(new.folder) && \(line)"],
                environment: ["HOME": new.folder, "PATH": "\(ChildProgram.folder):/usr/bin:/bin"])
        }
        let restore = "clarity-jobs restore \(backup)"

        let withoutJobFile = try await onNewMachine(restore)
        let help = try #require(
            withoutJobFile.errorLines.last?.firstMatch(of: /take that of the backup: (.*)/),
            "\(withoutJobFile.errors)")
        let taken = try await onNewMachine(String(help.1))
        let withoutKey = try await onNewMachine(restore)
        let place = try #require(
            withoutKey.errors.firstMatch(of: /put that key into the file `([^`]*)`/),
            "\(withoutKey.errors)")
        let key = try await onNewMachine(
            "install -D -m 600 \(old.state)/keys/master.key \(place.1)")
        let restored = try await onNewMachine(restore)
        let records = try await onNewMachine("clarity-jobs records")

        #expect(setUp.status == 0 && made.status == 0, "\(setUp.errors)\(made.errors)")
        #expect(withoutJobFile.status == 66 && withoutKey.status == 78)
        #expect(taken.status == 0 && key.status == 0, "\(taken.errors)\(key.errors)")
        #expect(
            try TemporaryFolder.read(new.jobFile) == TemporaryFolder.read(old.jobFile))
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(!restored.output.contains("auth login"), "\(restored.output)")
        #expect(records.output.contains("30"), "\(records.output)\(records.errors)")
    }

    @Test func `a restore with another key names the place of the right one`() async throws {
        let playground = try await filled()
        let made = try await playground.run("backup", "\(playground.folder.path)/nas")
        let other = try await ArchiveOnlyProgramTests.Home()
        try other.playground.writeExport(heartRates: 3)
        _ = try await other.run(
            "init", "--archive-only", "\(other.folder)/export.xml", "--start", "none")

        let restored = try await other.run("restore", made.backupPath)

        #expect(restored.status == 78, "\(restored.output)")
        #expect(
            restored.errors.contains(
                "put the older key into the file `\(other.state)/keys/master.key` first"),
            "\(restored.errors)")
    }

    @Test func `a changed copy of the job file is damage`() async throws {
        let playground = try await filled()
        let made = try await playground.run("backup")
        let copy = "\(made.backupPath)/jobs.yaml"
        let isSame =
            try TemporaryFolder.read(copy) == TemporaryFolder.read(playground.jobFilePath)
        truncate(copy, 10)

        let restored = try await playground.run("restore", made.backupPath)

        #expect(isSame)
        #expect(restored.status == 74, "\(restored.output)")
        #expect(restored.errors.contains("`jobs.yaml` is not what was written"), "\(restored)")
    }

    @Test func `a backup during a loop contains everything that was committed`() async throws {
        let playground = try await filled()
        let loop = try playground.start(["loop"])
        _ = await loop.readErrorLine()

        let made = try await playground.run("backup", "\(playground.folder.path)/elsewhere")
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(made.status == 0, "\(made.errors)")
        #expect(end.status == 143)
        let name = try #require(
            try playground.folder.contents().keys.first {
                $0.hasPrefix("elsewhere/") && $0.hasSuffix("health.db")
            })
        let copy = try FileConnection(
            path: "\(playground.folder.path)/\(name)", access: .immutable)
        #expect(try copy.first("SELECT count(*) FROM outbox") { $0.integer(0) } == 30)
        #expect(try copy.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a full disk ends a backup with one line and 74, and leaves no partial backup`()
        async throws
    {
        let playground = try await filled()
        let disk = try TinyDisk(on: "\(playground.statePath)/backups", kibibytes: 64)
        defer { disk.remove() }

        let made = try await playground.run("backup")

        #expect(made.status == 74 && made.output == "" && made.errorLines.count == 1)
        #expect(
            made.errors.contains("no room for a backup in `\(playground.statePath)/backups`: it"),
            "\(made.errors)")
        #expect(try backups(playground) == [])
    }

    @Test func `--keep limits the number of backups, and a bad number is refused`() async throws {
        let playground = try await filled()

        for _ in 0..<4 { _ = try await playground.run("backup", "--keep", "2") }
        let listed = try await playground.json("backup", "list").elements
        let wrong = try await playground.run("backup", "--keep", "0")

        #expect(listed.count == 2)
        #expect(
            wrong.isRefusal(64, "clarity-jobs: --keep is a number from 1 to 1000, got `0`"),
            "\(wrong)")
    }

    @Test func `without a state directory there is nothing to back up`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let made = try await playground.run("backup")
        let listed = try await playground.run("backup", "list")

        #expect(
            made.isRefusal(
                78,
                "clarity-jobs: nothing is kept in `\(playground.statePath)` yet, so there is nothing "
                    + "to back up"), "\(made)")
        #expect(listed.status == 0 && listed.output == "" && listed.errors == "")
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `each file of an earlier version is backed up once before it changes`() async throws
    {
        let playground = try await filled()
        try makeOlder(playground)
        let before = try rows("\(playground.statePath)/history.db")
        let outbox = try rows("\(playground.statePath)/health.db")

        // All of them find the old files at once.
        let crowd = try (0..<6).map { number in
            try playground.start(number % 2 == 0 ? ["run", "upload"] : ["run", "status"])
        }
        for member in crowd {
            let end = await member.finish()
            #expect([0, 75].contains(end.status), "\(end.errors)")
        }

        let listed = try await playground.json("backup", "list").elements
        #expect(listed.count == 2)
        for backup in listed { #expect(backup["reason"] == .string("before-migration")) }
        let names = try backups(playground).filter { $0.hasSuffix(".db") }
        #expect(names.count == 2)
        for name in names {
            let path = "\(playground.folder.path)/\(name)"
            let copy = try FileConnection(path: path, access: .immutable)
            let version = try copy.first("PRAGMA user_version") { $0.integer(0) }
            #expect(version == (name.hasSuffix("history.db") ? 11 : 24))
            #expect(try rows(path) == (name.hasSuffix("history.db") ? before : outbox))
        }
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `without space for a backup, a file of an earlier version stays unchanged`() async throws {
        let playground = try await filled()
        try makeOlder(playground)
        let disk = try TinyDisk(on: "\(playground.statePath)/backups", kibibytes: 16)
        defer { disk.remove() }

        let run = try await playground.run("run", "cleanup")

        #expect(run.status == 74 && run.output == "" && run.errorLines.count == 1)
        let start =
            "clarity-jobs: cannot bring history `\(playground.statePath)/history.db` up to date: "
            + "no room for a backup in `\(playground.statePath)/backups`: it wants "
        #expect(run.errors.hasPrefix(start), "\(run.errors)")
        for (name, version) in [("history", Int64(11)), ("health", 24)] {
            let file = try FileConnection(
                path: "\(playground.statePath)/\(name).db", access: .readWrite)
            #expect(try file.first("PRAGMA user_version") { $0.integer(0) } == version)
        }
    }
}

extension ProgramResult {
    /// The folder that a `backup` says it has made.
    fileprivate var backupPath: String {
        outputLines.first?.firstMatch(of: /bytes, to (.*)/).map { String($0.1) } ?? ""
    }
}
