public import ClarityScheduler
import Database

/// Work in progress at the backend, whose status can be requested.
public enum OpenWork: Hashable, Sendable {
    case upload(OpenUpload)
    case analysis(StoredAnalysis)
    case insight(StoredInsightRequest)

    var row: (table: String, id: Int64) {
        switch self {
        case .upload(let upload): ("batches", upload.id)
        case .analysis(let analysis): ("analyses", analysis.id)
        case .insight(let request): ("insight_requests", request.id)
        }
    }
}

extension HealthStore {
    /// Records a status request and the backend's answer, in this program's own words.
    ///
    /// - Returns: all status requests about this work so far.
    @discardableResult
    public func noteAsked(
        about work: OpenWork, _ word: String, at now: Instant
    ) throws(HealthStoreError) -> Questions {
        let (table, id) = work.row
        return try change { connection in
            try connection.run(
                """
                UPDATE \(table) SET asked_count = asked_count + 1, last_asked_at_ms = ?,
                    last_word = ? WHERE id = ?
                """, .instant(now), .text(word), .integer(id))
            return try questions(about: work, connection)
        }
    }

    /// Returns the status requests about this work so far.
    public func questions(about work: OpenWork) throws(HealthStoreError) -> Questions {
        try access { connection in try questions(about: work, connection) }
    }

    private func questions(about work: OpenWork, _ connection: Connection) throws -> Questions {
        let (table, id) = work.row
        return try connection.first(
            "SELECT asked_count, last_asked_at_ms, last_word FROM \(table) WHERE id = ?",
            .integer(id)
        ) { Questions($0, at: 0) } ?? Questions()
    }
}

extension Questions {
    /// Parses the three columns that begin at `column`.
    init(_ row: borrowing Row, at column: Int32) {
        self.init(
            count: Int(row.integer(column)),
            lastAt: row.optionalInteger(column + 1).map { Instant(millisecondsSince1970: $0) },
            lastWord: row.optionalText(column + 2))
    }
}
