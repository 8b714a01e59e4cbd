import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The state directory of a service, and a person who is not the service's user.
@Suite(
    "A state directory of another user", .timeLimit(.minutes(5)),
    .enabled(if: geteuid() == 0 && PlainUser.isAtHand, "only root can become somebody else"))
struct StateOwnerProgramTests {
    /// Returns a playground whose state belongs to the plain user, with a finished run in it.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 2)
        chmod("\(playground.folder.path)/export.xml", 0o644)
        PlainUser.admit(to: playground)
        PlainUser.makeFolder(playground.statePath, 0o700)
        let made = try await PlainUser.run(
            playground, "import", "\(playground.folder.path)/export.xml")
        #expect(made.status == 0, "\(made.errors)")
        let cleaned = try await PlainUser.run(playground, "run", "cleanup")
        #expect(cleaned.status == 0, "\(cleaned.errors)")
        return playground
    }

    /// Returns the owner of each file of the state, and its bytes.
    private func state(_ playground: Playground) throws -> [String: [UInt8]] {
        var found = try playground.folder.contents()
        for name in found.keys {
            var status = stat()
            lstat("\(playground.folder.path)/\(name)", &status)
            found[name]?.append(contentsOf: Array("\(status.st_uid)".utf8))
        }
        return found
    }

    @Test(arguments: [
        ["status"], ["list"], ["next"], ["history"], ["history", "show", "1"], ["outbox"],
        ["metrics"], ["summary"], ["notices", "list"], ["audit"], ["key", "status"], ["sources"],
        ["auth", "status"], ["backup", "list"], ["dry-run", "upload"], ["run", "--due"], ["loop"],
        ["pause", "upload", "--reason", "it's late"],
    ])
    func `another user is told the owner's command`(words: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        PlainUser.admit(to: playground)
        mkdir(playground.statePath, 0o700)

        let result = try await PlainUser.start(playground, words).finish()

        let line = words.map { $0.contains(" ") ? "'it'\\''s late'" : $0 }.joined(separator: " ")
        #expect(
            result.isRefusal(
                69,
                "clarity-jobs: cannot use state directory `\(playground.statePath)`: it belongs to "
                    + "the user `root`",
                "help: sudo -u root clarity-jobs \(line) --config \(playground.jobFilePath) "
                    + "--state \(playground.statePath)"), "\(result.errors)")
    }

    @Test func `a folder that keeps a user out names its owner`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        PlainUser.admit(to: playground)
        let home = "\(playground.folder.path)/home"
        mkdir(home, 0o700)
        chown(home, 12_345, 12_345)

        let result = try await PlainUser.run(
            playground, "history", "--state", "\(home)/state", "-n", "3")

        #expect(
            result.isRefusal(
                69,
                "clarity-jobs: cannot use state directory `\(home)/state`: it belongs to another user",
                "help: sudo -u '#12345' clarity-jobs history --state \(home)/state -n 3 "
                    + "--config \(playground.jobFilePath)"), "\(result.errors)")
    }

    @Test(arguments: [["list"], ["history"], ["history", "show", "1"], ["explain", "cleanup"]])
    func `root reads another user's history and leaves no trace`(words: [String]) async throws {
        let playground = try await playground()
        let before = try state(playground)

        let result = try await playground.start(words).finish()

        #expect(result.status == 0, "\(result.errors)")
        #expect(try state(playground) == before)
    }

    @Test(arguments: [["explain", "checked"], ["doctor"]])
    func `root runs no check of another user's job file`(words: [String]) async throws {
        let playground = try await playground()
        let mark = "\(playground.folder.path)/ran"
        try playground.write { _, _ in
            """
            version: 1
            checks: { nas: { command: [touch, "\(mark)"], valid_for: 60s } }
            jobs:
              - id: checked
                kind: command
                options: { command: ["true"] }
                schedule: { every: 1d }
                constraints: { check: nas }
            """
        }
        chmod(playground.jobFilePath, 0o644)

        let root = try await playground.start(words).finish()

        #expect(root.output.contains("root runs no check for another user"), "\(root)")
        #expect(access(mark, F_OK) != 0)
    }

    @Test(arguments: [
        ["run", "cleanup"], ["run", "--due"], ["loop"], ["pause", "--all"], ["status"],
        ["metrics"], ["backup"], ["restore"], ["key", "rotate"], ["import", "export.xml"],
        ["auth", "login", "--email", "demo@example.com", "--password-stdin"],
    ])
    func `root writes nothing for another user, and is told how`(words: [String]) async throws {
        let playground = try await playground()
        let before = try state(playground)

        let result = try await playground.start(words).finish()

        #expect(result.status == 69 && result.output == "")
        #expect(result.errorLines.count == 2)
        #expect(
            result.errorLines.last?.hasPrefix(
                "help: runuser -u nobody -- clarity-jobs \(words.joined(separator: " ")) ") == true,
            "\(result.errors)")
        #expect(try state(playground) == before)
    }

    @Test(.enabled(if: access("/usr/sbin/runuser", X_OK) == 0, "no runuser"))
    func `the command that root is told works`() async throws {
        let playground = try await playground()
        let refused = try await playground.run("outbox", "--output", "json")
        let help = try #require(refused.errorLines.last?.dropFirst("help: ".count))

        let result = await
            (try ChildProgram(
                "/bin/sh", ["-c", String(help)],
                environment: ["PATH": "\(ChildProgram.folder):/usr/sbin:/usr/bin:/bin"])).finish()

        #expect(result.status == 0, "\(result.errors)")
        #expect(try JSONValue(result.output)["outbox"]["waiting"].number == 2)
    }

    @Test func `the job file of the service names its state directory`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try installService(in: playground.folder)
        try playground.folder.write(
            "etc/clarity-jobs/jobs.yaml",
            Array(Playground.standardJobFile(url: "http://127.0.0.1:9", folder: "/tmp").utf8))
        chmod("\(playground.folder.path)/etc/clarity-jobs/jobs.yaml", 0o644)
        func run(_ user: String, _ words: String..., home: String = "/nonexistent") async throws
            -> ProgramResult
        {
            await (try program(of: user, words, home: home, in: playground.folder)).finish()
        }

        let other = try await run("65534", "status", "--verbose")
        let administrator = try await run("0", "status")
        let owner = try await run("12345", "status", home: "/var/lib/clarity-jobs")

        let refusal =
            "clarity-jobs: cannot use state directory `/var/lib/clarity-jobs`: it belongs to the user "
            + "`clarity-jobs`"
        #expect(
            other.isRefusal(
                69, refusal, "help: sudo -u clarity-jobs clarity-jobs status --verbose"),
            "\(other.errors)")
        #expect(
            administrator.isRefusal(
                69, refusal, "help: runuser -u clarity-jobs -- clarity-jobs status"),
            "\(administrator.errors)")
        #expect(owner.errors == "")
        #expect(owner.outputLines.contains("state directory: /var/lib/clarity-jobs"))
        #expect(owner.outputLines.contains("job file: /etc/clarity-jobs/jobs.yaml"))
    }

    @Test func `init sets up the service for the user of the service`() async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 3)
        let folder = playground.folder
        chmod("\(folder.path)/export.xml", 0o644)
        try installService(in: folder)
        let home = "/var/lib/clarity-jobs"

        let result = try await program(
            of: "12345",
            [
                "init", "--yes", "--backend", playground.url, "--email", "demo@example.com",
                "--path", "\(folder.path)/export.xml", "--hours", "always", "--password-stdin",
            ], home: home, in: folder
        ).finish(input: "Demo-Passw0rd!\n")
        let status = try await program(of: "12345", ["status"], home: home, in: folder).finish()
        let other = try await program(of: "65534", ["status"], home: "/", in: folder).finish()

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errorLines.contains("2 of 4: wrote /etc/clarity-jobs/jobs.yaml"))
        #expect(
            result.errorLines.contains(
                "start the service: sudo systemctl start clarity-jobs"),
            "\(result.errors)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        #expect(access("\(folder.path)/lib/clarity-jobs/health.db", F_OK) == 0)
        #expect(access("\(folder.path)/lib/clarity-jobs/.local", F_OK) != 0)
        #expect(status.outputLines.contains("state directory: \(home)"), "\(status.errors)")
        #expect(
            other.isRefusal(
                69,
                "clarity-jobs: cannot read job file `/etc/clarity-jobs/jobs.yaml`: "
                    + "it belongs to the user `clarity-jobs`",
                "help: sudo -u clarity-jobs clarity-jobs status"), "\(other.errors)")
    }

    /// Makes an `/etc` and a `/var/lib` as an installation makes them, for the user 12345.
    private func installService(in folder: TemporaryFolder) throws {
        chmod(folder.path, 0o755)
        for name in ["etc", "etc/clarity-jobs", "lib", "lib/clarity-jobs"] {
            mkdir("\(folder.path)/\(name)", 0o755)
        }
        try folder.write(
            "etc/passwd", Array("clarity-jobs:x:12345:12345::/var/lib/clarity-jobs:/bin/sh\n".utf8))
        try folder.write("etc/group", Array("clarity-jobs:x:12345:\n".utf8))
        for name in ["etc/passwd", "etc/group"] { chmod("\(folder.path)/\(name)", 0o644) }
        chown("\(folder.path)/etc/clarity-jobs", 0, 12_345)
        chmod("\(folder.path)/etc/clarity-jobs", 0o1775)
        chown("\(folder.path)/lib/clarity-jobs", 12_345, 12_345)
        chmod("\(folder.path)/lib/clarity-jobs", 0o700)
    }

    /// Starts the program as a user of the machine that `installService` makes.
    private func program(
        of user: String, _ words: [String], home: String, in folder: TemporaryFolder
    ) throws -> ChildProgram {
        try ChildProgram(
            "/usr/bin/unshare",
            [
                "--mount", "/bin/sh", "-c",
                "mount --bind \"$0/etc\" /etc && mount --bind \"$0/lib\" /var/lib && cd / "
                    + "&& user=$1 && shift && "
                    + "exec setpriv --reuid=$user --regid=$user --clear-groups \"$@\"",
                folder.path, user, "\(ChildProgram.folder)/clarity-jobs",
            ] + words,
            environment: ["PATH": "/usr/sbin:/usr/bin:/bin", "HOME": home])
    }

    @Test func `a key that only a service has is named, with the command that has it`() async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 2)
        let credentials = "\(playground.folder.path)/credentials"
        mkdir(credentials, 0o700)
        try playground.folder.write(
            "credentials/clarity-jobs.key", Array(String(repeating: "5a", count: 32).utf8))
        let environment = ["CREDENTIALS_DIRECTORY": credentials]
        let made = try await playground.run(
            "import", "\(playground.folder.path)/export.xml", environment: environment)

        let refused = try await playground.run("outbox", "list")
        let shown = try await playground.run("outbox", environment: environment)

        #expect(made.status == 0, "\(made.errors)")
        #expect(
            refused.isRefusal(
                78,
                "clarity-jobs: there is no master key for `\(playground.statePath)/health.db`; "
                    + "restore `keys/master.key` beside it, or set `CLARITY_JOBS_KEY`",
                "help: a service that has the key by `LoadCredential=` keeps it to itself; as root: "
                    + "systemd-run --quiet --pipe --wait --same-dir --uid=root "
                    + "-p LoadCredential=clarity-jobs.key:/etc/clarity-jobs/key "
                    + "clarity-jobs outbox list --config \(playground.jobFilePath) "
                    + "--state \(playground.statePath)"), "\(refused.errors)")
        #expect(shown.status == 0, "\(shown.errors)")
    }
}
