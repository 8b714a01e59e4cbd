import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@testable import ClarityHost

/// Stands for processes that share a database, each with its own session.
final class PostgresRunStoreBed: RunStoreBed {
    let address: ServerAddress
    private var stores: [String: PostgresRunStore] = [:]
    private var opened = 0

    init() async throws {
        let server = try await PostgresServer.shared()
        try await PostgresRunStoreBed.template.value
        address = try server.makeDatabase(from: PostgresRunStoreBed.templateName)
    }

    /// An empty history that every bed's database is a copy of.
    private static let template = Task {
        let server = try await PostgresServer.shared()
        let admin = try ServerConnection(server.address(of: "postgres", user: "admin"))
        try admin.execute("CREATE DATABASE \(templateName) OWNER clarity")
        let connection = try ServerConnection(server.address(of: templateName))
        try connection.transaction { try connection.execute(ServerHistory.statements()) }
    }

    private static let templateName = "history"

    func open() throws -> (store: any RunStore, owner: String) {
        opened += 1
        let store = try PostgresRunStore(at: address, owner: "process-\(opened)")
        stores[store.owner] = store
        return (BorrowedRunStore(store), store.owner)
    }

    func end(_ owner: String) {
        stores[owner] = nil
        // The server ends a session a moment after its client has left.
        #expect(throws: Never.self) {
            let connection = try ServerConnection(address)
            while try SessionMark.isLiving(SessionMark.of(owner), connection) {}
        }
    }

    func lapseLeases(of owner: String) throws {
        let connection = try ServerConnection(address, schema: "clarity_history")
        try connection.transaction {
            try connection.run(
                "UPDATE runs SET lease_owner = '1-gone' WHERE lease_owner = ?", .text(owner))
            try connection.run("UPDATE writes SET version = version + 1")
        }
    }
}
