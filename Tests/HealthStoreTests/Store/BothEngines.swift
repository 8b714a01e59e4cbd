import ClarityScheduler
import ClarityTestSupport
import Database
import Glibc
import Testing

@testable import HealthStore

/// Runs each test of a suite with files, and then once more with PostgreSQL, where each
/// `StateFolder` keeps its health data in a database of its own.
///
/// `make chaos` does so with all of them (`CLARITY_CHAOS=whole`), and `make test` with those that the
/// day draws, a quarter: a database for each test takes as long as most of the tests.
struct BothEngines: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    /// Adds to each failure that it was with PostgreSQL.
    private var naming: IssueHandlingTrait {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("with PostgreSQL")
            return issue
        }
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        guard testCase != nil, !test.traits.contains(where: { $0 is FilesAlone }),
            BothEngines.draws(test), PostgresServer.isAvailable
        else { return }
        let server = try await HealthServer.shared()
        try await HealthServer.$current.withValue(server) {
            try await naming.provideScope(for: test, testCase: testCase, performing: function)
        }
    }
}

extension BothEngines {
    private static let isWhole = variable("CLARITY_CHAOS") == "whole"
    private static let seed =
        variable("CLARITY_CHAOS_SEED").flatMap { UInt64($0) } ?? UInt64(time(nil) / 86400)

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Whether a test runs on PostgreSQL in this run.
    fileprivate static func draws(_ test: Test) -> Bool {
        var hash = StableHash()
        hash.combine("\(seed) \(test.name)")
        return isWhole || hash.value % 4 == 0
    }
}

/// Marks a test, in a suite that runs on both engines, of what only files have, or of choices that
/// no engine makes.
struct FilesAlone: TestTrait {}

/// The server on which a test keeps health data.
struct HealthServer: Sendable {
    /// `nil` in a test that runs with files.
    @TaskLocal static var current: HealthServer?

    private let server: PostgresServer
    private let template: ServerAddress

    static func shared() async throws -> HealthServer { try await making.value }

    private static let making = Task {
        let server = try await PostgresServer.shared()
        let template = try server.makeDatabase()
        try ServerConnection(template).execute(ServerHealthSchema.statements(users: "clarity"))
        // Functions of SQLite with which tests write damage and rows.
        try ServerConnection(template, schema: ServerHealthSchema.name).execute(
            """
            CREATE FUNCTION zeroblob(bigint) RETURNS bytea LANGUAGE sql
                AS $$SELECT decode(repeat('00', $1::int), 'hex')$$;
            CREATE FUNCTION randomblob(bigint) RETURNS bytea LANGUAGE sql
                AS $$SELECT substring(uuid_send(gen_random_uuid()) FROM 1 FOR $1::int)$$;
            """)
        return HealthServer(server: server, template: template)
    }

    /// Makes a database for one state directory, whose numbers begin with 1 as those of a file.
    func makeDatabase() throws -> ServerAddress {
        try server.makeDatabase(from: template.database)
    }

    /// Removes a database that nobody uses any more.
    func remove(_ database: ServerAddress) throws { try server.remove(database) }
}

extension Trait where Self == BothEngines {
    static var onBothEngines: Self { BothEngines() }
}

extension Trait where Self == FilesAlone {
    static var onFilesAlone: Self { FilesAlone() }
}
