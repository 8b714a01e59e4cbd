import JSON
import SQLite

/// Work that the server continues after it has answered.
struct Work: Hashable, Sendable {
    enum Kind: String, Sendable {
        case metrics, healthkit, insight, analysis
    }

    enum State: String, Sendable {
        case received, processing, completed, failed

        var isFinal: Bool { self == .completed || self == .failed }
    }

    var id: String
    var kind: Kind
    var user: String
    var state = State.received
    /// The progress in percent, 0 to 100; it is 100 exactly when the work is completed.
    var progress = 0
    /// How often the state was polled.
    var polls = 0
    /// The final state.
    var endsIn = State.completed
    /// The result, which is shown once the work is completed.
    var result: JSON
    var createdAt: Timestamp
    var updatedAt: Timestamp

    /// Returns the work after one more poll; the poll number `steps` finishes it.
    func advanced(steps: Int, at now: Timestamp) -> Work {
        guard !state.isFinal else { return self }
        var next = self
        next.polls += 1
        next.updatedAt = now
        if next.polls >= steps {
            next.state = endsIn
            if endsIn == .completed { next.progress = 100 }
        } else {
            next.state = .processing
            // After a restart with fewer steps, progress must neither go back nor reach the end.
            next.progress = min(99, max(progress, next.polls * 100 / steps))
        }
        return next
    }
}

extension Work {
    /// Creates work that has just been accepted.
    init(_ kind: Kind, id: String, of user: String, at now: Timestamp) {
        self.init(id: id, kind: kind, user: user, result: [:], createdAt: now, updatedAt: now)
    }
}

extension Store {
    private static let workColumns = """
        id, kind, user_id, state, progress, polls, ends_in, result, created_at_ms, updated_at_ms
        """

    /// Adds work. `digest` identifies the same request if it comes again.
    func add(_ work: Work, digest: [UInt8]? = nil) throws {
        try database.run(
            """
            INSERT INTO work (id, kind, user_id, state, progress, polls, ends_in, result,
                created_at_ms, updated_at_ms, digest)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            .text(work.id), .text(work.kind.rawValue), .text(work.user),
            .text(work.state.rawValue), .integer(Int64(work.progress)),
            .integer(Int64(work.polls)), .text(work.endsIn.rawValue), .text(work.result.line),
            .integer(work.createdAt.milliseconds), .integer(work.updatedAt.milliseconds),
            digest.map { .blob($0) } ?? .null)
    }

    /// Returns the user's work of a kind with an id, or `nil` if there is none.
    func work(_ kind: Work.Kind, _ id: String, of user: String) throws -> Work? {
        try database.first(
            "SELECT \(Store.workColumns) FROM work WHERE id = ? AND kind = ? AND user_id = ?",
            .text(id), .text(kind.rawValue), .text(user), map: Store.work
        ).flatMap { try $0.get() }
    }

    /// Returns the user's work for the same request, or `nil` if there is none.
    func work(_ kind: Work.Kind, digest: [UInt8], of user: String) throws -> Work? {
        try database.first(
            """
            SELECT \(Store.workColumns) FROM work WHERE digest = ? AND kind = ? AND user_id = ?
            """, .blob(digest), .text(kind.rawValue), .text(user), map: Store.work
        ).flatMap { try $0.get() }
    }

    /// Returns a page of the user's completed work, newest first.
    func completed(
        _ kind: Work.Kind, of user: String, limit: Int, offset: Int
    ) throws -> [Work] {
        try database.all(
            """
            SELECT \(Store.workColumns) FROM work
            WHERE user_id = ? AND kind = ? AND state = 'completed'
            ORDER BY updated_at_ms DESC, id LIMIT ? OFFSET ?
            """,
            .text(user), .text(kind.rawValue), .integer(Int64(limit)), .integer(Int64(offset)),
            map: Store.work
        ).map { try $0.get() }
    }

    /// Returns how many items of completed work the user has.
    func completedCount(_ kind: Work.Kind, of user: String) throws -> Int {
        try database.first(
            """
            SELECT count(*) FROM work WHERE user_id = ? AND kind = ? AND state = 'completed'
            """, .text(user), .text(kind.rawValue)
        ) { Int($0.integer(0)) } ?? 0
    }

    /// Returns a page of the user's insights: unfinished ones, then the others, each newest first.
    func listedInsights(of user: String, limit: Int, offset: Int) throws -> [Work] {
        try database.all(
            """
            SELECT \(Store.workColumns) FROM work
            WHERE user_id = ? AND kind = 'insight' AND state <> 'failed'
            ORDER BY state = 'completed', updated_at_ms DESC, id LIMIT ? OFFSET ?
            """,
            .text(user), .integer(Int64(limit)), .integer(Int64(offset)), map: Store.work
        ).map { try $0.get() }
    }

    /// Returns how many insights `listedInsights` has in all.
    func listedInsightCount(of user: String) throws -> Int {
        try database.first(
            "SELECT count(*) FROM work WHERE user_id = ? AND kind = 'insight' AND state <> 'failed'",
            .text(user)
        ) { Int($0.integer(0)) } ?? 0
    }

    /// Stores the changes that `Work.advanced` made.
    func update(_ work: Work) throws {
        try database.run(
            """
            UPDATE work SET state = ?, progress = ?, polls = ?, updated_at_ms = ? WHERE id = ?
            """,
            .text(work.state.rawValue), .integer(Int64(work.progress)),
            .integer(Int64(work.polls)), .integer(work.updatedAt.milliseconds), .text(work.id))
    }

    /// Makes all unfinished work fail at its next poll, and returns how many items that is.
    ///
    /// The count of polls is set above any number of steps.
    func failUnfinishedWork() throws -> Int {
        try database.run(
            """
            UPDATE work SET ends_in = 'failed', polls = 1000000
            WHERE state IN ('received', 'processing')
            """)
        return database.changes
    }

    /// Keeps the unfinished work with an id, or all of it, unfinished for ever; returns how many
    /// items that is.
    ///
    /// The count of polls is set so low that it never reaches the number of steps.
    func stallUnfinishedWork(id: String?) throws -> Int {
        try database.run(
            """
            UPDATE work SET polls = -1000000000
            WHERE state IN ('received', 'processing') AND id = coalesce(?, id)
            """, .text(id))
        return database.changes
    }

    private static func work(_ row: borrowing Row) -> Result<Work, any Error> {
        let text = (kind: row.text(1), state: row.text(3), endsIn: row.text(6))
        guard let kind = Work.Kind(rawValue: text.kind),
            let state = Work.State(rawValue: text.state),
            let endsIn = Work.State(rawValue: text.endsIn)
        else { return .failure(StoreFault.unknownWord) }
        let (id, user, progress, polls) = (
            row.text(0), row.text(2), Int(row.integer(4)), Int(row.integer(5))
        )
        let (result, created, updated) = (row.text(7), row.integer(8), row.integer(9))
        return Result {
            Work(
                id: id, kind: kind, user: user, state: state, progress: progress, polls: polls,
                endsIn: endsIn, result: try JSONParser.parse(Array(result.utf8)),
                createdAt: Timestamp(milliseconds: created),
                updatedAt: Timestamp(milliseconds: updated))
        }
    }
}

/// A row that this server cannot have written.
enum StoreFault: Error, CustomStringConvertible {
    case unknownWord

    var description: String { "sandbox.db holds a word that the server does not know" }
}
