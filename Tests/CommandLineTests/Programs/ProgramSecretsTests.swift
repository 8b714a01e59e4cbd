import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// What the programs of a job file find when they start: variables and descriptors.
@Suite("Secrets and descriptors of started programs", .timeLimit(.minutes(5)))
struct ProgramSecretsTests {
    /// A command that writes its environment and its descriptors to files, and fails.
    private static func look(_ path: String) -> String {
        "[sh, -c, \"env >$0.env; exec ls -l /proc/self/fd/ /nonexistent >$0.fds\", \"\(path)\"]"
    }

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            key: { variable: OWN_KEY }
            notify:
              - { kind: webhook, url: "http://127.0.0.1:9/", secret: HOOK_KEY }
              - { kind: command, command: \(Self.look("\(folder)/notice")) }
            checks:
              nas: { command: \(Self.look("\(folder)/check")), valid_for: 60s }
            jobs:
              - id: nightly
                kind: command
                retry: { attempts: 1 }
                constraints: { check: nas }
                options: { command: \(Self.look("\(folder)/job")) }

            """
        }
    }

    private let secrets = [
        "HOOK_KEY": "invented-hook", "OWN_KEY": String(repeating: "5a", count: 32),
        "CREDENTIALS_DIRECTORY": "/nonexistent/invented", "PLAIN": "plain",
        "CLARITY_JOBS_ACCOUNT_PASSWORD": "invented-password",
    ]

    /// Returns the variables that a program found, as lines.
    private func variables(_ name: String, _ playground: Playground) throws -> [String] {
        let bytes = try TemporaryFolder.read("\(playground.folder.path)/\(name).env")
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the numbers of the descriptors that a program found, without that of the folder that
    /// it lists.
    private func descriptors(_ name: String, _ playground: Playground) throws -> [Int] {
        let bytes = try TemporaryFolder.read("\(playground.folder.path)/\(name).fds")
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            .filter { !$0.contains(" -> /proc/") }
            .compactMap { line in
                line.firstRange(of: " -> ").flatMap { arrow in
                    line[..<arrow.lowerBound].split(separator: " ").last.flatMap { Int($0) }
                }
            }.sorted()
    }

    /// Runs `clarity-jobs` by a shell that has another file open, which it passes on.
    private func run(
        _ playground: Playground, _ words: String..., environment: [String: String]
    ) async throws -> ProgramResult {
        var own = environment
        own.merge([
            "PATH": "/usr/bin:/bin", "HOME": playground.folder.path,
            "CLARITY_JOBS_CONFIG": playground.jobFilePath,
            "CLARITY_JOBS_STATE": playground.statePath,
        ]) { $1 }
        return try await ChildProgram.run(
            "/bin/sh",
            ["-c", "exec 9</dev/null && exec \"$0\" \"$@\"", "\(ChildProgram.folder)/clarity-jobs"]
                + words, environment: own)
    }

    @Test func `commands, checks and notices find no secret and three descriptors`() async throws {
        let playground = try await playground()

        let result = try await run(playground, "run", "nightly", "--force", environment: secrets)
        let explained = try await run(playground, "explain", "nightly", environment: secrets)

        #expect(result.status == 1 && explained.status != 78, "\(result)\(explained)")
        for name in ["job", "check", "notice"] {
            let found = try variables(name, playground)
            #expect(
                found.filter { $0.contains("invented") || $0.contains("5a5a") } == [], "\(name)")
            #expect(found.contains("PLAIN=plain"), "\(name)")
            #expect(try descriptors(name, playground) == [0, 1, 2], "\(name)")
        }
    }

    @Test func `the program of a test message finds no descriptor of the caller`() async throws {
        let playground = try await playground()

        let result = try await run(
            playground, "notify", "test", "command", environment: secrets)

        #expect(result.output == "command: the program of target `command` ended with 2\n")
        let found = try variables("notice", playground)
        #expect(found.filter { $0.contains("invented") || $0.contains("5a5a") } == [])
        #expect(try descriptors("notice", playground) == [0, 1, 2])
    }

    @Test func `a reload keeps the secrets that the new file names from programs`() async throws {
        let playground = try await playground()
        let whole = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in
            """
            version: 1
            jobs:
              - { id: first, kind: command, schedule: { every: 1d }, options: { command: ["true"] } }

