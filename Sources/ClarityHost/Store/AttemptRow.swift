import ClarityScheduler
import Database

/// An attempt as a row of `attempts`.
enum AttemptRow {
    enum Column: String, RowColumn {
        case run_id, number, started_at_ms, finished_at_ms, result, stop_reason, reason, tally
        case peak_memory_bytes
    }

    static func attempt(_ row: borrowing Row) -> Attempt {
        Attempt(
            run: RunID(row.integer(Column.run_id)), number: Int(row.integer(Column.number)),
            startedAt: row.instant(Column.started_at_ms),
            finishedAt: row.optionalInstant(Column.finished_at_ms),
            result: Attempt.Result(rawValue: row.text(Column.result)) ?? .running,
            stopReason: row.word(Column.stop_reason), reason: row.optionalText(Column.reason),
            tally: TallyText.tally(row.text(Column.tally)),
            peakMemoryBytes: row.integer(Column.peak_memory_bytes))
    }

    static func put(_ attempt: Attempt, _ connection: Connection) throws(DatabaseError) {
        try connection.run(
            upsert, .integer(attempt.run.rawValue), .integer(Int64(attempt.number)),
            .instant(attempt.startedAt), .instant(attempt.finishedAt),
            .text(attempt.result.rawValue), .text(attempt.stopReason?.rawValue),
            .text(attempt.reason), .text(TallyText.text(attempt.tally)),
            .integer(attempt.peakMemoryBytes))
    }

    private static let upsert = """
        INSERT INTO attempts (\(Column.list)) VALUES (\(Column.parameters))
        ON CONFLICT (run_id, number) DO UPDATE SET
            \(Column.replacements(besides: [.run_id, .number, .started_at_ms]))
        """
}

/// The output of an attempt's program, as a row of `attempt_outputs`.
enum OutputRow {
    enum Column: String, RowColumn { case run_id, number, head, left_out_bytes, tail }

    /// Writes the attempt's output; without one, changes nothing.
    static func put(_ attempt: Attempt, _ connection: Connection) throws(DatabaseError) {
        guard let output = attempt.output else { return }
        try connection.run(
            """
            INSERT INTO attempt_outputs (\(Column.list)) VALUES (\(Column.parameters))
            ON CONFLICT (run_id, number) DO UPDATE SET
                \(Column.replacements(besides: [.run_id, .number]))
            """,
            .integer(attempt.run.rawValue), .integer(Int64(attempt.number)), .blob(output.head),
            .integer(output.leftOutBytes), .blob(output.tail))
    }

    /// Returns the outputs of a run's attempts, by attempt number.
    static func outputs(
        of run: RunID, _ connection: Connection
    ) throws(DatabaseError) -> [Int: AttemptOutput] {
        var outputs: [Int: AttemptOutput] = [:]
        try connection.forEach(
            "SELECT \(Column.list) FROM attempt_outputs WHERE run_id = ?", [.integer(run.rawValue)]
        ) { row in
            outputs[Int(row.integer(Column.number))] = AttemptOutput(
                head: row.blob(Column.head), leftOutBytes: row.integer(Column.left_out_bytes),
                tail: row.blob(Column.tail))
        }
        return outputs
    }
}

/// The machine on which an attempt ran, as a row of `attempt_machines`.
enum MachineRow {
    static func put(
        _ machine: String, of attempt: Attempt, _ connection: Connection
    ) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO attempt_machines (run_id, number, machine) VALUES (?, ?, ?)
            ON CONFLICT (run_id, number) DO UPDATE SET machine = excluded.machine
            """,
            .integer(attempt.run.rawValue), .integer(Int64(attempt.number)), .text(machine))
    }

    /// Returns the machines of a run's attempts, by attempt number.
    static func machines(
        of run: RunID, _ connection: Connection
    ) throws(DatabaseError) -> [Int: String] {
        var machines: [Int: String] = [:]
        try connection.forEach(
            "SELECT number, machine FROM attempt_machines WHERE run_id = ?",
            [.integer(run.rawValue)]
        ) { machines[Int($0.integer(0))] = $0.text(1) }
        return machines
    }
}
