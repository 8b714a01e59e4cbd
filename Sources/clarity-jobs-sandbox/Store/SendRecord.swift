import Database

/// An entry in the record of uploads: a request and its answer.
struct RecordedSend: Sendable {
    var id: Int64
    var connection: Int64
    var peerPort: Int64
    /// Whether an answer that was sent completely told the client that its samples were accepted.
    var isAccepted: Bool
    /// Whether no further upload came on the same connection; then the client may not have read the
    /// answer.
    var isLast: Bool
    /// The ids of the uploaded samples, each with its outcome: `stored`, `known` or `not kept`.
    var samples: [(id: String, outcome: String)] = []
}

/// A sample that the server has from uploads, with the data that identifies its measurement.
struct RecordedSample: Hashable, Sendable {
    var id: String
    /// The email address of the user that has it.
    var user: String
    var type: String
    var start: String
    /// The first number in the sample.
    var value: Double
    /// How many times the sample is stored.
    var copies: Int
}

extension Store {
    /// Records an upload request and the ids of its samples, before its answer is sent.
    ///
    /// - Returns: the number of the entry, for `noteAnswered`.
    func noteSend(
        connection: Int, peerPort: Int, answer: String, isCarriedOut: Bool, ids: [String]
    ) throws -> Int64 {
        let stored = newlyStored
        newlyStored = []
        return try transaction {
            try database.run(
                "INSERT INTO sends (connection, peer_port, answer, is_carried_out) VALUES (?, ?, ?, ?)",
                .integer(Int64(connection)), .integer(Int64(peerPort)), .text(answer),
                .integer(isCarriedOut ? 1 : 0))
            let send = Int64(try number("SELECT max(id) FROM sends"))
            for (index, id) in ids.enumerated() {
                try database.run(
                    """
                    INSERT INTO sent_samples (send_id, place, sample_id, fate)
                    SELECT ?1, ?2, ?3, CASE WHEN ?4 THEN 'stored'
                        WHEN ?5 AND (EXISTS (SELECT 1 FROM metrics WHERE metric_id = ?3)
                            OR EXISTS (SELECT 1 FROM healthkit_samples WHERE identifier = ?3))
                        THEN 'known' ELSE 'not kept' END
                    """,
                    .integer(send), .integer(Int64(index)), .text(id),
                    .integer(stored.contains(id) ? 1 : 0),
                    .integer(isCarriedOut && answer.hasPrefix("2") ? 1 : 0))
            }
            return send
        }
    }

    /// Records that the answer to an upload was sent completely.
    func noteAnswered(_ send: Int64) throws {
        try database.run("UPDATE sends SET is_answered = 1 WHERE id = ?", .integer(send))
    }

    /// Returns the number of the newest entry, or 0 if there is none.
    func lastSend() throws -> Int64 { Int64(try number("SELECT coalesce(max(id), 0) FROM sends")) }

    /// Returns every sample that uploads after an entry stored or found already stored.
    func recordedSamples(after send: Int64) throws -> [RecordedSample] {
        try database.all(
            """
            WITH ids AS (SELECT DISTINCT sample_id FROM sent_samples
                    WHERE send_id > ? AND fate <> 'not kept'),
                kept AS (
                    SELECT metric_id AS id, user_id, body, copy FROM metrics
                    UNION ALL SELECT identifier, user_id, body, copy FROM healthkit_samples)
            SELECT kept.id, users.email, coalesce(body ->> 'metric_type', body ->> 'type', ''),
                coalesce(body ->> 'created_at', body ->> 'start_date', ''),
                (SELECT CAST(atom AS REAL) FROM json_tree(body)
                    WHERE type = 'integer' OR type = 'real' LIMIT 1),
                count(*), min(copy)
            FROM ids JOIN kept ON kept.id = sample_id JOIN users ON users.id = user_id
            GROUP BY kept.id, user_id ORDER BY kept.id, user_id
            """, .integer(send)
        ) { row in
            RecordedSample(
                id: row.text(0), user: row.text(1), type: row.text(2), start: row.text(3),
                value: row.real(4), copies: Int(row.integer(5)))
        }
    }

    /// Returns the entries after `send`, in order.
    func recordedSends(after send: Int64) throws -> [RecordedSend] {
        var sends = try database.all(
            """
            SELECT id, connection, peer_port,
                is_carried_out = 1 AND is_answered = 1 AND answer BETWEEN '200' AND '299',
                NOT EXISTS (SELECT 1 FROM sends AS later
                    WHERE later.connection = sends.connection AND later.id > sends.id)
            FROM sends WHERE id > ? ORDER BY id
            """, .integer(send)
        ) { row in
            RecordedSend(
                id: row.integer(0), connection: row.integer(1), peerPort: row.integer(2),
                isAccepted: row.integer(3) == 1, isLast: row.integer(4) == 1)
        }
        for index in sends.indices {
            sends[index].samples = try database.all(
                "SELECT sample_id, fate FROM sent_samples WHERE send_id = ? ORDER BY place",
                .integer(sends[index].id)
            ) { ($0.text(0), $0.text(1)) }
        }
        return sends
    }

    /// Returns the ids that were sent again after the client had been told that they were accepted.
    ///
    /// Uploads up to `send` do not count.
    func sentAfterAcceptance(after send: Int64) throws -> [String] {
        try database.all(
            """
            SELECT DISTINCT again.sample_id FROM sent_samples AS again
            JOIN sent_samples AS taken ON taken.sample_id = again.sample_id
                AND taken.send_id < again.send_id AND taken.send_id > ?
            JOIN sends ON sends.id = taken.send_id
            WHERE is_carried_out = 1 AND is_answered = 1 AND answer BETWEEN '200' AND '299'
            ORDER BY again.sample_id
            """, .integer(send)
        ) { $0.text(0) }
    }
}
