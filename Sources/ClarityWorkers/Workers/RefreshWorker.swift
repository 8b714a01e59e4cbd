import ClarityJobs
public import ClarityScheduler

/// Pulls what a person looks at first: the profile, the metrics and the latest insights.
///
/// The metrics come page by page. An attempt whose time ends leaves the place where it stopped as
/// its checkpoint, and the run's next attempt goes on from there.
public struct RefreshWorker: KindWorker {
    /// Pages without a row, one after the other, after which a backend is not asked for more.
    static let emptyPageLimit = 10

    /// Creates the worker.
    public init() {}

    public func run(_ context: WorkContext) async throws -> Outcome {
        let pageSize = try WorkOptions(context.order).integer("page_size")
        var pull = Pull(context)
        let session = try await context.client.session()
        try await profile(context, of: session)
        try await metrics(context, pageSize, &pull)
        let page = try await context.client.insightsPage(
            user: session.userID, limit: min(pageSize, 100), offset: 0)
        _ = try pull.store(page)
        return .success
    }

    /// Keeps the profile, which also shows whose rows the token would bring: another user's must not
    /// come among ours.
    private func profile(_ context: WorkContext, of session: Session) async throws {
        let profile = try await context.client.me()
        guard profile.userID.lowercased() == session.userID.lowercased() else {
            throw Failure(
                .credential,
                "the backend takes the session for another user's; run `clarity-jobs auth login`")
        }
        var json = JSONWriter()
        json.object { json in
            json.field("user_id", profile.userID)
            if let email = profile.email { json.field("email", email) }
        }
        try context.store.storeProfile(json.bytes, syncedAt: context.clock.now)
    }

    private func metrics(_ context: WorkContext, _ pageSize: Int, _ pull: inout Pull) async throws {
        var cursor = context.order.checkpoint
        do {
            var seen: Set<String> = []
            var emptyPages = 0
            while true {
                let page = try await context.client.healthDataPage(limit: pageSize, cursor: cursor)
                try pull.store(page)
                guard let next = page.nextCursor else { return }
                // A backend whose pages go in a circle would be read for ever, and so would one
                // that always knows a next page of nothing.
                guard seen.insert(next).inserted else {
                    throw APIError.decoding("health data: `pagination.next_cursor` comes again")
                }
                emptyPages = page.rows.count + page.unreadableRows > 0 ? 0 : emptyPages + 1
                guard emptyPages < RefreshWorker.emptyPageLimit else {
                    throw APIError.decoding(
                        "health data: \(emptyPages) pages in a row without a row")
                }
                cursor = next
                try context.checkTime()
            }
        } catch {
            if let cursor { context.report(.checkpoint(cursor)) }
            throw error
        }
    }
}

/// Stores pages as they come, with their counts.
struct Pull {
    private let context: WorkContext
    private var counts: WorkCounts

    init(_ context: WorkContext) {
        self.context = context
        counts = WorkCounts(context)
    }

    mutating func store(_ page: HealthDataPage) throws {
        let rows = page.rows.map {
            CachedRow(id: $0.id, type: $0.type, timestamp: $0.timestamp, json: $0.json)
        }
        let stored = try context.store.upsert(rows, into: .metrics, syncedAt: context.clock.now)
        counts.add(rows.count, to: "metrics_pulled")
        counts.add(stored.added, to: "metrics_new")
        count(stored, unreadable: page.unreadableRows)
    }

    /// Stores a page of insights.
    mutating func store(_ page: InsightsPage) throws -> UpsertCounts {
        let rows = page.rows.map {
            CachedRow(id: $0.id, type: "insight", timestamp: $0.generatedAt, json: $0.json)
        }
        let stored = try context.store.upsert(rows, into: .insights, syncedAt: context.clock.now)
        counts.add(rows.count, to: "insights_pulled")
        counts.add(stored.added, to: "insights_new")
        count(stored, unreadable: page.unreadableRows)
        if page.unfinishedRows > 0 { counts.add(page.unfinishedRows, to: "insights_generating") }
        return stored
    }

    private mutating func count(_ stored: UpsertCounts, unreadable: Int) {
        let conflicts = stored.replaced + stored.outdated
        if conflicts > 0 { counts.add(conflicts, to: "versions_archived") }
        if unreadable > 0 { counts.add(unreadable, to: "rows_unreadable") }
    }
}
