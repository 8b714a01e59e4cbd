import JSON

/// The service behind the HTTP server, which turns a request into a reply.
///
/// Like its store, it belongs to one thread at a time.
final class Service {
    /// The settings of a service.
    struct Settings: Sendable {
        var dialect = Dialect.blueprint
        /// How long an access token is valid.
        var tokenLife = Duration.seconds(3600)
        /// How long a refresh token is valid.
        var refreshLife = Duration.seconds(30 * 86_400)
        /// The number of polls after which work is finished; at least 1.
        var processingSteps = 3
        var passwordIterations = 2000
        /// The time that the clock shows until it is set; `nil` for the machine's clock.
        var clockStart: Timestamp?
        /// The FHIR server beside the dialect; `nil` for none.
        var fhir: FHIROptions?
    }

    let settings: Settings
    let store: Store
    var identifiers: Identifiers
    var faults: FaultPlan
    let clock: () -> Timestamp
    /// Sets the clock; `nil` if it is the machine's.
    let setClock: ((Timestamp) -> Void)?
    /// The highest connection number in the record of uploads when the service started.
    let recordedConnections: Int
    /// When each of the last requests came, in milliseconds, and how long its answer was delayed by
    /// a fault; not for those to the sandbox itself.
    private(set) var arrivals: [(at: Int64, delay: Int64)] = []
    private let routes: any RouteSet
    let fhir: FHIRServer?
    private let complain: (String) -> Void

    var dialect: Dialect { settings.dialect }

    /// Creates the service, and fills a new store with the seed.
    ///
    /// - Parameter complain: receives the store's errors, which never contain values of a request.
    init(
        store: Store, settings: Settings = Settings(), routes: any RouteSet,
        faults: FaultPlan = FaultPlan(),
        identifiers: Identifiers = Identifiers(),
        clock: @escaping () -> Timestamp = Timestamp.now,
        setClock: ((Timestamp) -> Void)? = nil,
        complain: @escaping (String) -> Void = { _ in }
    ) throws {
        self.store = store
        self.settings = settings
        self.routes = routes
        self.faults = faults
        self.identifiers = identifiers
        self.clock = clock
        self.setClock = setClock
        self.complain = complain
        fhir = settings.fhir.map {
            FHIRServer($0, store, tokenLife: settings.tokenLife, clock: clock)
        }
        recordedConnections = try store.number(
            "SELECT coalesce(max(connection), 0) FROM sends")
        try Seed.plant(
            in: store, now: clock(), salt: self.identifiers.bytes(16),
            iterations: settings.passwordIterations)
    }

    /// A request while the service processes it.
    struct Call {
        var request: Request
        /// The values for the braces of the path pattern, in order.
        var parameters: [String] = []
        /// The caller; `nil` on open endpoints.
        var caller: Caller?
        var now: Timestamp
    }

    /// A user, and the session that the token belongs to.
    struct Caller {
        var account: Account
        var session: String
    }

    /// Returns the reply to `request`, faults included, and counts it unless it is for the sandbox
    /// itself.
    func reply(to request: Request) -> Reply {
        let segments = request.path.split(separator: "/")
        if segments.first == "_sandbox" {
            return Reply(
                delivery: .whole(
                    guarded(request, routes) { try sandbox(request, segments.dropFirst()) }))
        }
        let arrival = Timestamp.now()
        let reply: Reply
        do {
            reply = try recorded(faultedReply(to: request, segments), to: request)
            if let fhir, segments.first == FHIRServer.base[...] {
                try fhir.note(request, answer: reply.outcome)
            }
            try store.count(reply.outcome)
        } catch {
            return Reply(delivery: .whole(refused(request, error, routes)))
        }
        if arrivals.count == 10_000 { arrivals.removeFirst(5_000) }
        arrivals.append((arrival.milliseconds, reply.delay?.wholeMilliseconds ?? 0))
        return reply
    }

    /// Records that the answer to an upload was sent completely, to a client that was still there.
    func answered(_ reply: Reply) {
        guard let send = reply.send, case .whole = reply.delivery else { return }
        do {
            try store.noteAnswered(send)
        } catch {
            complain("the record of uploads: \(error)")
        }
    }

