import JSON

/// The routes of the deployed backend: as in its schema, except for its quirks.
final class LoopRoutes: RouteSet {
    let quirks: Set<Quirk>
    let rates: [Operation: RateLimit]
    /// The state kept between calls, as the deployed backend keeps it in its process's memory.
    var windows = RateWindows()
    var lockouts = Lockouts()
    var breaker = InsightBreaker()

    init(_ dialect: Dialect) {
        quirks = dialect.quirks
        rates = dialect.rates
    }

    func has(_ quirk: Quirk) -> Bool { quirks.contains(quirk) }

    func perform(
        _ operation: Operation, _ call: Service.Call, _ service: Service
    ) throws -> Response {
        switch operation {
        case .register: try register(call, service)
        case .login: try login(call, service)
        case .refresh: try refresh(call, service)
        case .logout: try logout(call, service)
        case .me: me(try call.account)
        case .updateMe: try updateMe(call, service)
        case .verifyEmail: try confirmEmail(call, service)
        case .resendConfirmation: try resendConfirmation(call, service)
        case .forgotPassword: try forgotPassword(call, service)
        case .resetPassword: try resetPassword(call, service)
        case .uploadMetrics: try uploadMetrics(call, service)
        case .metricsProcessing: try metricsProcessing(call, service)
        case .listMetrics: try listMetrics(call, service)
        case .deleteMetrics: try deleteMetrics(call, service)
        case .removedQuery: removedQuery(call)
        case .uploadHealthKit: try uploadHealthKit(call, service)
        case .healthKitStatus: try healthKitStatus(call, service)
        case .generateInsight: try generateInsight(call, service)
        case .insight: try insight(call, service)
        case .insightHistory: try insightHistory(call, service)
        case .insightStatus: insightStatus(call, service)
        case .analyzeSteps: try analyzeSteps(call, service)
        case .analyzeActigraphy: try analyzeActigraphy(call, service)
        case .analysis: try analysis(call, service)
        case .actigraphyHealth: service.actigraphyHealth(at: .string(call.now.offsetText))
        // The status was measured, the text was not.
        case .index: .ok(["message": "CLARITY API"])
        case .socket: .crash
        case .health, .rootHealth, .readiness, .authHealth, .healthDataHealth:
            health(operation, call)
        }
    }

    /// Returns the access token; the scheme must be `Bearer`, in exactly this case.
    func token(of request: Request) -> String? {
        guard let text = request.authorization, text.hasPrefix("Bearer ") else { return nil }
        return String(text.dropFirst("Bearer ".count))
    }

    var invalidToken: Response {
        .detail(
            401, "Authentication required",
            headers: [.init(name: "WWW-Authenticate", value: "Bearer")])
    }

    func notFound(_ request: Request) -> Response { .detail(404, "Not Found") }

    func wrongMethod(_ methods: String, _ request: Request) -> Response {
        .detail(405, "Method Not Allowed", headers: [.init(name: "Allow", value: methods)])
    }

    func tooLarge(_ request: Request, most: Int) -> Response {
        let limit = Double(most) / 1_048_576
        let received = Double(request.announcedLength ?? most + 1) / 1_048_576
        let rounded = (received * 100).rounded() / 100
        return .json(
            413,
            [
                "error": "Request payload too large", "max_size_mb": .number(limit),
                "received_size_mb": .number(rounded), "content_type": "application/json",
                "message": .string("\(rounded)MB are more than \(limit)MB"),
            ], headers: [.init(name: "Retry-After", value: "3600")])
    }

    func storeFailed(_ request: Request) -> Response { .crash }

    func fault(
        _ status: Int, _ headers: [Response.Header], _ request: Request
    ) -> Response {
        switch status {
        case 429: .limited(instance: request.path, headers: headers)
        case 500: .crash
        default: .detail(status, "a fault that was asked for", headers: headers)
        }
    }

    /// Answers with the message that the deployed backend gives when its data store fails.
    func failureAfterStoring(_ status: Int, _ request: Request) -> Response {
        .detail(status, "Failed to process health data upload")
    }

    /// Adds the common headers; the answer after an uncaught exception bypasses the code that does
    /// so.
    func dressed(_ response: Response) -> Response {
        guard response != .crash else { return response }
        var dressed = response
        dressed.headers.append(.init(name: "Cache-Control", value: "no-store, private"))
        return dressed
    }

    /// HealthKit samples are stored before what is down is called.
    func storesInOutage(_ operation: Operation?) -> Bool {
        has(.wrongStatuses) && operation == .uploadHealthKit
    }

