import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// How the receiver starts, and the tokens of those who push.
@Suite("The receiver's settings and tokens", .timeLimit(.minutes(2)))
struct ReceiveSetupProgramTests {
    // MARK: Tokens

    @Test func `a token is shown once, and its file has only its digest`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()

        let second = try await playground.json("receive", "token", "add", "tablet-2")
        let list = try await playground.json("receive", "token", "list")
        let lines = try await playground.run("receive", "token", "list")
        let contents = try playground.folder.contents()

        #expect(token.wholeMatch(of: /[0-9a-f]{64}/) != nil && second["token"].text != token)
        #expect(list.elements.map { $0["name"].text } == ["phone", "tablet-2"])
        #expect(list.elements.allSatisfy { isInstant($0["added_at"].text) })
        #expect(lines.outputLines.count == 3 && lines.outputLines[0].hasPrefix("NAME"))
        for (name, bytes) in contents {
            #expect(bytes.firstRange(of: Array(token.utf8)) == nil, "\(name)")
        }
        var status = stat()
        #expect(stat("\(playground.statePath)/push/tokens", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(contents["state/push/tokens"]?.count { $0 == UInt8(ascii: "\n") } == 2)
    }

    @Test func `a revoked token is refused at once, and a new one taken`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let push = ReceiverProgram.push(1)
        #expect(try await receiver.send(push, token: token).status == 200)

        let revoked = try await playground.run("receive", "token", "revoke", "phone")
        let refused = try await receiver.send(push, token: token)
        let again = try await playground.run("receive", "token", "revoke", "phone")
        let added = try await playground.run("receive", "token", "add", "phone")
        let taken = try await receiver.send(push, token: added.outputLines.first ?? "")

        #expect(revoked.output == "`phone` is revoked\n")
        #expect(refused.status == 401 && taken.status == 200)
        #expect(again.isRefusal(1, "clarity-jobs: there is no token `phone`"))
        #expect(
            added.errorLines == ["this token is shown only now; send it in the header `x-api-key`"])
    }

    @Test func `tokens beside the data count until one is added or revoked`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let state = playground.statePath
        try #require(rename("\(state)/push/tokens", "\(state)/push-tokens") == 0)
        let receiver = try await ReceiverProgram(playground)
        let push = ReceiverProgram.push(1)

        let before = try await receiver.send(push, token: token)
        _ = try await playground.run("receive", "token", "add", "tablet")
        let between = try await receiver.send(push, token: token)
        _ = try await playground.run("receive", "token", "revoke", "phone")
        let after = try await receiver.send(push, token: token)

        #expect([before, between, after].map(\.status) == [200, 200, 401])
        #expect(access("\(state)/push-tokens", F_OK) != 0)
    }

    @Test func `only a whole token of the receiver's own state is taken`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let other = "\(playground.folder.path)/other"
        let foreign = try await playground.run("receive", "token", "add", "phone", "--state", other)
        let file = try playground.folder.contents()["state/push/tokens"] ?? []
        let digest = String(decoding: file.prefix(64), as: UTF8.self)

        for wrong in [
            String(token.dropLast()), String(token.prefix(32)), token + "0", token.uppercased(),
            digest, try #require(foreign.outputLines.first),
        ] {
            let answer = try await receiver.send(ReceiverProgram.push(1), token: wrong)
            #expect(answer.status == 401, "\(answer)")
        }

        #expect(try playground.received().isEmpty)
        #expect(try await receiver.send(ReceiverProgram.push(1), token: token).status == 200)
    }

    @Test func `a name of a token is short, plain and new`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()

        let taken = try await playground.run("receive", "token", "add", "phone")

        #expect(
            taken.isRefusal(
                1, "clarity-jobs: there is a token `phone` already",
                "help: name another, or clarity-jobs receive token revoke phone"))
        for name in ["", "a b", "a\n", "ä", String(repeating: "a", count: 65)] {
            let result = try await playground.run("receive", "token", "add", name)
            #expect(
                result.isRefusal(
                    64,
                    "clarity-jobs: `receive token add` wants one name of letters, digits, `-`, `_` "
                        + "and `.`"))
        }
    }

    @Test func `tokens that are added at the same time are all there`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()

        try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await playground.run("receive", "token", "add", "t\(number)").status
                }
            }
            for try await status in group { #expect(status == 0) }
        }

        #expect(try await playground.json("receive", "token", "list").elements.count == 9)
    }

    @Test func `a file of tokens that was damaged lets nobody in`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        try playground.folder.write("state/push/tokens", Array("\(token)\n".utf8))

        let answer = try await receiver.send(ReceiverProgram.push(1), token: token)
        let list = try await playground.run("receive", "token", "list")

        #expect(answer == .init(status: 500, text: "the tokens cannot be read; the log says why"))
        #expect(
            list.isRefusal(
                78,
                "clarity-jobs: cannot use `\(playground.statePath)/push/tokens`: line 1 is no token"
            ))
    }

    // MARK: The start

    @Test func `the job file names the folder`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let none = try await playground.run("receive")
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: \(url) }
            sources:
              - { kind: health-auto-export, path: \(folder)/a, delete_after_reading: true }
              - { kind: health-auto-export, path: \(folder)/b, delete_after_reading: false }
              - { kind: health-auto-export, path: \(folder)/c, delete_after_reading: true }
            jobs: [{ id: upload, kind: bulk-upload, schedule: { every: 1h } }]

            """
        }
        let two = try await playground.run("receive")

        let help =
            "help: sources: [{ kind: health-auto-export, path: FOLDER, delete_after_reading: true }]"
        #expect(
            none.isRefusal(
                78,
                "clarity-jobs: the job file has no source with `delete_after_reading: true`; "
                    + "`receive` wants one", help))
        #expect(
            two.isRefusal(
                78,
                "clarity-jobs: the job file has 2 sources with `delete_after_reading: true`; "
                    + "`receive` wants one", help))
    }

    @Test func `one receiver serves a folder, and removes what a killed one left`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()
        mkdir("\(playground.folder.path)/received", 0o755)
        try playground.folder.write("received/.push-1.part", Array("half".utf8))
        try playground.folder.write("received/other", [])
        let receiver = try await ReceiverProgram(playground)

        let second = try await playground.run("receive", "--listen", "127.0.0.1:0")

        #expect(
            second.isRefusal(
                78,
                "clarity-jobs: cannot use `\(playground.folder.path)/received`: another receiver uses it"
            ))
        #expect(try playground.received().keys.sorted() == ["received/other"])
        var status = stat()
        #expect(stat("\(playground.folder.path)/received", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        withExtendedLifetime(receiver) {}
    }

    @Test func `the receiver says that there is no token, and has no key`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()
        #expect(try await playground.run("receive", "token", "revoke", "phone").status == 0)
        let key = String(repeating: "ab", count: 32)
        let program = try playground.start(
            ["receive", "--listen", "127.0.0.1:0"],
            environment: ["CLARITY_JOBS_KEY": key, "CREDENTIALS_DIRECTORY": "/nowhere"])

        let first = await program.readErrorLine()
        let ready = await program.readErrorLine()
        let environment = String(
            decoding: try TemporaryFolder.read("/proc/\(program.processID)/environ"), as: UTF8.self)

        #expect(
            first == "clarity-jobs: there is no token yet: clarity-jobs receive token add NAME")
        #expect(ready?.hasPrefix("clarity-jobs: receiver listening on http://127.0.0.1:") == true)
        #expect(!environment.contains(key) && !environment.contains("CREDENTIALS"))
        #expect(environment.contains("PATH="))
        #expect(access("\(playground.statePath)/keys", F_OK) != 0)
    }

    // MARK: TLS

    @Test func `another address than this machine's wants TLS`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()

        let open = try await playground.run("receive", "--listen", "0.0.0.0:0")
        let half = try await playground.run("receive", "--certificate", "a.pem")
        let nowhere = try await playground.run("receive", "--listen", "9188")

        #expect(
            open.isRefusal(
                64,
                "clarity-jobs: others can read what is sent to `0.0.0.0:0`; add --certificate and "
                    + "--private-key, or listen on 127.0.0.1"))
        #expect(
            half.isRefusal(
                64, "clarity-jobs: `receive` wants both --certificate and --private-key, or none"))
        #expect(
            nowhere.isRefusal(
                64,
                "clarity-jobs: `--listen 9188` is no IPv4 address with a port; write it as "
                    + "`127.0.0.1:9188`"))
    }

    @Test(.enabled(if: ReceiveProgramTests.hasCurl, "needs curl"))
    func `a push comes over TLS, and not without it`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        let receiver = try await ReceiverProgram(
            playground, ["--certificate", identity.certificate, "--private-key", identity.key])
        func push(_ scheme: String, _ options: String...) async throws -> ProgramResult {
            try await ChildProgram.run(
                "/usr/bin/curl",
                [
                    "-sS", "-H", "x-api-key: \(token)", "-H", "Content-Type: application/json",
                    "-d", ReceiverProgram.push(1), "--cacert", authority.certificate,
                    "\(scheme)://127.0.0.1:\(receiver.port)\(ReceiverProgram.path)",
                ] + options)
        }

        let plain = try await push("http")
        let old = try await push("https", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0")
        let good = try await push("https")

        #expect(plain.status != 0 && old.status != 0)
        #expect(good.status == 0 && good.output == "stored\n", "\(good.errors)")
        #expect(try playground.received().count == 1)
    }

    @Test func `a certificate that does not fit is one line`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()
        let authority = try await TestAuthority()
        let (one, other) = (
            try await authority.identity("one"), try await authority.identity("other")
        )
        func start(_ certificate: String, _ key: String) async throws -> ProgramResult {
            try await playground.run(
                "receive", "--listen", "127.0.0.1:0", "--certificate", certificate,
                "--private-key", key)
        }

        let mixed = try await start(one.certificate, other.key)
        let missing = try await start("/nowhere.pem", one.key)

        #expect(
            mixed.isRefusal(
                69, "clarity-jobs: cannot use the certificate and its key, or start a thread"))
        #expect(
            missing.isRefusal(
                78, "clarity-jobs: cannot use `/nowhere.pem`: no such file or directory"))
    }
}
