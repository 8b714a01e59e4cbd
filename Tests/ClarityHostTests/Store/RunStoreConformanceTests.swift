import ClarityHost
import ClarityScheduler
import Platform
import ClarityTestSupport
import Database
import Testing

@Suite("The conformance of run stores")
struct RunStoreConformanceTests {
    @Test(arguments: RunStoreConformance.allCases)
    func `the store in memory conforms`(sentence: RunStoreConformance) throws {
        try sentence.check(MemoryRunStoreBed())
    }

    @Test(arguments: RunStoreConformance.allCases)
    func `the store in SQLite conforms`(sentence: RunStoreConformance) throws {
        try sentence.check(try SQLiteRunStoreBed())
    }

    @Test(
        .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"),
        arguments: RunStoreConformance.allCases)
    func `the store in PostgreSQL conforms`(sentence: RunStoreConformance) async throws {
        try sentence.check(try await PostgresRunStoreBed())
    }
}

/// Stands for processes that share one folder, each with its own connection and lock.
final class SQLiteRunStoreBed: RunStoreBed {
    let folder: TemporaryFolder
    private var stores: [String: SQLiteRunStore] = [:]
    private var opened: UInt64 = 0

    init() throws { folder = try TemporaryFolder() }

    var path: String { "\(folder.path)/state" }

    func open() throws -> (store: any RunStore, owner: String) {
        opened += 1
        let store = try SQLiteRunStore(in: StateDirectory(path: path), uniqueNumber: opened)
        stores[store.leaseLock.owner] = store
        return (BorrowedRunStore(store), store.leaseLock.owner)
    }

    func end(_ owner: String) { stores[owner] = nil }

    func lapseLeases(of owner: String) throws {
        let connection = try FileConnection(path: "\(path)/history.db", access: .readWrite)
        try connection.run(
            "UPDATE runs SET lease_owner = '1-gone' WHERE lease_owner = ?", .text(owner))
    }
}
