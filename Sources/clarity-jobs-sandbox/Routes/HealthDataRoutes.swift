import JSON

extension Service {
    func uploadMetrics(_ call: Call) throws -> Response {
        let caller = try call.account.id
        let body = try call.body()
        var validation = Validation(now: call.now)
        if let user = validation.text(body["user_id"]) { try call.requireOwn(user) }
        let metrics = validation.metrics(body["metrics"], dialect)
        _ = validation.choice(body["upload_source"], dialect.uploadSources)
        _ = validation.instant(body["client_timestamp"])
        let syncToken = validation.text(body["sync_token"], 0...1024, required: false)
        try validation.finish()

        let id = identifiers.uuid()
        let duplicates = try store.transaction {
            try store.add(Work(.metrics, id: id, of: caller, at: call.now))
            let duplicates = try metrics.indices.filter { index in
                try !store.add(metrics[index], user: caller, work: id)
            }
            try store.noteLoss(.refused, "duplicate", duplicates.count)
            return duplicates
        }
        let accepted = metrics.count - duplicates.count
        let answer: JSON = [
            "processing_id": .string(id), "status": "received",
            "accepted_metrics": .count(accepted), "rejected_metrics": .count(duplicates.count),
            "validation_errors": .array(
                duplicates.map { index in
                    [
                        "field": .string("metrics[\(index)].metric_id"),
                        "message": "a metric with this id is stored already",
                        "code": "duplicate_metric_id",
                    ]
                }),
            "sync_token": .text(syncToken),
            "message": .string("\(accepted) accepted, \(duplicates.count) rejected"),
            "timestamp": .time(call.now),
        ]
        return .json(201, answer.withoutNulls)
    }

    func metricsProcessing(_ call: Call) throws -> Response {
        let work = try advance(.metrics, call, "upload")
        return .ok([
            "processing_id": .string(work.id), "status": .string(work.state.rawValue),
            "progress": .count(work.progress), "message": .string(message(work)),
            "last_updated": .time(work.updatedAt),
        ])
    }

    func listMetrics(_ call: Call) throws -> Response {
        let caller = try call.account.id
        var validation = Validation(now: call.now)
        let limit = call.request.number(
            "limit", dialect.limits.dataPage, usual: dialect.limits.usualDataPage, &validation)
        let text = call.request.query["cursor"]
        let cursor = text.flatMap { MetricCursor($0) }
        if text != nil, cursor == nil {
            validation.fail(
                Node(value: nil, location: "query" / "cursor"),
                "is not a cursor of this server", "value_error")
        }
        try validation.finish()

        let found = try store.metrics(of: caller, after: cursor, limit: limit + 1)
        let page = found.prefix(limit)
        let next = found.count > limit ? page.last.map { MetricCursor($0).text } : nil
        let path = "\(dialect.basePath)/health-data?limit=\(limit)"
        return .ok([
            "data": .array(page.map(row)),
            "pagination": [
                "page_size": .count(limit), "has_next": .bool(next != nil),
                "next_cursor": .text(next),
            ],
            "links": [
                "self": .string(path + (text.map { "&cursor=\($0)" } ?? "")),
                "next": .text(next.map { "\(path)&cursor=\($0)" }),
            ],
        ])
    }

    /// Returns a metric with a single number as a row, and any other metric as it was sent.
    private func row(_ metric: StoredMetric) -> JSON {
        guard let rule = dialect.metric(metric.type), let unit = rule.unit,
            let field = rule.needs.first, let value = metric.body[rule.payload]?[field]
        else { return metric.body }
        return [
            "id": .string(metric.id), "type": .string(metric.type), "value": value,
            "unit": .string(unit), "timestamp": .time(metric.createdAt),
            "source": metric.body["device_id"] ?? .string(dialect.uploadSources[0]),
            "quality_score": .number(quality(metric.body)),
        ]
    }

