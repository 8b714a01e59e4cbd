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
        guard let nodes = list(node, dialect.limits.metricsPerUpload) else { return [] }
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
            let createdAt = instant(node["created_at"])
            origin(of: node)
            if let type, let rule = dialect.metric(type) { payload(of: node, rule, dialect) }
            guard let id, let type, let createdAt, let body = node.value else { return nil }
            return AcceptedMetric(id: id, type: type, createdAt: createdAt, body: body)
        }
    }

    /// Validates the metrics of an upload as the deployed backend does.
    ///
    /// A metric without an id gets one from `makeID`, and one without a date gets `now`.
    mutating func laxMetrics(
        _ node: Node, _ dialect: Dialect, now: Timestamp, makeID: () -> String
    ) -> [AcceptedMetric] {
        let count = dialect.limits.metricsPerUpload
        guard let nodes = list(node, count.lowerBound...Int.max) else { return [] }
        var seen: Set<String> = []
        var metrics: [AcceptedMetric] = []
        var hasDouble = false
        for node in nodes {
            guard object(node, "model_attributes_type") != nil else { continue }
            let id = uuid(node["metric_id"], required: false) ?? makeID()
            if !seen.insert(id).inserted { hasDouble = true }
            let type = choice(node["metric_type"], dialect.metrics.map(\.type))
            for payload in dialect.payloads {
                let member = node[payload.name]
                guard object(member, required: false, "model_attributes_type") != nil else {
                    continue
                }
                for field in payload.fields {
                    check(member[field.name], field.kind, required: field.isRequired)
                }
            }
            origin(of: node)
            let time = instant(node["created_at"], required: false) ?? now
            if let type, let body = node.value {
                metrics.append(AcceptedMetric(id: id, type: type, createdAt: time, body: body))
            }
        }
        // The backend checks these two only if every metric is valid, the count first.
        guard faults.isEmpty else { return [] }
        if nodes.count > count.upperBound {
            fail(
                node, "Value error, Maximum \(count.upperBound) metrics per upload",
                "value_error", ["error": [:]])
        } else if hasDouble {
            fail(node, "Value error, two metrics have one metric_id", "value_error", ["error": [:]])
        }
        return metrics
    }

    /// Checks what a metric says of its origin.
    private mutating func origin(of metric: Node) {
        _ = text(metric["device_id"], required: false)
        _ = object(metric["raw_data"], required: false)
        _ = object(metric["metadata"], required: false)
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
        case .instant: _ = instant(node, required: required)
        case .amounts(let range):
            for member in object(node, required: required) ?? [] {
                _ = number(node[member.name], range)
            }
        case .counts(let names):
            for member in object(node, required: required) ?? [] {
                let name = Node(value: .string(member.name), location: node.location / member.name)
                _ = choice(name, names)
                _ = number(node[member.name], whole: true)
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
