import ClarityJobs
public import ClarityScheduler

/// Pulls every insight that the backend has made, page by page.
///
/// It ends with a page without rows, whatever `has_more` says, and with one that brings no insight
/// which this pull has not seen: a backend that ignores the offset would be asked for ever. Insights
/// that are made meanwhile push the others onto the next page; they are stored once.
public struct InsightHistoryWorker: KindWorker {
    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let pageSize = try WorkOptions(context.order).integer("page_size")
        let user = try await context.client.session().userID
        var pull = Pull(context)
        var seen: Set<String> = []
        var offset = 0
        while true {
            try context.checkTime()
            var page = try await context.client.insightsPage(
                user: user, limit: pageSize, offset: offset)
            let size = page.rows.count + page.unreadableRows + page.unfinishedRows
            let hadRows = !page.rows.isEmpty
            page.rows.removeAll { !seen.insert($0.id).inserted }
            _ = try pull.store(page)
            if hadRows, page.rows.isEmpty {
                context.note("the backend repeats its insights from offset \(offset) on")
                return .success
            }
            guard page.hasMore, size > 0 else { return .success }
            offset += size
        }
    }
}