    func outage(_ operation: Operation?, _ request: Request) -> Response {
        guard has(.wrongStatuses) else {
            return .detail(503, "The service is temporarily unavailable")
        }
        switch operation {
        case .login:
            if let email = email(in: request) { lockouts.strike(email) }
            return .nestedProblem(
                401, "invalid_credentials", "The email or the password is wrong.",
                instance: request.path)
        case .refresh:
            return .nestedProblem(
                500, "refresh_error", "The token could not be refreshed.", instance: request.path)
        case .register:
            return .nestedProblem(
                500, "registration_error", "The registration failed.", instance: request.path)
        case .uploadMetrics:
            return .detail(
                400,
                "Health data processing failed: Health data processing failed: "
                    + "Failed to save health data")
        case .metricsProcessing: return .detail(400, "Failed to get processing status: no answer")
        case .listMetrics: return .detail(400, "Failed to retrieve health data: no answer")
        case .deleteMetrics: return .detail(400, "Failed to delete health data: no answer")
        case .uploadHealthKit: return .detail(500, "Failed to process health data upload")
        case .generateInsight, .insightHistory, .insight, .insightStatus:
            return .detail(503, "Insight generation is temporarily unavailable")
        case .analyzeSteps, .analyzeActigraphy:
            return .json(
                500,
                [
                    "detail": [
                        "analysis_id": "none", "error": "Analysis failed",
                        "message": "no answer",
                    ]
                ])
        // These always report a healthy service.
        case .health, .rootHealth, .readiness, .authHealth, .healthDataHealth, .actigraphyHealth:
            return .ok(["status": "healthy"])
        // The keys that verify tokens are unavailable, so every token is invalid.
        default: return invalidToken
        }
    }

    private func email(in request: Request) -> String? {
        do {
            guard case .string(let email)? = try JSONParser.parse(request.body)["email"] else {
                return nil
            }
            return email.lowercased()
        } catch {
            return nil
        }
    }
}

extension Service.Call {
    /// Returns the value of the body, whatever its declared type.
    ///
    /// - Throws: the answer 400 if the body is not text, such as a compressed one, 422 if it is not
    ///   JSON.
    func laxValue() throws(Refusal) -> Node {
        guard String(validating: request.body, as: UTF8.self) != nil else {
            throw Refusal(.detail(400, "There was an error parsing the body"))
        }
        if request.body.isEmpty { return Node(value: nil, location: "body") }
        do {
            return Node(value: try JSONParser.parse(request.body), location: "body")
        } catch {
            throw Refusal(
                .unprocessable([
                    RequestFault(
                        location: "body" / error.offset, message: "Should be JSON",
                        type: "json_invalid", echo: ([:], ["error": .string(error.reason)]))
                ]))
        }
    }

    /// Returns the body, which must be an object.
    func laxBody() throws(Refusal) -> Node {
        let node = try laxValue()
        var validation = Validation.lax
        // A body that is declared as another type is treated as text.
        let isText = !request.isJSON && node.value != nil
        let seen = isText ? Node(value: "not JSON", location: node.location) : node
        _ = validation.object(seen, "model_attributes_type")
        try validation.finish()
        return node
    }

    /// Returns a value of the query.
    func queried(_ name: String) -> Node {
        Node(value: request.query[name].map { .string($0) }, location: "query" / name)
    }

    /// Returns an integer from the query, clamped to a range that arithmetic can handle.
    func queriedNumber(
        _ name: String, _ range: ClosedRange<Double>? = nil, _ validation: inout Validation
    ) -> Int? {
        validation.number(queried(name), range, whole: true, required: false)
            .map { Int(min(max($0, -1e9), 1e9)) }
    }

    /// Returns a UUID from the path, in lower case.
    func pathUUID(_ name: String) throws(Refusal) -> String {
        var validation = Validation.lax
        let node = Node(value: .string(parameters[0]), location: "path" / name)
        let uuid = validation.uuid(node)
        try validation.finish()
        return uuid ?? parameters[0]
    }
}

extension LoopRoutes {
    /// Counts the request in its window, if limits are enforced.
    ///
    /// - Throws: the answer 429 if the window is full.
    func count(_ operation: Operation, _ call: Service.Call) throws(Refusal) {
        guard has(.limits), let limit = rates[operation] else { return }
        let user = limit.scope == .user ? call.caller?.account.id ?? "" : ""
        guard let end = windows.admit("\(operation) \(user)", limit, at: call.now) else { return }
        let isWrong = has(.retryAfterZero)
        let seconds = { (time: Timestamp) in (time.milliseconds + 999) / 1000 }
        throw Refusal(
            .limited(
                instance: call.request.path,
                headers: [
                    .init(name: "X-RateLimit-Limit", value: String(limit.count)),
                    .init(
                        name: "X-RateLimit-Remaining", value: String(isWrong ? limit.count : 0)),
                    .init(
                        name: "X-RateLimit-Reset", value: String(seconds(isWrong ? call.now : end))),
                    .init(
                        name: "Retry-After",
                        value: isWrong
                            ? "0" : String((end.milliseconds - call.now.milliseconds + 999) / 1000)),
                ]))
    }
}
