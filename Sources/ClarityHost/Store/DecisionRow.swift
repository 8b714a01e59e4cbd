import ClarityScheduler
import SQLite

/// A decision as a row of `decisions`, with the runs that it was about in `decision_runs`.
enum DecisionRow {
    static func put(_ decision: Decision, _ connection: Connection) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO decisions (at_ms, origin, inputs, outcome, links) VALUES (?, ?, ?, ?, ?)
            """,
            .instant(decision.moment.wall), .text(decision.origin),
            .text(String(decoding: DecisionNotation.inputs(of: decision), as: UTF8.self)),
            .text(String(decoding: DecisionNotation.outcome(of: decision), as: UTF8.self)),
            .integer(Int64(decision.touchedRuns.count)))
        let id = connection.lastInsertedRow
        for run in decision.touchedRuns {
            try connection.run(
                "INSERT INTO decision_runs (run_id, decision_id) VALUES (?, ?)",
                .integer(run.rawValue), .integer(id))
        }
    }

    /// The decisions about a run, in the order in which they were made.
    static func decisions(of run: RunID, _ connection: Connection) throws -> [Decision] {
        struct Found {
            var id: Int64
            var at: Instant
            var origin: String
            var inputs: [UInt8]
            var outcome: [UInt8]
        }
        let found = try connection.all(
            """
            SELECT id, at_ms, origin, inputs, outcome FROM decision_runs
            JOIN decisions ON id = decision_id WHERE run_id = ? ORDER BY id
            """, .integer(run.rawValue)
        ) { row in
            Found(
                id: row.integer(0), at: Instant(millisecondsSince1970: row.integer(1)),
                origin: row.text(2), inputs: row.blob(3), outcome: row.blob(4))
        }
        return try found.map { row in
            let touched = try connection.all(
                "SELECT run_id FROM decision_runs WHERE decision_id = ? ORDER BY run_id",
                .integer(row.id)
            ) { RunID($0.integer(0)) }
            do throws(NotationFault) {
                return try DecisionNotation.decision(
                    inputs: row.inputs, outcome: row.outcome, at: row.at, origin: row.origin,
                    touchedRuns: touched)
            } catch {
                throw RunStoreError.unusable(
                    "decision \(row.id) of the history cannot be read: \(error)")
            }
        }
    }
}
