import JSON

extension LoopRoutes {
    /// The scores that insights are based on.
    private static let scores = [
        "sleep_efficiency", "circadian_rhythm_score", "depression_risk_score", "total_sleep_time",
        "wake_after_sleep_onset", "sleep_onset_latency",
    ]

    func generateInsight(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        let body = try call.laxBody()
        var validation = Validation.lax
        let results = validation.object(body["analysis_results"])
        _ = validation.text(body["context"], required: false)
        let type = validation.text(body["insight_type"], required: false)
        let advise = validation.flag(body["include_recommendations"], required: false)
        _ = validation.text(body["language"], required: false)
        try validation.finish()
        let unavailable = Response.detail(503, "Insight generation is temporarily unavailable")
        if breaker.isClosed(at: call.now) { return unavailable }
        let isSound = (results ?? []).allSatisfy { member in
            guard LoopRoutes.scores.contains(member.name) else { return true }
            return switch member.value {
            case .integer, .number: true
            default: false
            }
        }
        if has(.insightBreaker) { breaker.note(success: isSound, at: call.now) }
        guard isSound else { return unavailable }
        let work = Work(
            .insight, id: "insight_" + service.identifiers.bytes(4).hexadecimal, of: caller,
            at: call.now,
            result: Service.narration(
                of: results ?? [], isBrief: type == "brief", advise: advise ?? true))
        try service.store.add(work)
        return answer(data(of: work, service), call, service)
    }

    func insight(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        guard !has(.deadInsights),
            let work = try service.store.work(.insight, call.parameters[0], of: caller)
        else { return notThere(call, service) }
        return answer(data(of: work, service), call, service)
    }

    func insightHistory(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        var validation = Validation.lax
        let limit =
            call.queriedNumber("limit", nil, &validation)
            ?? service.dialect.limits.usualInsightPage
        let offset = call.queriedNumber("offset", nil, &validation) ?? 0
        if !has(.wrongStatuses) {
            _ = validation.number(
                call.queried("limit"), 1...1e15, whole: true, required: false)
            _ = validation.number(
                call.queried("offset"), 0...1e15, whole: true, required: false)
        }
        try validation.finish()
        guard call.parameters[0] == caller else {
            return coded(403, "ACCESS_DENIED", "This belongs to another user.", call, service)
        }
        guard limit > 0 else {
            return coded(
                500, "HISTORY_RETRIEVAL_FAILED", "The history cannot be had.", call, service)
        }
        let stored = try service.store.insightCount(of: caller, withUnfinished: false)
        let start = max(0, offset)
        let page = try service.store.insights(
            of: caller, withUnfinished: false, limit: limit, offset: start)
        // If the rows read do not reach the end, the total is twice their number, minus one.
        let read = limit + start
        let total = has(.wrongTotals) && read < stored ? 2 * read - 1 : stored
        return answer(
            [
                "insights": .array(
                    page.map { service.preview($0, at: .string($0.updatedAt.offsetText)) }),
                "total_count": .count(total), "has_more": .bool(start + page.count < stored),
                "pagination": [
                    "limit": .count(limit), "offset": .count(offset),
                    "current_page": .count(start / limit + 1),
                    "total_pages": .count((total + limit - 1) / limit),
                ],
            ], call, service)
    }

    /// Returns the status, unless its path is taken for that of an insight.
    func insightStatus(_ call: Service.Call, _ service: Service) -> Response {
        if has(.deadInsights) { return notThere(call, service) }
        return answer(
            service.insightService(
                ["comprehensive", "brief"], at: .string(call.now.offsetText)), call, service)
    }

    private func notThere(_ call: Service.Call, _ service: Service) -> Response {
        coded(404, "INSIGHT_NOT_FOUND", "There is no such insight.", call, service)
    }

    private func coded(
        _ status: Int, _ code: String, _ message: String, _ call: Service.Call,
        _ service: Service
    ) -> Response {
        .coded(
            status, code, message, request: requestID(service), at: call.now.offsetText)
    }

    private func requestID(_ service: Service) -> String {
        "req_insights_" + service.identifiers.bytes(4).hexadecimal
    }

    private func answer(_ data: JSON, _ call: Service.Call, _ service: Service) -> Response {
        .ok([
            "success": true, "data": data,
            "metadata": [
                "request_id": .string(requestID(service)),
                "timestamp": .string(call.now.offsetText), "service": "sandbox-insights",
                "version": "1.0.0", "processing_time_ms": 0.0,
            ],
        ])
    }

    private func data(of work: Work, _ service: Service) -> JSON {
        service.insight(work, at: .string(work.updatedAt.offsetText))
    }
}