    private func faultedReply(to request: Request, _ segments: [Substring]) -> Reply {
        if let fhir, segments.first == FHIRServer.base[...] {
            return reply(to: request, Array(segments.dropFirst()), fhir)
        }
        let base = dialect.basePath.split(separator: "/")
        guard segments.starts(with: base) else {
            let outside = guarded(request, routes) {
                try answer(request, segments, dialect.outside)
            }
            return Reply(delivery: .whole(outside))
        }
        let rest = Array(segments.dropFirst(base.count))
        let action = faults.next(method: request.method, segments: rest, body: request.body)
        switch action {
        case .expire:
            return Reply(
                delivery: .whole(
                    guarded(request, routes) {
                        if let token = routes.token(of: request) { try store.revoke(token) }
                        return routes.invalidToken
                    }))
        case .outage:
            let found = endpoints(rest, dialect.endpoints)
            let operation = endpoint(for: request.method, found)?.0.operation
            let isCarriedOut = routes.storesInOutage(operation)
            if isCarriedOut { _ = answer(request, rest) }
            return Reply(
                delivery: .whole(routes.dressed(routes.outage(operation, request))),
                isCarriedOut: isCarriedOut)
        default: return reply(to: request, action, routes) { self.answer(request, rest) }
        }
    }

    private func answer(_ request: Request, _ rest: [Substring]) -> Response {
        guarded(request, routes) { try answer(request, rest, dialect.endpoints) }
    }

    /// Returns the reply of the FHIR server, whose bundles meet faults at their entries too.
    private func reply(
        to request: Request, _ segments: [Substring], _ fhir: FHIRServer
    ) -> Reply {
        fhir.begin()
        let usual = {
            self.guarded(request, fhir) { try fhir.answer(request, segments, &self.faults) }
        }
        switch faults.next(method: request.method, segments: segments, body: request.body) {
        case nil, .pass:
            let answer = usual()
            return reply(to: request, fhir.interruption, fhir) { answer }
        case .outage: return Reply(delivery: .whole(faulty(503, nil, request, fhir)))
        case .expire:
            fhir.login.revoke(request.bearer)
            return Reply(delivery: .whole(fhir.invalidToken))
        case .lose:
            fhir.loses = true
            return Reply(delivery: .whole(usual()))
        case .bloat: return Reply(delivery: .whole(FHIRServer.hugeRefusal.response))
        case .empty:
            return Reply(
                delivery: .whole(
                    guarded(request, fhir) {
                        _ = try store.emptyFHIR()
                        return usual()
                    }), isCarriedOut: true)
        case let action: return reply(to: request, action, fhir, usual)
        }
    }

    /// Returns the reply that a fault makes of the usual answer, alike for every API.
    private func reply(
        to request: Request, _ action: FaultAction?, _ forms: any AnswerForms,
        _ usual: () -> Response
    ) -> Reply {
        switch action {
        case nil, .pass: return Reply(delivery: .whole(usual()), isCarriedOut: true)
        case .status(let status, let retryAfter):
            return Reply(delivery: .whole(faulty(status, retryAfter, request, forms)))
        case .reset: return Reply(delivery: .reset)
        case .truncate: return Reply(delivery: .half(usual()), isCarriedOut: true)
        case .latency(let span):
            return Reply(delivery: .whole(usual()), delay: span, isCarriedOut: true)
        case .garbage:
            return Reply(delivery: .whole(forms.garbage))
        case .drop:
            _ = usual()
            return Reply(delivery: .reset, isCarriedOut: true)
        case .stored(let status):
            _ = usual()
            return Reply(
                delivery: .whole(forms.dressed(forms.failureAfterStoring(status, request))),
                isCarriedOut: true)
        case .hang: return Reply(delivery: .never)
        // The APIs answer these before, as far as they have them.
        case .expire, .outage, .lose, .bloat, .empty:
            return Reply(delivery: .whole(faulty(501, nil, request, forms)))
        }
    }

    private func faulty(
        _ status: Int, _ retryAfter: Int?, _ request: Request, _ forms: any AnswerForms
    ) -> Response {
        let headers =
            retryAfter.map { [Response.Header(name: "Retry-After", value: String($0))] } ?? []
        if status == 401 { return forms.dressed(forms.invalidToken) }
        if status == 204 || status == 304 {
            return Response(status: status, headers: headers, body: [])
        }
        if status < 400 { return .json(status, [:], headers: headers) }
        return forms.dressed(forms.fault(status, headers, request))
    }

