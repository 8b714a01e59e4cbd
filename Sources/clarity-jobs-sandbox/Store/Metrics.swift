import JSON
import Database

/// A stored metric.
struct StoredMetric: Hashable, Sendable {
    /// The position of the metric in the order of arrival.
    var sequence: Int64
    var id: String
    var type: String
    var createdAt: Timestamp
    var body: JSON
    /// The upload; `nil` for a metric of the seed.
    var upload: String?
}

extension StoredMetric {
    fileprivate enum Column: String, RowColumn {
        case sequence, type, body
        case id = "metric_id"
        case createdAt = "created_at_ms"
        case upload = "work_id"
    }

    fileprivate init(_ row: borrowing Row) throws {
        self.init(
            sequence: row.integer(Column.sequence), id: row.text(Column.id),
            type: row.text(Column.type),
            createdAt: Timestamp(milliseconds: row.integer(Column.createdAt)),
            body: try JSONParser.parse(Array(row.text(Column.body).utf8)),
            upload: row.optionalText(Column.upload))
    }

    /// Returns the metric with the first number of its payload raised by one, dated `now`; `nil` if
    /// the payload has no number.
    func edited(_ payload: String, at now: Timestamp) -> StoredMetric? {
        guard case .object(var members) = body,
            let index = members.firstIndex(where: { $0.name == payload }),
            case .object(var values) = members[index].value,
            let number = values.firstIndex(where: { $0.value.raised != nil }),
            let raised = values[number].value.raised
        else { return nil }
        values[number].value = raised
        members[index].value = .object(values)
        for index in members.indices where members[index].name == "created_at" {
            members[index].value = .time(now)
        }
        var edited = self
        edited.body = .object(members)
        edited.createdAt = now
        return edited
    }
}

extension JSON {
    /// The number plus one; `nil` if the value is not a number.
    fileprivate var raised: JSON? {
        switch self {
        case .integer(let number): .integer(number + 1)
        case .number(let number): .number(number + 1)
        default: nil
        }
    }
}

/// The position from which a page of metrics continues, newest first: after this metric.
struct MetricCursor: Hashable, Sendable {
    var createdAt: Timestamp
    var sequence: Int64

    init(_ metric: StoredMetric) {
        createdAt = metric.createdAt
        sequence = metric.sequence
    }

    /// Parses `text`; `nil` for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Int64(parts[0], radix: 36),
            let sequence = Int64(parts[1], radix: 36)
        else { return nil }
        createdAt = Timestamp(milliseconds: time)
        self.sequence = sequence
    }

    /// The cursor in the form that clients send back.
    var text: String {
        String(createdAt.milliseconds, radix: 36) + "_" + String(sequence, radix: 36)
    }
}

extension Store {
    /// Adds a metric; `false` if its id is already stored and `asCopy` is not set.
    ///
    /// With `asCopy`, a repeated id is stored as another copy.
    func add(
        _ metric: AcceptedMetric, user: String, work: String?, asCopy: Bool = false
    ) throws -> Bool {
        let added = try database.change(
            """
            INSERT INTO metrics (metric_id, copy, user_id, work_id, type, created_at_ms, body)
            SELECT ?1, CASE WHEN ?7 THEN coalesce(max(copy) + 1, 0) ELSE 0 END, ?2, ?3, ?4, ?5, ?6
            FROM metrics WHERE metric_id = ?1
            ON CONFLICT (metric_id, copy) DO NOTHING
            """,
            .text(metric.id), .text(user), .text(work), .text(metric.type),
            .integer(metric.createdAt.milliseconds), .text(metric.body.line),
            .integer(asCopy ? 1 : 0))
        guard added == 1 else { return false }
        newlyStored.insert(metric.id)
        return true
    }

    /// Adds a HealthKit sample; one that is already stored stays as it is.
    ///
    /// With `asCopy`, a repeated sample is stored as another copy.
    func addSample(
        _ identifier: String, kind: String, body: JSON, user: String, work: String,
        asCopy: Bool = false
    ) throws {
        let added = try database.change(
            """
            INSERT INTO healthkit_samples (identifier, copy, user_id, work_id, kind, body)
            SELECT ?1, CASE WHEN ?6 THEN coalesce(max(copy) + 1, 0) ELSE 0 END, ?2, ?3, ?4, ?5
            FROM healthkit_samples WHERE user_id = ?2 AND identifier = ?1
            ON CONFLICT (user_id, identifier, copy) DO NOTHING
            """, .text(identifier), .text(user), .text(work), .text(kind), .text(body.line),
            .integer(asCopy ? 1 : 0))
        if added == 1 { newlyStored.insert(identifier) }
    }

