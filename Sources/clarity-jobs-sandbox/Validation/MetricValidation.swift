import JSON

/// A metric that satisfies the contract.
struct AcceptedMetric: Hashable, Sendable {
    /// The id, a UUID in lower case.
    var id: String
    var type: String
    var createdAt: Timestamp
    /// The metric as it was sent.
    var body: JSON
}

extension Validation {
    /// Validates the metrics of an upload; faulty ones are recorded and omitted.
    mutating func metrics(_ node: Node, _ dialect: Dialect) -> [AcceptedMetric] {
        guard let nodes = array(node, dialect.limits.metricsPerUpload) else { return [] }
        var seen: [String: Int] = [:]
        return nodes.enumerated().compactMap { index, node in
            guard object(node) != nil else { return nil }
            let id = uuid(node["metric_id"])
            if let id {
                if let first = seen[id] {
                    fail(
                        node["metric_id"], "is the metric_id of metrics[\(first)] too",
                        "value_error")
                } else {
                    seen[id] = index
                }
            }
            let type = choice(node["metric_type"], dialect.metrics.map(\.type))
            let createdAt = past(node["created_at"])
            _ = text(node["device_id"], required: false)
            _ = object(node["raw_data"], required: false)
            _ = object(node["metadata"], required: false)
            if let type, let rule = dialect.metric(type) { payload(of: node, rule, dialect) }
            guard let id, let type, let createdAt, let body = node.value else { return nil }
            return AcceptedMetric(id: id, type: type, createdAt: createdAt, body: body)
        }
    }

    /// Checks that the metric has its own payload and no other.
    private mutating func payload(of metric: Node, _ rule: MetricRule, _ dialect: Dialect) {
        for other in dialect.payloads where other.name != rule.payload {
            let node = metric[other.name]
            if !node.isAbsent {
                fail(node, "does not go with \(rule.type)", "extra_forbidden")
            }
        }
        let node = metric[rule.payload]
        guard let members = object(node), let payload = dialect.payload(rule.payload) else {
            return
        }
        for field in payload.fields {
            check(
                node[field.name], field.kind,
                required: field.isRequired || rule.needs.contains(field.name))
        }
        let known = Set(payload.fields.map(\.name))
        if !members.contains(where: { known.contains($0.name) && $0.value != .null }) {
            fail(node, "must have one of its fields at least", "value_error")
        }
        for (lower, upper) in payload.ascending {
            guard let low = magnitude(node[lower]), let high = magnitude(node[upper]) else {
                continue
            }
            if low >= high { fail(node[upper], "must be above \(lower)", "value_error") }
        }
    }

    private mutating func check(_ node: Node, _ kind: FieldRule.Kind, required: Bool) {
        switch kind {
        case .number(let range): _ = number(node, range, required: required)
        case .count(let range): _ = number(node, range, whole: true, required: required)
        case .text(let most): _ = text(node, 0...most, required: required, isFree: true)
        case .choice(let choices): _ = choice(node, choices, required: required)
        case .instant: _ = past(node, required: required)
        case .amounts(let range):
            for member in object(node, required: required) ?? [] {
                _ = number(node[member.name], range)
            }
        case .counts(let names):
            for member in object(node, required: required) ?? [] {
                if !names.contains(member.name) {
                    fail(
                        node[member.name], "must be one of \(names.joined(separator: ", "))", "enum"
                    )
                }
                _ = number(node[member.name], -1e15...1e15, whole: true)
            }
        }
    }

    /// Returns the value as a number for comparison: a number, or the milliseconds of a date.
    private func magnitude(_ node: Node) -> Double? {
        switch node.value {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .string(let text): Timestamp(iso8601: text).map { Double($0.milliseconds) }
        default: nil
        }
    }
}
