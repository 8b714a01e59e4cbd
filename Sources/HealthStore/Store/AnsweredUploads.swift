import Database

/// Marks as stored the uploads of samples whose acceptance by the deployed backend was the proof.
///
/// Versions up to 0.1.0 took the acceptance for no proof, and waited for a status that the deployed
/// backend never gives: the samples stayed `accepted`, and became `unconfirmed`. The rows do not
/// name the dialect, but the backend's id of an upload does: the deployed backend ends it with 32
/// digits, the blueprint with a UUID, which has hyphens. No key is needed, and no question to
/// anybody.
///
/// This is no step of the schema, because the rows of a server and those of a restored backup need
/// it as well. It runs whenever health data is opened, and finds nothing from then on.
enum AnsweredUploads {
    private static let condition = """
        (state = 'accepted' OR state = 'unconfirmed') AND route = 'samples'
            AND accepted_at_ms IS NOT NULL AND length(processing_id) > 33
            AND substr(processing_id, length(processing_id) - 32, 1) = '-'
            AND instr(substr(processing_id, length(processing_id) - 31), '-') = 0
        """

    /// - Returns: how many uploads changed.
    @discardableResult
    static func settle(_ connection: Connection) throws -> Int64 {
        // Asked first, so that opening does not wait for another process that writes.
        let isThere = try connection.integer(
            "SELECT 1 FROM batches WHERE \(condition) LIMIT 1")
        guard isThere != nil else { return 0 }
        return try connection.transaction {
            try connection.change(
                """
                UPDATE batches SET state = 'stored', reason = NULL, finished_at_ms = accepted_at_ms
                WHERE \(condition)
                """)
        }
    }
}
