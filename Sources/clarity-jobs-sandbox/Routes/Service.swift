import JSON

/// The service behind the HTTP server: a request in, a reply out.
///
/// It belongs to one thread at a time, as its store does.
final class Service {
    /// What of it can be set.
    struct Settings: Sendable {
        var dialect = Dialect.blueprint
        /// How long an access token is good.
        var tokenLife = Duration.seconds(3600)
        /// How long a refresh token is good.
        var refreshLife = Duration.seconds(30 * 86_400)
        /// At which poll work is over; 1 or more.
        var processingSteps = 3
        var passwordIterations = 2000
    }

    let settings: Settings
    let store: Store
    var identifiers: Identifiers
    var faults: FaultPlan
    let clock: () -> Timestamp
    private let complain: (String) -> Void

    var dialect: Dialect { settings.dialect }

    /// Makes the service; a store that is new gets its seed.
    ///
    /// `complain` hears of what the store refuses; such text holds no value of a request.
    init(
        store: Store, settings: Settings = Settings(), faults: FaultPlan = FaultPlan(),
        identifiers: Identifiers = Identifiers(),
        clock: @escaping () -> Timestamp = Timestamp.now,
        complain: @escaping (String) -> Void = { _ in }
    ) throws {
        self.store = store
        self.settings = settings
        self.faults = faults
        self.identifiers = identifiers
        self.clock = clock
        self.complain = complain
        try Seed.plant(
            in: store, now: clock(), salt: self.identifiers.bytes(16),
            iterations: settings.passwordIterations)
    }

    /// A request on its way through the service.
    struct Call {
        var request: Request
        /// What the braces of the path pattern took, in order.
        var parameters: [String] = []
        /// Who asks; `nil` on endpoints that are open.
        var caller: Caller?
        var now: Timestamp
    }

    /// A user with the session that the token came from.
    struct Caller {
        var account: Account
        var session: String
    }

    /// The reply to `request`, faults included. It is counted unless it is for the sandbox itself.
    func reply(to request: Request) -> Reply {
        let segments = request.path.split(separator: "/")
        if segments.first == "_sandbox" {
            return Reply(
                delivery: .whole(
                    guarded(request) { try sandbox(request, segments.dropFirst()) }))
        }
        let reply = faultedReply(to: request, segments)
        do {
            try store.count(reply.outcome)
        } catch {
            return Reply(delivery: .whole(refused(request, error)))
        }
        return reply
    }

    private func faultedReply(to request: Request, _ segments: [Substring]) -> Reply {
        let base = dialect.basePath.split(separator: "/")
        guard segments.starts(with: base) else {
            return Reply(delivery: .whole(notFound(request)))
        }
        let rest = Array(segments.dropFirst(base.count))
        let usual = { self.guarded(request) { try self.answer(request, rest) } }
        switch faults.next(method: request.method, segments: rest) {
        case nil, .pass: return Reply(delivery: .whole(usual()))
        case .status(let status, let retryAfter):
            return Reply(delivery: .whole(faulty(status, retryAfter, request)))
        case .reset: return Reply(delivery: .reset)
        case .truncate: return Reply(delivery: .half(usual()))
        case .latency(let span): return Reply(delivery: .whole(usual()), delay: span)
        case .garbage:
            return Reply(
                delivery: .whole(
                    Response(
                        status: 200,
                        headers: [.init(name: "Content-Type", value: "application/json")],
                        body: Array("<html><body>It works!</body></html>".utf8))))
        case .expire:
            return Reply(
                delivery: .whole(
                    guarded(request) {
                        if let token = request.bearer { try store.revoke(token) }
                        return .invalidToken
                    }))
        case .drop:
            _ = usual()
            return Reply(delivery: .reset)
        case .hang: return Reply(delivery: .never)
        }
    }

    private func faulty(_ status: Int, _ retryAfter: Int?, _ request: Request) -> Response {
        let headers =
            retryAfter.map { [Response.Header(name: "Retry-After", value: String($0))] } ?? []
        if status == 401 { return .invalidToken }
        if status == 204 || status == 304 {
            return Response(status: status, headers: headers, body: [])
        }
        if status < 400 { return .json(status, [:], headers: headers) }
        return .problem(
            status, "a fault that was asked for", instance: request.path, headers: headers)
    }

    /// What `body` answers, with everything that it throws made an answer.
    private func guarded(_ request: Request, _ body: () throws -> Response) -> Response {
        do {
            return try body()
        } catch let refusal as Refusal {
            return refusal.response
        } catch {
            return refused(request, error)
        }
    }

    private func refused(_ request: Request, _ error: any Error) -> Response {
        complain("\(request.method) \(request.path): \(error)")
        return .problem(500, "the store refused to read or write", instance: request.path)
    }

    private func notFound(_ request: Request) -> Response {
        .problem(404, "there is nothing at this path", instance: request.path)
    }

    private func answer(_ request: Request, _ segments: [Substring]) throws -> Response {
        let found = dialect.endpoints.compactMap { endpoint in
            endpoint.parameters(in: segments).map { (endpoint, $0) }
        }
        if found.isEmpty { return notFound(request) }
        // A pattern with fewer parameters says more: `/insights/status` before `/insights/{id}`.
        let fitting = found.filter { $0.0.method == request.method }
            .min { $0.1.count < $1.1.count }
        guard let (endpoint, parameters) = fitting else {
            let methods = Set(found.map(\.0.method)).sorted().joined(separator: ", ")
            return .problem(
                405, "this path answers \(methods)", instance: request.path,
                headers: [.init(name: "Allow", value: methods)])
        }
        var call = Call(request: request, parameters: parameters, now: clock())
        if !endpoint.isOpen {
            guard let token = request.bearer,
                let grant = try store.grant(token, .access, at: call.now),
                let account = try store.account(id: grant.user)
            else { return .invalidToken }
            call.caller = Caller(account: account, session: grant.session)
        }
        if request.isTooLarge {
            return .problem(
                413, "a body has at most \(dialect.limits.bodyBytes) bytes",
                instance: request.path)
        }
        return try perform(endpoint.operation, call)
    }

    private func perform(_ operation: Operation, _ call: Call) throws -> Response {
        switch operation {
        case .register: try register(call)
        case .login: try login(call)
        case .refresh: try refresh(call)
        case .logout: try logout(call)
        case .me: .json(200, profile(try call.account))
        case .verifyEmail: try verifyEmail(call)
        case .uploadHealthKit: try uploadHealthKit(call)
        case .healthKitStatus: try healthKitStatus(call)
        case .uploadMetrics: try uploadMetrics(call)
        case .metricsProcessing: try metricsProcessing(call)
        case .listMetrics: try listMetrics(call)
        case .analyzeSteps: try analyzeSteps(call)
        case .analyzeActigraphy: try analyzeActigraphy(call)
        case .analysis: try analysis(call)
        case .actigraphyHealth: actigraphyHealth(call)
        case .generateInsight: try generateInsight(call)
        case .insight: try insight(call)
        case .insightHistory: try insightHistory(call)
        case .insightStatus: insightStatus(call)
        case .health:
            .json(
                200,
                [
                    "status": "healthy", "service": "clarity-jobs-sandbox",
                    "timestamp": .time(call.now),
                ])
        }
    }
}
