import JSON

/// The routes of the blueprint.
final class BlueprintRoutes: RouteSet {
    func perform(
        _ operation: Operation, _ call: Service.Call, _ service: Service
    ) throws -> Response {
        switch operation {
        case .register: try service.register(call)
        case .login: try service.login(call)
        case .refresh: try service.refresh(call)
        case .logout: try service.logout(call)
        case .me: .ok(service.profile(try call.account))
        case .verifyEmail: try service.verifyEmail(call)
        case .uploadHealthKit: try service.uploadHealthKit(call)
        case .healthKitStatus: try service.healthKitStatus(call)
        case .uploadMetrics: try service.uploadMetrics(call)
        case .metricsProcessing: try service.metricsProcessing(call)
        case .listMetrics: try service.listMetrics(call)
        case .analyzeSteps: try service.analyzeSteps(call)
        case .analyzeActigraphy: try service.analyzeActigraphy(call)
        case .analysis: try service.analysis(call)
        case .actigraphyHealth: service.actigraphyHealth(at: .time(call.now))
        case .generateInsight: try service.generateInsight(call)
        case .insight: try service.insight(call)
        case .insightHistory: try service.insightHistory(call)
        case .insightStatus: service.insightStatus(call)
        case .health:
            .ok([
                "status": "healthy", "service": "clarity-jobs-sandbox",
                "timestamp": .time(call.now),
            ])
        // The blueprint has no such operation.
        case .updateMe, .resendConfirmation, .forgotPassword, .resetPassword, .deleteMetrics,
            .removedQuery, .index, .socket, .rootHealth, .readiness, .authHealth, .healthDataHealth:
            notFound(call.request)
        }
    }

    func storesInOutage(_ operation: Operation?) -> Bool { false }

    func outage(_ operation: Operation?, _ request: Request) -> Response {
        .problem(503, "what stands behind the service is down", instance: request.path)
    }

    func token(of request: Request) -> String? { request.bearer }

    var invalidToken: Response { .invalidToken }

    func notFound(_ request: Request) -> Response {
        .problem(404, "there is nothing at this path", instance: request.path)
    }

    func wrongMethod(_ methods: String, _ request: Request) -> Response {
        .problem(
            405, "this path answers \(methods)", instance: request.path,
            headers: [.init(name: "Allow", value: methods)])
    }

    func tooLarge(_ request: Request, most: Int) -> Response {
        .problem(413, "a body has at most \(most) bytes", instance: request.path)
    }

    func storeFailed(_ request: Request) -> Response {
        .problem(500, "the store refused to read or write", instance: request.path)
    }

    func fault(
        _ status: Int, _ headers: [Response.Header], _ request: Request
    ) -> Response {
        .problem(status, "a fault that was asked for", instance: request.path, headers: headers)
    }

    func failureAfterStoring(_ status: Int, _ request: Request) -> Response {
        fault(status, [], request)
    }

    func dressed(_ response: Response) -> Response { response }
}

extension Request {
    /// Returns an integer from the query, or `usual` if it is not given.
    func number(
        _ name: String, _ range: ClosedRange<Int>, usual: Int, _ validation: inout Validation
    ) -> Int {
        guard let text = query[name] else { return usual }
        let node = Node(
            value: Int64(text).map { .integer($0) } ?? .string(text), location: "query" / name)
        let bounds = Double(range.lowerBound)...Double(range.upperBound)
        return validation.number(node, bounds, whole: true).map { Int($0) } ?? usual
    }
}

extension Service.Call {
    /// Returns the body, which must be a JSON object.
    ///
    /// - Throws: the answer 415 if the body is declared as anything else, 422 if it is not JSON or
    ///   not an object.
    func body() throws(Refusal) -> Node {
        guard request.isJSON else {
            throw Refusal(
                .problem(415, "the body must be application/json", instance: request.path))
        }
        let value: JSON
        do {
            value = try JSONParser.parse(request.body)
        } catch {
            throw Refusal(
                .unprocessable([
                    RequestFault(
                        location: "body" / error.offset, message: "not JSON: \(error.reason)",
                        type: "json_invalid")
                ]))
        }
        let node = Node(value: value, location: "body")
        var validation = Validation(now: now)
        _ = validation.object(node)
        try validation.finish()
        return node
    }

    /// The caller's account.
    ///
    /// - Throws: the answer 401 if the request has no caller, as on an open endpoint.
    var account: Account {
        get throws(Refusal) {
            guard let caller else { throw Refusal(.invalidToken) }
            return caller.account
        }
    }

    /// Refuses a user who is not the caller. Ids are case-sensitive.
    func requireOwn(_ user: String) throws(Refusal) {
        guard try user == account.id else {
            throw Refusal(
                .problem(403, "this belongs to another user", instance: request.path))
        }
    }

    /// Returns the answer that a resource does not exist.
    func missing(_ what: String) -> Refusal {
        Refusal(.problem(404, "there is no such \(what)", instance: request.path))
    }
}
