import JSON

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
