import JSON

/// What a client may do, as SMART App Launch 2.2 writes it: `system/Observation.cruds`.
struct FHIRScope {
    /// The type, or `*` for all.
    var type: String
    /// Some of `c`, `r`, `u`, `d` and `s`.
    var letters: Set<Character>

    /// Parses a scope of the second or the first version (`.read`, `.write`, `.*`); `nil` for any
    /// other text.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/")
        let words = parts.last?.split(separator: ".") ?? []
        guard parts.count == 2, parts[0] == "system", words.count == 2 else { return nil }
        type = String(words[0])
        switch words[1] {
        case "read": letters = ["r", "s"]
        case "write": letters = ["c", "u", "d"]
        case "*": letters = Set("cruds")
        default: letters = Set(words[1])
        }
        guard letters.isSubset(of: Set("cruds")) else { return nil }
    }

    /// Returns the scopes in a list.
    static func list(_ text: String) -> [FHIRScope] {
        text.split(separator: " ").compactMap { FHIRScope($0) }
    }
}

/// What the caller of a request may do.
struct FHIRGrant {
    var scopes: [FHIRScope]
    /// The bearer token; `nil` without one.
    var token: String?

    /// Returns whether an interaction with a type is allowed.
    func allows(_ letter: Character, _ type: String) -> Bool {
        scopes.contains { ($0.type == "*" || $0.type == type) && $0.letters.contains(letter) }
    }
}

/// Who may use a FHIR server, and the tokens that it has given.
final class FHIRLogin {
    /// How a client shows who it is.
    enum Method: Sendable, Hashable {
        case none
        /// A token that never changes.
        case token(String)
        /// A client with a secret, in the header or in the form (RFC 6749, section 2.3.1).
        case secret(id: String, secret: String)
        /// A client with a key, whose public half is in a file with a JWK set (SMART Backend
        /// Services).
        case keys(id: String, file: String)

        /// Parses `none`, `token:TEXT`, `secret:ID:SECRET` or `jwt:ID:FILE`; `nil` for any other
        /// text.
        init?(_ text: String) {
            let parts = text.split(separator: ":", maxSplits: 2).map(String.init)
            switch (parts.first, parts.count) {
            case ("none", 1): self = .none
            case ("token", 2): self = .token(parts[1])
            case ("secret", 3): self = .secret(id: parts[1], secret: parts[2])
            case ("jwt", 3): self = .keys(id: parts[1], file: parts[2])
            default: return nil
            }
        }
    }

    private let options: FHIROptions
    private let life: Duration
    private var tokens: [String: (end: Timestamp, grant: FHIRGrant)] = [:]
    /// The `jti` of each assertion, which counts once.
    private var usedAssertions: Set<String> = []

    init(_ options: FHIROptions, tokenLife: Duration) {
        (self.options, life) = (options, tokenLife)
    }

    /// Returns what the caller may do; `nil` without a valid token.
    func grant(of request: Request, at time: Timestamp) -> FHIRGrant? {
        let all = FHIRGrant(scopes: FHIRScope.list(options.scope))
        switch options.login {
        case .none: return all
        case .token(let token): return request.bearer == token ? all : nil
        case .secret, .keys:
            guard let token = request.bearer, let found = tokens[token], found.end > time else {
                return nil
            }
            return FHIRGrant(scopes: found.grant.scopes, token: token)
        }
    }

    /// Ends a token. One that never changes stays valid.
    func revoke(_ token: String?) {
        if let token { tokens[token] = nil }
    }

    /// Ends all tokens, and returns how many there were.
    func expireAll() -> Int {
        defer { tokens = [:] }
        return tokens.count
    }

    private var methods: [String]? {
        switch options.login {
        case .none, .token: nil
        case .secret: ["client_secret_basic", "client_secret_post"]
        case .keys: ["private_key_jwt"]
        }
    }

    /// Returns the answer of `.well-known/smart-configuration` (SMART App Launch 2.2, section
    /// "Conformance").
    func configuration(_ base: String) -> Response {
        guard let methods else {
            return FHIRRefusal(404, "not-found", "The server has no token endpoint").response
        }
        let configuration: JSON = [
            "token_endpoint": .string("\(base)/token"),
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": .array(methods.map { .string($0) }),
            "token_endpoint_auth_signing_alg_values_supported": ["RS384", "ES384"],
            "scopes_supported": .array(
                options.scope.split(separator: " ").map { .string(String($0)) }),
            "capabilities": ["client-confidential-asymmetric", "permission-v1", "permission-v2"],
        ]
        return .ok(configuration)
    }

