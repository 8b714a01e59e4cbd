import JSON

extension LoopRoutes {
    func uploadMetrics(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        let body = try call.laxBody()
        var sent = 0
        if case .array(let metrics)? = body["metrics"].value { sent = metrics.count }
        func refuse(_ reason: String, _ response: Response) throws -> Response {
            try service.store.noteLoss(.refused, reason, sent)
            return response
        }
        if has(.validatorCrash), crashesValidator(body) {
            return try refuse("validator_crash", .crash)
        }
        var validation = Validation.lax
        let user = validation.uuid(body["user_id"])
        let metrics = validation.laxMetrics(body["metrics"], service.dialect, now: call.now) {
            service.identifiers.uuid()
        }
        _ = validation.text(body["upload_source"])
        _ = validation.instant(body["client_timestamp"])
        let syncToken = validation.text(body["sync_token"], required: false)
        if !validation.faults.isEmpty {
            return try refuse("invalid", .unprocessable(validation.faults))
        }
        if has(.limiterCrash) { return try refuse("limiter_crash", .crash) }
        do {
            try count(.uploadMetrics, call)
        } catch {
            return try refuse("rate_limit", error.response)
        }
        if user != caller {
            return try refuse(
                "other_user",
                has(.wrongStatuses)
                    ? .detail(
                        500, "An unexpected error occurred while processing health data upload")
                    : .detail(403, "Cannot upload data for a different user"))
        }
        if has(.fiveTypes), let wrong = metrics.first(where: { !isProcessed($0, service) }) {
            let isKnown = service.dialect.processedTypes.contains(wrong.type)
            return try refuse(
                isKnown ? "missing_payload" : "unaccepted_type",
                .detail(
                    400,
                    "Health data processing failed: Health data validation failed: "
                        + "Validation failed: 1 errors"))
        }
        return try keep(metrics, syncToken, call, service)
    }

    /// Stores the metrics that the backend keeps, and answers.
    private func keep(
        _ metrics: [AcceptedMetric], _ syncToken: String?, _ call: Service.Call,
        _ service: Service
    ) throws -> Response {
        let caller = try call.account.id
        let id = service.identifiers.uuid()
        let kept = has(.oneOfEachType) ? lastOfEachType(metrics) : Array(metrics.indices)
        let duplicates = try service.store.transaction {
            try service.store.add(Work(.metrics, id: id, of: caller, at: call.now))
            let duplicates = try kept.filter { index in
                try !service.store.add(
                    metrics[index], user: caller, work: id, asCopy: has(.noDeduplication))
            }
            try service.store.noteLoss(.dropped, "same_type", metrics.count - kept.count)
            try service.store.noteLoss(.refused, "duplicate", duplicates.count)
            return duplicates
        }
        return .json(
            201,
            [
                "processing_id": .string(id), "status": "processing",
                "accepted_metrics": .count(metrics.count - duplicates.count),
                "rejected_metrics": .count(duplicates.count),
                "validation_errors": .array(
                    duplicates.map { index in
                        [
                            "field": .string("metrics[\(index)].metric_id"),
                            "message": "This metric is stored already",
                            "code": "duplicate_metric_id", "value": .null,
                        ]
                    }),
                "estimated_processing_time": .count(2 * metrics.count),
                "sync_token": .text(syncToken),
                "message": "Health data processing initiated successfully",
                "timestamp": .string(call.now.zuluText),
            ])
    }

    /// Returns the indices of the last metric of each type, which a map from type to metric would
    /// keep.
    private func lastOfEachType(_ metrics: [AcceptedMetric]) -> [Int] {
        var last: [String: Int] = [:]
        for (index, metric) in metrics.enumerated() { last[metric.type] = index }
        return last.values.sorted()
    }

    private func isProcessed(_ metric: AcceptedMetric, _ service: Service) -> Bool {
        guard let rule = service.dialect.metric(metric.type),
            service.dialect.processedTypes.contains(metric.type),
            case .object = metric.body[rule.payload]
        else { return false }
        return true
    }

    private func crashesValidator(_ body: Node) -> Bool {
        guard case .array(let metrics)? = body["metrics"].value else { return false }
        return metrics.contains { metric in
            guard case .object = metric else { return true }
            if case .object? = metric["sleep_data"] { return true }
            return false
        }
    }

