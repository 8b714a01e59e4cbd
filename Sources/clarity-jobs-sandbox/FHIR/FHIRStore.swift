import Database
import JSON

/// A version of a resource.
struct FHIRVersion {
    var type: String
    var id: String
    var number: Int64
    var at: Timestamp
    /// What the client sent, without the parts of `meta` that the server sets; `nil` for a
    /// deletion.
    var content: JSON?

    /// The version as `W/"2"` (http.html, "Support for Versions").
    var etag: String { "W/\"\(number)\"" }
    /// The URL below the base.
    var url: String { "\(type)/\(id)/_history/\(number)" }

    /// The resource as the server returns it.
    var resource: JSON {
        let content = content ?? [:]
        let meta = (content["meta"] ?? [:]).leading(
            ["versionId": .string(String(number)), "lastUpdated": .time(at)])
        return content.leading([
            "resourceType": .string(type), "id": .string(id), "meta": meta,
        ])
    }
}

/// The texts and dates by which a search finds a resource.
struct FHIRIndex {
    /// The search parameter, the system (empty without one) and the value.
    var terms: [(name: String, system: String, value: String)] = []
    /// The first and the last millisecond of `date`.
    var dates: ClosedRange<Int64>?
}

/// The condition of a search in SQL.
struct FHIRCondition {
    var sql: String
    var values: [Value]
}

extension Store {
    /// Returns the current version of a resource, which may be a deletion.
    func resource(_ type: String, _ id: String) throws -> FHIRVersion? {
        try versions(
            "JOIN fhir_resources r USING (type, id, version) WHERE type = ? AND id = ?",
            [.text(type), .text(id)]
        ).first
    }

    /// Returns all versions of a resource, the newest first.
    func history(_ type: String, _ id: String) throws -> [FHIRVersion] {
        try versions(
            "WHERE type = ? AND id = ? ORDER BY version DESC", [.text(type), .text(id)])
    }

    /// Returns the current versions that meet all conditions, in the order of their creation, each
    /// with its place in that order.
    func resources(
        _ conditions: [FHIRCondition], after: Int64, limit: Int
    ) throws -> [(place: Int64, version: FHIRVersion)] {
        let found = try versions(
            """
            JOIN fhir_resources r USING (type, id, version)
            WHERE \(sql(conditions)) AND r.place > ? ORDER BY r.place LIMIT ?
            """, conditions.flatMap(\.values) + [.integer(after), .integer(Int64(limit))],
            place: "r.place")
        return found.map { ($0.place, $0.version) }
    }

    /// Returns how many current versions meet all conditions.
    func count(_ conditions: [FHIRCondition]) throws -> Int {
        try all(
            "SELECT count(*) FROM fhir_resources r WHERE \(sql(conditions))",
            conditions.flatMap(\.values)
        ) { Int($0.integer(0)) }.first ?? 0
    }

    private func sql(_ conditions: [FHIRCondition]) -> String {
        (["NOT r.is_deleted"] + conditions.map { "(\($0.sql))" }).joined(separator: " AND ")
    }

    private func versions(_ rest: String, _ values: [Value]) throws -> [FHIRVersion] {
        try versions(rest, values, place: "0").map(\.version)
    }

    private func versions(
        _ rest: String, _ values: [Value], place: String
    ) throws -> [(version: FHIRVersion, place: Int64)] {
        try all(
            "SELECT type, id, version, v.at_ms, body, \(place) FROM fhir_versions v \(rest)", values
        ) { row in
            let content = row.isNull(4) ? nil : try JSONParser.parse(Array(row.text(4).utf8))
            let version = FHIRVersion(
                type: row.text(0), id: row.text(1), number: row.integer(2),
                at: Timestamp(milliseconds: row.integer(3)), content: content)
            return (version, row.integer(5))
        }
    }

