@preconcurrency import Glibc

/// A TLS server on a loopback port that does to a client whatever the path asks for, and reports
/// what it received. It is a Python process, so its TLS is not the client's code.
///
/// The paths:
/// - `/ok`, and every path below it: a plain answer; `/quiet`: 4 KiB, without a line in the log
/// - `/redirect/PORT`: a redirect to that port of this machine
/// - `/endless` and `/announced`: a body without end, and a body of 10 GB
/// - `/drip`: one byte a minute
/// - `/cut` and `/cut-cleanly`: a body that ends early, without and with a TLS close notification
/// - `/gzip`, `/no-gzip`, `/other-encoding` and `/bomb`: a body with a true, a false or an unknown
///   content encoding, and one that inflates to 50 MB
/// - `/heads`, `/line` and `/interim`: a head without end
/// - `/silent`: no answer
/// - `/close`: an answer, after which the connection is closed
/// - `/once`: an answer only to the first request of a connection
/// - `/digest`: the SHA-256 of the request's body
public final class HostileServer: Sendable {
    /// The reason why this machine cannot run such a server, or `nil` if it can. The first access
    /// also prints the reason to standard error.
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

    /// Whether this machine can run such a server.
    public static var isAvailable: Bool { missing == nil }

    static let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin"]

    /// The port on 127.0.0.1.
    public let port: Int
    private let program: ChildProgram

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - newest: the newest TLS version that it speaks, `1.2` or `1.3`.
    ///   - streams: unless it is 0, the server offers HTTP/2, and answers when it has received this
    ///     number of requests.
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

    /// Waits for the next event, such as `connected 1`, `request 1 GET /ok AUTHORIZATION` or
    /// `closed 1`.
    public func next() async -> String? { await program.readLine() }

    /// Waits until all connections are closed, ends the server and returns the remaining events.
    public func finish() async -> [String] { await program.finish().outputLines }
}
