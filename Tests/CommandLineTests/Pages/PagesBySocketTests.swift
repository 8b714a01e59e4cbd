import ClarityTestSupport
import Glibc
import HTTPServing
import Platform
@testable import ProgramTestSupport
import Testing

/// The pages on a socket that the service manager has opened, as sd_listen_fds(3) describes it.
@Suite("Pages by socket activation", .timeLimit(.minutes(3)))
struct PagesBySocketTests {
    private static let activator = "/usr/bin/systemd-socket-activate"

    /// Starts a shell that becomes `clarity-jobs`, with variables for this process.
    private func start(_ playground: Playground, _ variables: String) throws -> ChildProgram {
        let own = "\(ChildProgram.folder)/clarity-jobs"
        return try ChildProgram(
            "/bin/sh",
            ["-c", "export \(variables); exec \"$0\" serve --listen 127.0.0.1:0", own],
            environment: surroundings(playground))
    }

    private func surroundings(_ playground: Playground) -> [String: String] {
        [
            "CLARITY_JOBS_CONFIG": playground.jobFilePath,
            "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
            "PATH": "/usr/bin:/bin",
        ]
    }

    /// Returns a port that was free a moment ago.
    private func freePort() throws -> UInt16 {
        try Listener(ListenAddress(host: 0x7F00_0001, port: 0)).address.port
    }

    @Test(.enabled(if: access(activator, X_OK) == 0, "no systemd-socket-activate"))
    func `the first visitor starts the pages, and is answered`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let port = try freePort()
        let made = try await playground.run("serve", "link")
        let link = try #require(made.outputLines.first?.firstRange(of: "/enter")).lowerBound
        let path = String(try #require(made.outputLines.first)[link...])
        let names = surroundings(playground).map { "--setenv=\($0.key)=\($0.value)" }
        let program = try ChildProgram(
            Self.activator,
            names + ["--listen=127.0.0.1:\(port)", "\(ChildProgram.folder)/clarity-jobs", "serve"],
            environment: [:])
        let opened = await program.readErrorLine()

        let text = try await LoopbackRequest.answer(
            "GET", path, host: "127.0.0.1:\(port)", headers: [:], body: "", port: port)
        let again = try await LoopbackRequest.answer(
            "GET", "/", host: "127.0.0.1:\(port)", headers: [:], body: "", port: port)
        let flags = String(
            decoding: try TemporaryFolder.read("/proc/\(program.processID)/fdinfo/3"), as: UTF8.self
        )
        program.signal(SIGTERM)
        let end = await program.finish()

        #expect(opened?.contains("Listening on 127.0.0.1:\(port)") == true, "\(opened ?? "")")
        #expect(text.hasPrefix("HTTP/1.1 303 "), "\(text)")
        #expect(again.hasPrefix("HTTP/1.1 "), "\(again)")
        // No command that answers a page inherits it: O_CLOEXEC of open(2).
        #expect(flags.firstMatch(of: /flags:\s+0?2\d{6}\n/) != nil, "\(flags)")
        #expect(
            end.errors.contains("pages listening on http://127.0.0.1:\(port)/\n"), "\(end.errors)")
        #expect(end.status == 143)
    }

    @Test func `a socket for another process is not taken`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let program = try start(playground, "LISTEN_PID=1 LISTEN_FDS=1")
        let line = try #require(await program.readErrorLine())
        program.signal(SIGTERM)
        _ = await program.finish()

        #expect(line.hasPrefix("clarity-jobs: pages listening on http://127.0.0.1:"), "\(line)")
    }

    @Test(arguments: [
        ("LISTEN_PID=$$ LISTEN_FDS=2", "the service manager passed 2 sockets; wanted one"),
        (
            "LISTEN_PID=$$ LISTEN_FDS=1",
            "the service manager passed no TCP socket of IPv4 that listens"
        ),
    ])
    func `anything but one TCP socket is refused`(variables: String, message: String) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await start(playground, variables).finish()

        #expect(result.status == 78)
        #expect(result.errors == "clarity-jobs: \(message)\n")
    }
}
