import JSON

extension LaxValidation {
    /// Validates the metrics of an upload.
    ///
    /// A metric without an id gets one from `makeID`, and one without a date gets `now`.
    mutating func metrics(
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
            for payload in dialect.payloads { check(node[payload.name], payload) }
            _ = text(node["device_id"], required: false)
            _ = object(node["raw_data"], required: false)
            _ = object(node["metadata"], required: false)
            let time = instant(node["created_at"], required: false) ?? now
            if let type, let body = node.value {
                metrics.append(
                    AcceptedMetric(id: id, type: type, createdAt: time, body: body))
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

    private mutating func check(_ node: Node, _ payload: PayloadRule) {
        guard object(node, required: false, "model_attributes_type") != nil else { return }
        for field in payload.fields {
            let member = node[field.name]
            let isRequired = field.isRequired
            switch field.kind {
            case .number(let range): _ = number(member, range, required: isRequired)
            case .count(let range):
                _ = number(member, range, whole: true, required: isRequired)
            case .text(let most): _ = text(member, 0...most, required: isRequired)
            case .choice(let choices): _ = choice(member, choices, required: isRequired)
            case .instant: _ = instant(member, required: isRequired)
            case .amounts(let range):
                for entry in object(member, required: isRequired) ?? [] {
                    _ = number(member[entry.name], range)
                }
            case .counts(let names):
                for entry in object(member, required: isRequired) ?? [] {
                    let name = Node(
                        value: .string(entry.name), location: member.location / entry.name)
                    _ = choice(name, names)
                    _ = number(member[entry.name], whole: true)
                }
            }
        }
    }
}
