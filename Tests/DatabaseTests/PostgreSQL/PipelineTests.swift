import ClarityTestSupport
import Testing

@testable import Database

@Suite(
    "Statements that a server gets without a wait between them",
    .enabled(if: PostgresServer.isAvailable))
struct PipelineTests {
    private func openTable() async throws -> Connection {
        try await EngineName.postgreSQL.openTable()
    }

    @Test func `the failure of a statement comes with the next that has rows`() async throws {
        let connection = try await openTable()
        try connection.run("INSERT INTO t (id) VALUES (1)")
        var reached = false

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (?)", .integer(1))
                reached = true
                _ = try connection.integer("SELECT count(*) FROM t")
                Issue.record("the failure did not come")
            }
        }

        #expect(reached)
        #expect(error?.kind == .constraint)
        #expect(error?.statement == "INSERT INTO t (id) VALUES (?)")
    }

    @Test func `what follows a failure is not done, and is prepared again`() async throws {
        let connection = try await openTable()

        #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("SELECT 1 / ?::bigint", .integer(0))
                try connection.run("INSERT INTO t (id, name) VALUES (?, 'lost')", .integer(1))
            }
        }
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)

        try connection.transaction {
            try connection.run("INSERT INTO t (id, name) VALUES (?, 'lost')", .integer(1))
        }
        #expect(try connection.integer("SELECT count(*) FROM t") == 1)
    }

    /// A server takes the commit of a transaction that has failed, and rolls back without an error.
    @Test func `a transaction whose failure was caught does not end as if it had succeeded`()
        async throws
    {
        let connection = try await openTable()

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t (id) VALUES (1)")
                do {
                    _ = try connection.change("INSERT INTO t (id) VALUES (1)")
                } catch {
                    // As code might that takes the row for one that is there already.
                }
            }
        }

        #expect(error?.code == "PostgreSQL 25P02")
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
        try connection.transaction { try connection.run("INSERT INTO t (id) VALUES (2)") }
        #expect(try connection.integer("SELECT id FROM t") == 2)
    }

    @Test func `any number of statements and bytes may be under way`() async throws {
        let connection = try await openTable()
        let long = String(repeating: "x", count: 50_000)

        try connection.transaction {
            for id in Int64(1)...1000 {
                try connection.run(
                    "INSERT INTO t (id, name) VALUES (?, ?)", .integer(id),
                    .text(id % 10 == 0 ? long : "short"))
            }
        }

        #expect(try connection.integer("SELECT count(*) FROM t") == 1000)
        #expect(try connection.integer("SELECT sum(length(name)) FROM t") == 100 * 50_000 + 900 * 5)
    }

    @Test func `a script waits for the statements before it`() async throws {
        let connection = try await openTable()

        try connection.transaction {
            try connection.run("INSERT INTO t (id) VALUES (1)")
            try connection.execute("UPDATE t SET id = 2; UPDATE t SET id = 3")
        }

        #expect(try connection.integer("SELECT id FROM t") == 3)
    }

    @Test func `a value of another type than the column's is an error`() async throws {
        let connection = try await openTable()

        let error = #expect(throws: DatabaseError.self) {
            try connection.withInsertion("INSERT INTO t (id) VALUES (?)") {
                try $0.bind([.text("1")])
                try $0.run()
            }
        }
        #expect(error?.code == "PostgreSQL 42804")
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
    }
}
