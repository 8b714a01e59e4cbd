@preconcurrency import Glibc

/// A TLS server on a loopback port that does to a client whatever the path asks for, and says what
/// it got. A process of python, whose TLS is not the client's code.
///
/// The paths: `/ok` and what is below it; `/redirect/PORT` to that port of this machine; `/endless` and `/announced`, a
/// body without end and one of 10 GB; `/drip`, a byte a minute; `/cut` and `/cut-cleanly`, a body
/// that ends early, without and with TLS's goodbye; `/gzip`, `/no-gzip`, `/bomb`; `/heads` and
/// `/line`, a head without end; `/silent`; `/close`, an answer after which the connection is closed;
/// `/once`, no answer but to the first request of a connection; `/digest`, the body's SHA-256;
/// `/quiet`, an answer of 4 KiB without a word in the log.
public final class HostileServer: Sendable {
    /// Why there is none on this machine; `nil` where there is. The first question is answered on
    /// standard error as well.
    public static let missing: String? = {
        let words = ["python3", "openssl"]
        let lacking = words.filter { word in
            !environment["PATH", default: ""].split(separator: ":").contains { folder in
                access("\(folder)/\(word)", X_OK) == 0
            }
        }
        if !lacking.isEmpty {
            fputs(
                "skipped: tests with a TLS server (no \(lacking.joined(separator: ", ")))\n", stderr
            )
        }
        return lacking.isEmpty ? nil : "there is no \(lacking.joined(separator: ", "))"
    }()

    /// Whether this machine can run one.
    public static var isAvailable: Bool { missing == nil }

    static let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin"]

    /// The port on 127.0.0.1.
    public let port: Int
    private let program: ChildProgram

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - newest: the newest TLS that it speaks, `1.2` or `1.3`.
    ///   - streams: with a number it offers HTTP/2, and answers when so many requests are there.
    public init(
        _ identity: TestAuthority.Identity, newest: String = "1.3", streams: Int = 0
    ) async throws {
        program = try ChildProgram(
            "/usr/bin/env",
            [
                "python3", "-c", HostileServer.program, identity.certificate, identity.key, newest,
                "\(streams)",
            ], environment: HostileServer.environment)
        let line = await program.readLine()
        guard let port = line.flatMap({ Int($0) }) else {
            throw TestAuthority.Failure(description: await program.finish().errors)
        }
        self.port = port
    }

    /// The base URL, without a slash at its end.
    public var url: String { "https://127.0.0.1:\(port)" }

    /// What happens next: `connected 1`, `request 1 GET /ok AUTHORIZATION`, `closed 1`.
    public func next() async -> String? { await program.readLine() }

    /// Waits until all connections are closed, ends the server and returns what else happened.
    public func finish() async -> [String] { await program.finish().outputLines }
}