    private func metrics(_ condition: String, _ values: Value...) throws -> [StoredMetric] {
        try all(
            "SELECT \(StoredMetric.Column.list) FROM metrics WHERE \(condition)", values,
            map: StoredMetric.init)
    }

    /// Returns up to `limit` of the user's metrics after `cursor`, newest first.
    func metrics(of user: String, after cursor: MetricCursor?, limit: Int) throws -> [StoredMetric]
    {
        try metrics(
            """
            user_id = ? AND (created_at_ms, sequence) < (?, ?)
            ORDER BY created_at_ms DESC, sequence DESC LIMIT ?
            """,
            .text(user), .integer(cursor?.createdAt.milliseconds ?? .max),
            .integer(cursor?.sequence ?? .max), .integer(Int64(limit)))
    }

    /// Returns a page of the user's metrics of a type, or of every type, from `start` to `end`,
    /// newest first.
    func metrics(
        of user: String, type: String?, from start: Timestamp?, to end: Timestamp?, limit: Int,
        offset: Int
    ) throws -> [StoredMetric] {
        try metrics(
            """
            user_id = ?1 AND (?2 IS NULL OR type = ?2) AND created_at_ms BETWEEN ?3 AND ?4
            ORDER BY created_at_ms DESC, sequence DESC LIMIT ?5 OFFSET ?6
            """,
            .text(user), .text(type), .integer(start?.milliseconds ?? .min),
            .integer(end?.milliseconds ?? .max), .integer(Int64(limit)), .integer(Int64(offset)))
    }

    /// Returns up to `limit` uploaded metrics of all users, in the order of arrival.
    func uploadedMetrics(after sequence: Int64, limit: Int) throws -> [StoredMetric] {
        try metrics(
            "work_id IS NOT NULL AND sequence > ? ORDER BY sequence LIMIT ?", .integer(sequence),
            .integer(Int64(limit)))
    }

    /// Returns the first stored copy of the metric with an id, or `nil` if there is none.
    func metric(id: String) throws -> StoredMetric? {
        try metrics("metric_id = ? AND copy = 0", .text(id)).first
    }

    /// Updates the time and the body of a metric.
    func update(_ metric: StoredMetric) throws {
        try database.run(
            "UPDATE metrics SET created_at_ms = ?, body = ? WHERE sequence = ?",
            .integer(metric.createdAt.milliseconds), .text(metric.body.line),
            .integer(metric.sequence))
    }
}

extension Store {
    /// Counts metrics or samples that were sent but not stored.
    func noteLoss(_ outcome: Outcome, _ reason: String, _ count: Int) throws {
        guard count > 0 else { return }
        try database.run(
            """
            INSERT INTO losses (fate, reason, count) VALUES (?, ?, ?)
            ON CONFLICT (fate, reason) DO UPDATE SET count = count + excluded.count
            """, .text(outcome.rawValue), .text(reason), .integer(Int64(count)))
    }

    /// What happened to a metric that was not stored.
    enum Outcome: String, Sendable {
        /// The client was told that the metric was accepted.
        case dropped
        /// The client was told that the metric was refused.
        case refused
    }

    /// Returns how many were lost, sorted by reason.
    func losses(_ outcome: Outcome) throws -> [(name: String, count: Int)] {
        try counts(
            "SELECT reason, count FROM losses WHERE fate = ? ORDER BY reason",
            .text(outcome.rawValue))
    }

    /// Returns the number of uploaded metrics of each type, including copies.
    func metricsByType() throws -> [(name: String, count: Int)] {
        try counts(
            """
            SELECT type, count(*) FROM metrics WHERE work_id IS NOT NULL
            GROUP BY type ORDER BY type
            """)
    }

    /// Removes an upload of metrics with all its metrics; `false` if the user has no such upload.
    func deleteUpload(_ id: String, of user: String) throws -> Bool {
        guard try work(.metrics, id, of: user) != nil else { return false }
        try database.run("DELETE FROM metrics WHERE work_id = ?", .text(id))
        try database.run("DELETE FROM work WHERE id = ?", .text(id))
        return true
    }
}
