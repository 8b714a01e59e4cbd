import Database
import JSON

extension FHIRServer {
    /// Carries out a bundle (http.html, "batch/transaction"; bundle.html).
    func bundle(
        _ bundle: JSON, _ grant: FHIRGrant, _ base: String, _ preference: String,
        _ faults: inout FaultPlan
    ) throws -> Response {
        guard bundle["resourceType"]?.text == "Bundle" else {
            throw FHIRRefusal(
                400, "invalid", "Not a Bundle: \(bundle["resourceType"]?.line ?? "none")")
        }
        let calls = bundle["entry"]?.list ?? []
        if let most = manner.bundleEntries, calls.count > most {
            throw FHIRRefusal(
                413, "too-costly", "The bundle has \(calls.count) entries, more than \(most)")
        }
        var batch = FHIRBatch(grant: grant, base: base, preference: preference)
        let answers: [JSON]
        switch bundle["type"]?.text {
        case "batch":
            answers = try stored {
                var answers: [JSON] = []
                for entry in calls where !batch.isOver {
                    answers.append(try answer(entry, &batch, &faults))
                }
                return answers
            }
        case "transaction": answers = try transaction(calls, &batch, &faults)
        default:
            throw FHIRRefusal(
                400, "value", "Bundle.type \(bundle["type"]?.line ?? "none")", at: "Bundle.type")
        }
        var response = Response.fhir(
            200,
            [
                "resourceType": "Bundle",
                "type": .string("\(bundle["type"]?.text ?? "")-response"),
                "entry": .array(answers),
            ])
        if let seconds = batch.retryAfter {
            response.headers.append(.init(name: "Retry-After", value: String(seconds)))
        }
        return response
    }

    /// Returns the answer to an entry of a batch, whose refusal concerns no other entry.
    private func answer(
        _ entry: JSON, _ batch: inout FHIRBatch, _ faults: inout FaultPlan
    ) throws -> JSON {
        let call = FHIRInteraction(entry: entry)
        do {
            guard let call else {
                throw FHIRRefusal(400, "required", "The entry has no request.method or url")
            }
            if batch.isThrottled { throw throttled }
            if batch.isExpired { throw FHIRRefusal(status: 401) }
            let result = try carryOut(call, &batch, &faults)
            return answered(call, result, batch)
        } catch let refusal as FHIRRefusal {
            if refusal.status == 429 { batch.isThrottled = manner.throttlesTheRest }
            batch.retryAfter = batch.retryAfter ?? refusal.retryAfter
            note(call, String(refusal.status))
            return [
                "response": [
                    "status": .string(status(refusal.status)), "outcome": refusal.outcome,
                ]
            ]
        }
    }

    /// Carries out all entries or none. The order is that of http.html, "Transaction Processing
    /// Rules": DELETE, POST, PUT, GET.
    private func transaction(
        _ entries: [JSON], _ batch: inout FHIRBatch, _ faults: inout FaultPlan
    ) throws -> [JSON] {
        var calls = try entries.map { entry in
            guard let call = FHIRInteraction(entry: entry) else {
                throw FHIRRefusal(400, "required", "The entry has no request.method or url")
            }
            return call
        }
        let changed = calls.filter { $0.method == "PUT" || $0.method == "DELETE" }.map(\.url)
        if Set(changed).count < changed.count {
            throw FHIRRefusal(400, "duplicate", "The transaction changes a resource twice")
        }
        openReferences = []
        defer { openReferences = nil }
        return try stored {
            var places: [String: String] = [:]
            for (index, entry) in entries.enumerated() where calls[index].method == "POST" {
                let type = calls[index].segments.first.map(String.init) ?? ""
                let found = try match(calls[index], type)
                calls[index].assignedID = try found?.id ?? newID()
                guard let url = entry["fullUrl"]?.text, url.hasPrefix("urn:") else { continue }
                places[url] = "\(type)/\(calls[index].assignedID ?? "")"
            }
            var answers: [(index: Int, answer: JSON)] = []
            for method in ["DELETE", "POST", "PUT", "GET"] {
                for index in calls.indices where calls[index].method == method {
                    calls[index].resource = calls[index].resource?.replacing(places)
                    do {
                        let result = try carryOut(calls[index], &batch, &faults)
                        answers.append((index, answered(calls[index], result, batch)))
                    } catch let refusal as FHIRRefusal {
                        note(calls[index], String(refusal.status))
                        throw refusal
                    }
                }
            }
            guard answers.count == calls.count else {
                throw FHIRRefusal(400, "not-supported", "A method is not DELETE, POST, PUT or GET")
            }
            try check(openReferences ?? [])
            return answers.sorted { $0.index < $1.index }.map(\.answer)
        }
    }

