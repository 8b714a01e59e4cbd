import ClarityScheduler
import Database
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite(.onBothEngines) struct AnalysesInsightRequestsTests {
    private let folder = StateFolder()

    @Test func `an analysis leads to one request, whatever became of it`() throws {
        let store = try folder.open()
        let analysis = try completedAnalysis(store)

        let request = try #require(
            try store.analyses.queueInsight(of: analysis, testMatter, at: noon))
        let second = try store.analyses.queueInsight(of: analysis, testMatter, at: noon)
        try store.analyses.fail(request, reason: "refused", at: noon)
        let third = try store.analyses.queueInsight(of: analysis, testMatter, at: noon)
        let other = try store.analyses.queueInsight(
            of: completedAnalysis(store, 20_001), testMatter, at: noon)

        #expect(request.state == .queued && request.sends == 0)
        #expect(second == nil && third == nil)
        #expect(try store.analyses.hasInsightRequest(of: analysis))
        #expect(try store.analyses.openInsightRequests().map(\.id) == [other?.id])
    }

    @Test func `the input of an insight is encrypted, and deleted at its end`() throws {
        let store = try folder.open()
        let request = try #require(
            try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon))

        let matter = try folder.open().analyses.matter(of: request)
        try store.analyses.sending(request, at: noon)
        try store.analyses.complete(request, insight: "i-1", at: noon)

        #expect(matter == testMatter)
        #expect(!"\([testMatter])".contains("4711"))
        #expect(try store.analyses.matter(of: request) == nil)
    }

    @Test(arguments: [nil, "days and counts"] as [String?])
    func `an encoded insight input decodes whole or not at all`(context: String?) {
        var matter = testMatter
        matter.context = context
        let whole = matter.encryptedForm

        #expect(InsightMatter(encryptedForm: whole) == matter)
        // A form that ends before the context's field is a valid matter without context.
        let short = whole.count - (context.map { $0.utf8.count + 4 } ?? 0)
        for count in 0..<whole.count where count != short {
            #expect(InsightMatter(encryptedForm: Array(whole.prefix(count))) == nil)
        }
    }

    @Test func `the first and the last send that may have arrived are known`() throws {
        let store = try folder.open()
        let request = try #require(
            try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon))
        func now() throws -> StoredInsightRequest? {
            try store.analyses.openInsightRequests().first
        }

        try store.analyses.sending(request, at: noon + .seconds(1))
        try store.analyses.notArrived(request)
        let back = try #require(try now())
        try store.analyses.sending(request, at: noon + .seconds(2))
        try store.analyses.sending(request, at: noon + .seconds(3))
        try store.analyses.notArrived(request)
        let inDoubt = try #require(try now())

        #expect(back.state == .queued && back.sends == 0 && back.firstSentAt == nil)
        #expect(inDoubt.state == .sending && inDoubt.sends == 1)
        #expect(inDoubt.firstSentAt == noon + .seconds(2))
        #expect(inDoubt.lastSentAt == noon + .seconds(3))
    }

    @Test func `an insight in progress keeps its id until it has ended`() throws {
        let store = try folder.open()
        let request = try #require(
            try store.analyses.queueInsight(of: completedAnalysis(store), testMatter, at: noon))
        try store.analyses.sending(request, at: noon)
        try store.analyses.generating(request, insight: "i-1")
        let open = try store.analyses.openInsightRequests()

        try store.analyses.fail(
            try #require(open.first), isUnconfirmed: true, reason: "silence", at: noon)
        try store.analyses.complete(request, insight: "i-2", at: noon)

        #expect(open.map(\.state) == [.generating])
        #expect(open.map(\.insightID) == ["i-1"])
        #expect(try store.analyses.openInsightRequests().isEmpty)
        let state = try store.access { connection in
            try connection.first("SELECT state || insight_id FROM insight_requests") { $0.text(0) }
        }
        #expect(state == "unconfirmedi-1")
    }

    @Test func `a context has days and counts, and never more than fits`() {
        let day = CivilDay(daysSince1970: 20_407)

        let some = InsightContext.text(
            lastDay: day, knownMinutes: 9000,
            samples: [.heartRate: 412, .sleep: 7, .steps: 7, .distance: 0])
        let many = InsightContext.text(
            lastDay: day, knownMinutes: 9000,
            samples: Dictionary(
                uniqueKeysWithValues: SampleKind.allCases.map { ($0, .max) }))

        #expect(
            some
                == "Movement of 2025-11-09 to 2025-11-15, 9000 of 10080 minutes known. "
                + "Samples of these days: 412 heart_rate, 7 sleep, 7 steps.")
        #expect(
            InsightContext.text(lastDay: day, knownMinutes: 1, samples: [:])
                == "Movement of 2025-11-09 to 2025-11-15, 1 of 10080 minutes known.")
        #expect(many.utf8.count <= 500)
    }

    @Test func `samples are counted by kind from an instant to before another`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<10) + [sample(.steps, 3), sample(.steps, 9)])
        let start = Instant(secondsSince1970: 1_700_000_000)

        let counts = try store.analyses.sampleCounts(
            from: start + .seconds(60), to: start + .seconds(9 * 60))

        #expect(counts.filter { $0.value > 0 } == [.heartRate: 8, .steps: 1])
    }
}
