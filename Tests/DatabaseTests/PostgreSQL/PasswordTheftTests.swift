import ClarityTestSupport
import Glibc
import Testing

@testable import Database

/// Somebody who listens where the server should, because it is down.
@Suite(
    "A password and a server that asks for it", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct PasswordTheftTests {
    private static let password = "an-invented-password"

    @Test(arguments: FalseServer.Question.allCases)
    func `a server on this machine gets it in no other way than SCRAM`(
        question: FalseServer.Question
    ) async throws {
        let thief = try FalseServer()
        async let answers = blocking { thief.serve(question) }
        var address = ServerAddress(
            host: "127.0.0.1", port: thief.port, database: "d", user: "clarity")
        address.password = PasswordTheftTests.password

        let error = try await blocking { [address] in
            #expect(throws: DatabaseError.self) {
                try ServerConnection(address, patience: .seconds(2))
            }
        }
        let received = try await answers

        // It was there, and was asked for a connection.
        #expect(received.count >= 8)
        #expect(!received.contains(PasswordTheftTests.password.utf8), "\(error as Any)")
        // As the question for MD5 is answered.
        #expect(!received.contains("md5".utf8), "\(error as Any)")
        #expect(error?.message.contains("the password was not sent") == true)
    }

    @Test(
        arguments: [
            ("/run/postgresql", 150_000, "prefer", "prefer", nil),
            ("/run/postgresql", 160_000, "prefer", "prefer", "scram-sha-256"),
            ("127.0.0.1", 150_000, "require", "require", nil),
            ("127.0.0.1", 160_000, "prefer", "prefer", "scram-sha-256"),
            ("db.example.org", 150_000, "verify-full", "require", nil),
            ("db.example.org", 160_000, "verify-full", "require", "scram-sha-256"),
        ] as [(String, Int32, String, String, String?)])
    func `each version of libpq is told to answer SCRAM alone`(
        host: String, library: Int32, tls: String, binding: String, questions: String?
    ) throws {
        let address = ServerAddress(host: host, database: "d", user: "u")
        func parameter(_ name: String, password: String? = "p") -> String? {
            address.parameters(for: address.hosts[0], password: password, library: library)
                .first { $0.name == name }?.value
        }

        #expect(parameter("sslmode") == tls)
        #expect(parameter("channel_binding") == binding)
        #expect(parameter("require_auth") == questions)
        // There is nothing to get.
        #expect(parameter("require_auth", password: nil) == nil)
        #expect(parameter("channel_binding", password: nil) == "prefer")
    }

    @Test func `an administrator's own choice of questions is kept`() throws {
        var address = try ServerAddress(
            parsing: "postgresql://u@127.0.0.1/d?require_auth=scram-sha-256,password")
        func parameter(_ name: String, _ library: Int32) -> String? {
            address.parameters(for: address.hosts[0], password: "p", library: library)
                .first { $0.name == name }?.value
        }

        #expect(parameter("require_auth", 160_000) == "password,scram-sha-256")
        #expect(parameter("sslmode", 150_000) == "prefer")
        #expect(parameter("channel_binding", 150_000) == "prefer")
        address = try ServerAddress(parsing: "postgresql://u@db/d?channel_binding=prefer")
        #expect(parameter("channel_binding", 150_000) == "prefer")
    }

    @Test func `a server over TLS gets an answer to SCRAM and to nothing else`() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        for (question, isLetIn) in [("scram-sha-256", true), ("password", false), ("md5", false)] {
            let server = try await PostgresServer(
                asksPasswords: true, question: question, identity: identity, connections: 20)
            var address = server.address(of: "postgres")
            address.host = "127.0.0.1"
            address.password = "invented"

            guard !isLetIn else {
                #expect(try ServerConnection(address).integer("SELECT 1") == 1)
                continue
            }
            let error = #expect(throws: DatabaseError.self) { try ServerConnection(address) }
            #expect(error?.message.contains("the password was not sent") == true, "\(question)")
        }
        withExtendedLifetime(authority) {}
    }

    @Test(.enabled(if: getuid() == 0, "only root gives a socket away"))
    func `a socket of somebody else is left before anything is sent`() async throws {
        let real = try await PostgresServer.shared().address(of: "postgres")
        let folder = try TemporaryFolder()
        let socket = ".s.PGSQL.5432"
        try #require(
            symlink("\(real.host)/\(socket)", "\(folder.path)/\(socket)") == 0)
        var address = real
        address.host = folder.path
        func message() -> String? {
            #expect(throws: DatabaseError.self) { try ServerConnection(address) }?.message
        }

        // Nobody but root can make a socket here, and the socket's owner listens.
        #expect(try ServerConnection(address).integer("SELECT 1") == 1)
        try #require(chmod(folder.path, 0o1777) == 0)
        #expect(message()?.contains("who owns the folder") == true)
        try #require(chmod(folder.path, 0o755) == 0)
        // A socket of another owner than its server.
        let own = try await PostgresServer(connections: 20)
        address.host = own.address(of: "postgres").host
        try #require(chown("\(address.host)/\(socket)", 65534, 65534) == 0)
        #expect(message()?.contains("who owns the socket") == true)
    }
}

/// Answers one client on a port of 127.0.0.1 as a PostgreSQL server does that wants a password
/// (PostgreSQL's documentation, 55.2.1).
final class FalseServer: Sendable {
    enum Question: CaseIterable { case clearText, md5, clearTextAfterSCRAM }

    let port: Int
    private let listening: Int32

    init() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, size) == 0 && getsockname(listening, $0, &size) == 0
                    && listen(listening, 16) == 0
            }
        }
        guard isReady else { throw TemporaryFolder.Errno(code: errno) }
        self.listening = listening
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(listening) }

    /// Asks the first client for its password, and returns every byte that the client has sent when
    /// it leaves. Waits 10 s for it.
    func serve(_ question: Question) -> [UInt8] {
        var waiting = pollfd(fd: listening, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 10_000) == 1 else { return [] }
        let client = accept(listening, nil, nil)
        defer { close(client) }
        var received: [UInt8] = []
        func receive() -> Bool {
            var bytes = [UInt8](repeating: 0, count: 4096)
            waiting.fd = client
            guard poll(&waiting, 1, 10_000) == 1 else { return false }
            let count = read(client, &bytes, bytes.count)
            received += bytes.prefix(max(0, count))
            return count > 0
        }
        func answer(_ bytes: [UInt8]) {
            _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }
        // It has no TLS (SSLRequest).
        while receive(), received.suffix(4) == [0x04, 0xD2, 0x16, 0x2F] { answer([0x4E]) }
        let clearText: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 3]
        switch question {
        case .clearText: answer(clearText)
        case .md5: answer([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4])
        case .clearTextAfterSCRAM:
            answer([0x52, 0, 0, 0, 23, 0, 0, 0, 10] + Array("SCRAM-SHA-256\0\0".utf8))
            _ = receive()
            answer(clearText)
        }
        while receive() {}
        return received
    }
}
