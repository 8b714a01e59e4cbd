import Glibc

/// The broker of Debian's package mosquitto, on a loopback port, which ends with its owner. It asks
/// for the password of its only user.
public final class MosquittoBroker: Sendable {
    /// Whether this machine has the broker and its clients.
    public static let isAvailable: Bool = [broker, client("sub"), client("pub")].allSatisfy {
        (path: String) in
        access(path, X_OK) == 0
    }
    /// What a broker needs, for the trait of tests that use one.
    public static let need =
        "needs Debian's packages mosquitto and mosquitto-clients (`scripts/setup test`)"
    public static let user = "home"
    public static let password = "invented-password"

    private static let broker = "/usr/sbin/mosquitto"
    private static func client(_ name: String) -> String { "/usr/bin/mosquitto_\(name)" }

    public let port: Int
    private let folder: TemporaryFolder
    private let program: ChildProgram

    /// Starts a broker.
    ///
    /// - Parameters:
    ///   - identity: the certificate with which it speaks TLS; without it, it speaks none.
    ///   - rules: what its user may do, as mosquitto.conf(5) describes `acl_file`.
    public init(
        port: Int? = nil, identity: TestAuthority.Identity? = nil,
        rules: String = "topic readwrite #"
    ) async throws {
        let folder = try TemporaryFolder()
        let port = try port ?? DeafPort().number
        let made = try await ChildProgram.run(
            "/usr/bin/mosquitto_passwd",
            ["-b", "-c", "\(folder.path)/users", MosquittoBroker.user, MosquittoBroker.password])
        guard made.status == 0 else { throw PostgresServer.Failure(made.errors) }
        try folder.write("rules", Array("user \(MosquittoBroker.user)\n\(rules)\n".utf8))
        var lines = [
            "listener \(port) 127.0.0.1", "allow_anonymous false", "persistence false",
            "password_file \(folder.path)/users", "acl_file \(folder.path)/rules",
            "log_dest stderr", "user root",
        ]
        if let identity {
            lines += ["certfile \(identity.certificate)", "keyfile \(identity.key)"]
        }
        try folder.write("mosquitto.conf", Array(lines.joined(separator: "\n").utf8))
        program = try ChildProgram(
            MosquittoBroker.broker, ["-c", "\(folder.path)/mosquitto.conf"], environment: [:])
        (self.folder, self.port) = (folder, port)
        while let line = await program.readErrorLine() {
            if line.hasSuffix(" running") { return }
        }
        throw PostgresServer.Failure("the broker did not start")
    }

    /// Returns the retained messages by their topics, as a subscriber gets them.
    ///
    /// - Parameter authority: whose certificates the subscriber trusts, of a broker with TLS.
    public func retained(trusting authority: TestAuthority? = nil) async throws -> [String: String]
    {
        let end = "end/\(UInt64.random(in: 0...UInt64.max))"
        let words =
            [
                "-h", "127.0.0.1", "-p", "\(port)", "-u", MosquittoBroker.user, "-P",
                MosquittoBroker.password,
            ] + (authority.map { ["--cafile", $0.certificate] } ?? [])
        let subscriber = try ChildProgram(
            "/usr/bin/stdbuf",
            ["-oL", MosquittoBroker.client("sub"), "-d", "-t", "#", "-F", "%r %t %p"] + words,
            environment: [:])
        var messages: [String: String] = [:]
        while let line = await subscriber.readLine() {
            // What is retained comes before a message that is published now.
            if line.hasPrefix("Subscribed ") {
                let marked = try await ChildProgram.run(
                    MosquittoBroker.client("pub"), ["-t", end, "-m", "."] + words)
                guard marked.status == 0 else { throw PostgresServer.Failure(marked.errors) }
            }
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3, parts[0] == "1" || parts[0] == "0" else { continue }
            if parts[1] == end { return messages }
            messages[parts[1]] = parts[2]
        }
        throw PostgresServer.Failure("the subscriber ended")
    }
}
