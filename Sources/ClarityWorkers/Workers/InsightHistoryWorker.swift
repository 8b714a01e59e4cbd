import ClarityJobs
public import ClarityScheduler

/// Pulls every insight that the backend has made, page by page.
///
/// It ends with a page without rows, whatever `has_more` says, and with one that brings no insight
/// which this pull has not seen: a backend that ignores the offset would be asked for ever. Insights
/// that are made meanwhile push the others onto the next page; they are stored once.
public struct InsightHistoryWorker: KindWorker {
    /// Pages without an insight that can be kept, one after the other, after which a backend is not
    /// asked for more.
    static let idlePageLimit = 10

    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let pageSize = try WorkOptions(context.order).integer("page_size")
        let user = try await context.client.session().userID
        var pull = Pull(context)
        var seen: Set<String> = []
        var offset = 0
        var idlePages = 0
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
            // What is not ready or not readable does not tell whether it was seen before.
            idlePages = hadRows ? 0 : idlePages + 1
            guard idlePages < InsightHistoryWorker.idlePageLimit else {
                throw APIError.decoding(
                    "insights: \(idlePages) pages in a row without one to keep")
            }
            offset += size
        }
    }
}
