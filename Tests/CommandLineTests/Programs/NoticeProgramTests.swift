import ClarityHost
import ClarityTestSupport
@testable import ProgramTestSupport
import Foundation
import Testing

/// `notify:` through the built programs, with real receivers.
@Suite("Notices", .timeLimit(.minutes(5)))
struct NoticeProgramTests {
    /// A job file with a command that fails until the file `fixed` is there.
    private func playground(_ notify: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            notify:
            \(notify)
            jobs:
              - id: nightly
                kind: command
                retry: { attempts: 1 }
                options: { command: [test, -e, \(folder)/fixed] }

            """
        }
    }

    private func ntfy(_ server: ScriptedServer) -> String {
        "  - { kind: ntfy, url: \"\(server.url)/topic\", secret: TOKEN }"
    }

    @Test func `a failed job is told to ntfy once, and its success too`() async throws {
        let server = try ScriptedServer([.answer(), .answer()])
        let playground = try await playground(ntfy(server))
        let token = ["TOKEN": "tk_invented"]

        let failed = try await playground.run("run", "nightly", environment: token)
        _ = try await playground.run("run", "--due", environment: token)
        try playground.folder.write("fixed", [])
        _ = try await playground.run("run", "nightly", environment: token)
        let between = try await playground.run("notices")
        _ = try await playground.run("run", "notify", environment: token)
        let list = try await playground.json("notices", "list")

        #expect(failed.status == 1)
        // The job works, and nobody was told yet.
        #expect(between.output.contains("  works again  job-failed"), "\(between.output)")
        let requests = server.requests
        #expect(
            requests.map(\.body) == [
                "job `nightly` failed: exited with status 1; see `clarity-jobs history show 1`\n",
                "job `nightly` works again\n",
            ])
        #expect(requests.allSatisfy { $0.method == "POST" && $0.target == "/topic" })
        #expect(requests.allSatisfy { $0.headers["authorization"] == "Bearer tk_invented" })
        #expect(requests.map { $0.headers["tags"] } == ["warning", "white_check_mark"])
        let notice = try #require(list.elements.first)
        #expect(notice["kind"].text == "job-failed" && notice["subject"].text == "nightly")
        #expect(notice["messages_sent"].number == 2 && notice["resolved_at"].text != nil)
    }

    @Test func `a scheduler killed while it tells leaves the message to the next one`()
        async throws
    {
        let server = try ScriptedServer([.silence, .answer()])
        let playground = try await playground(ntfy(server))
        let token = ["TOKEN": "tk_invented"]
        let first = try playground.start(["run", "nightly"], environment: token)
        for await event in server.events { if case .request = event { break } }
        // The worker ends with its scheduler.
        first.signal(SIGKILL)
        _ = await first.finish()

        let second = try await playground.run("run", "notify", environment: token)
        let list = try await playground.json("notices", "list")

        #expect(second.status == 0, "\(second.errors)")
        #expect(server.requests.count == 2)
        #expect(Set(server.requests.map(\.body)).count == 1)
        #expect(list.elements.first?["messages_perhaps_twice"].number == 1)
    }

    @Test func `a webhook is signed, and a program gets JSON but no secret`() async throws {
        let server = try ScriptedServer([.answer()])
        let playground = try await playground(
            """
              - { kind: webhook, url: "\(server.url)/hook", secret: HOOK_KEY }
              - kind: command
                command: [sh, -c, 'cat > OUT.json; env > OUT.env']
            """)
        let text = try String(contentsOfFile: playground.jobFilePath, encoding: .utf8)
        try playground.write { _, folder in
            text.replacing("OUT", with: "\(folder)/out") + "key: { variable: OWN_KEY }\n"
        }

        _ = try await playground.run(
            "run", "nightly",
            environment: ["HOOK_KEY": "invented", "OWN_KEY": String(repeating: "5a", count: 32)])

        let request = try #require(server.requests.first)
        let parts = try #require(request.headers["clarity-signature"]).split(separator: ",")
        let time = try #require(parts.first).dropFirst(2)
        let openssl = try ChildProgram(
            "/usr/bin/openssl", ["dgst", "-sha256", "-hmac", "invented", "-r"],
            environment: ["PATH": "/usr/bin:/bin"])
        let digest = await openssl.finish(input: "\(time).\(request.body)")
        #expect(parts.last == "v1=\(digest.output.prefix(64))")
        let folder = playground.folder.path
        let json = try String(contentsOfFile: "\(folder)/out.json", encoding: .utf8)
        #expect(json == request.body && json.contains(#""kind":"job-failed""#))
        let environment = try String(contentsOfFile: "\(folder)/out.env", encoding: .utf8)
        #expect(!environment.contains("invented") && !environment.contains("5a5a"))
        #expect(environment.contains("PATH="))
    }

    @Test func `a check is pinged at start and end`() async throws {
        let server = try ScriptedServer(Array(repeating: .answer(200, "OK"), count: 9))
        let playground = try await playground("  - { kind: healthchecks, secret: PING }")
        let ping = ["PING": "\(server.url)/ping/invented"]

        _ = try await playground.run("run", "notify", environment: ping)
        _ = try await playground.run("run", "nightly", environment: ping)

        #expect(
            server.requests.map(\.target) == [
                "/ping/invented/start", "/ping/invented", "/ping/invented/start",
                "/ping/invented/log", "/ping/invented/fail",
            ])
        #expect(server.requests.last?.body.hasPrefix("job `nightly` failed") == true)
        #expect(
            try playground.folder.contents().filter { $0.key.hasPrefix("state/") }
                .allSatisfy { !String(decoding: $0.value, as: UTF8.self).contains("ping/invented") }
        )
    }

    /// sendmail(8) is msmtp's here, and hands the mail to a real SMTP server.
    @Test(.enabled(if: hasMail))
    func `a mail arrives at a mail server`() async throws {
        let playground = try await playground(
            "  - { kind: mail, to: you@example.com, from: jobs@example.com }")
        let folder = playground.folder.path
        let script = """
            import asyncio, socket, sys
            from aiosmtpd.controller import Controller
            class Sink:
                async def handle_DATA(self, server, session, envelope):
                    open(sys.argv[1], 'wb').write(envelope.content)
                    print(','.join(envelope.rcpt_tos), flush=True)
                    return '250 OK'
            with socket.socket() as free:
                free.bind(('127.0.0.1', 0))
                port = free.getsockname()[1]
            controller = Controller(Sink(), hostname='127.0.0.1', port=port)
            controller.start()
            print(port, flush=True)
            sys.stdin.read()
            controller.stop()
            """
        let sink = try ChildProgram(
            "/usr/bin/python3", ["-c", script, "\(folder)/mail"],
            environment: ["PATH": "/usr/bin:/bin"])
        let port = try #require(await sink.readLine())
        try playground.folder.write(
            ".msmtprc",
            Array("account default\nhost 127.0.0.1\nport \(port)\nfrom jobs@example.com\n".utf8))

        _ = try await playground.run("run", "nightly")

        #expect(await sink.readLine() == "you@example.com")
        let mail = try String(contentsOfFile: "\(folder)/mail", encoding: .utf8)
        #expect(mail.contains("Subject: \(HostIdentity.name): job `nightly` failed"))
        #expect(mail.contains("Auto-Submitted: auto-generated"))
        #expect(mail.contains("\r\n\r\njob `nightly` failed: exited with status 1; see"))
        _ = await sink.finish()
    }

    private static let hasMail =
        access("/usr/bin/msmtp", X_OK) == 0
        && access("/usr/lib/python3/dist-packages/aiosmtpd", F_OK) == 0

    @Test func `a test message goes to every target, and each answers for itself`() async throws {
        let server = try ScriptedServer([.answer(), .answer(500)])
        let playground = try await playground(
            "  - { kind: ntfy, url: \"\(server.url)/a\" }\n"
                + "  - { kind: ntfy, name: second, url: \"\(server.url)/b\" }")

        let result = try await playground.run("notify", "test")
        let unknown = try await playground.run("notify", "test", "third")

        #expect(result.output == "ntfy: sent\nsecond: target `second` answers 500\n")
        #expect(result.status == 69)
        #expect(unknown.isRefusal(78, "clarity-jobs: `notify` has no target `third`"))
    }

    @Test(arguments: [
        ("{ kind: ntfy }", "entry 1 of `notify` has no `url`"),
        ("{ kind: webhook, url: \"https://a.example\" }", "entry 1 of `notify` has no `secret`"),
        (
            "{ kind: mail, to: a, on: [job-faild] }",
            "unknown on `job-faild`; did you mean `job-failed`?"
        ),
        ("{ kind: mail, to: a, at_most: 6h }", "at_most `6h` is not a rate"),
        (
            "{ kind: mail, to: a, quiet: late }",
            "quiet `late` is not understood, wanted a time of day such as `22:00-06:00` or "
                + "`Mon..Fri 09:00-17:00`"
        ),
    ])
    func `a mistake in a target is reported where it is`(
        entry: String, message: String
    ) async throws {
        let playground = try await playground("  - \(entry)")

        let result = try await playground.run("validate")

        #expect(result.status == 65 && result.errors.contains(message), "\(result.errors)")
    }

    @Test func `no other job has the id of the job that tells`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            notify: [{ kind: mail, to: you@example.com }]
            jobs: [{ id: notify, kind: command, options: { command: ["true"] } }]

            """
        }

        let result = try await playground.run("validate")

        #expect(
            result.isRefusal(
                65,
                "\(playground.jobFilePath):3:8: job id `notify` is that of the job that `notify` "
                    + "implies", "help: give the job another id"))
    }
}
