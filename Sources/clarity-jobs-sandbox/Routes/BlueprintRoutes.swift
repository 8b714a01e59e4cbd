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
