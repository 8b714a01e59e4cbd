import SQLite
import Testing

@testable import ClarityJobs

@Suite struct DialectKeepingTests {
    @Test func `each backend's dialect outlives the process, and the last word counts`() throws {
        let folder = StateFolder()

        try folder.open().remember("blueprint", of: "http://a/api/v1")
        try folder.open().remember("loop", of: "http://a/api/v1")
        try folder.open().remember("blueprint", of: "http://b/api/v1")

        let store = try folder.open()
        #expect(try store.dialect(of: "http://a/api/v1") == "loop")
        #expect(try store.dialect(of: "http://b/api/v1") == "blueprint")
        #expect(try store.dialect(of: "http://c/api/v1") == nil)
    }

    @Test func `a name that is none is not kept`() throws {
        let store = try StateFolder().open()

        #expect(throws: HealthStoreError.self) { try store.remember("", of: "http://a") }
    }

    @Test func `a file of the version before gets the table and keeps its data`() throws {
        let folder = StateFolder()
        let key = String(repeating: "ab", count: 32)
        let connection = try Connection(path: "\(folder.path)/health.db")
        var migrations = HealthSchema.migrations
        migrations.steps.removeSubrange(4...)
        try migrations.migrate(connection)
        let sealer = try Sealer(try MasterKey(content: Array(key.utf8), origin: "a test"))
        try connection.run(
            "INSERT INTO canary (id, sealed) VALUES (1, ?)",
            .blob(sealer.seal([], for: RowIdentity("canary"))))
        for second in Int64(1)...3 {
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, sealed)
                VALUES ('steps', ?, ?, x'0000000000000001', x'00')
                """, .integer(second), .integer(second))
        }

        let store = try folder.open(["CLARITY_JOBS_KEY": key])
        try store.remember("loop", of: "http://a")

        #expect(try store.dialect(of: "http://a") == "loop")
        #expect(try store.outboxCounts()[.queued] == 3)
    }
}
