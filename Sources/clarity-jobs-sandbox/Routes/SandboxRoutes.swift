import JSON

extension Service {
    /// Returns the answers outside the contract, for demos and tests. They need no token and are
    /// not counted.
    func sandbox(_ request: Request, _ segments: ArraySlice<Substring>) throws -> Response {
        switch (request.method, segments.joined(separator: "/")) {
        case ("GET", "summary"): return .ok(try summary())
        case ("GET", "metrics"): return try storedMetrics(request)
        case ("GET", "sends"): return try sendRecord(request)
        case ("GET", "arrivals"):
            return .ok([
                "arrivals": .array(
                    arrivals.map {
                        ["at_ms": .integer($0.at), "delay_ms": .integer($0.delay)]
                    })
            ])
        case ("GET", "mail"):
            return .ok([
                "mail": .array(
                    try store.unsentMail().map { mail in
                        ["to": .string(mail.email), "code": .string(mail.code)]
                    })
            ])
        case ("POST", "fault"):
            return try addFaults(request)
        case ("DELETE", "fault"):
            let (count, struck) = (faults.rules.count, faults.struck)
            faults.clear()
            return .ok(["cleared": .count(count), "struck": .count(struck)])
        case ("POST", "expire-tokens"):
            return try expireTokens(request)
        case ("POST", "fail-processing"):
            return .ok(["failing": .count(try store.failUnfinishedWork())])
        case ("POST", "stall-processing"):
            let id = word(request)
            let count = try store.stallUnfinishedWork(id: id.isEmpty ? nil : id)
            return .ok(["stalled": .count(count)])
        case ("POST", "edit-metric"):
            return try editMetric(request)
        case ("POST", "clock"):
            return setTime(request)
        case ("GET", "fhir"), ("GET", "fhir/resources"), ("GET", "fhir/requests"),
            ("DELETE", "fhir"):
            return try fhirRecord(request, segments.last ?? "")
        case ("POST", "audit"):
            // A receiver of audit logs, which a backend does not have.
            let lines = request.body.split(separator: UInt8(ascii: "\n"))
            return .ok(["entries": .count(lines.count)])
        case ("POST", "write"):
            // A database for published days, which a backend does not have either.
            return .ok([:])
        default:
            return .problem(
                404,
                "there are GET summary, metrics, sends, arrivals, mail, fhir, fhir/resources and "
                    + "fhir/requests, POST fault, expire-tokens, fail-processing, "
                    + "stall-processing, edit-metric, clock, audit and write, DELETE fault and fhir",
                instance: request.path)
        }
    }

    private func summary() throws -> JSON {
        let answers = try store.answers()
        let metrics = try store.number(
            "SELECT count(*) FROM metrics WHERE work_id IS NOT NULL")
        let distinct = try store.number(
            "SELECT count(DISTINCT metric_id) FROM metrics WHERE work_id IS NOT NULL")
        let samples = try store.number("SELECT count(*) FROM healthkit_samples WHERE copy = 0")
        let copies =
            try store.number("SELECT count(*) FROM metrics WHERE work_id IS NOT NULL AND copy > 0")
            + store.number("SELECT count(*) FROM healthkit_samples WHERE copy > 0")
        let kept = try store.metricsByType()
        let uploads = try store.number(
            "SELECT count(*) FROM work WHERE kind IN ('metrics', 'healthkit')")
        func counts(_ rows: [(String, Int)]) -> JSON {
            .object(rows.map { JSON.Member(name: $0.0, value: .count($0.1)) })
        }
        return [
            "dialect": .string(dialect.name),
            "quirks": .array(dialect.quirks.map(\.rawValue).sorted().map { .string($0) }),
            "kept": counts(kept), "doubled": .count(copies),
            "dropped": counts(try store.losses(.dropped)),
            "refused": counts(try store.losses(.refused)),
            "metrics": .count(metrics), "distinct_metric_ids": .count(distinct),
            "samples": .count(distinct + samples), "uploads": .count(uploads),
            "requests": .count(answers.reduce(0) { $0 + $1.count }),
            "by_status": counts(answers),
        ]
    }

