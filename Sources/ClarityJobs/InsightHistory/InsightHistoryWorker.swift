import HealthModel
import Backend
import BackendContract
import HealthStore
import ClarityScheduler

/// Pulls all insights that the backend has made, page by page, and the full texts that are not
/// stored yet if the backend provides them.
///
/// The worker polls for insights that the backend is still making, within the attempt's time. The
/// next run continues.
struct InsightHistoryWorker: KindWorker {
    func run(_ options: InsightHistoryOptions, _ context: WorkContext) async throws -> Outcome {
        let user = try await context.client.session().userID
        var history = HistoryReading(context, user: user, pageSize: options.pageSize)
        try await history.run()
        guard try await context.client.givesInsightsInFull() else { return .success }
        var texts = InsightTexts(context, unfinished: history.unfinished)
        try await texts.fetch(most: options.fullTexts)
        try await PollSchedule.run(context) { try await texts.round() }
        return .success
    }
}

extension InsightHistoryOptions: WorkedOptions {
    static var worker: any KindWorker { InsightHistoryWorker() }
}

/// Fetches full insights, if the backend provides them.
struct InsightTexts {
    /// The number of rounds in a row without a result after which the remaining insights are left
    /// to the next run. With the waits between them, these rounds take more than half a minute.
    static let idleRounds = 8

    private let context: WorkContext
    private var counts: WorkCounts
    /// The ids of the insights that the backend is still making.
    private var unfinished: [String]
    private var idle = 0

    /// - Parameter unfinished: the ids of the insights that the backend is still making.
    init(_ context: WorkContext, unfinished: [String] = []) {
        self.context = context
        self.unfinished = unfinished
        counts = WorkCounts(context)
    }

    /// Fetches the texts that are not stored yet, the newest first.
    ///
    /// - Parameter most: the maximum number of texts to fetch.
    mutating func fetch(most: Int) async throws {
        for id in try context.store.analyses.insightsWithoutText(limit: most) {
            try context.checkTime()
            if try await fetch(id) == .generating { unfinished.append(id) }
        }
    }

    /// Polls once for each insight that the backend is still making.
    ///
    /// - Returns: whether another round is worthwhile.
    mutating func round() async throws -> Bool {
        let count = unfinished.count
        for id in unfinished {
            if context.isEnding() { break }
            if try await fetch(id) != .generating { unfinished.removeAll { $0 == id } }
        }
        idle = unfinished.count < count ? 0 : idle + 1
        return !unfinished.isEmpty && idle < InsightTexts.idleRounds
    }

    /// Fetches one insight, and stores it if it is ready.
    ///
    /// - Returns: its state; `nil` if the backend does not provide it.
    /// - Throws: an error that would affect every other insight too.
    mutating func fetch(
        _ id: String, for request: StoredInsightRequest? = nil
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
            try context.store.analyses.keep(
                FullInsight(id: id, generatedAt: generatedAt, json: insight.json), for: request,
                at: context.clock.now)
            counts.add(1, to: "texts_fetched")
        case (.completed, nil):
            try miss(id, for: request)
            return nil
        }
        return insight.state
    }

    /// Records a missing text. An insight that was requested may not exist yet; its request keeps
    /// the record.
    private mutating func miss(_ id: String, for request: StoredInsightRequest?) throws {
        guard request == nil else { return }
        try context.store.analyses.noteMissingText(of: id, at: context.clock.now)
        counts.add(1, to: "texts_missing")
    }
}
