import ClarityTestSupport
import Glibc
import Testing

@testable import Database

@Suite(
    "A server at one of several hosts", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct SeveralHostsTests {
    /// Joins the hosts of addresses into an address.
    private func joined(
        _ addresses: [ServerAddress], for target: ServerAddress.Target? = nil
    ) -> ServerAddress {
        var joined = addresses[0]
        joined.hosts = addresses.flatMap(\.hosts)
        joined.target = target
        return joined
    }

    private func local(_ port: DeafPort) -> ServerAddress {
        ServerAddress(host: "127.0.0.1", port: port.number, database: "postgres", user: "clarity")
    }

    private func isInRecovery(_ address: ServerAddress) throws -> Bool {
        try ServerConnection(address).integer("SELECT pg_is_in_recovery()") == 1
    }

    @Test func `a standby is passed over until it is promoted`() async throws {
        let primary = try await PostgresServer.shared().address(of: "postgres")
        let second = try await PostgresServer()
        let standby = second.address(of: "postgres")
        try await second.becomeStandby()

        #expect(try isInRecovery(standby))
        for target in [nil, .readWrite, .primary] as [ServerAddress.Target?] {
            #expect(try !isInRecovery(joined([standby, primary], for: target)))
        }
        #expect(try isInRecovery(joined([standby, primary], for: .any)))

        let down = try DeafPort()
        let afterwards = joined([local(down), standby])
        let error = #expect(throws: DatabaseError.self) { try ServerConnection(afterwards) }
        #expect(error?.kind == .gone)
        #expect(
            error?.message == "127.0.0.1:\(down.number): Connection refused; "
                + "\(standby.host):5432: the server takes no writes: "
                + "`default_transaction_read_only` is on, or it is a standby")
        var another = standby
        another.user = "admin"
        _ = try ServerConnection(another).integer("SELECT pg_promote()")

        #expect(try !isInRecovery(afterwards))
    }

    @Test func `a host that never answers leaves time for the next one`() async throws {
        let frozen = try DeafPort(takesConnections: true)
        let primary = try await PostgresServer.shared().address(of: "postgres")

        let start = ContinuousClock.now
        let connection = try ServerConnection(
            joined([local(frozen), primary]), patience: .seconds(2))

        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(try connection.integer("SELECT 1") == 1)

        let error = #expect(throws: DatabaseError.self) {
            try ServerConnection(
                joined([local(frozen), local(frozen)]), patience: .milliseconds(200))
        }
        let reason = "127.0.0.1:\(frozen.number): no answer from the server within "
        #expect(error?.message.hasPrefix("\(reason)0.1 seconds; \(reason)") == true)
    }

    @Test func `each host has a password of its own`() async throws {
        let server = try await PostgresServer(asksPasswords: true)
        let refused = try DeafPort()
        let folder = try TemporaryFolder()
        var address = joined([local(refused), server.address(of: "postgres")])
        try folder.write(
            "pass", Array("127.0.0.1:*:*:*:other\n\(address.hosts[1].name):*:*:*:invented\n".utf8))
        try #require(chmod("\(folder.path)/pass", 0o600) == 0)
        address.passwordFile = "\(folder.path)/pass"

        #expect(try ServerConnection(address).integer("SELECT 1") == 1)

        try folder.write("pass", Array("127.0.0.1:*:*:*:other\n".utf8))
        let error = #expect(throws: DatabaseError.self) { try ServerConnection(address) }
        let missing = "no line is for \(address.hosts[1].name):5432:postgres:clarity"
        #expect(error?.message.contains("Connection refused; ") == true)
        #expect(error?.message.hasSuffix(missing) == true)
    }
}
