import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// Pulls the profile and the latest insights, which a person looks at first, and then the metrics.
///
/// The profile and the insights take one request each; the metrics may take many pages. In this
/// order, a pull that runs out of time still has the profile and the insights.
///
/// A `PullPlan` selects the pages of metrics. An attempt that runs out of time reports how far it
/// came, and its cursor becomes the checkpoint from which the run's next attempt continues. The
/// cursor of a whole phase is also kept for the next run. If a recent phase found news and did not
/// see their end, because its process was killed or its run failed, a whole phase is due at once.
/// Until that is done, nothing counts as synced.
struct RefreshWorker: KindWorker {
    func run(_ options: RefreshOptions, _ context: WorkContext) async throws -> Outcome {
        var pull = Pull(context)
        let session = try await context.client.session()
        try await profile(context, of: session)
        let page = try await context.client.insightsPage(
            user: session.userID, limit: min(options.pageSize, 100), offset: 0)
        _ = try pull.store(page)
        var metrics = MetricsPull(
            context: context, pageSize: options.pageSize, wholeEvery: options.wholeEvery)
        try await metrics.run(&pull)
        return .success
    }

    /// Stores the profile, and checks that the token belongs to the session's user: another user's
    /// rows must not mix with ours.
    private func profile(_ context: WorkContext, of session: Session) async throws {
        let profile = try await context.client.me()
        guard profile.userID.lowercased() == session.userID.lowercased() else {
            throw Failure(
                .credential,
                "the backend takes the session for another user's; run `clarity-jobs auth login`")
        }
        try context.store.cache.storeProfile(profile.json, syncedAt: context.clock.now)
        try context.store.cache.notePull(of: .profile, isWhole: true, at: context.clock.now)
    }
}

extension RefreshOptions: WorkedOptions {
    static var worker: any KindWorker { RefreshWorker() }
}

/// Pulls metrics page by page, as a `PullPlan` decides.
private struct MetricsPull {
    /// The number of pages in a row without a row after which the pull fails.
    static let emptyPageLimit = 10

    let context: WorkContext
    let pageSize: Int
    let wholeEvery: Duration
    var pages = 0
    var pagesOfPhase = 0

    mutating func run(_ pull: inout Pull) async throws {
        let record = try context.store.cache.pullRecord(of: .metrics)
        var plan = PullPlan(checkpoint: context.order.checkpoint, record: record)
        do {
            if plan.phase == .recent {
                try await work(&plan, &pull)
                try noteEnd(ofRecent: plan, record)
                guard !plan.isAtEnd,
                    PullPlan.isWholeDue(record, every: wholeEvery, at: context.clock.now)
                else { return }
                plan.beginWhole(at: record.place)
                try context.checkTime()
            }
            try await work(&plan, &pull)
            try noteEnd()
        } catch let error as WorkStopped {
            leave(plan)
            context.note(
                "its time ended after \(counted(pages, "pages")) of metrics; the "
                    + "profile, the latest insights and these pages are kept")
            throw error
        } catch {
            leave(plan)
            // The backend may not know the cursor any more, and would be asked for it each time.
            // Some backends report that as a server error.
            if plan.phase == .whole, plan.cursor != nil,
                ClarityJobs.outcome(of: error).isFinal
                    || pagesOfPhase == 0 && MetricsPull.isServerFault(error)
            {
                try context.store.cache.storePullPlace(nil, of: .metrics)
            }
            throw error
        }
    }

    private func leave(_ plan: PullPlan) {
        if let checkpoint = plan.checkpoint { context.report(.checkpoint(checkpoint)) }
    }

    private static func isServerFault(_ error: any Error) -> Bool {
        if let error = error as? APIError, case .server = error { true } else { false }
    }

    private func noteEnd() throws {
        try context.store.cache.notePull(of: .metrics, isWhole: true, at: context.clock.now)
    }

    /// Records that the recent phase has seen where the news ends. A whole phase is then due only
    /// if it was due before.
    private func noteEnd(ofRecent plan: PullPlan, _ record: PullRecord) throws {
        guard !plan.isAtEnd else { return try noteEnd() }
        var record = record
        // While a whole phase is due, older rows may be missing, so nothing counts as synced.
        if record.wholeAt != nil { record.endedAt = context.clock.now }
        try context.store.cache.storePullRecord(record, of: .metrics)
    }