    /// Returns a page of the uploaded metrics, such as `?limit=1000&after=0`.
    ///
    /// `next` in the answer is the `after` of the next page; it is null on the last one.
    private func storedMetrics(_ request: Request) throws -> Response {
        var validation = Validation(now: clock())
        let limit = request.number("limit", 1...10_000, usual: 1000, &validation)
        let after = request.number("after", 0...1_000_000_000_000_000, usual: 0, &validation)
        try validation.finish()
        let found = try store.uploadedMetrics(after: Int64(after), limit: limit + 1)
        let page = found.prefix(limit)
        let next = found.count > page.count ? page.last?.sequence : nil
        return .ok([
            "metrics": .array(
                page.map { metric in
                    [
                        "metric_id": .string(metric.id), "type": .string(metric.type),
                        "created_at": .time(metric.createdAt),
                    ]
                }),
            "next": next.map { .integer($0) } ?? .null,
        ])
    }

    /// Adds one fault for each line.
    private func addFaults(_ request: Request) throws -> Response {
        let lines = String(decoding: request.body, as: UTF8.self).split(whereSeparator: \.isNewline)
        do {
            let rules = try lines.map { line throws(UsageError) in
                try FaultRule(String(line))
            }
            for rule in rules { faults.add(rule) }
            return .ok(["added": .count(rules.count)])
        } catch {
            return .problem(400, error.description, instance: request.path)
        }
    }

    /// Changes the value of the metric whose id is the body and dates it now, as if somebody had
    /// edited it elsewhere.
    private func editMetric(_ request: Request) throws -> Response {
        let id = word(request)
        guard let metric = try store.metric(id: id), let rule = dialect.metric(metric.type),
            let edited = metric.edited(rule.payload, at: clock())
        else {
            return .problem(
                404, "the body must be the id of a metric with a number",
                instance: request.path)
        }
        try store.update(edited)
        return .ok(["edited": .string(id), "at": .time(edited.createdAt)])
    }

    /// Sets the clock to the instant in the body.
    private func setTime(_ request: Request) -> Response {
        guard let setClock else {
            return .problem(
                409, "the clock is the machine's; start with `--clock INSTANT`",
                instance: request.path)
        }
        guard let instant = Timestamp(iso8601: word(request)) else {
            return .problem(
                400, "the body must be an instant such as 2026-03-02T00:00:00Z",
                instance: request.path)
        }
        setClock(instant)
        return .ok(["now": .time(instant)])
    }

    private func word(_ request: Request) -> String {
        String(decoding: request.body, as: UTF8.self).filter { !$0.isWhitespace }
    }

    /// Expires access tokens, or with the body `all` every token. An empty body means `access`.
    private func expireTokens(_ request: Request) throws -> Response {
        let word = word(request)
        guard ["", "access", "all"].contains(word) else {
            return .problem(
                400, "the body must be empty, `access` or `all`", instance: request.path)
        }
        let count = try store.expireTokens(andRefresh: word == "all")
        return .ok(["expired": .count(count + (fhir?.login.expireAll() ?? 0))])
    }

    /// Returns what the FHIR server has stored and answered, or empties it.
    ///
    /// `?after=N` leaves out the rows up to a place or number, `?limit=N` allows more than 1000.
    private func fhirRecord(_ request: Request, _ name: Substring) throws -> Response {
        guard let fhir else {
            return .problem(404, "start with `--fhir MANNER`", instance: request.path)
        }
        var validation = Validation(now: clock())
        let limit = request.number("limit", 1...100_000, usual: 1000, &validation)
        let most = 1_000_000_000_000_000
        let after = Int64(request.number("after", 0...most, usual: 0, &validation))
        try validation.finish()
        switch (request.method, name) {
        case ("DELETE", _): return .ok(["emptied": .count(try store.emptyFHIR())])
        case (_, "resources"):
            return .ok(["resources": .array(try store.fhirResources(after: after, limit: limit))])
        case (_, "requests"):
            return .ok(["requests": .array(try store.fhirRequests(after: after, limit: limit))])
        default:
            let kept = try store.counts(
                "SELECT type, count(*) FROM fhir_resources WHERE NOT is_deleted GROUP BY type")
            return .ok([
                "manner": .string(fhir.manner.name),
                "kept": .object(kept.map { JSON.Member(name: $0.name, value: .count($0.count)) }),
                "versions": .count(try store.number("SELECT count(*) FROM fhir_versions")),
                "requests": .count(try store.number("SELECT count(*) FROM fhir_requests")),
                "duplicates": .array(try store.fhirDuplicates()),
            ])
        }
    }
}

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
                samples.map { ["id": .string($0.id), "outcome": .string($0.outcome)] }),
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