            """
        }
        let loop = try playground.start(["loop"], environment: secrets)
        while let line = await loop.readErrorLine(), !line.hasPrefix("first: ") {}
        // The check answers yes, and the job of the new file is due at once.
        try playground.write { _, _ in
            whole.replacing("/nonexistent", with: "/") + "    schedule: { every: 1d }\n"
        }
        loop.signal(SIGHUP)
        while let line = await loop.readErrorLine(), !line.hasPrefix("nightly: ") {}
        loop.signal(SIGTERM)
        _ = await loop.finish()

        for name in ["job", "check"] {
            let found = try variables(name, playground)
            #expect(found.filter { $0.contains("invented") || $0.contains("5a5a") } == [])
        }
    }

    // MARK: Accounts

    /// Two accounts, each with a command and a secret for notices.
    private func family(_ url: String = "http://127.0.0.1:9/") async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            func account(_ id: String) -> String {
                """
                  - id: \(id)
                    notify:
                      - { kind: ntfy, url: "\(url)", secret: TOKEN_\(id) }
                      - { kind: command, command: \(Self.look("\(folder)/\(id)")) }

                """
            }
            return """
                version: 1
                accounts:
                \(account("anna"))\(account("ben"))
                jobs:
                  - { id: nightly, kind: command, retry: { attempts: 1 },
                      options: { command: \(Self.look("\(folder)/job")) } }

                """
        }
        try #require(mkdir("\(playground.folder.path)/credentials", 0o700) == 0)
        try playground.folder.write(
            "credentials/clarity-jobs.password.anna", Array("invented-password\n".utf8))
        return playground
    }

    private func familySecrets(_ playground: Playground) -> [String: String] {
        [
            "CLARITY_JOBS_KEY": String(repeating: "5a", count: 32), "PLAIN": "plain",
            "TOKEN_anna": "invented-anna", "TOKEN_ben": "invented-ben",
            "CREDENTIALS_DIRECTORY": "\(playground.folder.path)/credentials",
        ]
    }

    @Test func `an account's notice finds no secret of any account`() async throws {
        let playground = try await family()
        let secrets = familySecrets(playground)
        let key = try #require(secrets["CLARITY_JOBS_KEY"])

        _ = try await run(playground, "run", "anna/nightly", environment: secrets)
        let test = try await run(
            playground, "--account", "ben", "notify", "test", environment: secrets)

        #expect(test.output.contains("command: the program of target"), "\(test)")
        for name in ["anna", "job", "ben"] {
            let found = try variables(name, playground)
            #expect(
                found.filter {
                    $0.contains("invented") || $0.contains(key) || $0.hasPrefix("CREDENTIALS")
                        || $0.hasPrefix("CLARITY_JOBS_KEY")
                } == [], "\(name)")
            #expect(found.contains("PLAIN=plain"), "\(name)")
        }
        #expect(try descriptors("ben", playground) == [0, 1, 2])
    }

    @Test func `an account that is held keeps its secrets from the programs of others`()
        async throws
    {
        let playground = try await family()
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in
            text.replacing("secret: TOKEN_ben", with: "secrt: TOKEN_ben")
        }

        let run = try await run(
            playground, "run", "anna/nightly", environment: familySecrets(playground))
        let held = try await self.run(
            playground, "run", "ben/nightly", environment: familySecrets(playground))

        #expect(run.status == 1 && held.status == 65, "\(run)\(held)")
        let found = try variables("job", playground)
        #expect(found.filter { $0.contains("invented") } == [])
        #expect(found.contains("PLAIN=plain"))
    }

    @Test(arguments: [true, false])
    func `an account's target gets its own secret, from a variable or a credential`(
        isVariable: Bool
    ) async throws {
        let server = try ScriptedServer([.answer()])
        let playground = try await family("\(server.url)/topic")
        var secrets = familySecrets(playground)
        if !isVariable {
            secrets["TOKEN_anna"] = nil
            try playground.folder.write("credentials/TOKEN_anna", Array("invented-anna\n".utf8))
        }

        let result = try await run(
            playground, "--account", "anna", "notify", "test", "ntfy", environment: secrets)

        #expect(result.output == "ntfy: sent\n", "\(result)")
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer invented-anna"])
    }
}