    /// Returns how much is known about the origin of a metric: 0.7, plus 0.1 each for the device,
    /// the metadata and the raw data.
    private func quality(_ metric: JSON) -> Double {
        let known = ["device_id", "metadata", "raw_data"].count { name in
            metric[name].map { $0 != .null && $0 != [:] } ?? false
        }
        return Double(7 + known) / 10
    }

    /// Returns the work that the path names, advanced by one poll.
    func advance(_ kind: Work.Kind, _ call: Call, _ name: String) throws -> Work {
        let caller = try call.account.id
        return try store.transaction {
            guard let work = try store.work(kind, call.parameters[0], of: caller) else {
                throw call.missing(name)
            }
            return try polled(work, at: call.now)
        }
    }

    /// Returns work after one more poll, and stores it.
    func polled(_ work: Work, at now: Timestamp) throws -> Work {
        let next = work.advanced(steps: settings.processingSteps, at: now)
        if next != work { try store.update(next) }
        return next
    }

    /// Returns the message for the state of a work item.
    func message(_ work: Work) -> String {
        switch work.state {
        case .received: "waiting"
        case .processing: "in work"
        case .completed: "done"
        case .failed: "given up"
        }
    }
}

extension Service {
    static let sampleKinds = [
        "quantity_samples", "category_samples", "workouts", "correlation_samples",
    ]

    func uploadHealthKit(_ call: Call) throws -> Response {
        let caller = try call.account.id
        let body = try call.body()
        var validation = Validation(now: call.now)
        if let user = validation.text(body["user_id"]) { try call.requireOwn(user) }
        _ = validation.object(body["upload_metadata"], required: false)
        _ = validation.text(body["sync_token"], 0...1024, required: false)
        var samples: [(kind: String, identifier: String, body: JSON)] = []
        var counts: [JSON.Member] = []
        for kind in Service.sampleKinds {
            // The limit on the size of the body also limits the count.
            let nodes = validation.list(body[kind], 0...Int.max, required: false) ?? []
            counts.append(JSON.Member(name: kind, value: .count(nodes.count)))
            for node in nodes {
                if let identifier = validation.healthKitSample(node), let sample = node.value {
                    samples.append((kind, identifier, sample))
                }
            }
        }
        try validation.finish()

        let id = "\(caller)-\(identifiers.uuid())"
        try store.transaction {
            try store.add(Work(.healthkit, id: id, of: caller, at: call.now))
            for sample in samples {
                try store.addSample(
                    sample.identifier, kind: sample.kind, body: sample.body,
                    user: caller, work: id)
            }
        }
        return .json(
            202,
            [
                "upload_id": .string(id), "status": "queued", "queued_at": .time(call.now),
                "samples_received": .object(counts),
                "message": .string("\(samples.count) samples queued"),
            ])
    }

    func healthKitStatus(_ call: Call) throws -> Response {
        let work = try advance(.healthkit, call, "upload")
        return .ok([
            "upload_id": .string(work.id),
            "status": .string(work.state == .received ? "queued" : work.state.rawValue),
            "progress": .number(Double(work.progress) / 100),
            "message": .string(message(work)), "last_updated": .time(work.updatedAt),
        ])
    }
}

extension Validation {
    /// Validates a sample and returns its identifier.
    fileprivate mutating func healthKitSample(_ node: Node) -> String? {
        guard object(node) != nil else { return nil }
        let identifier = uuid(node["identifier"])
        _ = text(node["type"], 1...128)
        switch node["value"].value {
        case nil: fail(node["value"], "field required", "missing")
        case .integer, .number, .object: break
        default: fail(node["value"], "must be a number or an object", "float_type")
        }
        _ = text(node["unit"], 0...64, required: false)
        let start = instant(node["start_date"])
        let end = instant(node["end_date"])
        if let start, let end, end < start {
            fail(node["end_date"], "must not be before start_date", "value_error")
        }
        _ = text(node["source_name"], 0...256, required: false, isFree: true)
        _ = object(node["device"], required: false)
        _ = object(node["metadata"], required: false)
        return identifier
    }
}