    /// Runs a phase to its end.
    private mutating func work(_ plan: inout PullPlan, _ pull: inout Pull) async throws {
        var seen: Set<String> = []
        var emptyPages = 0
        pagesOfPhase = 0
        while true {
            let page = try await context.client.healthDataPage(limit: pageSize, cursor: plan.cursor)
            let stored = try pull.store(page, isRecent: plan.phase == .recent)
            pages += 1
            pagesOfPhase += 1
            let goesOn = plan.take(
                page.rows.map(\.timestamp), hasNews: stored.added + stored.replaced > 0,
                next: page.nextCursor)
            guard goesOn, let next = page.nextCursor else { return }
            // A backend whose pages form a circle would be read forever, and so would one whose
            // next page always exists and is empty.
            guard seen.insert(next).inserted else {
                throw APIError.decoding("health data: `pagination.next_cursor` comes again")
            }
            emptyPages = page.rows.count + page.unreadableRows > 0 ? 0 : emptyPages + 1
            guard emptyPages < MetricsPull.emptyPageLimit else {
                throw APIError.decoding("health data: \(emptyPages) pages in a row without a row")
            }
            if plan.phase == .whole { try context.store.cache.storePullPlace(next, of: .metrics) }
            try context.checkTime()
        }
    }
}

extension Outcome {
    /// Whether a retry is useless.
    fileprivate var isFinal: Bool {
        if case .failure = self { true } else { false }
    }
}

/// Stores pages as they arrive, and counts their rows.
struct Pull {
    private let context: WorkContext
    private var counts: WorkCounts

    init(_ context: WorkContext) {
        self.context = context
        counts = WorkCounts(context)
    }

    /// Stores a page of metrics.
    ///
    /// - Parameter isRecent: whether the pull stops where nothing new follows. News on the page
    ///   then make a whole phase due.
    mutating func store(_ page: HealthDataPage, isRecent: Bool) throws -> UpsertCounts {
        let rows = page.rows.map {
            CachedRow(
                id: $0.id, type: $0.type, timestamp: $0.timestamp, json: $0.json,
                numbers: MetricNumbers(row: $0.json, type: $0.type))
        }
        let stored = try context.store.cache.upsert(
            rows, into: .metrics, syncedAt: context.clock.now,
            newsOwesWhole: isRecent ? .metrics : nil)
        counts.add(rows.count, to: "metrics_pulled")
        counts.add(stored.added, to: "metrics_new")
        count(stored, unreadable: page.unreadableRows)
        return stored
    }

    /// Stores a page of insights.
    mutating func store(_ page: InsightsPage) throws -> UpsertCounts {
        let rows = page.rows.map {
            CachedRow(
                id: $0.id, type: CachedRow.insightPreview, timestamp: $0.generatedAt, json: $0.json)
        }
        let now = context.clock.now
        let stored = try context.store.analyses.upsertInsights(rows, syncedAt: now)
        try context.store.cache.notePull(of: .insights, isWhole: !page.hasMore, at: now)
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

extension UserProfile {
    /// The profile as it is stored, with the contract's names and without what the backend did not
    /// send.
    var json: [UInt8] {
        let object: JSON = [
            "user_id": .string(userID), "email": .text(email), "display_name": .text(displayName),
            "first_name": .text(details.firstName), "last_name": .text(details.lastName),
            "role": .text(details.role),
            "permissions": details.permissions.isEmpty
                ? .null : .array(details.permissions.prefix(100).map { .string($0) }),
            "status": .text(details.status),
            "email_verified": isVerified.map { .bool($0) } ?? .null,
            "mfa_enabled": details.hasSecondFactor.map { .bool($0) } ?? .null,
            "auth_provider": .text(details.provider), "created_at": .text(details.createdAt),
            "last_login": .text(details.lastLogin),
        ]
        return object.withoutNulls.bytes
    }
}
