import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Job files that somebody else than the caller and root may write, as with crontab(5).
@Suite("Job files of others", .timeLimit(.minutes(5)))
struct JobFileOwnerProgramTests {
    /// A job file whose every program leaves a mark.
    static func jobFile(_ folder: String, top: String = "") -> String {
        """
        version: 1
        \(top)
        checks: { nas: { command: [touch, "\(folder)/ran"], valid_for: 60s } }
        notify: [{ kind: command, command: [touch, "\(folder)/ran"] }]
        jobs:
          - id: checked
            kind: command
            options: { command: [touch, "\(folder)/ran"] }
            schedule: { every: 1d }
            constraints: { check: nas }

        """
    }

    /// Returns a playground with such a job file in a folder `conf` of mode 0755.
    private func playground(top: String = "") async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        let folder = playground.folder.path
        try #require(mkdir("\(folder)/conf", 0o755) == 0 && chmod("\(folder)/conf", 0o755) == 0)
        try playground.folder.write(
            "conf/jobs.yaml", Array(JobFileOwnerProgramTests.jobFile(folder, top: top).utf8))
        return playground
    }

    private func hasRun(_ playground: Playground) -> Bool {
        access("\(playground.folder.path)/ran", F_OK) == 0
    }

    private static let cron =
        "; as with cron, nobody else may write a job file, not even its group"

    // MARK: Whom it concerns

    /// How a job file is set up, and what is said of it. `PATH` is the playground's folder.
    struct Place: Sendable, CustomStringConvertible {
        var description: String
        var isRootOnly = false
        var config = "conf/jobs.yaml"
        var make: @Sendable (_ folder: String) -> Int32
        var message: String
        var help: String
    }

    static let refused = [
        Place(
            description: "a file that its group may write",
            make: { chmod("\($0)/conf/jobs.yaml", 0o664) },
            message: "it has mode 0664, which lets its group write it; wanted 0644",
            help: "chmod go-w PATH/conf/jobs.yaml\(cron)"),
        Place(
            description: "a file that others may write",
            make: { chmod("\($0)/conf/jobs.yaml", 0o646) },
            message: "it has mode 0646, which lets others write it; wanted 0644",
            help: "chmod go-w PATH/conf/jobs.yaml\(cron)"),
        Place(
            description: "a folder that its group may write",
            make: { chmod("\($0)/conf", 0o775) },
            message: "the folder `PATH/conf` has mode 0775, which lets its group write it; "
                + "wanted 0755",
            help: "chmod go-w PATH/conf\(cron)"),
        Place(
            description: "a folder further up", config: "conf/../conf/./jobs.yaml",
            make: { chmod($0, 0o777) },
            message: "the folder `PATH` has mode 0777, which lets its group and others write it; "
                + "wanted 0755",
            help: "chmod go-w PATH\(cron)"),
        Place(
            description: "a link into a folder that others may write", config: "own/jobs.yaml",
            make: {
                mkdir("\($0)/own", 0o755) + symlink("../conf/jobs.yaml", "\($0)/own/jobs.yaml")
                    + chmod("\($0)/conf", 0o757)
            },
            message: "the folder `PATH/conf` has mode 0757, which lets others write it; "
                + "wanted 0755",
            help: "chmod go-w PATH/conf\(cron)"),
        Place(
            description: "a link in a folder that others may write", config: "open/jobs.yaml",
            make: {
                mkdir("\($0)/open", 0o755) + symlink("../conf/jobs.yaml", "\($0)/open/jobs.yaml")
                    + chmod("\($0)/open", 0o777)
            },
            message: "the folder `PATH/open` has mode 0777, which lets its group and others "
                + "write it; wanted 0755",
            help: "chmod go-w PATH/open\(cron)"),
        Place(
            description: "a file of another user", isRootOnly: true,
            make: { chown("\($0)/conf/jobs.yaml", 65_534, 65_534) },
            message: "it belongs to the user `nobody`; wanted `root`",
            help: "runuser -u nobody -- clarity-jobs notify test --config PATH/conf/jobs.yaml"),
        Place(
            description: "a folder of another user", isRootOnly: true,
            make: { chown("\($0)/conf", 65_534, 65_534) },
            message: "the folder `PATH/conf` belongs to the user `nobody`; wanted `root`",
            help: "runuser -u nobody -- clarity-jobs notify test --config PATH/conf/jobs.yaml"),
        Place(
            description: "a file of another user in a sticky folder", isRootOnly: true,
            make: { chmod("\($0)/conf", 0o1777) + chown("\($0)/conf/jobs.yaml", 65_534, 65_534) },
            message: "it belongs to the user `nobody`; wanted `root`",
            help: "runuser -u nobody -- clarity-jobs notify test --config PATH/conf/jobs.yaml"),
        Place(
            description: "a link of another user in a sticky folder", isRootOnly: true,
            config: "open/jobs.yaml",
            make: {
                mkdir("\($0)/open", 0o755) + symlink("../conf/jobs.yaml", "\($0)/open/jobs.yaml")
                    + lchown("\($0)/open/jobs.yaml", 65_534, 65_534) + chmod("\($0)/open", 0o1777)
            },
            message: "the link `PATH/open/jobs.yaml` belongs to the user `nobody`; wanted `root`",
            help: "runuser -u nobody -- clarity-jobs notify test --config PATH/open/jobs.yaml"),
    ].filter { !$0.isRootOnly || geteuid() == 0 }

    @Test(arguments: refused)
    func `a job file that somebody else may write is refused with one line`(
        place: Place
    ) async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        try #require(place.make(folder) == 0)

        let result = try await playground.run(
            "notify", "test", "--config", "\(folder)/\(place.config)")

        #expect(
            result.isRefusal(
                78,
                "clarity-jobs: \(folder)/\(place.config): "
                    + place.message.replacing("PATH", with: folder),
                "help: \(place.help.replacing("PATH", with: folder))"), "\(result)")
        #expect(!hasRun(playground))
    }

    static let accepted = [
        Place(description: "a file that its group may read", make: { chmod($0, 0o750) }),
        Place(
            description: "a file in a sticky folder, such as /tmp",
            make: { chmod("\($0)/conf", 0o1777) }),
        Place(
            description: "links to files and folders, as of dotfiles", config: "own/jobs.yaml",
            make: {
                symlink("conf", "\($0)/dots") + mkdir("\($0)/own", 0o755)
                    + symlink("\($0)/dots/jobs.yaml", "\($0)/own/jobs.yaml")
            }),
        Place(
            description: "a link in a sticky folder", config: "open/jobs.yaml",
            make: {
                mkdir("\($0)/open", 0o755) + symlink("../conf/jobs.yaml", "\($0)/open/jobs.yaml")
                    + chmod("\($0)/open", 0o1777)
            }),
    ]

    @Test(arguments: accepted)
    func `a job file that only the caller and root may write is used`(place: Place) async throws {
        let playground = try await playground()
        try #require(place.make(playground.folder.path) == 0)

        let result = try await playground.run(
            "notify", "test", "--config", "\(playground.folder.path)/\(place.config)")

        #expect(result.output == "command: sent\n", "\(result)")
        #expect(hasRun(playground))
    }

    @Test(.enabled(if: geteuid() == 0 && PlainUser.isAtHand, "only root can become another user"))
    func `root's job file is used by everybody, and a third user's by nobody`() async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        try playground.folder.write(
            "jobs.yaml", Array(JobFileOwnerProgramTests.jobFile("/nonexistent").utf8))
        PlainUser.admit(to: playground)
        PlainUser.makeFolder(playground.statePath, 0o700)

        let roots = try await PlainUser.run(playground, "doctor")
        try #require(chown(playground.jobFilePath, 12_345, 12_345) == 0)
        let thirds = try await PlainUser.run(playground, "doctor")

        #expect(roots.output.contains("nas"), "\(roots)")
        #expect(
            thirds.isRefusal(
                78,
                "clarity-jobs: \(folder)/jobs.yaml: it belongs to the user 12345; wanted `nobody` "
                    + "or `root`",
                "help: sudo -u '#12345' clarity-jobs doctor --config \(folder)/jobs.yaml"),
            "\(thirds)")
    }

    @Test func `a pipe and a file without a name have no folder that others could write`()
        async throws
    {
        let playground = try await playground()
        let path = "\(playground.folder.path)/conf/jobs.yaml"

        let result = try await ChildProgram.run(
            "/bin/sh",
            [
                "-c",
                "cat \"$1\" | \"$0\" notify test -c /dev/stdin && rm \"$2\" && "
                    + "exec 7<\"$1\" && rm \"$1\" && \"$0\" notify test -c /proc/self/fd/7",
                "\(ChildProgram.folder)/clarity-jobs", path, "\(playground.folder.path)/ran",
            ], environment: ["PATH": "/usr/bin:/bin", "HOME": playground.folder.path])

        #expect(result.output == "command: sent\ncommand: sent\n", "\(result)")
        #expect(hasRun(playground))
    }

    // MARK: Which commands

    @Test(arguments: [
        ["explain", "checked"], ["doctor"], ["dry-run", "checked"], ["notify", "test"],
        ["notify", "failed", "clarity-jobs.service"], ["run", "checked", "--force"],
        ["run", "--due"], ["loop"], ["serve", "--listen", "127.0.0.1:0"], ["status"],
        ["trace", "record"], ["exporter", "--listen", "127.0.0.1:0"],
    ])
    func `no command that may run a program takes a job file that others may write`(
        words: [String]
    ) async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/conf/jobs.yaml"
        try #require(chmod(path, 0o666) == 0)

        let result = try await playground.start(words + ["--config", path]).finish()

        #expect(result.status == 78 && result.output == "")
        #expect(
            result.errorLines.first
                == "clarity-jobs: \(path): it has mode 0666, which lets its group and others write "
                + "it; wanted 0644", "\(result.errors)")
        #expect(!hasRun(playground))
        #expect(access(playground.statePath, F_OK) != 0)
    }

    @Test func `init writes no job file where others may write`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/conf/new.yaml"
        try #require(chmod("\(playground.folder.path)/conf", 0o777) == 0)

        let result = try await playground.run(
            "init", "--yes", "--config", path, "--backend", "http://127.0.0.1:9")

        #expect(
            result.errorLines.first
                == "clarity-jobs: \(path): the folder `\(playground.folder.path)/conf` has mode "
                + "0777, which lets its group and others write it; wanted 0755")
        #expect(result.status == 78 && access(path, F_OK) != 0)
    }

    @Test(arguments: [["validate"], ["list"], ["next"], ["simulate", "--days", "1"]])
    func `commands that run nothing show what it says`(words: [String]) async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/conf/jobs.yaml"
        try #require(chmod(path, 0o666) == 0)

        let result = try await playground.start(words + ["--config", path]).finish()

        #expect(result.status == 0, "\(result)")
        #expect(!hasRun(playground))
    }

    @Test func `a loop keeps the former jobs when others may write the file`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/conf/jobs.yaml"
        let loop = try playground.start(["loop", "--config", path])
        _ = try #require(await loop.readErrorLine())
        try #require(chmod(path, 0o666) == 0)
        loop.signal(SIGHUP)
        var lines: [String] = []
        while let line = await loop.readErrorLine(), !line.contains("job file not reloaded") {
            lines.append(line)
        }
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(
            lines.contains { $0.contains("jobs.yaml: it has mode 0666, which lets") }, "\(lines)")
        #expect(end.status == 143)
    }

    // MARK: Accounts

    static let accounts = [
        Place(
            description: "an account's file that others may write",
            make: { chmod("\($0)/conf/accounts.d/anna.yaml", 0o666) },
            message: "PATH/conf/accounts.d/anna.yaml: it has mode 0666, which lets its group and "
                + "others write it; wanted 0644",
            help: "chmod go-w PATH/conf/accounts.d/anna.yaml\(cron)"),
        Place(
            description: "the folder of the accounts",
            make: { chmod("\($0)/conf/accounts.d", 0o775) },
            message: "PATH/conf/jobs.yaml:2:11: the folder `PATH/conf/accounts.d` has mode 0775, "
                + "which lets its group write it; wanted 0755",
            help: "chmod go-w PATH/conf/accounts.d\(cron)"),
        Place(
            description: "a link to a file in a folder that others may write",
            make: {
                mkdir("\($0)/open", 0o755)
                    + rename("\($0)/conf/accounts.d/anna.yaml", "\($0)/open/anna.yaml")
                    + symlink("../../open/anna.yaml", "\($0)/conf/accounts.d/anna.yaml")
                    + chmod("\($0)/open", 0o777)
            },
            message: "PATH/conf/accounts.d/anna.yaml: the folder `PATH/open` has mode 0777, which "
                + "lets its group and others write it; wanted 0755",
            help: "chmod go-w PATH/open\(cron)"),
        Place(
            description: "another user's file", isRootOnly: true,
            make: { chown("\($0)/conf/accounts.d/anna.yaml", 65_534, 65_534) },
            message: "PATH/conf/accounts.d/anna.yaml: it belongs to the user `nobody`; "
                + "wanted `root`",
            help: "runuser -u nobody -- clarity-jobs doctor --config PATH/conf/jobs.yaml"),
    ].filter { !$0.isRootOnly || geteuid() == 0 }

    @Test(arguments: accounts)
    func `an account's file that somebody else may write is refused as the job file is`(
        place: Place
    ) async throws {
        let playground = try await playground(top: "accounts: accounts.d")
        let folder = playground.folder.path
        try #require(mkdir("\(folder)/conf/accounts.d", 0o755) == 0)
        let own = "notify: [{ kind: command, command: [touch, \"\(folder)/ran\"] }]\n"
        try playground.folder.write("conf/accounts.d/anna.yaml", Array(own.utf8))
        let config = "\(folder)/conf/jobs.yaml"
        let before = try await playground.run("doctor", "--config", config)
        unlink("\(folder)/ran")
        try #require(place.make(folder) == 0)

        let after = try await playground.run("doctor", "--config", config)

        #expect(before.output.contains("nas"), "\(before)")
        #expect(
            after.isRefusal(
                78, "clarity-jobs: \(place.message.replacing("PATH", with: folder))",
                "help: \(place.help.replacing("PATH", with: folder))"), "\(after)")
        #expect(!hasRun(playground))
    }

    // MARK: Containers

    /// A ConfigMap is a folder of mode 0777 with links, on a mount that nobody can write.
    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount"), arguments: [true, false])
    func `a folder on a mount of its own counts as closed if the mount is read-only`(
        isReadOnly: Bool
    ) async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        let result = try await ChildProgram.run(
            "/usr/bin/unshare",
            [
                "--mount", "/bin/sh", "-ec",
                """
                cd "$0"
                mkdir volume volume/..1 mounted
                mv conf/jobs.yaml volume/..1/jobs.yaml
                ln -s ..1 volume/..data
                ln -s ..data/jobs.yaml volume/jobs.yaml
                chmod 777 volume
                mount --bind volume mounted
                \(isReadOnly ? "mount -o remount,bind,ro mounted" : "")
                exec "$1" notify test --config "$0/mounted/jobs.yaml"
                """,
                folder, "\(ChildProgram.folder)/clarity-jobs",
            ], environment: ["PATH": "/usr/sbin:/usr/bin:/bin", "HOME": folder])

        #expect(result.status == (isReadOnly ? 0 : 78), "\(result)")
        #expect(hasRun(playground) == isReadOnly)
    }
}

extension JobFileOwnerProgramTests.Place {
    /// A place of which nothing is said.
    fileprivate init(
        description: String, config: String = "conf/jobs.yaml",
        make: @escaping @Sendable (_ folder: String) -> Int32
    ) {
        self.init(
            description: description, config: config, make: make, message: "", help: "")
    }
}
