import Database
import JSON

/// A search within one type (search.html).
struct FHIRSearch {
    var type: String
    var conditions: [FHIRCondition] = []
    var count: Int
    private(set) var after: Int64 = 0
    private(set) var elements: Set<String>?
    private(set) var isCountOnly = false
    /// The parameters besides those of the page, as the client wrote them.
    private var kept: [(name: String, value: String)] = []

    /// The parameters of each type, with their types.
    static func parameters(_ type: String) -> [(name: String, type: String)] {
        let all = [("_id", "token"), ("identifier", "token")]
        guard type == "Observation" else { return all }
        return all + [
            ("category", "token"), ("code", "token"), ("date", "date"), ("patient", "reference"),
            ("status", "token"), ("subject", "reference"),
        ]
    }

    /// Creates a search.
    ///
    /// - Throws: `FHIRRefusal` for a parameter that the server does not know. FHIR lets a server
    ///   ignore one. HAPI refuses it unless its name begins with `_`, and so does this server in
    ///   every manner.
    init(_ type: String, _ query: [(name: String, value: String)], pageSize: Int) throws {
        self.type = type
        count = pageSize
        conditions = [FHIRCondition(sql: "r.type = ?", values: [.text(type)])]
        for (name, value) in query {
            switch name {
            case "_count":
                guard let number = Int(value), number >= 0 else { throw invalid(name, value) }
                (isCountOnly, count) = (isCountOnly || number == 0, min(number, 1000))
                kept.append((name, value))
            case "_after":
                guard let number = Int64(value) else { throw invalid(name, value) }
                after = number
            case "_summary":
                guard ["count", "false"].contains(value) else { throw invalid(name, value) }
                isCountOnly = isCountOnly || value == "count"
                kept.append((name, value))
            case "_elements":
                elements = (elements ?? []).union(value.split(separator: ",").map(String.init))
                kept.append((name, value))
            case _ where name.hasPrefix("_") && name != "_id": kept.append((name, value))
            default:
                conditions.append(try condition(name, value))
                kept.append((name, value))
            }
        }
    }

    private func invalid(_ name: String, _ value: String) -> FHIRRefusal {
        FHIRRefusal(400, "invalid", "Invalid value '\(value)' of search parameter '\(name)'")
    }

    private func condition(_ name: String, _ value: String) throws -> FHIRCondition {
        guard FHIRSearch.parameters(type).contains(where: { $0.name == name }) else {
            throw FHIRRefusal(
                400, "not-supported", "Unknown search parameter '\(name)' for \(type)")
        }
        let texts = value.split(separator: ",").map(String.init)
        guard !texts.isEmpty else { throw invalid(name, value) }
        let parts = try texts.map { text in
            switch name {
            case "_id": FHIRCondition(sql: "r.id = ?", values: [.text(text)])
            case "date": try date(text)
            case "patient", "subject": reference(text, isPatient: name == "patient")
            default: token(name, text)
            }
        }
        return FHIRCondition(
            sql: parts.map(\.sql).joined(separator: " OR "), values: parts.flatMap(\.values))
    }

    /// `code`, `system|code`, `|code` (without a system) or `system|`.
    private func token(_ name: String, _ text: String) -> FHIRCondition {
        let parts = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        var values: [Value] = [.text(name)]
        var sql = "name = ?"
        if let value = parts.last, !value.isEmpty {
            sql += " AND value = ?"
            values.append(.text(String(value)))
        }
        if parts.count == 2 {
            sql += " AND system = ?"
            values.append(.text(String(parts[0])))
        }
        return term(sql, values)
    }

    private func reference(_ text: String, isPatient: Bool) -> FHIRCondition {
        let target = isPatient && !text.contains("/") ? "Patient/" + text : text
        return term("name = 'subject' AND value = ?", [.text(target)])
    }

    private func term(_ sql: String, _ values: [Value]) -> FHIRCondition {
        FHIRCondition(
            sql: "r.place IN (SELECT place FROM fhir_terms WHERE \(sql))", values: values)
    }

    /// The prefixes compare ranges (search.html, "Prefixes"): `ge2026` finds whatever has a part in
    /// 2026 or later.
    private func date(_ text: String) throws -> FHIRCondition {
        let prefix = String(text.prefix { $0.isLetter })
        guard let range = FHIRDate.range(String(text.dropFirst(prefix.count))) else {
            throw invalid("date", text)
        }
        let (first, last): (Value, Value) = (
            .integer(range.lowerBound), .integer(range.upperBound)
        )
        switch prefix {
        case "", "eq":
            return FHIRCondition(
                sql: "r.first_ms >= ? AND r.last_ms <= ?", values: [first, last])
        case "ne":
            return FHIRCondition(
                sql: "r.first_ms < ? OR r.last_ms > ?", values: [first, last])
        case "ge": return FHIRCondition(sql: "r.last_ms >= ?", values: [first])
        case "gt": return FHIRCondition(sql: "r.last_ms > ?", values: [last])
        case "le": return FHIRCondition(sql: "r.first_ms <= ?", values: [last])
        case "lt": return FHIRCondition(sql: "r.first_ms < ?", values: [first])
        default: throw invalid("date", text)
        }
    }

    /// Returns the page as a Bundle of type `searchset`, with a link to the next one.
    func page(_ store: Store, base: String) throws -> JSON {
        let total = try store.count(conditions)
        var bundle: JSON = [
            "resourceType": "Bundle", "type": "searchset", "total": .count(total),
        ]
        var links = [link("self", after: after, base)]
        var entries: [JSON] = []
        if !isCountOnly {
            let found = try store.resources(conditions, after: after, limit: count + 1)
            entries = found.prefix(count).map { match in
                [
                    "fullUrl": .string("\(base)/\(type)/\(match.version.id)"),
                    "resource": shortened(match.version.resource), "search": ["mode": "match"],
                ]
            }
            if found.count > count, let last = found.prefix(count).last {
                links.append(link("next", after: last.place, base))
            }
        }
        bundle = bundle.adding(["link": .array(links)])
        return entries.isEmpty ? bundle : bundle.adding(["entry": .array(entries)])
    }

    private func link(_ relation: String, after: Int64, _ base: String) -> JSON {
        let pairs = kept + (after > 0 ? [("_after", String(after))] : [])
        let query = pairs.map { "\($0.name)=\(escaped($0.value))" }.joined(separator: "&")
        let url = "\(base)/\(type)" + (query.isEmpty ? "" : "?" + query)
        return ["relation": .string(relation), "url": .string(url)]
    }

    private func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber)
            return isPlain || "-._~,:/".contains(character)
                ? String(character) : "%" + [byte].hexadecimal.uppercased()
        }.joined()
    }

    /// Returns the resource with the elements of `_elements` alone, marked as search.html wants it.
    private func shortened(_ resource: JSON) -> JSON {
        guard let elements else { return resource }
        let required: Set = ["resourceType", "id", "meta", "status", "code"]
        let tag: JSON = [
            "system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue",
            "code": "SUBSETTED",
        ]
        let kept = resource.members.filter {
            elements.contains($0.name) || required.contains($0.name)
        }
        let meta = resource["meta"] ?? [:]
        return JSON.object(kept).leading([
            "resourceType": .string(type), "id": resource["id"] ?? .null,
            "meta": .object(meta.members.filter { $0.name != "tag" })
                .adding(["tag": .array((meta["tag"]?.list ?? []) + [tag])]),
        ])
    }
}
