import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A state directory that fails", .timeLimit(.minutes(5)))
struct StateProgramTests {
    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a full disk ends the run with 74, and the next run with space loses nothing`()
        async throws
    {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        // Enough for the two databases, but not for the outbox of the example.
        let disk = try TinyDisk(on: playground.statePath, kibibytes: 836)
        defer { disk.remove() }
        try await playground.logIn()
        try playground.useExample("export.zip")

        let upload = try await playground.run("run", "upload")
        let shown = try await playground.lastRun(of: "upload")
        try disk.fill()
        let full = try await playground.run("run", "status")
        let list = try await playground.run("list")
        try disk.makeSpace(kibibytes: 30_000)
        let next = try await playground.run("run", "upload")
        let due = try await playground.run("run", "--due")

        let health = "cannot use `\(playground.statePath)/health.db`: "
        #expect(upload.status == 74 && upload.output == "")
        #expect(
            upload.errorLines == [
                "upload: failed: \(health)database or disk is full (SQLite 13) (run 1)"
            ])
        #expect(shown["state"] == .string("failed"))
        #expect(full.status == 74 && full.output == "" && full.errorLines.count == 1)
        let start = "clarity-jobs: cannot use history `\(playground.statePath)/history.db`: "
        #expect(full.errors.hasPrefix(start))
        #expect(
            full.errors.contains("disk is full")
                || full.errors.contains("no space left on device"), "\(full.errors)")
        // Reading needs a page of its own, unless the log of the failed writer is still there.
        #expect(list.status == 0 || list.status == 74 && list.errors.hasPrefix(start))
        #expect(next.status == 0, "\(next.errors)")
        #expect(due.status == 0, "\(due.errors)")
        #expect(try await sandbox.count("metrics") == 820)
        #expect(try await sandbox.count("distinct_metric_ids") == 820)
        let runs = try await playground.json("history").elements
        #expect(runs.last == shown)
        #expect(runs.dropLast().allSatisfy { $0["state"] == .string("succeeded") })
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a full disk is reported before any state exists`() async throws {
        let playground = try await Playground()
        let disk = try TinyDisk(on: "\(playground.folder.path)/disk", kibibytes: 64)
        defer { disk.remove() }
        try disk.fill()
        let state = "\(disk.path)/state"

        let run = try await playground.run("run", "status", "--state", state)
        let login = try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin", "--state", state,
            input: "Demo-Passw0rd!\n")

        for result in [run, login] {
            #expect(result.status == 74 && result.output == "" && result.errorLines.count == 1)
            #expect(result.errors.hasPrefix("clarity-jobs: cannot "))
            #expect(result.errors.contains(state))
            #expect(
                result.errors.contains("disk is full")
                    || result.errors.contains("no space left on device"), "\(result.errors)")
        }
    }

    @Test func `a file in place of the state directory is reported in one line`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let path = try playground.folder.write("file", [])

        let run = try await playground.run("run", "status", "--state", path)
        let below = try await playground.run("run", "status", "--state", "\(path)/state")
        let list = try await playground.run("list", "--state", path)
        let dry = try await playground.run("dry-run", "status", "--state", path)
        let login = try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin", "--state", path,
            input: "Demo-Passw0rd!\n")

        let text = "clarity-jobs: cannot use state directory"
        #expect(run.isRefusal(69, "\(text) `\(path)`: it is no folder"))
        #expect(below.isRefusal(69, "\(text) `\(path)/state`: not a directory"))
        let history =
            "clarity-jobs: cannot use history `\(path)/history.db`: "
            + "unable to open database file: not a directory (SQLite 14)"
        #expect(list.isRefusal(69, history), "\(list)")
        #expect(dry.isRefusal(69, history), "\(dry)")
        #expect(login.status == 69 && login.errorLines.count == 1)
        #expect(login.errors.hasPrefix("\(text) `\(path)`: "), "\(login)")
    }

    @Test(
        .enabled(
            if: PlainUser.isAtHand, "no setpriv, or only root can reach the built programs"))
    func `a state directory without permission is reported in one line and stays unchanged`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        PlainUser.admit(to: playground)
        for (name, mode) in [("closed", mode_t(0o000)), ("fixed", 0o555)] {
            let state = "\(playground.folder.path)/\(name)"
            PlainUser.makeFolder(state, mode)

            let run = try await PlainUser.run(playground, "run", "--due", "--state", state)
            let login = try await PlainUser.run(
                playground, "auth", "login", "--email", "demo@example.com", "--password-stdin",
                "--state", state, input: "Demo-Passw0rd!\n")

            let line = "clarity-jobs: cannot use state directory `\(state)`: permission denied"
            #expect(run.isRefusal(69, line), "\(run)")
            #expect(login.isRefusal(69, line), "\(name): \(login)")
            chmod(state, 0o700)
        }
        #expect(
            try playground.folder.contents().keys.sorted() == ["closed", "fixed", "jobs.yaml"])
    }

    @Test(
        .enabled(
            if: PlainUser.isAtHand, "no setpriv, or only root can reach the built programs"))
    func `an unreadable history or job file is reported in one line`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        PlainUser.admit(to: playground)
        PlainUser.makeFolder(playground.statePath, 0o700)
        let first = try await PlainUser.run(playground, "run", "cleanup")
        chmod("\(playground.statePath)/history.db", 0)

        let list = try await PlainUser.run(playground, "list")
        let run = try await PlainUser.run(playground, "run", "cleanup")
        chmod("\(playground.statePath)/history.db", 0o600)
        chmod(playground.jobFilePath, 0)
        let file = try await PlainUser.run(playground, "validate")

        #expect(first.status == 0, "\(first.errors)")
        let line =
            "clarity-jobs: cannot use history `\(playground.statePath)/history.db`: "
            + "unable to open database file: permission denied (SQLite 14)"
        #expect(list.isRefusal(69, line), "\(list)")
        #expect(run.isRefusal(69, line), "\(run)")
        #expect(
            file.isRefusal(65, "\(playground.jobFilePath): cannot read it: permission denied"))
    }

    @Test func `a history that is not a database stays unchanged`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        mkdir(playground.statePath, 0o700)
        let bytes = Array("this is somebody's letter, not a database\n".utf8)
        try playground.folder.write("state/history.db", bytes)

        let list = try await playground.run("list")
        let run = try await playground.run("run", "status")

        let line =
            "clarity-jobs: cannot use history `\(playground.statePath)/history.db`: "
            + "file is not a database (SQLite 26); there is no backup to restore"
        #expect(list.isRefusal(74, line), "\(list)")
        #expect(run.isRefusal(74, line), "\(run)")
        #expect(try playground.folder.contents()["state/history.db"] == bytes)
    }

    @Test(
        .enabled(
            if: PlainUser.isAtHand, "no setpriv, or only root can reach the built programs"))
    func `a read-only folder of the job file does no harm`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        PlainUser.makeFolder(playground.statePath, 0o700)
        chmod(playground.jobFilePath, 0o444)
        chmod(playground.folder.path, 0o555)

        let run = try await PlainUser.run(playground, "run", "cleanup")
        chmod(playground.folder.path, 0o755)

        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output == "cleanup: succeeded: nothing to do (run 1)\n")
    }
}
