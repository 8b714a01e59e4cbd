import JSON

extension Service {
    func generateInsight(_ call: Call) throws -> Response {
        let caller = try call.account.id
        let body = try call.body()
        var validation = Validation(now: call.now)
        let results = validation.object(body["analysis_results"])
        _ = validation.text(body["context"], 0...2000, required: false, isFree: true)
        let type = validation.choice(
            body["insight_type"], ["comprehensive", "brief"], required: false)
        let advise = validation.flag(body["include_recommendations"], required: false)
        _ = validation.text(body["language"], 2...35, required: false)
        try validation.finish()
        let work = Work(
            id: identifiers.uuid(), kind: .insight, user: caller,
            result: Service.narration(
                of: results ?? [], isBrief: type == "brief", advise: advise ?? true),
            createdAt: call.now, updatedAt: call.now)
        try store.add(work)
        return answer(work, call)
    }

    func insight(_ call: Call) throws -> Response {
        answer(try advance(.insight, call, "insight"), call)
    }

    /// Lists the insights, unfinished ones first, with their state.
    ///
    /// Like a request by id, this counts as a poll of each insight on the page.
    func insightHistory(_ call: Call) throws -> Response {
        let caller = try call.account.id
        try call.requireOwn(call.parameters[0])
        var validation = Validation(now: call.now)
        let limit = call.request.number(
            "limit", dialect.limits.insightPage, usual: dialect.limits.usualInsightPage,
            &validation)
        let offset = call.request.number("offset", 0...1_000_000_000, usual: 0, &validation)
        try validation.finish()
        let (page, total) = try store.transaction {
            func page() throws -> [Work] {
                try store.insights(
                    of: caller, withUnfinished: true, limit: limit, offset: offset)
            }
            for work in try page() { _ = try polled(work, at: call.now) }
            return (try page(), try store.insightCount(of: caller, withUnfinished: true))
        }
        return answer(
            [
                "insights": .array(page.map(row)), "total_count": .count(total),
                "has_more": .bool(offset + page.count < total),
                "pagination": ["page": .count(offset / limit + 1), "limit": .count(limit)],
            ], call)
    }

    func insightStatus(_ call: Call) -> Response {
        answer(
            insightService(
                ["comprehensive", "brief", "recommendations"], at: .time(call.now)), call)
    }

    /// Returns the status of the service that makes insights.
    func insightService(_ capabilities: JSON, at time: JSON) -> JSON {
        [
            "service": "insights", "status": "healthy",
            "model": [
                "model_name": "sandbox-narrator", "project_id": "sandbox", "initialized": true,
                "capabilities": capabilities,
            ],
            "timestamp": time,
        ]
    }

    private func answer(_ data: JSON, _ call: Call, isSuccess: Bool = true) -> Response {
        .ok([
            "success": .bool(isSuccess), "data": data,
            "metadata": [
                "request_id": .string("req_" + identifiers.bytes(8).hexadecimal),
                "timestamp": .time(call.now), "service": "insights", "version": "1.0.0",
            ],
        ])
    }

    private func answer(_ work: Work, _ call: Call) -> Response {
        let status = work.state.isFinal ? work.state.rawValue : "generating"
        return answer(
            insight(work, id: work.id, status: status, at: .time(work.updatedAt)), call,
            isSuccess: work.state != .failed)
    }

    /// Returns an insight, which is empty until it is completed.
    ///
    /// The deployed backend leaves out its id and status.
    func insight(
        _ work: Work, id: String? = nil, status: String? = nil, at time: JSON
    ) -> JSON {
        let result = work.state == .completed ? work.result : [:]
        let insight: JSON = [
            "id": .text(id), "status": .text(status), "user_id": .string(work.user),
            "narrative": result["narrative"] ?? "", "key_insights": result["key_insights"] ?? [],
            "recommendations": result["recommendations"] ?? [],
            "confidence_score": result["confidence_score"] ?? 0, "generated_at": time,
        ]
        return insight.withoutNulls
    }

    /// Returns the row of an insight in the history.
    private func row(_ work: Work) -> JSON {
        guard work.state == .completed else {
            return ["id": .string(work.id), "status": "generating"]
        }
        return preview(work, at: .time(work.updatedAt))
    }

    /// Returns a row of the history: the first 200 characters of the narrative, and counts.
    func preview(_ work: Work, at time: JSON) -> JSON {
        var narrative = ""
        if case .string(let text)? = work.result["narrative"] { narrative = text }
        func count(_ name: String) -> JSON {
            guard case .array(let values)? = work.result[name] else { return 0 }
            return .count(values.count)
        }
        return [
            "id": .string(work.id),
            "narrative": .string(
                narrative.count > 200 ? narrative.prefix(200) + "..." : narrative),
            "generated_at": time,
            "confidence_score": work.result["confidence_score"] ?? 0,
            "key_insights_count": count("key_insights"),
            "recommendations_count": count("recommendations"),
        ]
    }

    /// Puts the numbers of an analysis into words. The confidence rises with the count of numbers.
    static func narration(
        of results: [JSON.Member], isBrief: Bool, advise: Bool
    ) -> JSON {
        // A text about the week does not repeat the scores of an illness.
        let told = results.filter { !$0.name.contains("_risk_") }
        let findings = told.compactMap { member -> (name: String, text: String)? in
            let name = member.name.split(separator: "_").joined(separator: " ")
            return switch member.value {
            case .integer(let value): (name, "\(name) is \(value)")
            case .number(let value): (name, "\(name) is \(value)")
            default: nil
            }
        }
        let shown = isBrief ? Array(findings.prefix(3)) : findings
        let narrative =
            shown.isEmpty
            ? "The analysis holds no number to speak of."
            : "The analysis says: " + shown.map(\.text).joined(separator: "; ") + "."
        let advice = advise ? shown.map { "Look at \($0.name) again in a week." } : []
        return [
            "narrative": .string(narrative),
            "key_insights": .array(shown.map { .string($0.text) }),
            "recommendations": .array(advice.map { .string($0) }),
            "confidence_score": .number(
                Double(min(95, 50 + 5 * findings.count)) / 100),
        ]
    }
}