    /// Returns what the CapabilityStatement says of security; `nil` without a login.
    func security(_ base: String) -> JSON? {
        guard options.login != .none else { return nil }
        let service: JSON = [
            "coding": [
                [
                    "system": "http://terminology.hl7.org/CodeSystem/restful-security-service",
                    "code": "SMART-on-FHIR",
                ]
            ]
        ]
        guard methods != nil else { return ["description": "A bearer token"] }
        return [
            "service": [service],
            "extension": [
                [
                    "url": "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris",
                    "extension": [["url": "token", "valueUri": .string("\(base)/token")]],
                ]
            ],
        ]
    }

    /// Answers at the token endpoint (RFC 6749, section 4.4).
    func token(
        _ request: Request, _ base: String, _ now: Timestamp, _ identifiers: inout Identifiers
    ) throws -> Response {
        guard methods != nil else {
            return FHIRRefusal(404, "not-found", "The server has no token endpoint").response
        }
        let type = request.contentType?.prefix { $0 != ";" }.lowercased().trimmingSpaces
        guard type == "application/x-www-form-urlencoded" else {
            return failure("invalid_request", "Content-Type '\(type ?? "")'")
        }
        var form: [String: String] = [:]
        for pair in FHIRInteraction.pairs(String(decoding: request.body, as: UTF8.self)) {
            form[pair.name] = pair.value
        }
        guard form["grant_type"] == "client_credentials" else {
            return failure("unsupported_grant_type", "grant_type '\(form["grant_type"] ?? "")'")
        }
        if let reason = try refusal(of: form, request, "\(base)/token", now) {
            return failure("invalid_client", reason, status: 401)
        }
        let wanted = form["scope"] ?? ""
        var scopes = FHIRScope.list(wanted)
        // Entra ID takes `BASE/.default` for all that the client is registered for.
        let isDefault = wanted.hasSuffix("/.default") && options.manner.name == "azure"
        let registered = FHIRGrant(scopes: FHIRScope.list(options.scope))
        if isDefault { scopes = registered.scopes }
        for index in scopes.indices where !isDefault {
            let type = scopes[index].type
            scopes[index].letters = scopes[index].letters.filter { registered.allows($0, type) }
        }
        scopes.removeAll { $0.letters.isEmpty }
        if scopes.isEmpty { return failure("invalid_scope", "scope '\(wanted)'") }
        let token = identifiers.token()
        tokens[token] = (now + life, FHIRGrant(scopes: scopes))
        let text = scopes.map { scope in
            "system/\(scope.type)." + "cruds".filter { scope.letters.contains($0) }
        }
        return .json(
            200,
            [
                "access_token": .string(token), "token_type": "bearer",
                "expires_in": .integer(life.wholeMilliseconds / 1000),
                "scope": .string(text.joined(separator: " ")),
            ], headers: FHIRLogin.unstored)
    }

    private static let unstored = [
        Response.Header(name: "Cache-Control", value: "no-store"),
        Response.Header(name: "Pragma", value: "no-cache"),
    ]

    private func failure(_ code: String, _ reason: String, status: Int = 400) -> Response {
        let challenge = Response.Header(name: "WWW-Authenticate", value: "Basic realm=\"token\"")
        return .json(
            status, ["error": .string(code), "error_description": .string(reason)],
            headers: FHIRLogin.unstored + (status == 401 ? [challenge] : []))
    }

    /// Returns why the client is not the one that it says; `nil` if it is.
    private func refusal(
        of form: [String: String], _ request: Request, _ endpoint: String, _ now: Timestamp
    ) throws -> String? {
        switch options.login {
        case .none, .token: return "there is no client"
        case .secret(let id, let secret):
            var found = (id: form["client_id"], secret: form["client_secret"])
            if let text = request.authorization, text.lowercased().hasPrefix("basic ") {
                let bytes = Base64.decode(String(text.dropFirst("basic ".count))) ?? []
                let parts = String(decoding: bytes, as: UTF8.self).split(
                    separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                // Both are escaped as in a form (RFC 6749, section 2.3.1).
                let names = parts.map { FHIRInteraction.pairs(String($0)).first?.name }
                found = names.count == 2 ? (names[0], names[1]) : (nil, nil)
            }
            return found == (id, secret) ? nil : "wrong client '\(found.id ?? "")' or secret"
        case .keys(let id, let file):
            let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            guard form["client_assertion_type"] == type else {
                return "client_assertion_type '\(form["client_assertion_type"] ?? "")'"
            }
            let assertion = FHIRAssertion(form["client_assertion"] ?? "")
            return try assertion.refusal(
                client: id, keys: file, endpoint: endpoint, now: now, used: &usedAssertions)
        }
    }
}
