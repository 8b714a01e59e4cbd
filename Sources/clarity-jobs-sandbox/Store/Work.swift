import JSON
import Database

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
    /// Creates work that has just been accepted, or that is completed if it has a `result`.
    init(
        _ kind: Kind, id: String, of user: String, at now: Timestamp, result: JSON? = nil
    ) {
        self.init(
            id: id, kind: kind, user: user, state: result == nil ? .received : .completed,
            progress: result == nil ? 0 : 100, result: result ?? [:], createdAt: now, updatedAt: now
        )
    }
}

extension Work {
    fileprivate enum Column: String, RowColumn {
        case id, kind, state, progress, polls, result
        case user = "user_id"
        case endsIn = "ends_in"
        case createdAt = "created_at_ms"
        case updatedAt = "updated_at_ms"
    }

    fileprivate init(_ row: borrowing Row) throws {
        guard let kind = Kind(rawValue: row.text(Column.kind)),
            let state = State(rawValue: row.text(Column.state)),
            let endsIn = State(rawValue: row.text(Column.endsIn))
        else { throw StoreFault.unknownWord }
        self.init(
            id: row.text(Column.id), kind: kind, user: row.text(Column.user), state: state,
            progress: Int(row.integer(Column.progress)), polls: Int(row.integer(Column.polls)),
            endsIn: endsIn, result: try JSONParser.parse(Array(row.text(Column.result).utf8)),
            createdAt: Timestamp(milliseconds: row.integer(Column.createdAt)),
            updatedAt: Timestamp(milliseconds: row.integer(Column.updatedAt)))
    }
}

extension Store {
    /// Adds work. `digest` identifies the same request if it comes again.
    func add(_ work: Work, digest: [UInt8]? = nil) throws {
        try database.run(
            """
            INSERT INTO work (\(Work.Column.list), digest)
            VALUES (\(Work.Column.parameters), ?)
            """,
            .text(work.id), .text(work.kind.rawValue), .text(work.state.rawValue),
            .integer(Int64(work.progress)), .integer(Int64(work.polls)), .text(work.result.line),
            .text(work.user), .text(work.endsIn.rawValue),
            .integer(work.createdAt.milliseconds), .integer(work.updatedAt.milliseconds),
            digest.map { .blob($0) } ?? .null)
    }

    private func works(_ condition: String, _ values: Value...) throws -> [Work] {
        try all("SELECT \(Work.Column.list) FROM work WHERE \(condition)", values, map: Work.init)
    }

    /// Returns the user's work of a kind with an id, or `nil` if there is none.
    func work(_ kind: Work.Kind, _ id: String, of user: String) throws -> Work? {
        try works(
            "id = ? AND kind = ? AND user_id = ?", .text(id), .text(kind.rawValue), .text(user)
        ).first
    }

    /// Returns the user's work for the same request, or `nil` if there is none.
    func work(_ kind: Work.Kind, digest: [UInt8], of user: String) throws -> Work? {
        try works(
            "digest = ? AND kind = ? AND user_id = ?", .blob(digest), .text(kind.rawValue),
            .text(user)
        ).first
    }

    /// The insights that a list shows: completed ones, and with the second parameter unfinished
    /// ones.
    private static let isListed = """
        user_id = ? AND kind = 'insight' AND (state = 'completed' OR ? AND state <> 'failed')
        """

    /// Returns a page of the user's insights: unfinished ones if wanted, then completed ones, each
    /// newest first.
    func insights(
        of user: String, withUnfinished: Bool, limit: Int, offset: Int
    ) throws -> [Work] {
        try works(
            "\(Store.isListed) ORDER BY state = 'completed', updated_at_ms DESC, id LIMIT ? OFFSET ?",
            .text(user), withUnfinished ? 1 : 0, .integer(Int64(limit)), .integer(Int64(offset)))
    }

    /// Returns how many insights `insights` has in all.
    func insightCount(of user: String, withUnfinished: Bool) throws -> Int {
        try number(
            "SELECT count(*) FROM work WHERE \(Store.isListed)", .text(user),
            withUnfinished ? 1 : 0)
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
        let changed = try database.change(
            """
            UPDATE work SET ends_in = 'failed', polls = 1000000
            WHERE state IN ('received', 'processing')
            """)
        return Int(changed)
    }

    /// Keeps the unfinished work with an id, or all of it, unfinished for ever; returns how many
    /// items that is.
    ///
    /// The count of polls is set so low that it never reaches the number of steps.
    func stallUnfinishedWork(id: String?) throws -> Int {
        let changed = try database.change(
            """
            UPDATE work SET polls = -1000000000
            WHERE state IN ('received', 'processing') AND id = coalesce(?, id)
            """, .text(id))
        return Int(changed)
    }
}

/// A row that this server cannot have written.
enum StoreFault: Error, CustomStringConvertible {
    case unknownWord

    var description: String { "sandbox.db holds a word that the server does not know" }
}
