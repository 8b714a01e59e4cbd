import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Objects that somebody has put in place of a file or folder of the state directory.
@Suite("Planted state files", .timeLimit(.minutes(15)))
struct PlantedFileTests {
    enum Kind: String, CaseIterable, Sendable {
        case link, danglingLink, pipe, folder

        /// Creates the object at `path`. A link leads to `target`.
        func plant(_ path: String, target: String) throws {
            let code =
                switch self {
                case .link: symlink(target, path)
                case .danglingLink: symlink("\(target)-not-there", path)
                case .pipe: mkfifo(path, 0o600)
                case .folder: mkdir(path, 0o700)
                }
            try #require(code == 0)
        }

        var problems: [String] {
            switch self {
            case .link, .danglingLink: ["it is a symbolic link"]
            case .pipe, .folder: ["it is no ordinary file", "it is not a regular file"]
            }
        }
    }

    @Test(
        arguments: [
            "history.db", "history.db-wal", "history.db-shm", "health.db", "health.db-wal",
        ],
        Kind.allCases)
    func `what is no ordinary file is refused in one line and not written through`(
        name: String, kind: Kind
    ) async throws {
        let playground = try await filled()
        let path = "\(playground.statePath)/\(name)"
        let elsewhere = "\(playground.folder.path)/elsewhere"
        if name.hasSuffix(".db") {
            try #require(rename(path, elsewhere) == 0)
        } else {
            unlink(path)
            try playground.folder.write("elsewhere", Array("somebody else's".utf8))
        }
        try kind.plant(path, target: elsewhere)
        let before = try TemporaryFolder.read(elsewhere)

        let isHistory = name.hasPrefix("history")
        for words in [
            isHistory ? ["list"] : ["outbox"], ["run", "cleanup", "--force"], ["audit"], ["backup"],
            ["status"],
        ] {
            let result = try await playground.start(words).finish()
            let told = result.errors.split(separator: "\n").filter { line in
                line.contains("`\(path)`: ") && kind.problems.contains { line.contains($0) }
            }
            #expect([69, 78].contains(result.status), "\(words): \(result)")
            #expect(told.count == 1, "\(words): \(result)")
        }
        #expect(try TemporaryFolder.read(elsewhere) == before)
        var status = stat()
        #expect(lstat("\(elsewhere)-not-there", &status) != 0)
    }

    @Test(arguments: [Kind.link, .danglingLink, .pipe])
    func `what is no folder of owners is refused`(kind: Kind) async throws {
        let playground = try await filled()
        let owners = "\(playground.statePath)/owners"
        let elsewhere = "\(playground.folder.path)/elsewhere"
        try #require(mkdir(elsewhere, 0o700) == 0)
        try #require(rename(owners, "\(playground.folder.path)/owners") == 0)
        try kind.plant(owners, target: elsewhere)

        let run = try await playground.run("run", "cleanup", "--force")

        #expect(
            run.isRefusal(
                69,
                "clarity-jobs: cannot use state directory `\(owners)`: "
                    + (kind == .pipe ? "it is no folder" : "it is a symbolic link")),
            "\(run)")
        // Succeeds only for an empty folder.
        #expect(rmdir(elsewhere) == 0)
    }

    private func filled() async throws -> Playground {
        let playground = try await Playground.quick()
        try await playground.logIn()
        let run = try await playground.run("run", "cleanup")
        #expect(run.status == 0, "\(run.errors)")
        return playground
    }
}
