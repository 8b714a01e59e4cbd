import JSON

extension Service {
    /// Records an upload; any other request is not recorded.
    func recorded(_ reply: Reply, to request: Request) throws -> Reply {
        guard let ids = uploadedIDs(request) else { return reply }
        var recorded = reply
        recorded.send = try store.noteSend(
            connection: request.connection, peerPort: request.peerPort, answer: reply.outcome,
            isCarriedOut: reply.isCarriedOut, ids: ids)
        return recorded
    }

    /// Returns the ids of the samples that a request uploads, or `nil` if it is not an upload.
    private func uploadedIDs(_ request: Request) -> [String]? {
        let base = dialect.basePath.split(separator: "/")
        let segments = request.path.split(separator: "/")
        guard request.method == "POST", segments.starts(with: base),
            let endpoint = dialect.endpoints.first(where: {
                $0.method == "POST"
                    && $0.parameters(in: Array(segments.dropFirst(base.count))) != nil
            })
        else { return nil }
        let (lists, name): ([String], String)
        switch endpoint.operation {
        case .uploadMetrics: (lists, name) = (["metrics"], "metric_id")
        case .uploadHealthKit: (lists, name) = (Service.sampleKinds, "identifier")
        default: return nil
        }
        // A body that is not JSON contains no samples, and the routes refuse it.
        guard case .success(let body) = Result(catching: { try JSONParser.parse(request.body) })
        else { return [] }
        return lists.flatMap { list -> [String] in
            guard case .array(let samples)? = body[list] else { return [] }
            return samples.map { $0.sampleID(name) }
        }
    }

    /// Returns the record of uploads, without the entries up to `?after=N`.
    func sendRecord(_ request: Request) throws -> Response {
        let after = request.query["after"].flatMap { Int64($0) } ?? 0
        let samples = try store.recordedSamples(after: after)
        return .ok([
            "last_send": .integer(try store.lastSend()),
            "stored": .count(samples.count),
            "copies": .count(samples.reduce(0) { $0 + $1.copies - 1 }),
            "sent_after_acceptance": .array(
                try store.sentAfterAcceptance(after: after).map { .string($0) }),
            "sends": .array(try store.recordedSends(after: after).map(\.json)),
            "samples": .array(
                samples.map { sample in
                    [
                        "id": .string(sample.id), "user": .string(sample.user),
                        "type": .string(sample.type),
                        "start": .string(sample.start), "value": .number(sample.value),
                        "copies": .count(sample.copies),
                    ]
                }),
        ])
    }
}

extension RecordedSend {
    fileprivate var json: JSON {
        [
            "send": .integer(id), "connection": .integer(connection),
            "peer_port": .integer(peerPort), "accepted": .bool(isAccepted),
            "last": .bool(isLast),
            "samples": .array(
                samples.map { ["id": .string($0.id), "fate": .string($0.fate)] }),
        ]
    }
}

extension JSON {
    /// Returns the id of an uploaded sample, or the digest of the whole sample if it has no id.
    func sampleID(_ name: String) -> String {
        if case .string(let id)? = self[name] { return id }
        return SHA256.digest(bytes).hexadecimal
    }
}
