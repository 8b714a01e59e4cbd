public import ClarityScheduler
import SQLite

/// A deferral with the time during which it held.
public struct DeferralSpan: Hashable, Sendable {
    public var deferral: Deferral
    public var since: Instant
    /// `nil` while it holds.
    public var until: Instant?
}

/// A deferral as a row of `deferrals`.
enum DeferralRow {
    static let columns = "reason, subject, wanted, measured, source, since_ms, until_ms"

    static func span(_ row: borrowing Row) -> DeferralSpan {
        DeferralSpan(
            deferral: Deferral(
                WaitReason(rawValue: row.text(0)) ?? .constraint, subject: row.text(1),
                wanted: row.text(2), measured: row.text(3), source: row.text(4)),
            since: Instant(millisecondsSince1970: row.integer(5)),
            until: row.optionalInstant(6))
    }

    /// Ends the spans whose reason no longer holds, goes on with those that do, begins the new.
    ///
    /// `known` are those that hold in the table. What has not changed is not written, so that a run
    /// may wait for days without a commit. What begins again in the millisecond in which it began
    /// before, as it may when the clock was set back, goes on.
    static func put(
        _ deferrals: [Deferral], of run: RunID, known: [Deferral], at instant: Instant,
        _ connection: Connection
    ) throws(SQLiteError) {
        for old in known where !deferrals.contains(where: { $0.subject == old.subject }) {
            try connection.run(
                """
                UPDATE deferrals SET until_ms = max(?, since_ms)
                WHERE run_id = ? AND subject = ? AND until_ms IS NULL
                """,
                .instant(instant), .integer(run.rawValue), .text(old.subject))
        }
        for (place, deferral) in deferrals.enumerated() {
            let before = known.firstIndex { $0.subject == deferral.subject }
            if let before, before == place, known[before] == deferral { continue }
            try connection.run(
                before == nil ? insert : update, .integer(run.rawValue), .text(deferral.subject),
                .text(deferral.reason.rawValue), .text(deferral.wanted), .text(deferral.measured),
                .text(deferral.source), .integer(Int64(place)), .instant(instant))
        }
    }

    /// Ends whatever held a run back.
    static func end(of run: RunID, at instant: Instant, _ connection: Connection)
        throws(SQLiteError)
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
        WHERE run_id = ?1 AND subject = ?2 AND until_ms IS NULL AND ?8 NOT NULL
        """
}
