import JSON

/// A FHIR R4 server in the manner of a known one, for clients of every maker.
///
/// It is built from the specification (http.html) and knows no client. Like its store, it belongs
/// to one thread at a time.
final class FHIRServer: AnswerForms {
    /// The first segment of every path.
    static let base = "fhir"

    let options: FHIROptions
    let store: Store
    let login: FHIRLogin
    let clock: () -> Timestamp
    private var identifiers = Identifiers()
    /// What became of each entry of the bundle that is being answered, for the record.
    var entries: [JSON] = []
    /// A fault at an entry that concerns the whole answer.
    var interruption: FaultAction?
    /// Whether the answers are as usual and nothing is stored.
    var loses = false
    /// The references of a transaction, which are checked at its end; otherwise `nil`.
    var openReferences: [(target: String, path: String)]?
    /// The last of the ids that count.
    private var lastID: Int64 = 0
    /// A second, and how many interactions were carried out in it.
    private var load: (second: Int64, count: Int) = (0, 0)

    var manner: FHIRManner { options.manner }

    /// Creates a server.
    ///
    /// - Parameter tokenLife: how long an access token is valid.
    init(
        _ options: FHIROptions, _ store: Store, tokenLife: Duration,
        clock: @escaping () -> Timestamp
    ) {
        (self.options, self.store, self.clock) = (options, store, clock)
        login = FHIRLogin(options, tokenLife: tokenLife)
    }

    /// Returns the answer to a request, whose path below the base is `segments`.
    func answer(
        _ request: Request, _ segments: [Substring], _ faults: inout FaultPlan
    ) throws -> Response {
        do {
            return try granted(request, segments, &faults)
        } catch let refusal as FHIRRefusal {
            return refusal.response
        }
    }

    private func granted(
        _ request: Request, _ segments: [Substring], _ faults: inout FaultPlan
    ) throws -> Response {
        let base = request.origin + "/" + FHIRServer.base
        switch (request.method, segments.joined(separator: "/")) {
        case ("GET", "metadata"): return .fhir(200, capabilities(base))
        case ("GET", ".well-known/smart-configuration"): return login.configuration(base)
        case ("POST", "token"): return try login.token(request, base, clock(), &identifiers)
        default: break
        }
        guard let grant = login.grant(of: request, at: clock()) else { return invalidToken }
        if request.isTooLarge { return tooLarge(request) }
        if let encoding = request.headers["content-encoding"], encoding != "identity" {
            throw FHIRRefusal(415, "not-supported", "Content-Encoding '\(encoding)'")
        }
        var body: JSON?
        if !request.body.isEmpty {
            let type = request.contentType?.prefix { $0 != ";" }.lowercased().trimmingSpaces
            guard ["application/fhir+json", "application/json"].contains(type) else {
                throw FHIRRefusal(415, "not-supported", "Content-Type '\(type ?? "")'")
            }
            do {
                body = try JSONParser.parse(request.body)
            } catch {
                throw FHIRRefusal(
                    400, "structure", "Failed to parse JSON at \(error.offset): \(error.reason)")
            }
        }
        let preference = preference(request)
        if segments.isEmpty {
            guard request.method == "POST" else {
                throw FHIRRefusal(405, "not-supported", "\(request.method) of the base")
            }
            return try bundle(body ?? .null, grant, base, preference, &faults)
        }
        if isOverRate() { throw throttled }
        let call = FHIRInteraction(request, segments, resource: body)
        let result = try stored { try perform(call, grant, base) }
        return response(to: call, result, base, preference)
    }

    /// Forgets the request before.
    func begin() { (entries, interruption, loses) = ([], nil, false) }

    /// Records a request with its answer.
    func note(_ request: Request, answer: String) throws {
        let query = request.pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        try store.noteFHIR(
            request, url: request.path + (query.isEmpty ? "" : "?" + query), answer: answer,
            entries: entries, at: clock())
    }

    /// The refusal of an interaction above the rate.
    var throttled: FHIRRefusal {
        FHIRRefusal(status: 429, retryAfter: manner.namesRetryAfter ? 1 : nil)
    }

    /// Counts an interaction; returns whether it is above the rate.
    func isOverRate() -> Bool {
        guard let rate = options.rate else { return false }
        let second = clock().milliseconds / 1000
        load = (second, load.second == second ? load.count + 1 : 1)
        return load.count > rate
    }

    /// The word after `return=` in `Prefer` (http.html, "create/update/patch/transaction").
    private func preference(_ request: Request) -> String {
        let words = request.headers["prefer"]?.split { $0 == "," || $0 == ";" } ?? []
        let found = words.map { $0.trimmingSpaces }.first { $0.hasPrefix("return=") }
        return found.map { String($0.dropFirst("return=".count)) } ?? "representation"
    }

