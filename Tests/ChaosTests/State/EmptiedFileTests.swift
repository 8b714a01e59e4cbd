import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// A file that has lost its whole content is not mistaken for one that was never begun.
@Suite("State files cut to nothing or missing", .timeLimit(.minutes(15)))
struct EmptiedFileTests {
    /// Returns commands that use the file. Each waits a moment for a process that may be creating
    /// it.
    private static func commands(_ name: String) -> ArraySlice<[String]> {
        var random = ChaosPlan.current.generator("emptied \(name)")
        return all(name).shuffled(using: &random)
            .prefix(ChaosPlan.current.size(slice: 4, whole: .max))
    }

    private static func all(_ name: String) -> [[String]] {
        name == "history.db"
            ? [
                ["list"], ["history"], ["status"], ["audit"], ["run", "cleanup", "--force"],
                ["run", "--due"], ["loop"], ["backup"],
            ]
            : [
                ["audit"], ["audit", "log", "--verify"], ["outbox"], ["metrics"], ["sources"],
                ["status"], ["key", "status"], ["auth", "status"], ["dry-run", "upload"],
                ["run", "upload", "--force"], ["backup"],
            ]
    }

    @Test(arguments: KeptState.names)
    func `an emptied file of which there is a backup is told of and comes back`(
        name: String
    ) async throws {
        try await proveTold(name, "it is empty, and once was not") { truncate($0, 0) == 0 }
    }

    @Test(arguments: KeptState.names)
    func `a missing file of which there is a backup is told of and comes back`(
        name: String
    ) async throws {
        try await proveTold(name, "it is missing, and a backup has it") { unlink($0) == 0 }
    }

    /// Checks that every command reports the fault and leaves the file alone, and that a restore
    /// brings the file back.
    private func proveTold(
        _ name: String, _ words: String, _ strike: (String) -> Bool
    ) async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        let path = "\(playground.statePath)/\(name)"
        try #require(strike(path))
        let before = try playground.folder.contents()["state/\(name)"]

        for command in EmptiedFileTests.commands(name) {
            let result = try await playground.start(command).finish()
            let told = result.errors.split(separator: "\n").filter {
                $0.contains("cannot use") && $0.contains("`\(path)`: \(words)")
                    && $0.contains("; restore the backup of ")
                    && $0.contains("with `clarity-jobs restore`")
            }
            #expect(result.status == 74, "\(command): \(result)")
            #expect(told.count == 1, "\(command): \(result)")
            let now = try playground.folder.contents()["state/\(name)"]
            #expect(now == before, "\(command) has begun it anew")
        }
        let restored = try await playground.run("restore")

        #expect(restored.status == 0, "\(restored)")
        #expect(try await kept.faultsAfterCleanRun() == [])
    }

    @Test(arguments: KeptState.names)
    func `an emptied file keeps the log that lies beside it`(name: String) async throws {
        let playground = try await filled()
        let path = "\(playground.statePath)/\(name)"
        let log = [UInt8](repeating: 7, count: 4152)
        try playground.folder.write("state/\(name)-wal", log)
        try #require(truncate(path, 0) == 0)

        for words in EmptiedFileTests.commands(name) {
            let result = try await playground.start(words).finish()
            #expect(result.status == 74, "\(words): \(result)")
            #expect(
                result.errors.contains("`\(path)`: it is empty, and once was not"),
                "\(words): \(result)")
            #expect(result.errors.contains("there is no backup to restore"), "\(words): \(result)")
            #expect(
                try playground.folder.contents()["state/\(name)-wal"] == log,
                "\(words) has lost the log")
        }
    }

    /// A kill between the creation of the file and the first write leaves it in this state.
    @Test(arguments: KeptState.names)
    func `an empty file without a trace of more is begun`(name: String) async throws {
        let playground = try await Playground.quick()
        mkdir(playground.statePath, 0o700)
        try playground.folder.write("state/\(name)", [])

        let list = try await playground.run("list")
        let audit = try await playground.run("audit")
        try await playground.logIn()
        let run = try await playground.run("run", "cleanup")

        for result in [list, audit, run] { #expect(result.status == 0, "\(result)") }
        #expect(try StateAudit(statePath: playground.statePath).damage == [])
    }

    private func filled() async throws -> Playground {
        let playground = try await Playground.quick()
        try await playground.logIn()
        let run = try await playground.run("run", "cleanup")
        #expect(run.status == 0, "\(run.errors)")
        return playground
    }
}