    /// Returns the answer of `body`, and turns every error that it throws into an answer.
    private func guarded(
        _ request: Request, _ forms: any AnswerForms, _ body: () throws -> Response
    ) -> Response {
        do {
            return forms.dressed(try body())
        } catch let refusal as Refusal {
            return forms.dressed(refusal.response)
        } catch {
            return refused(request, error, forms)
        }
    }

    private func refused(
        _ request: Request, _ error: any Error, _ forms: any AnswerForms
    ) -> Response {
        complain("\(request.method) \(request.path): \(error)")
        return forms.dressed(forms.storeFailed(request))
    }

    /// Returns the most bytes that the body of a request may have.
    func bodyBytes(of request: Request) -> Int {
        guard let fhir, request.path.split(separator: "/").first == FHIRServer.base[...] else {
            return dialect.limits.bodyBytes
        }
        return fhir.manner.requestBytes
    }

    /// Returns the endpoints whose pattern matches the path, with the values for their braces.
    private func endpoints(
        _ segments: [Substring], _ all: [Endpoint]
    ) -> [(Endpoint, [String])] {
        all.compactMap { endpoint in
            endpoint.parameters(in: segments).map { (endpoint, $0) }
        }
    }

    /// Returns the endpoint for a method.
    ///
    /// If several patterns match, the one with the fewest parameters wins: `/insights/status`
    /// before `/insights/{id}`.
    private func endpoint(
        for method: String, _ found: [(Endpoint, [String])]
    ) -> (Endpoint, [String])? {
        found.filter { $0.0.method == method }.min { $0.1.count < $1.1.count }
    }

    private func answer(
        _ request: Request, _ segments: [Substring], _ all: [Endpoint]
    ) throws -> Response {
        let found = endpoints(segments, all)
        if found.isEmpty { return routes.notFound(request) }
        if request.path.hasSuffix("/"), found.allSatisfy(\.0.isExact) {
            return elsewhere(request)
        }
        guard let (endpoint, parameters) = endpoint(for: request.method, found) else {
            let methods = Set(found.map(\.0.method)).sorted().joined(separator: ", ")
            return routes.wrongMethod(methods, request)
        }
        var call = Call(request: request, parameters: parameters, now: clock())
        if !endpoint.isOpen {
            guard let token = routes.token(of: request),
                let grant = try store.grant(token, .access, at: call.now),
                let account = try store.account(id: grant.user)
            else { return routes.invalidToken }
            call.caller = Caller(account: account, session: grant.session)
        }
        if request.isTooLarge {
            return routes.tooLarge(request, most: dialect.limits.bodyBytes)
        }
        return try routes.perform(endpoint.operation, call, self)
    }

    /// Redirects the client to the same path without the trailing slash, at the address and with
    /// the scheme that the service sees.
    private func elsewhere(_ request: Request) -> Response {
        var path = request.path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return Response(
            status: 307,
            headers: [.init(name: "Location", value: request.origin + escaped(path))], body: [])
    }

    /// Returns the path with percent escapes for a URL.
    private func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber)
            return isPlain || "/-._~{}".contains(character)
                ? String(character) : "%" + [byte].hexadecimal.uppercased()
        }.joined()
    }
}

/// The answers of a dialect: its routes, and the format of answers that no route gives.
///
/// It belongs to the service's thread, and may keep state between calls.
protocol RouteSet: AnswerForms {
    /// Returns the answer to a complete call, whose token, if it needs one, is valid.
    func perform(
        _ operation: Operation, _ call: Service.Call, _ service: Service
    ) throws -> Response

    /// Returns the answer of an operation when a system behind the service is down.
    ///
    /// - Parameter operation: the operation; `nil` for a path without one.
    func outage(_ operation: Operation?, _ request: Request) -> Response

    /// Whether the operation is carried out before such an answer.
    func storesInOutage(_ operation: Operation?) -> Bool

    /// Returns the bearer token of a request.
    func token(of request: Request) -> String?

    func notFound(_ request: Request) -> Response
    /// Returns the answer for a method that the path does not support; `methods` lists those that
    /// it supports, separated by commas.
    func wrongMethod(_ methods: String, _ request: Request) -> Response
    func tooLarge(_ request: Request, most: Int) -> Response
}