    func metricsProcessing(_ call: Service.Call, _ service: Service) throws -> Response {
        let id = try call.pathUUID("processing_id")
        let caller = try call.account.id
        return try service.store.transaction {
            guard let work = try service.store.work(.metrics, id, of: caller) else {
                return .detail(has(.wrongStatuses) ? 400 : 404, "Processing job \(id) not found")
            }
            let next = has(.neverProcessed) ? work : try service.polled(work, at: call.now)
            return .ok([
                "processing_id": .string(id), "status": .string(next.state.rawValue),
                "created_at": .string(next.createdAt.offsetText),
                "updated_at": has(.neverProcessed)
                    ? "" : .string(next.updatedAt.offsetText),
            ])
        }
    }

    /// Lists one row for each metric.
    ///
    /// If its list were not empty, the deployed backend would have one row for each upload, with a
    /// map from type to metric as here.
    func listMetrics(_ call: Service.Call, _ service: Service) throws -> Response {
        let caller = try call.account.id
        var validation = Validation.lax
        let limit =
            call.queriedNumber("limit", 1...1000, &validation)
            ?? service.dialect.limits.usualDataPage
        let offset = call.queriedNumber("offset", 0...1e15, &validation)
        let earliest = validation.instant(call.queried("start_date"), required: false)
        let latest = validation.instant(call.queried("end_date"), required: false)
        try validation.finish()
        // A cursor is decoded and then ignored.
        if let cursor = call.request.query["cursor"], Base64.jsonText(cursor) == nil {
            return .detail(400, "Invalid cursor")
        }
        let start = offset ?? 0
        let found =
            has(.emptyList)
            ? []
            : try service.store.metrics(
                of: caller, type: call.request.query["data_type"], from: earliest, to: latest,
                limit: limit + 1, offset: start)
        let hasNext = found.count > limit
        let page = "\(call.request.origin)\(call.request.path)?limit=\(limit)"
        return .ok([
            "data": .array(found.prefix(limit).map { row($0, of: caller) }),
            "pagination": [
                "total_count": .null, "page_size": .count(limit), "has_next": .bool(hasNext),
                "has_previous": .bool(start > 0), "next_cursor": .null,
                "previous_cursor": .null,
            ],
            "links": [
                "self": .string(page + (offset.map { "&offset=\($0)" } ?? "")),
                "first": .string(page + (offset == nil ? "" : "&offset=0")),
                "previous": start > 0
                    ? .string(page + "&offset=\(max(0, start - limit))") : .null,
                "next": hasNext && offset != nil
                    ? .string(page + "&offset=\(start + limit)") : .null,
                "last": .null,
            ],
        ])
    }

    private func row(_ metric: StoredMetric, of user: String) -> JSON {
        let time = metric.createdAt.offsetText
        return [
            "id": .string(metric.id), "user_id": .string(user),
            "processing_id": .text(metric.upload), "timestamp": .string(time),
            "metrics": .object([.init(name: metric.type, value: metric.body)]),
            "processing_status": "received", "created_at": .string(time),
        ]
    }

    func deleteMetrics(_ call: Service.Call, _ service: Service) throws -> Response {
        let id = try call.pathUUID("processing_id")
        let caller = try call.account.id
        let isDeleted = try service.store.transaction {
            try service.store.deleteUpload(id, of: caller)
        }
        guard isDeleted || has(.deleteSaysYes) else {
            return .detail(404, "Processing job \(id) not found")
        }
        return .ok([
            "message": "Health data deleted successfully", "processing_id": .string(id),
            "deleted_at": .string(call.now.offsetText),
        ])
    }

    func removedQuery(_ call: Service.Call) -> Response {
        .json(
            410,
            [
                "detail": [
                    "error": "Endpoint Permanently Removed",
                    "message": "The list of health data takes its place.",
                ]
            ])
    }

    /// Returns the answer of a health check, which always reports a healthy service.
    func health(_ operation: Operation, _ call: Service.Call) -> Response {
        let time: JSON = .string(call.now.offsetText)
        let body: JSON =
            switch operation {
            case .rootHealth: ["status": "healthy", "version": "0.1.0-dev"]
            case .readiness:
                [
                    "status": "healthy", "timestamp": .string(call.now.zuluText),
                    "version": "0.1.0-dev", "checks": ["store": "healthy"],
                ]
            case .authHealth:
                ["status": "healthy", "service": "authentication", "version": "1.0.0"]
            case .healthDataHealth:
                ["status": "healthy", "service": "health-data-api", "timestamp": time]
            default: ["status": "healthy", "timestamp": time]
            }
        return .ok(body)
    }
}
