import JSON

extension LoopRoutes {
    func uploadHealthKit(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        let body = try call.laxBody()
        var validation = Validation.lax
        let user = validation.text(body["user_id"])
        var samples: [(kind: String, node: Node)] = []
        var counts: [JSON.Member] = []
        for kind in Service.sampleKinds {
            let nodes = validation.list(body[kind], required: false) ?? []
            counts.append(JSON.Member(name: kind, value: .count(nodes.count)))
            for node in nodes {
                if kind.hasSuffix("y_samples") {
                    validation.laxSample(node)
                } else {
                    _ = validation.object(node)
                }
                samples.append((kind, node))
            }
        }
        _ = validation.object(body["upload_metadata"], required: false)
        _ = validation.text(body["sync_token"], required: false)
        if !validation.faults.isEmpty {
            try service.store.noteLoss(.refused, "invalid", samples.count)
            return .unprocessable(validation.faults)
        }
        // Ids are case-sensitive.
        guard user == caller else {
            try service.store.noteLoss(.refused, "other_user", samples.count)
            return .detail(403, "Cannot upload data for a different user")
        }
        let id = "\(caller)-\(service.identifiers.bytes(16).hexadecimal)"
        try service.store.transaction {
            try service.store.add(Work(.healthkit, id: id, of: caller, at: call.now))
            for (kind, node) in samples {
                guard let sample = node.value else { continue }
                try service.store.addSample(
                    sample.sampleID("identifier"), kind: kind, body: sample, user: caller, work: id,
                    asCopy: has(.noDeduplication))
            }
        }
        return .json(
            202,
            [
                "upload_id": .string(id), "status": "queued",
                "queued_at": .string(call.now.offsetText), "samples_received": .object(counts),
                "message": "Health data queued for processing successfully",
            ])
    }

    func healthKitStatus(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        let id = call.parameters[0]
        let digits = id.split(separator: "-", omittingEmptySubsequences: false).last ?? ""
        guard digits.utf8.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            id.utf8.count > 33
        else { return .detail(400, "Invalid upload ID format") }
        guard id.dropLast(33) == caller else {
            return .detail(403, "Access denied to this upload")
        }
        if has(.constantStatus) {
            return status(id, "processing", 0.75, "Analyzing cardiovascular patterns", call.now)
        }
        return try service.store.transaction {
            guard let work = try service.store.work(.healthkit, id, of: caller) else {
                return .detail(404, "Upload not found")
            }
            let next = try service.polled(work, at: call.now)
            let word = next.state == .received ? "queued" : next.state.rawValue
            return status(
                id, word, Double(next.progress) / 100, service.message(next), next.updatedAt)
        }
    }

    private func status(
        _ id: String, _ status: String, _ progress: Double, _ message: String, _ time: Timestamp
    ) -> Response {
        .ok([
            "upload_id": .string(id), "status": .string(status),
            "progress": .number(progress), "message": .string(message),
            "last_updated": .string(time.offsetText),
        ])
    }
}

extension Validation {
    /// Validates a quantity or category sample. Its dates may be any text.
    fileprivate mutating func laxSample(_ node: Node) {
        guard object(node, "model_attributes_type") != nil else { return }
        for name in ["identifier", "type", "start_date", "end_date"] { _ = text(node[name]) }
        if case .object = node["value"].value {} else { _ = number(node["value"]) }
        for name in ["unit", "source_name"] { _ = text(node[name], required: false) }
        for name in ["device", "metadata"] { _ = object(node[name], required: false) }
    }
}
