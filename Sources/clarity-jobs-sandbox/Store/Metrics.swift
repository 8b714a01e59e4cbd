import JSON
import SQLite

/// A stored metric.
struct StoredMetric: Hashable, Sendable {
    /// The position of the metric in the order of arrival.
    var sequence: Int64
    var id: String
    var type: String
    var createdAt: Timestamp
    var body: JSON
}

extension StoredMetric {
    /// Returns the metric with the first number of its payload raised by one, dated `now`; `nil` if
    /// the payload has no number.
    func edited(_ payload: String, at now: Timestamp) -> StoredMetric? {
        guard case .object(var members) = body,
            let place = members.firstIndex(where: { $0.name == payload }),
            case .object(var values) = members[place].value,
            let number = values.firstIndex(where: { $0.value.raised != nil }),
            let raised = values[number].value.raised
        else { return nil }
        values[number].value = raised
        members[place].value = .object(values)
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
        try database.run(
            """
            INSERT INTO metrics (metric_id, copy, user_id, work_id, type, created_at_ms, body)
            SELECT ?1, CASE WHEN ?7 THEN coalesce(max(copy) + 1, 0) ELSE 0 END, ?2, ?3, ?4, ?5, ?6
            FROM metrics WHERE metric_id = ?1
            ON CONFLICT (metric_id, copy) DO NOTHING
            """,
            .text(metric.id), .text(user), .text(work), .text(metric.type),
            .integer(metric.createdAt.milliseconds), .text(metric.body.line),
            .integer(asCopy ? 1 : 0))
        guard database.changes == 1 else { return false }
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
        try database.run(
            """
            INSERT INTO healthkit_samples (identifier, copy, user_id, work_id, kind, body)
            SELECT ?1, CASE WHEN ?6 THEN coalesce(max(copy) + 1, 0) ELSE 0 END, ?2, ?3, ?4, ?5
            FROM healthkit_samples WHERE user_id = ?2 AND identifier = ?1
            ON CONFLICT (user_id, identifier, copy) DO NOTHING
            """, .text(identifier), .text(user), .text(work), .text(kind), .text(body.line),
            .integer(asCopy ? 1 : 0))
        if database.changes == 1 { newlyStored.insert(identifier) }
    }

    /// Returns up to `limit` of the user's metrics after `cursor`, newest first.
    func metrics(of user: String, after cursor: MetricCursor?, limit: Int) throws -> [StoredMetric]
    {
        try database.all(
            """
            SELECT sequence, metric_id, type, created_at_ms, body FROM metrics
            WHERE user_id = ? AND (created_at_ms, sequence) < (?, ?)
            ORDER BY created_at_ms DESC, sequence DESC LIMIT ?
            """,
            .text(user), .integer(cursor?.createdAt.milliseconds ?? .max),
            .integer(cursor?.sequence ?? .max), .integer(Int64(limit)), map: Store.metric
        ).map { try $0.get() }
    }

    /// Returns up to `limit` uploaded metrics of all users, in the order of arrival.
    func uploadedMetrics(after sequence: Int64, limit: Int) throws -> [StoredMetric] {
        try database.all(
            """
            SELECT sequence, metric_id, type, created_at_ms, body FROM metrics
            WHERE work_id IS NOT NULL AND sequence > ? ORDER BY sequence LIMIT ?
            """, .integer(sequence), .integer(Int64(limit)), map: Store.metric
        ).map { try $0.get() }
    }

    /// Returns the first stored copy of the metric with an id, or `nil` if there is none.
    func metric(id: String) throws -> StoredMetric? {
        try database.first(
            """
            SELECT sequence, metric_id, type, created_at_ms, body FROM metrics
            WHERE metric_id = ? AND copy = 0
            """, .text(id), map: Store.metric
        ).flatMap { try $0.get() }
    }

    /// Updates the time and the body of a metric.
    func update(_ metric: StoredMetric) throws {
        try database.run(
            "UPDATE metrics SET created_at_ms = ?, body = ? WHERE sequence = ?",
            .integer(metric.createdAt.milliseconds), .text(metric.body.line),
            .integer(metric.sequence))
    }

    static func metric(_ row: borrowing Row) -> Result<StoredMetric, any Error> {
        let (sequence, id, type) = (row.integer(0), row.text(1), row.text(2))
        let (created, body) = (row.integer(3), row.text(4))
        return Result {
            StoredMetric(
                sequence: sequence, id: id, type: type,
                createdAt: Timestamp(milliseconds: created),
                body: try JSONParser.parse(Array(body.utf8)))
        }
    }
}