    private func response(
        to call: FHIRInteraction, _ result: FHIRResult, _ base: String, _ preference: String
    ) -> Response {
        var headers: [Response.Header] = []
        if let version = result.version {
            headers.append(.init(name: "ETag", value: version.etag))
            headers.append(.init(name: "Last-Modified", value: version.at.httpDate))
            if call.method == "POST" || result.status == 201 {
                headers.append(.init(name: "Location", value: "\(base)/\(version.url)"))
            }
        }
        guard let body = body(of: call, result, preference) else {
            return Response(status: result.status, headers: headers, body: [])
        }
        return .fhir(result.status, body, headers: headers)
    }

    /// Returns the body of an answer as the client prefers it; `nil` for none.
    func body(of call: FHIRInteraction, _ result: FHIRResult, _ preference: String) -> JSON? {
        if let resource = result.resource { return resource }
        if result.status == 204 { return nil }
        switch call.method == "GET" ? "representation" : preference {
        case "minimal": return nil
        case "OperationOutcome": return FHIRServer.success
        default:
            guard let version = result.version, version.content != nil else {
                return FHIRServer.success
            }
            return version.resource
        }
    }

    private static let success: JSON = [
        "resourceType": "OperationOutcome",
        "issue": [
            ["severity": "information", "code": "informational", "diagnostics": "All OK"]
        ],
    ]

    /// Returns an id of the server's own.
    func newID() throws -> String {
        guard manner.countsIDs else { return identifiers.uuid() }
        let stored = try store.number("SELECT coalesce(max(place), 0) FROM fhir_resources")
        lastID = max(lastID, Int64(stored)) + 1
        return String(lastID)
    }
}

// MARK: - The answers of no route

extension FHIRServer {
    var invalidToken: Response {
        var response = FHIRRefusal(
            401, "login", "The access token is missing, unknown or expired"
        ).response
        response.headers.append(
            .init(name: "WWW-Authenticate", value: "Bearer error=\"invalid_token\""))
        return response
    }

    func tooLarge(_ request: Request) -> Response {
        FHIRRefusal(413, "too-long", "The body has more than \(manner.requestBytes) bytes").response
    }

    func storeFailed(_ request: Request) -> Response { FHIRRefusal(status: 500).response }

    func fault(_ status: Int, _ headers: [Response.Header], _ request: Request) -> Response {
        var response = FHIRRefusal(status: status).response
        response.headers += headers
        return response
    }

    func failureAfterStoring(_ status: Int, _ request: Request) -> Response {
        FHIRRefusal(status: status).response
    }

    func dressed(_ response: Response) -> Response { response }

    /// A refusal with 4 MiB of text.
    static let hugeRefusal = FHIRRefusal(
        400, "processing", String(repeating: "Lorem ipsum 98.6 dolor. ", count: 4 << 20 / 24))

    /// A page of a proxy in front of the server.
    var garbage: Response {
        Response(
            status: 200,
            headers: [.init(name: "Content-Type", value: "text/html; charset=utf-8")],
            body: Array("<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>".utf8))
    }
}

// MARK: - What the server can

extension FHIRServer {
    /// Returns the statement of what the server can (capabilitystatement.html).
    private func capabilities(_ base: String) -> JSON {
        let interactions = [
            "read", "vread", "update", "delete", "history-instance", "create", "search-type",
        ]
        func codes(_ codes: [String]) -> JSON { .array(codes.map { ["code": .string($0)] }) }
        let resources = FHIRValidation.types.map { type -> JSON in
            [
                "type": .string(type), "interaction": codes(interactions),
                "versioning": "versioned", "readHistory": true,
                "updateCreate": .bool(manner.createsByUpdate), "conditionalCreate": true,
                "conditionalRead": "not-supported", "conditionalUpdate": false,
                "conditionalDelete": "not-supported",
                "referencePolicy": manner.checksReferences
                    ? ["literal", "logical", "enforced"] : ["literal", "logical"],
                "searchParam": .array(
                    FHIRSearch.parameters(type).map {
                        ["name": .string($0.name), "type": .string($0.type)]
                    }),
            ]
        }
        var rest: JSON = [
            "mode": "server", "resource": .array(resources),
            "interaction": codes(["batch", "transaction"]),
        ]
        if let security = login.security(base) { rest = rest.adding(["security": security]) }
        return [
            "resourceType": "CapabilityStatement", "status": "active", "kind": "instance",
            "date": .time(clock()), "fhirVersion": "4.0.1",
            "software": ["name": .string("clarity-jobs-sandbox as \(manner.name)")],
            "implementation": [
                "description": "A stand-in for tests on this machine", "url": .string(base),
            ],
            "format": ["json", "application/fhir+json"], "rest": [rest],
        ]
    }
}
