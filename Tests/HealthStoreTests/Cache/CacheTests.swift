import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct CacheTests {
    private let folder = StateFolder()

    private func row(_ id: String, _ json: String, at seconds: Int64 = 0) -> CachedRow {
        CachedRow(
            id: id, type: "heart_rate", timestamp: noon + .seconds(seconds), json: Array(json.utf8))
    }

    private func archived(_ store: HealthStore) throws -> Int64 {
        try store.access { connection in
            try connection.first("SELECT count(*) FROM archive") { $0.integer(0) } ?? 0
        }
    }

    @Test(arguments: CachedTable.allCases)
    func `pulled rows come back latest first with when they were synced`(
        table: CachedTable
    ) throws {
        let store = try folder.open()

        let counts = try store.cache.upsert(
            [row("a", "1"), row("b", "2", at: 5)], into: table, syncedAt: noon + .seconds(9))

        #expect(counts.added == 2)
        let rows = try folder.open().cache.rows(of: table, limit: 10)
        #expect(rows.map(\.row) == [row("b", "2", at: 5), row("a", "1")])
        #expect(rows.allSatisfy { $0.syncedAt == noon + .seconds(9) })
        #expect(try store.cache.rows(of: table, limit: 1, offset: 1).map(\.row.id) == ["a"])
    }

    @Test func `an empty answer deletes nothing`() throws {
        let store = try folder.open()
        _ = try store.cache.upsert([row("a", "1")], into: .metrics, syncedAt: noon)

        let counts = try store.cache.upsert([], into: .metrics, syncedAt: noon)

        #expect(counts == UpsertCounts())
        #expect(try store.cache.count(of: .metrics) == 1)
    }

    @Test func `a row that is known as it is only gets a new time of syncing`() throws {
        let store = try folder.open()
        _ = try store.cache.upsert([row("a", "1")], into: .metrics, syncedAt: noon)

        let counts = try store.cache.upsert(
            [row("a", "1")], into: .metrics, syncedAt: noon + .seconds(60))

        #expect(counts.unchanged == 1)
        #expect(try store.cache.rows(of: .metrics, limit: 1)[0].syncedAt == noon + .seconds(60))
        #expect(try archived(store) == 0)
    }

    @Test func `the later version wins and the earlier one is archived, once`() throws {
        let store = try folder.open()
        _ = try store.cache.upsert([row("a", "old")], into: .metrics, syncedAt: noon)

        let newer = try store.cache.upsert([row("a", "new", at: 5)], into: .metrics, syncedAt: noon)
        let older = try store.cache.upsert(
            [row("a", "older", at: -5)], into: .metrics, syncedAt: noon)
        _ = try store.cache.upsert([row("a", "older", at: -5)], into: .metrics, syncedAt: noon)

        #expect(newer.replaced == 1)
        #expect(older.outdated == 1)
        #expect(try store.cache.rows(of: .metrics, limit: 9).map(\.row) == [row("a", "new", at: 5)])
        #expect(try archived(store) == 2)
    }

    @Test(.onFilesAlone) func `two rows whose contents were exchanged are noticed`() throws {
        let store = try folder.open()
        _ = try store.cache.upsert([row("a", "1"), row("b", "2")], into: .insights, syncedAt: noon)
        try store.sql(
            "UPDATE insights SET sealed = (SELECT sealed FROM insights WHERE id = 'b')")

        let rows = try store.cache.rows(of: .insights, limit: 9)

        #expect(rows.map(\.row) == [row("b", "2")])
        #expect(rows.damaged == [EncryptionError(table: "insights", row: "a")])
    }

    @Test func `the profile is kept with when it was pulled`() throws {
        let store = try folder.open()
        try store.cache.storeProfile([1], syncedAt: noon)

        try store.cache.storeProfile([2], syncedAt: noon + .seconds(1))

        let profile = try #require(try folder.open().cache.profile())
        #expect(profile.json == [2])
        #expect(profile.syncedAt == noon + .seconds(1))
    }
}
