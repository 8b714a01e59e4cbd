import HealthModel
import Backend
import HealthStore
import ClarityScheduler

/// Pulls all insights that the backend has made, page by page, and the full texts that are not
/// stored yet if the backend provides them.
///
/// The worker polls for insights that the backend is still making, within the attempt's time. The
/// next run continues.
struct InsightHistoryWorker: KindWorker {
    func run(
        _ options: InsightHistoryOptions, _ context: WorkContext
    ) async throws -> Outcome {
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
