import ClarityScheduler
import SQLite

/// The output of an attempt's program, as a row of `attempt_outputs`.
enum OutputRow {
    /// Writes the attempt's output; without one, changes nothing.
    static func put(_ attempt: Attempt, _ connection: Connection) throws(SQLiteError) {
        guard let output = attempt.output else { return }
        try connection.run(
            """
            INSERT INTO attempt_outputs (run_id, number, head, left_out_bytes, tail)
            VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (run_id, number) DO UPDATE SET head = excluded.head,
                left_out_bytes = excluded.left_out_bytes, tail = excluded.tail
            """,
            .integer(attempt.run.rawValue), .integer(Int64(attempt.number)), .blob(output.head),
            .integer(output.leftOutBytes), .blob(output.tail))
    }

    /// Returns the outputs of a run's attempts, by attempt number.
    static func outputs(
        of run: RunID, _ connection: Connection
    ) throws(SQLiteError) -> [Int: AttemptOutput] {
        var outputs: [Int: AttemptOutput] = [:]
        try connection.forEach(
            "SELECT number, head, left_out_bytes, tail FROM attempt_outputs WHERE run_id = ?",
            [.integer(run.rawValue)]
        ) { row in
            outputs[Int(row.integer(0))] = AttemptOutput(
                head: row.blob(1), leftOutBytes: row.integer(2), tail: row.blob(3))
        }
        return outputs
    }
}
