import ClarityJobs
import ClarityScheduler

/// Fetches insights in full, where the backend has them.
struct InsightTexts {
    /// The rounds in a row without an end after which what is being made is left to the next run;
    /// with the waits between them half a minute and more.
    static let idleRounds = 8

    private let context: WorkContext
    private var counts: WorkCounts
    /// What the backend is making.
    private var unfinished: [String]
    private var idle = 0

    /// - Parameter unfinished: the ids of the insights that the backend is making.
    init(_ context: WorkContext, unfinished: [String] = []) {
        self.context = context
        self.unfinished = unfinished
        counts = WorkCounts(context)
    }

    /// Fetches the texts that are not kept yet, the newest first.
    ///
    /// - Parameter most: how many are asked for.
    mutating func fetch(most: Int) async throws {
        for id in try context.store.insightsWithoutText(limit: most) {
            try context.checkTime()
            if try await fetch(id) == .generating { unfinished.append(id) }
        }
    }

    /// Asks once for each insight that is being made.
    ///
    /// - Returns: whether another round is worth while.
    mutating func round() async throws -> Bool {
        let count = unfinished.count
        for id in unfinished {
            if context.isEnding() { break }
            if try await fetch(id) != .generating { unfinished.removeAll { $0 == id } }
        }
        idle = unfinished.count < count ? 0 : idle + 1
        return !unfinished.isEmpty && idle < InsightTexts.idleRounds
    }

    /// Fetches one insight, and keeps it when it is ready.
    ///
    /// - Returns: how far it is; `nil` for one that the backend does not give.
    /// - Throws: an error that would meet every other one too.
    mutating func fetch(
        _ id: String, for request: KeptInsightRequest? = nil
    ) async throws -> Insight.State? {
        let insight: Insight
        do throws(APIError) {
            insight = try await context.client.insight(id)
        } catch {
            switch error {
            case .notFound, .forbidden, .gone, .decoding, .tooLarge, .rejected, .validation:
                try miss(id, for: request)
                return nil
            default: throw error
            }
        }
        switch (insight.state, insight.generatedAt) {
        case (.generating, _): break
        case (.failed, _): try miss(id, for: request)
        case (.completed, let generatedAt?):
            try context.store.keep(
                FullInsight(id: id, generatedAt: generatedAt, json: insight.json), for: request,
                at: context.clock.now)
            counts.add(1, to: "texts_fetched")
        case (.completed, nil):
            try miss(id, for: request)
            return nil
        }
        return insight.state
    }

    /// Of one that was asked for its request keeps the account: it may not be there yet.
    private mutating func miss(_ id: String, for request: KeptInsightRequest?) throws {
        guard request == nil else { return }
        try context.store.noteMissingText(of: id, at: context.clock.now)
        counts.add(1, to: "texts_missing")
    }
}
