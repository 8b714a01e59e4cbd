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

/// Reads the history of insights, starting with the newest page.
///
/// A pass ends with a page that has no rows, or that is the last according to `has_more`; the
/// backend's totals are ignored. An insight that is made during a pass pushes the others to later
/// pages. An insight that comes twice is stored once, and shows that the list has moved. Another
/// pass then starts from the front, and ends with a page that has nothing new.
///
/// Limits end the reading of a backend that ignores the offset or has nothing to store.
struct HistoryReading {
    /// The number of pages in a row without an insight to store after which the reading fails.
    static let idlePageLimit = 10
    /// The number of pages in a row that have only known insights after which the reading stops.
    /// More than one, because a whole page of insights may be made between two requests.
    static let knownPageLimit = 3
    /// The maximum number of passes.
    static let passLimit = 5

    private let context: WorkContext
    private let user: String
    private let pageSize: Int
    private var pull: Pull
    private var seen: Set<String> = []
    /// The ids of the insights that the backend is still making, in the order in which they came.
    private(set) var unfinished: [String] = []

    init(_ context: WorkContext, user: String, pageSize: Int) {
        self.context = context
        self.user = user
        self.pageSize = pageSize
        pull = Pull(context)
    }

    mutating func run() async throws {
        var passes = 1
        var hasMoved = try await firstPass()
        while hasMoved, passes < HistoryReading.passLimit {
            hasMoved = try await frontPass()
            passes += 1
        }
    }

    /// Reads the pages that may have an insight generated since an instant, at most five.
    mutating func readFront(since start: Instant) async throws {
        var offset = 0
        for _ in 0..<5 {
            let page = try await next(offset)
            guard page.hasMore, page.size > 0, page.oldest.map({ $0 >= start }) ?? true else {
                return
            }
            offset += page.size
        }
    }

    /// Reads all pages.
    ///
    /// - Returns: whether the list has moved during the pass.
    private mutating func firstPass() async throws -> Bool {
        var hasMoved = false
        var (offset, idlePages, knownPages, knownFrom) = (0, 0, 0, 0)
        while true {
            let page = try await next(offset)
            hasMoved = hasMoved || page.repeated > 0
            if page.rows > 0, page.fresh == 0 {
                if knownPages == 0 { knownFrom = offset }
                knownPages += 1
                guard knownPages < HistoryReading.knownPageLimit else {
                    context.note("the backend repeats its insights from offset \(knownFrom) on")
                    return false
                }
            } else {
                knownPages = 0
            }
            guard page.hasMore, page.size > 0 else { return hasMoved }
            // Unfinished and unreadable insights do not show whether a page was seen before.
            idlePages = page.rows > 0 ? 0 : idlePages + 1
            guard idlePages < HistoryReading.idlePageLimit else {
                throw APIError.decoding("insights: \(idlePages) pages in a row without one to keep")
            }
            offset += page.size
        }
    }

    /// Reads from the front to the first page that has nothing new.
    ///
    /// - Returns: whether there was anything new.
    private mutating func frontPass() async throws -> Bool {
        var offset = 0
        var hasFound = false
        while true {
            let page = try await next(offset)
            guard page.fresh > 0 else { return hasFound }
            hasFound = true
            guard page.hasMore else { return true }
            offset += page.size
        }
    }

    /// The result of reading a page.
    private struct Page {
        /// The rows that count towards the offset.
        var size: Int
        /// The rows that can be stored, those of them that are new, and those seen before.
        var rows: Int
        var fresh: Int
        var repeated: Int { rows - fresh }
        var oldest: Instant?
        var hasMore: Bool
    }

    private mutating func next(_ offset: Int) async throws -> Page {
        try context.checkTime()
        var page = try await context.client.insightsPage(
            user: user, limit: pageSize, offset: offset)
        let rows = page.rows.count
        let oldest = page.rows.map(\.generatedAt).min()
        for id in page.unfinished where !unfinished.contains(id) { unfinished.append(id) }
        page.rows.removeAll { !seen.insert($0.id).inserted }
        _ = try pull.store(page)
        return Page(
            size: rows + page.unreadableRows + page.unfinishedRows, rows: rows,
            fresh: page.rows.count, oldest: oldest, hasMore: page.hasMore)
    }
}

