import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A restore in other situations than with a whole backup and a damaged file.
@Suite("Cases of going back to a backup", .timeLimit(.minutes(5)))
struct RestoreCaseProgramTests {
    /// Returns a playground with a backup of the health data, in which 30 samples wait, and a
    /// history that is newer than the backup.
    private func filled() async throws -> (Playground, backup: String) {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 30)
        let read = try await playground.run("import", "\(playground.folder.path)/export.xml")
        #expect(read.status == 0, "\(read.errors)")
        let name = try await backUp(playground)
        let upload = try await playground.run("run", "upload")
        #expect(upload.status == 0, "\(upload.errors)")
        return (playground, name)
    }

    private func backUp(_ playground: Playground) async throws -> String {
        guard case .string(let name) = try await playground.json("backup")["name"] else {
            throw TemporaryFolder.Errno(code: EINVAL)
        }
        return name
    }

    private func spoil(_ playground: Playground, _ name: String) throws {
        let file = open("\(playground.statePath)/\(name)", O_WRONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 8192)
        try #require(pwrite(file, zeros, zeros.count, 4096) == zeros.count)
    }

    /// Creates the state that a kill leaves between the decision and the first file.
    private func cutShort(_ playground: Playground) throws {
        let restoring = "\(playground.statePath)/restoring"
        mkdir(restoring, 0o700)
        try playground.folder.write("state/restoring/aside", Array("damaged-then".utf8))
        try #require(
            rename("\(playground.statePath)/health.db", "\(restoring)/health.db") == 0)
    }

    @Test func `a state directory and a backup's folder may be links`() async throws {
        let (playground, backup) = try await filled()
        let link = "\(playground.folder.path)/link"
        symlink("state", link)
        mkdir("\(playground.folder.path)/real", 0o700)
        symlink("real", "\(playground.folder.path)/kept")

        let made = try await playground.run(
            "backup", "\(playground.folder.path)/kept", "--state", link)
        let restored = try await playground.run("restore", backup, "--state", link)

        #expect(made.status == 0, "\(made)")
        #expect(restored.status == 0, "\(restored)")
        #expect(access("\(link)/restoring", F_OK) != 0)
        #expect(try StateAudit(statePath: link).samples == ["queued": 30])
    }

    @Test func `a logout also deletes the draft of a restore`() async throws {
        let (playground, _) = try await filled()
        mkdir("\(playground.statePath)/.restoring-draft", 0o700)
        try playground.folder.write("state/.restoring-draft/health.db", [1])

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(logout.status == 0, "\(logout.errors)")
        #expect(access("\(playground.statePath)/.restoring-draft", F_OK) != 0)
    }

    @Test func `restore names a damaged file that no intact backup has, and restores the others`()
        async throws
    {
        let (playground, first) = try await filled()
        let damaged = try await backUp(playground)
        try spoil(playground, "backups/\(damaged)/history.db")
        for name in ["health.db", "history.db"] { try spoil(playground, name) }

        let dryRun = try await playground.json(status: 74, "restore", "--dry-run")
        let restored = try await playground.run("restore")

        #expect(dryRun["restored"].elements.map { $0["backup"] } == [.string(first)])
        let missing = try #require(dryRun["not_restored"].elements.first)
        #expect(missing["file"] == .string("history.db"))
        #expect(dryRun["passed_over"].elements.count == 1)
        #expect(restored.status == 74, "\(restored)")
        #expect(restored.output.contains("restored health.db ("), "\(restored)")
        #expect(
            restored.output.contains("history.db is damaged ("), "\(restored)")
        #expect(restored.output.contains("), and no sound backup has it\n"), "\(restored)")
        let rows = try playground.outboxRows()
        #expect(rows.count == 30 && rows.allSatisfy { $0.contains(" queued ") })
    }

    @Test func `restoring only the history needs no key`() async throws {
        let (playground, _) = try await filled()
        _ = try await backUp(playground)
        try spoil(playground, "history.db")
        try #require(unlink("\(playground.statePath)/keys/master.key") == 0)

        let restored = try await playground.run("restore")
        let named = try await playground.run("restore", try await newest(playground))

        #expect(restored.status == 0, "\(restored)")
        #expect(restored.output.hasPrefix("restored history.db ("), "\(restored)")
        #expect(named.status == 78, "\(named)")
    }

    private func newest(_ playground: Playground) async throws -> String {
        guard
            case .string(let name)? = try await playground.json("backup", "list").elements.first?[
                "name"]
        else { throw TemporaryFolder.Errno(code: EINVAL) }
        return name
    }

    @Test func `a restore keeps the limit of login attempts`() async throws {
        let (playground, backup) = try await filled()
        for _ in 0..<2 {
            _ = try await playground.run(
                "auth", "login", "--email", "demo@example.com", "--password-stdin",
                input: "Wr0ng-Passw0rd!\n")
        }
        let before = try await playground.json("auth", "status")

        let restored = try await playground.run("restore", backup)
        let after = try await playground.json("auth", "status")

        #expect(restored.status == 0, "\(restored)")
        #expect(before["logins_left"] == .number(0))
        #expect(after["logins_left"] == .number(0))
    }

    @Test func `an interrupted restore must be finished before another backup is restored`()
        async throws
    {
        let (playground, backup) = try await filled()
        try cutShort(playground)

        let dryRun = try await playground.run("restore", "--dry-run")
        let isPending = access("\(playground.statePath)/restoring/health.db", F_OK) == 0
        let object = try await playground.json(status: 75, "restore", "nowhere", "--dry-run")
        let other = try await playground.run("restore", "nowhere")
        let between = try StateAudit(statePath: playground.statePath)
        let again = try await playground.run("restore", backup)

        #expect(dryRun.status == 0 && isPending, "\(dryRun)")
        #expect(
            dryRun.output
                == "would finish a restore that was cut short: health.db is not in its place yet\n",
            "\(dryRun)")
        #expect(object["pending"].elements == [.string("health.db")])
        #expect(other.status == 75, "\(other)")
        let place = "\(playground.statePath)/damaged-then"
        #expect(
            other.output
                == """
                finished a restore that was cut short, in \(place)
                the backup `nowhere` was not taken: run the same command again to go back to it

                """, "\(other)")
        #expect(between.samples == ["confirmed": 30])
        #expect(again.status == 0, "\(again)")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["queued": 30])
    }
}
