import ClarityJobs
import ClarityScheduler

/// Reads the history of insights from its newest page on.
///
/// A pass ends with a page that is the last by `has_more` or has no row; the totals of a backend are
/// not read. An insight that is made meanwhile pushes the others onto later pages: what comes twice
/// is stored once, and shows that the list has moved, so that another pass follows from its front,
/// until a page has nothing new. A backend that ignores the offset, or has nothing that can be kept,
/// is not asked for ever.
struct HistoryReading {
    /// Pages without an insight that can be kept, one after the other, after which a backend is not
    /// asked for more.
    static let idlePageLimit = 10
    /// Pages of which every insight was seen before, one after the other. More than one, since as
    /// many insights as a page has may be made between two of them.
    static let knownPageLimit = 3
    /// The passes from the front.
    static let passLimit = 5

    private let context: WorkContext
    private let user: String
    private let pageSize: Int
    private var pull: Pull
    private var seen: Set<String> = []
    /// What the backend is making, in the order of its coming.
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

    /// Reads the pages that may have an insight generated since an instant; at most five.
    ///
    /// - Returns: whether the backend is making one.
    mutating func readFront(since start: Instant) async throws -> Bool {
        var offset = 0
        for _ in 0..<5 {
            let page = try await next(offset)
            guard page.hasMore, page.size > 0, page.oldest.map({ $0 >= start }) ?? true else {
                break
            }
            offset += page.size
        }
        return !unfinished.isEmpty
    }

    /// Reads all pages.
    ///
    /// - Returns: whether the list has moved meanwhile.
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
            // What is not ready or not readable does not tell whether it was seen before.
            idlePages = page.rows > 0 ? 0 : idlePages + 1
            guard idlePages < HistoryReading.idlePageLimit else {
                throw APIError.decoding(
                    "insights: \(idlePages) pages in a row without one to keep")
            }
            offset += page.size
        }
    }

    /// Reads from the front up to a page that has nothing new.
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

    /// What a page had.
    private struct Page {
        /// The rows that count towards the offset.
        var size: Int
        /// Those that can be kept, those of them that were not seen before, and those that were.
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