    /// Carries out an entry, or what a fault makes of it.
    private func carryOut(
        _ call: FHIRInteraction, _ batch: inout FHIRBatch, _ faults: inout FaultPlan
    ) throws -> FHIRResult {
        let (granted, base) = (batch.grant, batch.base)
        let usual = { [self] in
            if isOverRate() { throw throttled }
            return try perform(call, granted, base)
        }
        let action = faults.next(
            method: call.method, segments: call.segments, body: call.resource?.bytes ?? [])
        switch action {
        case nil, .pass: return try usual()
        case .status(let status, let retryAfter):
            if status < 400 { return FHIRResult(status: status) }
            throw FHIRRefusal(
                status: status,
                retryAfter: retryAfter ?? (status == 429 ? throttled.retryAfter : nil))
        case .stored(let status):
            _ = try usual()
            throw FHIRRefusal(status: status)
        case .lose: return try lost(usual)
        case .bloat: throw FHIRServer.hugeRefusal
        case .outage: throw FHIRRefusal(status: 503)
        case .expire:
            login.revoke(batch.grant.token)
            batch.isExpired = true
            throw FHIRRefusal(status: 401)
        case .empty:
            _ = try store.emptyFHIR()
            return try usual()
        case .reset, .hang:
            (interruption, batch.isOver) = (action, true)
            return FHIRResult(status: 0)
        case .drop, .truncate, .latency, .garbage:
            interruption = action
            return try usual()
        }
    }

    /// Returns the result of `body` after one transaction, which a fault may take back.
    func stored<Result>(_ body: () throws -> Result) throws -> Result {
        try store.transaction { loses ? try lost(body) : try body() }
    }

    /// Returns the result of `body`, and takes back what it stored.
    private func lost<Result>(_ body: () throws -> Result) throws -> Result {
        try store.database.execute("SAVEPOINT lost")
        let references = openReferences
        defer { openReferences = references }
        do {
            let result = try body()
            try store.database.execute("ROLLBACK TO lost; RELEASE lost")
            return result
        } catch {
            try store.database.execute("ROLLBACK TO lost; RELEASE lost")
            throw error
        }
    }

    /// Returns the answer to an entry that was carried out (bundle.html, `Bundle.entry.response`).
    private func answered(
        _ call: FHIRInteraction, _ result: FHIRResult, _ batch: FHIRBatch
    ) -> JSON {
        note(call, String(result.status), result.version)
        var response: JSON = ["status": .string(status(result.status))]
        var entry: JSON = [:]
        if let version = result.version {
            response = response.adding([
                "location": .string(version.url), "etag": .string(version.etag),
                "lastModified": .time(version.at),
            ])
            entry = ["fullUrl": .string("\(batch.base)/\(version.type)/\(version.id)")]
        }
        let body = body(of: call, result, batch.preference)
        if let body, body["resourceType"]?.text == "OperationOutcome" {
            response = response.adding(["outcome": body])
        } else if let body {
            entry = entry.adding(["resource": body])
        }
        return entry.adding(["response": response])
    }

    /// Returns the status of an entry as text; Azure and Medplum write the number alone.
    private func status(_ status: Int) -> String {
        let titles = [
            200: "OK", 201: "Created", 204: "No Content", 401: "Unauthorized", 410: "Gone",
            412: "Precondition Failed", 422: "Unprocessable Entity",
        ]
        return manner.writesReasons
            ? "\(status) \(titles[status] ?? Response.title(status))" : String(status)
    }

    private func note(_ call: FHIRInteraction?, _ answer: String, _ version: FHIRVersion? = nil) {
        entries.append([
            "method": .text(call?.method), "url": .text(call?.url), "answer": .string(answer),
            "version": .text(version?.url),
        ])
    }
}

/// A bundle while it is carried out.
struct FHIRBatch {
    var grant: FHIRGrant
    var base: String
    var preference: String
    /// Whether all further entries get 429.
    var isThrottled = false
    /// Whether all further entries get 401.
    var isExpired = false
    /// Whether no further entry is carried out.
    var isOver = false
    /// The seconds of `Retry-After`, which only the whole answer can have.
    var retryAfter: Int?
}

extension JSON {
    /// Returns the value with these references replaced (http.html, "Replacing hyperlinks").
    fileprivate func replacing(_ places: [String: String]) -> JSON {
        switch self {
        case .object(let members):
            .object(
                members.map { member in
                    let place = member.name == "reference" ? places[member.value.text ?? ""] : nil
                    return Member(
                        name: member.name,
                        value: place.map { .string($0) } ?? member.value.replacing(places))
                })
        case .array(let elements): .array(elements.map { $0.replacing(places) })
        default: self
        }
    }
}