    /// Stores a version, which becomes the current one.
    func write(_ version: FHIRVersion, _ index: FHIRIndex) throws {
        let key: [Value] = [.text(version.type), .text(version.id)]
        try database.run(
            """
            INSERT INTO fhir_versions (type, id, version, at_ms, body) VALUES (?, ?, ?, ?, ?)
            """,
            with: key + [
                .integer(version.number), .integer(version.at.milliseconds),
                version.content.map { .text($0.line) } ?? .null,
            ])
        try database.run(
            """
            INSERT INTO fhir_resources (type, id, version, at_ms, is_deleted, first_ms, last_ms)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (type, id) DO UPDATE SET version = excluded.version,
                is_deleted = excluded.is_deleted, first_ms = excluded.first_ms,
                last_ms = excluded.last_ms
            """,
            with: key + [
                .integer(version.number), .integer(version.at.milliseconds),
                .integer(version.content == nil ? 1 : 0),
                index.dates.map { .integer($0.lowerBound) } ?? .null,
                index.dates.map { .integer($0.upperBound) } ?? .null,
            ])
        let place =
            try all(
                "SELECT place FROM fhir_resources WHERE type = ? AND id = ?", key
            ) { $0.integer(0) }.first ?? 0
        try database.run("DELETE FROM fhir_terms WHERE place = ?", .integer(place))
        for term in index.terms {
            try database.run(
                "INSERT OR IGNORE INTO fhir_terms (name, value, system, place) VALUES (?, ?, ?, ?)",
                .text(term.name), .text(term.value), .text(term.system), .integer(place))
        }
    }

    /// Deletes every resource, as a server that is set up anew.
    func emptyFHIR() throws -> Int {
        let count = try number("SELECT count(*) FROM fhir_resources")
        for table in ["terms", "resources", "versions"] {
            try database.run("DELETE FROM fhir_\(table)")
        }
        return count
    }

    /// Records a request, its answer and those of its entries.
    func noteFHIR(
        _ request: Request, url: String, answer: String, entries: [JSON], at time: Timestamp
    ) throws {
        try database.run(
            """
            INSERT INTO fhir_requests (at_ms, connection, method, url, answer, entries)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            .integer(time.milliseconds), .integer(Int64(request.connection)),
            .text(request.method), .text(url), .text(answer), .text(JSON.array(entries).line))
    }

    /// Returns the record of requests after a number.
    func fhirRequests(after: Int64, limit: Int) throws -> [JSON] {
        try all(
            """
            SELECT number, at_ms, connection, method, url, answer, entries FROM fhir_requests
            WHERE number > ? ORDER BY number LIMIT ?
            """, [.integer(after), .integer(Int64(limit))]
        ) { row in
            [
                "number": .integer(row.integer(0)), "at_ms": .integer(row.integer(1)),
                "connection": .integer(row.integer(2)), "method": .string(row.text(3)),
                "url": .string(row.text(4)), "answer": .string(row.text(5)),
                "entries": try JSONParser.parse(Array(row.text(6).utf8)),
            ]
        }
    }

    /// Returns what is stored, in the order of its creation: never the content.
    func fhirResources(after: Int64, limit: Int) throws -> [JSON] {
        try all(
            """
            SELECT r.place, r.type, r.id, r.version, r.is_deleted, v.at_ms, r.at_ms
            FROM fhir_resources r JOIN fhir_versions v USING (type, id, version)
            WHERE r.place > ? ORDER BY r.place LIMIT ?
            """, [.integer(after), .integer(Int64(limit))]
        ) { row in
            [
                "place": .integer(row.integer(0)), "type": .string(row.text(1)),
                "id": .string(row.text(2)), "versions": .integer(row.integer(3)),
                "deleted": .bool(row.integer(4) != 0),
                "at": .time(Timestamp(milliseconds: row.integer(5))),
                "created": .time(Timestamp(milliseconds: row.integer(6))),
            ]
        }
    }

    /// Returns the identifiers that several resources of one type have.
    func fhirDuplicates() throws -> [JSON] {
        try all(
            """
            SELECT r.type, t.system, t.value, count(*) FROM fhir_terms t
            JOIN fhir_resources r USING (place)
            WHERE t.name = 'identifier' AND NOT r.is_deleted
            GROUP BY r.type, t.system, t.value HAVING count(*) > 1 ORDER BY 1, 2, 3 LIMIT 1000
            """, []
        ) { row in
            [
                "type": .string(row.text(0)),
                "identifier": .string("\(row.text(1))|\(row.text(2))"),
                "resources": .integer(row.integer(3)),
            ]
        }
    }
}
