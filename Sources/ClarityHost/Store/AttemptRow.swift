import ClarityScheduler
import SQLite

/// An attempt as a row of `attempts`.
enum AttemptRow {
    static let columns = """
        run_id, number, started_at_ms, finished_at_ms, result, stop_reason, reason, tally, \
        peak_memory_bytes
        """

    static func attempt(_ row: borrowing Row) -> Attempt {
        Attempt(
            run: RunID(row.integer(0)), number: Int(row.integer(1)),
            startedAt: Instant(millisecondsSince1970: row.integer(2)),
            finishedAt: row.optionalInstant(3),
            result: Attempt.Result(rawValue: row.text(4)) ?? .running,
            stopReason: row.optionalText(5).flatMap { StopReason(rawValue: $0) },
            reason: row.optionalText(6), tally: TallyText.tally(row.text(7)),
            peakMemoryBytes: row.integer(8))
    }

    static func put(_ attempt: Attempt, _ connection: Connection) throws(SQLiteError) {
        try connection.run(
            upsert, .integer(attempt.run.rawValue), .integer(Int64(attempt.number)),
            .instant(attempt.startedAt), .instant(attempt.finishedAt),
            .text(attempt.result.rawValue), .text(attempt.stopReason?.rawValue),
            .text(attempt.reason), .text(TallyText.text(attempt.tally)),
            .integer(attempt.peakMemoryBytes))
    }

    private static let upsert = """
        INSERT INTO attempts (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (run_id, number) DO UPDATE SET
            finished_at_ms = excluded.finished_at_ms, result = excluded.result,
            stop_reason = excluded.stop_reason, reason = excluded.reason,
            tally = excluded.tally, peak_memory_bytes = excluded.peak_memory_bytes
        """
}
