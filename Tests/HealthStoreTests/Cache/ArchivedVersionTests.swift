import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct ArchivedVersionTests {
    private let folder = StateFolder()

    private func filled() throws -> HealthStore {
        let store = try folder.open()
        func row(_ id: String, _ type: String, _ json: String, at seconds: Int) -> CachedRow {
            CachedRow(
                id: id, type: type, timestamp: noon + .seconds(seconds), json: Array(json.utf8))
        }
        for (second, json) in ["old", "new"].enumerated() {
            _ = try store.cache.upsert(
                [row("a", "heart_rate", json, at: second)], into: .metrics,
                syncedAt: noon + .seconds(10 * second))
            _ = try store.cache.upsert(
                [row("i", "insight", json, at: second)], into: .insights,
                syncedAt: noon + .seconds(20 * second))
        }
        return store
    }

    @Test func `versions are listed last archived first, by type and by time`() throws {
        let store = try filled()

        let all = try store.cache.versions(limit: 9)

        #expect(all.map(\.id) == ["i", "a"])
        #expect(all.map(\.table) == [.insights, .metrics])
        #expect(all.map(\.timestamp) == [noon, noon])
        #expect(all.map(\.archivedAt) == [noon + .seconds(20), noon + .seconds(10)])
        #expect(try store.cache.versions(type: "heart_rate", limit: 9).map(\.id) == ["a"])
        #expect(
            try store.cache.versions(since: noon + .seconds(11), limit: 9).map(\.id) == ["i"])
        #expect(try store.cache.versions(limit: 1).map(\.id) == ["i"])
    }

    @Test func `an archived version is shown with its content by its number`() throws {
        let store = try filled()
        let version = try #require(try store.cache.versions(limit: 1).first)

        let found = try #require(try store.cache.version(version.number))

        #expect(found.version == version)
        #expect(found.json == Array("old".utf8))
        #expect(try store.cache.version(99) == nil)
    }

    @Test func `a damaged archived version says so`() throws {
        let store = try filled()
        try store.sql("UPDATE archive SET timestamp_ms = 5")

        #expect(throws: HealthStoreError.self) { try store.cache.version(1) }
    }

    @Test func `an insight is found by its id or by what it alone begins with`() throws {
        let store = try folder.open()
        let rows = ["ab", "abc", "abd", "x%_1"].map {
            CachedRow(id: $0, type: "insight", timestamp: noon, json: Array($0.utf8))
        }
        _ = try store.cache.upsert(rows, into: .insights, syncedAt: noon)

        func found(_ name: String) throws -> String? {
            try store.cache.insight(named: name)?.row.id
        }

        #expect(try found("ab") == "ab")
        #expect(try found("abd") == "abd")
        #expect(try found("x") == "x%_1")
        #expect(try found("a") == nil)
        #expect(try found("%") == nil)
        #expect(try found("") == nil)
    }
}
