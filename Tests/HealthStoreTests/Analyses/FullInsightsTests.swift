import ClarityScheduler
import Database
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite(.onBothEngines) struct FullInsightsTests {
    private let folder = StateFolder()

    private func preview(_ id: String, _ json: String = "cut", at seconds: Int64 = 0) -> CachedRow {
        CachedRow(
            id: id, type: CachedRow.insightPreview, timestamp: noon + .seconds(seconds),
            json: Array(json.utf8))
    }

    private func full(_ id: String, _ json: String = "full", at seconds: Int64 = 0) -> FullInsight {
        FullInsight(id: id, generatedAt: noon + .seconds(seconds), json: Array(json.utf8))
    }

    private func texts(_ store: HealthStore) throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try store.cache.rows(of: .insights, limit: 99).map {
                ($0.row.id, String(decoding: $0.row.json, as: UTF8.self))
            })
    }

    private func archived(_ store: HealthStore) throws -> Int64 {
        try store.access { connection in
            try connection.first("SELECT count(*) FROM archive") { $0.integer(0) } ?? 0
        }
    }

    @Test func `a full text takes the place of its beginning and is not given up for it`() throws {
        let store = try folder.open()
        _ = try store.analyses.upsertInsights([preview("a")], syncedAt: noon)
        try store.analyses.keep(full("a"), at: noon)

        let counts = try store.analyses.upsertInsights(
            [preview("a"), preview("b")], syncedAt: noon + .seconds(60))

        #expect(counts.added == 1 && counts.unchanged == 1 && counts.replaced == 0)
        #expect(try texts(store) == ["a": "full", "b": "cut"])
        #expect(try store.cache.rows(of: .insights, limit: 9).allSatisfy { $0.syncedAt > noon })
        #expect(try archived(store) == 0)
    }

    @Test func `whoever writes the beginning, the full text stays`() throws {
        let store = try folder.open()
        try store.analyses.keep(full("a"), at: noon)

        _ = try store.cache.upsert([preview("a", "other")], into: .insights, syncedAt: noon)

        #expect(try texts(store) == ["a": "full"])
    }

    @Test func `a later version counts, and the earlier full text is archived`() throws {
        let store = try folder.open()
        try store.analyses.keep(full("a"), at: noon)

        let counts = try store.analyses.upsertInsights([preview("a", "new", at: 9)], syncedAt: noon)
        let wanted = try store.analyses.insightsWithoutText(limit: 9)
        try store.analyses.keep(full("a", "full again", at: 9), at: noon)
        try store.analyses.keep(full("a", "full again", at: 9), at: noon)

        #expect(counts.replaced == 1)
        #expect(wanted == ["a"])
        #expect(try texts(store) == ["a": "full again"])
        #expect(try archived(store) == 1)
    }

    @Test func `an insight that had no name is named by the history, with its text`() throws {
        let store = try folder.open()
        let request = try request(store)
        try store.analyses.sending(request, at: noon)
        try store.analyses.keep(
            full(request.provisionalID, at: 5), for: request, at: noon + .seconds(5))

        let other = try store.analyses.upsertInsights([preview("x", at: 4)], syncedAt: noon)
        let counts = try store.analyses.upsertInsights([preview("i-1", at: 5)], syncedAt: noon)

        #expect(other.added == 1)
        #expect(counts.unchanged == 1 && counts.added == 0)
        #expect(try texts(store) == ["i-1": "full", "x": "cut"])
        #expect(try insightOfRequest(store) == "i-1")
        #expect(try archived(store) == 0)
    }

    @Test func `texts that are missing are asked for in turn, and not for ever`() throws {
        let store = try folder.open()
        _ = try store.analyses.upsertInsights(
            [preview("a", at: 3), preview("b", at: 2), preview("c", at: 1)], syncedAt: noon)
        let first = try store.analyses.insightsWithoutText(limit: 2)

        try store.analyses.noteMissingText(of: "a", at: noon)
        let second = try store.analyses.insightsWithoutText(limit: 9)
        for _ in 0..<4 { try store.analyses.noteMissingText(of: "a", at: noon) }
        let third = try store.analyses.insightsWithoutText(limit: 9)
        try store.analyses.keep(full("b", at: 2), at: noon)

        #expect(first == ["a", "b"])
        #expect(second == ["b", "c", "a"])
        #expect(third == ["b", "c"])
        #expect(try store.analyses.insightsWithoutText(limit: 9) == ["c"])
    }

    @Test func `an insight since an instant is claimed once`() throws {
        let store = try folder.open()
        let request = try request(store)
        try store.analyses.sending(request, at: noon)
        _ = try store.analyses.upsertInsights(
            [preview("old", at: -1), preview("new", at: 1)], syncedAt: noon)

        let found = try store.analyses.unclaimedInsight(for: request, since: noon)
        try store.analyses.complete(request, insight: "new", at: noon)

        #expect(found == "new")
        #expect(try store.analyses.unclaimedInsight(for: request, since: noon) == nil)
        #expect(
            try store.analyses.unclaimedInsight(for: request, since: noon - .seconds(1)) == "old")
    }

    private func request(_ store: HealthStore) throws -> StoredInsightRequest {
        try #require(
            try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon))
    }

    private func insightOfRequest(_ store: HealthStore) throws -> String? {
        try store.access { connection in
            try connection.first("SELECT insight_id FROM insight_requests") { $0.text(0) }
        }
    }
}

/// The data from which the tests request an insight.
let testMatter = InsightMatter(
    numbers: ["m10": 4711.5], context: "days and counts", length: "brief",
    includesRecommendations: true, language: "en")

/// Stores a completed analysis of the week that ends with `day`.
func completedAnalysis(_ store: HealthStore, _ day: Int = 20_000) throws -> StoredAnalysis {
    let analysis = try store.analyses.queue(
        of: CivilDay(daysSince1970: day), as: .steps, knownMinutes: 9000, at: noon)
    try store.analyses.sending(analysis)
    try store.analyses.complete(
        analysis, processingID: "p-\(day)", AnalysisResult(numbers: ["m10": 1], json: []),
        at: noon)
    return try #require(try store.analyses.analysis(analysis.id))
}