/// Decides which pages of metrics a pull requests next, and when it may stop.
///
/// | phase | begins | stops |
/// |---|---|---|
/// | recent | at the front | after 2 pages in a row without news if newest first, else at its end |
/// | whole | where the last one stopped, else at the front | at the end of the list |
///
/// The recent phase comes first, so that an attempt that is too short for the whole list still gets
/// the news. The whole phase follows when it is due. Metrics that were measured long ago, and added
/// or changed since, are far from the front, so the recent phase never sees them. The whole phase
/// is also due after a recent phase that found news and was interrupted: the next recent phase
/// would take its first pages for the end of the news.
struct PullPlan: Hashable {
    enum Phase: Hashable {
        case recent
        case whole
    }

    /// The number of pages in a row without news after which older pages have none either.
    static let knownPages = 2

    private(set) var phase: Phase
    /// The cursor of the next page; `nil` at the front.
    private(set) var cursor: String?
    /// Whether this phase has reached the end of the list.
    private(set) var isAtEnd = false
    private var unchanged = 0
    private var isDescending = true
    private var oldest: Instant?

    /// Creates the plan of a first attempt, or of one that continues.
    ///
    /// - Parameters:
    ///   - checkpoint: the checkpoint of an earlier attempt of the run. One from an earlier version
    ///     consists of the cursor only.
    ///   - record: the store's record of earlier pulls.
    init(checkpoint: String?, record: PullRecord) {
        if let checkpoint {
            // The text after the words is the backend's own cursor, including any spaces.
            let parts = checkpoint.split(
                separator: " ", maxSplits: 2, omittingEmptySubsequences: false
            ).map(String.init)
            if parts.count == 3, parts[0] == "recent", let count = Int(parts[1]) {
                (phase, cursor, unchanged) = (.recent, parts[2], count)
            } else {
                phase = .whole
                cursor =
                    parts.count > 1 && parts[0] == "whole"
                    ? String(checkpoint.dropFirst(6)) : checkpoint
            }
        } else {
            // Before the first pull, the whole list is news.
            phase = record == PullRecord() ? .whole : .recent
            cursor = nil
        }
    }

    /// Whether a whole phase is due: because `span` has passed since the last one, there was none,
    /// or one is unfinished.
    static func isWholeDue(_ record: PullRecord, every span: Duration, at now: Instant) -> Bool {
        guard record.place == nil, let last = record.wholeAt else { return true }
        // After the clock was set back, the last one may be later than now.
        return now - last >= span || last > now
    }

    /// Begins the whole phase where the last one stopped.
    mutating func beginWhole(at place: String?) {
        self = PullPlan(phase: .whole, cursor: place)
    }

    private init(phase: Phase, cursor: String?) {
        self.phase = phase
        self.cursor = cursor
    }

    /// The checkpoint from which the next attempt continues; `nil` at the front.
    var checkpoint: String? {
        cursor.map { phase == .whole ? "whole \($0)" : "recent \(unchanged) \($0)" }
    }

    /// Takes a page into account.
    ///
    /// - Parameters:
    ///   - times: the instants of its rows, in order.
    ///   - hasNews: whether any row is new or changed.
    ///   - next: the cursor of the next page; `nil` on the last page.
    /// - Returns: whether the phase continues.
    mutating func take(_ times: [Instant], hasNews: Bool, next: String?) -> Bool {
        for time in times {
            if let oldest, time > oldest { isDescending = false }
            oldest = time
        }
        if hasNews {
            unchanged = 0
        } else if !times.isEmpty {
            unchanged += 1
        }
        guard let next else {
            isAtEnd = true
            return false
        }
        cursor = next
        return phase == .whole || !isDescending || unchanged < PullPlan.knownPages
    }
}
