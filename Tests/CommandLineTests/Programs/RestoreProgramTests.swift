import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("Going back to a backup", .timeLimit(.minutes(5)))
struct RestoreProgramTests {
    /// Returns a playground with 30 samples that were backed up while they waited, and then sent.
    private func sent(
        dialect: String, job options: String = ""
    ) async throws -> (Playground, backup: String) {
        let playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1", "--dialect", dialect]
        ) {
            Playground.standardJobFile(url: $0, folder: $1).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\(options)")
        }
        try await playground.logIn()
        try playground.writeExport(heartRates: 30)
        let read = try await playground.run("import", "\(playground.folder.path)/export.xml")
        #expect(read.status == 0, "\(read.errors)")
        let backup = try await playground.json("backup")
        guard case .string(let name) = backup["name"] else {
            throw TemporaryFolder.Errno(code: EINVAL)
        }
        let upload = try await playground.run("run", "upload")
        #expect(upload.status == 0, "\(upload.errors)")
        return (playground, name)
    }

    private func spoil(_ playground: Playground, _ name: String) throws {
        let file = open("\(playground.statePath)/\(name)", O_WRONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 8192)
        try #require(pwrite(file, zeros, zeros.count, 4096) == zeros.count)
    }

    @Test func `samples sent since the backup are resent with deduplication`() async throws {
        let (playground, backup) = try await sent(dialect: "blueprint")
        let sandbox = try #require(playground.sandbox)

        let dryRun = try await playground.run("restore", backup, "--dry-run")
        let before = try StateAudit(statePath: playground.statePath)
        let restored = try await playground.run("restore", backup)
        let back = try StateAudit(statePath: playground.statePath)
        let upload = try await playground.run("run", "upload", "--force")

        #expect(dryRun.status == 0, "\(dryRun.errors)")
        #expect(dryRun.output.hasPrefix("would restore health.db as of "))
        #expect(before.samples == ["confirmed": 30])
        #expect(restored.status == 0, "\(restored.errors)")
        let lines = restored.output.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("restored health.db as of "))
        #expect(lines[1].hasPrefix("what was there is kept, in \(playground.statePath)/damaged-2"))
        #expect(lines[2] == "the audit log goes on where it ended")
        #expect(back.samples == ["queued": 30] && back.possibleCopies == 0)
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(try await sandbox.count("metrics") == 30)
        #expect(try StateAudit(statePath: playground.statePath).samples == ["confirmed": 30])
        for words in [["audit"], ["audit", "log", "--verify"]] {
            let proof = try await playground.start(words).finish()
            #expect(proof.status == 0, "\(proof.output)")
        }
        let log = try await playground.run("audit", "log")
        #expect(log.output.contains("the backend took it") && log.output.contains("restored"))
    }

    @Test func `samples sent since the backup count as in doubt without deduplication`()
        async throws
    {
        let (playground, backup) = try await sent(dialect: "loop")

        let restored = try await playground.json("restore", backup)
        let upload = try await playground.run("run", "upload", "--force")

        #expect(restored["possibly_sent_samples"] == .number(30), "\(restored)")
        #expect(restored["samples_on_hold"] == .number(0))
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(try StateAudit(statePath: playground.statePath).possibleCopies == 30)
    }

    @Test func `samples sent since the backup are set aside with hold`() async throws {
        let (playground, backup) = try await sent(
            dialect: "loop", job: "\n    options: { on_ambiguous: hold }")

        let restored = try await playground.json("restore", backup)
        let upload = try await playground.run("run", "upload", "--force")

        #expect(restored["samples_on_hold"] == .number(30), "\(restored)")
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["setAside": 30])
    }

    @Test func `samples that a source adds after the restore count as in doubt too`()
        async throws
    {
        let (playground, _) = try await sent(dialect: "loop")
        // Ten more samples were imported and sent after the backup, and the current file cannot be
        // read.
        try playground.writeExport(heartRates: 40)
        let upload = try await playground.run("run", "upload", "--force")
        #expect(upload.status == 0, "\(upload.errors)")
        try spoil(playground, "health.db")

        let restored = try await playground.json("restore")
        let again = try await playground.run("run", "upload", "--force")

        #expect(restored["possibly_sent_samples"] == .number(30), "\(restored)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(try StateAudit(statePath: playground.statePath).possibleCopies == 40)
    }

    @Test func `a restore is refused while a loop runs`() async throws {
        let (playground, backup) = try await sent(dialect: "blueprint")
        let loop = try playground.start(["loop"])
        _ = await loop.readErrorLine()

        let restored = try await playground.run("restore", backup)
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(
            restored.isRefusal(
                75,
                "clarity-jobs: `\(playground.statePath)` is in use by other processes; try again when "
                    + "they have ended, or stop the loop meanwhile"), "\(restored)")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["confirmed": 30])
    }

    @Test func `a backup of another master key names both keys`() async throws {
        let (playground, backup) = try await sent(dialect: "blueprint")
        let rotation = try await playground.run("key", "rotate")
        #expect(rotation.status == 0, "\(rotation.errors)")

        let restored = try await playground.run("restore", backup)

        #expect(restored.status == 78 && restored.errorLines.count == 1)
        let words =
            #/the backup `.*` is encrypted with the master key [0-9a-f]{16}, and the present key is [0-9a-f]{16}; put/#
        #expect(restored.errors.firstMatch(of: words) != nil, "\(restored.errors)")
        #expect(try StateAudit(statePath: playground.statePath).samples == ["confirmed": 30])
    }

    @Test func `restore skips a damaged backup and takes the one before it`() async throws {
        let (playground, first) = try await sent(dialect: "blueprint")
        let second = try await playground.json("backup")
        guard case .string(let name) = second["name"] else { return }
        try spoil(playground, "backups/\(name)/health.db")
        try spoil(playground, "health.db")

        let named = try await playground.run("restore", name)
        let restored = try await playground.run("restore")

        #expect(named.status == 74, "\(named)")
        #expect(
            named.errors.contains(
                "is damaged: `health.db` is not what was written: its digest differs"))
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.output.contains("/backups/\(name)` is damaged: "))
        #expect(restored.output.contains("restored health.db ("))
        let state = try StateAudit(statePath: playground.statePath)
        #expect(state.samples == ["queued": 30], "not of \(first)")
    }

    @Test func `an interrupted restore stops all other commands until it is finished`()
        async throws
    {
        let (playground, _) = try await sent(dialect: "blueprint")
        let restoring = "\(playground.statePath)/restoring"
        mkdir(restoring, 0o700)
        try playground.folder.write("state/restoring/aside", Array("damaged-then".utf8))
        try #require(
            rename("\(playground.statePath)/health.db", "\(restoring)/health.db") == 0)

        for words in [["list"], ["run", "upload"], ["outbox"], ["auth", "status"], ["backup"]] {
            let result = try await playground.start(words).finish()
            #expect(
                result.isRefusal(
                    69,
                    "clarity-jobs: cannot use state directory `\(playground.statePath)`: a restore "
                        + "was cut short; finish it with `clarity-jobs restore`"),
                "\(words): \(result)")
        }
        let finished = try await playground.run("restore")
        let audit = try await playground.run("audit")

        #expect(
            finished.status == 0
                && finished.output
                    == "finished a restore that was cut short, in \(playground.statePath)/damaged-then\n"
        )
        #expect(audit.status == 0, "\(audit)")
        #expect(access(restoring, F_OK) != 0)
    }

    @Test func `a logout also deletes the copies that a restore kept`() async throws {
        let (playground, backup) = try await sent(dialect: "blueprint")
        _ = try await playground.run("restore", backup)

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(logout.status == 0, "\(logout.errors)")
        let left = try playground.folder.contents().keys.filter {
            $0.hasPrefix("state/backups/") || $0.hasPrefix("state/damaged-")
        }
        #expect(left.isEmpty, "\(left)")
    }
}
