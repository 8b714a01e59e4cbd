import ClarityScheduler
import Database

/// A deferral as a row of `deferrals`.
enum DeferralRow {
    enum Column: String, RowColumn {
        case reason, subject, wanted, measured, source, since_ms, until_ms, run_id
    }

    static let columns = Column.list

    static func span(_ row: borrowing Row) -> DeferralSpan {
        DeferralSpan(
            Deferral(
                row.word(Column.reason) ?? .constraint, subject: row.text(Column.subject),
                wanted: row.text(Column.wanted), measured: row.text(Column.measured),
                source: row.text(Column.source)),
            of: RunID(row.integer(Column.run_id)), since: row.instant(Column.since_ms),
            until: row.optionalInstant(Column.until_ms))
    }

    /// Ends the spans of reasons that no longer hold, continues those that do, and starts the new
    /// ones.
    ///
    /// `known` are the deferrals that the table has as open. Unchanged deferrals are not written,
    /// so that a run can wait for days without a commit. If a deferral starts again in the same
    /// millisecond as an earlier span, as it can after the clock was set back, that span continues.
    static func put(
        _ deferrals: [Deferral], of run: RunID, known: [Deferral], at instant: Instant,
        _ connection: Connection
    ) throws(DatabaseError) {
        for old in known where !deferrals.contains(where: { $0.subject == old.subject }) {
            try connection.run(
                """
                UPDATE deferrals SET until_ms = max(?, since_ms)
                WHERE run_id = ? AND subject = ? AND until_ms IS NULL
                """,
                .instant(instant), .integer(run.rawValue), .text(old.subject))
        }
        for (position, deferral) in deferrals.enumerated() {
            let before = known.firstIndex { $0.subject == deferral.subject }
            if let before, before == position, known[before] == deferral { continue }
            try connection.run(
                before == nil ? insert : update, .integer(run.rawValue), .text(deferral.subject),
                .text(deferral.reason.rawValue), .text(deferral.wanted), .text(deferral.measured),
                .text(deferral.source), .integer(Int64(position)), .instant(instant))
        }
    }

    /// Ends every open deferral of a run.
    static func end(of run: RunID, at instant: Instant, _ connection: Connection)
        throws(DatabaseError)
    {
        try connection.run(
            "UPDATE deferrals SET until_ms = max(?, since_ms) WHERE run_id = ? AND until_ms IS NULL",
            .instant(instant), .integer(run.rawValue))
    }

    private static let insert = """
        INSERT INTO deferrals
            (run_id, subject, reason, wanted, measured, source, place, since_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (run_id, subject, since_ms) DO UPDATE SET
            until_ms = NULL, reason = excluded.reason, wanted = excluded.wanted,
            measured = excluded.measured, source = excluded.source, place = excluded.place
        """

    private static let update = """
        UPDATE deferrals SET
            reason = ?3, wanted = ?4, measured = ?5, source = ?6, place = ?7
        WHERE run_id = ?1 AND subject = ?2 AND until_ms IS NULL AND CAST(?8 AS BIGINT) IS NOT NULL
        """
}
