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
    /// What has not changed is not written, so that a run may wait for days without a commit. What
    /// begins again in the millisecond in which it began before, as it may when the clock was set
    /// back, goes on.
    static func put(
        _ deferrals: [Deferral], of run: RunID, at instant: Instant, _ connection: Connection
    ) throws(SQLiteError) {
        let current = try connection.all(
            "SELECT subject FROM deferrals WHERE run_id = ? AND until_ms IS NULL",
            .integer(run.rawValue)
        ) { $0.text(0) }
        let wanted = Set(deferrals.map(\.subject))
        for subject in current where !wanted.contains(subject) {
            try connection.run(
                """
                UPDATE deferrals SET until_ms = max(?, since_ms)
                WHERE run_id = ? AND subject = ? AND until_ms IS NULL
                """,
                .instant(instant), .integer(run.rawValue), .text(subject))
        }
        for deferral in deferrals {
            if current.contains(deferral.subject) {
                try connection.run(
                    """
                    UPDATE deferrals SET wanted = ?3, measured = ?4, source = ?5, reason = ?6
                    WHERE run_id = ?1 AND subject = ?2 AND until_ms IS NULL
                        AND (wanted, measured, source, reason) <> (?3, ?4, ?5, ?6)
                    """,
                    .integer(run.rawValue), .text(deferral.subject), .text(deferral.wanted),
                    .text(deferral.measured), .text(deferral.source),
                    .text(deferral.reason.rawValue))
            } else {
                try connection.run(
                    """
                    INSERT INTO deferrals
                        (run_id, subject, since_ms, reason, wanted, measured, source)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (run_id, subject, since_ms) DO UPDATE SET
                        until_ms = NULL, reason = excluded.reason, wanted = excluded.wanted,
                        measured = excluded.measured, source = excluded.source
                    """,
                    .integer(run.rawValue), .text(deferral.subject), .instant(instant),
                    .text(deferral.reason.rawValue), .text(deferral.wanted),
                    .text(deferral.measured), .text(deferral.source))
            }
        }
    }
}
