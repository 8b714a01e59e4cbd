import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// A file that a newer program wrote is left unchanged for that program.
@Suite("Newer state files", .timeLimit(.minutes(15)))
struct NewerStateFileTests {
    /// One of the two files, and the commands that use it.
    struct Case: CustomTestStringConvertible, Sendable {
        var file: String
        var commands: [[String]]
        var testDescription: String { file }
    }

    /// `FOLDER` stands for the playground's folder.
    static let cases = [
        Case(
            file: "history.db",
            commands: [
                ["list"], ["next"], ["explain", "upload"], ["status"], ["history"],
                ["history", "show", "1"], ["run", "cleanup"], ["run", "--due"],
                ["run", "cleanup", "--force"], ["loop"], ["dry-run", "upload"],
                ["audit"], ["backup"], ["restore"], ["restore", "--dry-run"], ["pause", "upload"],
                ["resume", "upload"], ["cancel", "1"], ["retry", "1"],
            ]),
        Case(
            file: "health.db",
            commands: [
                ["run", "upload", "--force"], ["run", "cleanup", "--force"],
                ["import", "FOLDER/export.xml"], ["audit"], ["audit", "log"],
                ["audit", "log", "--verify"], ["outbox"], ["outbox", "list"],
                ["outbox", "retry", "--all"], ["metrics"], ["insights"], ["profile"], ["summary"],
                ["archive", "list"], ["sources"], ["backup"], ["restore"],
                ["restore", "--dry-run"], ["key", "status"], ["key", "rotate"], ["auth", "status"],
                ["auth", "login", "--email", "demo@example.com", "--password-stdin"],
                ["auth", "logout"], ["dry-run", "upload"], ["dry-run", "cleanup"], ["status"],
            ]),
    ]

    @Test(arguments: NewerStateFileTests.cases)
    func `a newer file is refused by every command that wants it and left as it is`(
        _ row: Case
    ) async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        let run = try await playground.run("run", "cleanup")
        #expect(run.status == 0, "\(run.errors)")
        let path = "\(playground.statePath)/\(row.file)"
        let known = try makeNewer(path)
        let before = try kept(row.file, playground)

        for command in row.commands {
            let words = command.map { $0.replacing("FOLDER", with: playground.folder.path) }
            let result = try await playground.start(words).finish(input: "Demo-Passw0rd!\n")

            let told = result.errors.split(separator: "\n").filter {
                $0.contains("`\(path)` has version \(known + 1), this program knows \(known); ")
                    && $0.contains("use a newer clarity-jobs")
            }
            #expect(result.status == 78, "\(words): \(result)")
            #expect(told.count == 1, "\(words): \(result)")
            #expect(try kept(row.file, playground) == before, "\(words) has changed the file")
        }
        // A copy of a file that cannot be read would not be reliable.
        #expect(try playground.folder.contents().keys.filter { $0.contains("backups/") } == [])
    }

    @Test(arguments: NewerStateFileTests.cases)
    func `a file of before 0.1.0 is refused by every command that wants it and left as it is`(
        _ row: Case
    ) async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        let run = try await playground.run("run", "cleanup")
        #expect(run.status == 0, "\(run.errors)")
        let path = "\(playground.statePath)/\(row.file)"
        let oldest = row.file == "history.db" ? 11 : 24
        try FileConnection(path: path, access: .readWrite).execute(
            "PRAGMA user_version = \(oldest - 1); PRAGMA journal_mode = DELETE")
        let before = try kept(row.file, playground)

        for command in row.commands where command[0] != "restore" {
            let words = command.map { $0.replacing("FOLDER", with: playground.folder.path) }
            let result = try await playground.start(words).finish(input: "Demo-Passw0rd!\n")

            let told = result.errors.split(separator: "\n").filter {
                $0.contains(
                    "`\(path)` was written before 0.1.0: open it once with clarity-jobs 0.1.0, then "
                        + "with this version")
            }
            #expect(result.status == 78, "\(words): \(result)")
            #expect(told.count == 1, "\(words): \(result)")
            #expect(try kept(row.file, playground) == before, "\(words) has changed the file")
        }
        #expect(try playground.folder.contents().keys.filter { $0.contains("backups/") } == [])
    }

    @Test(arguments: KeptState.names)
    func `a backup of before the newer program can be gone back to`(name: String) async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        let backup = try #require(try await playground.json("backup", "list").elements.first)
        let id = try #require(backup["name"].text)
        _ = try makeNewer("\(playground.statePath)/\(name)")

        let restored = try await playground.run("restore", id)

        #expect(restored.status == 0, "\(restored)")
        #expect(try await kept.faultsAfterCleanRun() == [])
    }

    /// Gives the file the next schema version, and no write-ahead log, so that a change of its
    /// journal mode shows as well.
    ///
    /// - Returns: the version that the file had.
    private func makeNewer(_ path: String) throws -> Int64 {
        let file = try FileConnection(path: path, access: .readWrite)
        let known = try #require(try file.first("PRAGMA user_version") { $0.integer(0) })
        try file.execute("PRAGMA user_version = \(known + 1); PRAGMA journal_mode = DELETE")
        return known
    }

    /// Returns the file and the files beside it whose names begin with its name.
    private func kept(_ name: String, _ playground: Playground) throws -> [String: [UInt8]] {
        try playground.folder.contents().filter { $0.key.hasPrefix("state/\(name)") }
    }
}
