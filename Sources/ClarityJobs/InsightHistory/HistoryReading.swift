import Backend
import BackendContract
import ClarityScheduler

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
