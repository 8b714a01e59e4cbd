import Backend
import BackendContract
import ClarityScheduler
import HealthModel
import HealthStore
import JSON
import Platform

/// The login of one attempt at a FHIR server. Its token is in memory alone.
///
/// Several requests may use it at once: one of them renews the token, and the others wait for it.
actor FHIRLogin {
    /// What it means that the server refuses the login's token, for a message.
    nonisolated let refusal: String
    /// A token that does not change.
    private let fixed: Secret?
    private let tokens: FHIRTokens?
    private let clock: any WallClock
    private var current: FHIRTokens.Granted?
    private var renewal: Task<FHIRTokens.Granted, any Error>?

    /// Reads the secrets of a job's options; a dry run gets none.
    ///
    /// - Throws: `Failure` for a secret that is missing, or is no key.
    init(_ options: FHIRUploadOptions, _ context: WorkContext) throws(Failure) {
        clock = context.clock
        refusal =
            switch options.login {
            case .none: "it wants a login"
            case .bearer: "it refuses the token"
            case .clientSecret, .privateKey:
                "it refuses the token that the job has just got for its login"
            }
        guard !context.isDryRun else {
            (fixed, tokens) = (nil, nil)
            return
        }
        fixed = options.login == .bearer ? try context.secret(of: options) : nil
        tokens = try FHIRTokens(options, context)
    }

    /// Returns a request with a token that is valid now; as it is for a server without a login.
    ///
    /// - Throws: `FHIRRefusal` if the login gets no token.
    func authorize(_ request: HTTPRequest) async throws -> HTTPRequest {
        if let fixed { return request.authorized(by: fixed) }
        guard let tokens else { return request }
        if let current, current.isFresh(at: clock.elapsed) {
            return request.authorized(by: current.token)
        }
        return request.authorized(by: try await renew(tokens))
    }

    /// Returns a request that the server refused, with another token than then; `nil` if there can be
    /// no other.
    ///
    /// - Throws: `FHIRRefusal` if the login gets no token.
    func renewed(after request: HTTPRequest) async throws -> HTTPRequest? {
        guard let tokens else { return nil }
        if let current {
            let other = request.authorized(by: current.token)
            // Another request has renewed the token meanwhile.
            if other.headers != request.headers { return other }
        }
        current = nil
        return request.authorized(by: try await renew(tokens))
    }

    private func renew(_ tokens: FHIRTokens) async throws -> Secret {
        if let renewal { return try await renewal.value.token }
        let task = Task { try await tokens.request() }
        renewal = task
        defer { renewal = nil }
        let granted = try await task.value
        current = granted
        return granted.token
    }
}

extension WorkContext {
    fileprivate func secret(of options: FHIRUploadOptions) throws(Failure) -> Secret {
        try secrets.secret(named: options.secretName ?? "")
    }
}

/// Gets access tokens for a client, by the grant `client_credentials` (RFC 6749, section 4.4; SMART
/// App Launch 2.2, "Backend Services").
struct FHIRTokens: Sendable {
    /// A token, and until when it is used.
    struct Granted: Sendable {
        let token: Secret
        /// On the monotonic clock; `nil` if the server does not say.
        let end: Duration?

        func isFresh(at now: Duration) -> Bool { end.map { now < $0 } ?? true }
    }

    /// How a client proves who it is.
    private enum Proof {
        case secret(Secret)
        case key(Secret, place: String)
    }

    /// Where tokens are, and how it takes a client's secret.
    private struct Endpoint {
        let url: String
        var takesBasic = true
    }

    /// Ends a token before its own end, so that it is valid when a request arrives; also half of it.
    private static let margin = Duration.seconds(30)
    /// How far ahead an assertion ends. SMART allows 5 min; the rest is for clocks that differ.
    private static let assertionSeconds: Int64 = 240
    private static let mostTokenBytes = 16 << 10
    private static let mostAnswerBytes = 1 << 20
    /// A longer life is no number of seconds.
    private static let mostSeconds: Int64 = 366 * 86_400

    private let options: FHIRUploadOptions
    private let context: WorkContext
    private let proof: Proof

    /// Reads the secrets; `nil` for a login without a client.
    init?(_ options: FHIRUploadOptions, _ context: WorkContext) throws(Failure) {
        switch options.login {
        case .none, .bearer: return nil
        case .clientSecret: proof = .secret(try context.secret(of: options))
        case .privateKey:
            let (pem, place) =
                if let path = options.keyPath {
                    (try SigningKey.text(of: path), "`\(path)`")
                } else {
                    (
                        try context.secrets.text(named: options.secretName ?? ""),
                        "the secret `\(options.secretName ?? "")`"
                    )
                }
            // Refused before anybody is asked.
            _ = try SigningKey(pem, from: place)
            proof = .key(pem, place: place)
        }
        (self.options, self.context) = (options, context)
    }

    /// Requests a token.
    ///
    /// - Throws: `FHIRRefusal`, or `Failure`.
    func request() async throws -> Granted {
        let endpoint = try await endpoint()
        let place = Self.shown(endpoint.url)
        let start = context.clock.elapsed
        let response = try await send(try request(at: endpoint), to: place)
        guard response.status == 200 else { throw refusal(of: response, at: place) }
        return try granted(try json(of: response, at: place), from: start, at: place)
    }

    private func request(at endpoint: Endpoint) throws -> HTTPRequest {
        var form = [("grant_type", "client_credentials"), ("scope", options.scope)]
        var headers = [
            HTTPHeader("Content-Type", .plain("application/x-www-form-urlencoded")),
            HTTPHeader("Accept", .plain("application/json")),
        ]
        switch proof {
        case .secret(let secret) where endpoint.takesBasic:
            // Both are escaped as in a form (RFC 6749, section 2.3.1).
            let pair = [options.clientID, secret.reveal()].map(percentEncoded)
            let text = Array(pair.joined(separator: ":").utf8).base64
            headers.append(HTTPHeader("Authorization", .secret(Secret("Basic \(text)"))))
        case .secret(let secret):
            form += [("client_id", options.clientID), ("client_secret", secret.reveal())]
        case .key(let pem, let place):
            let key = try SigningKey(pem, from: place)
            form += [
                (
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
                ),
                ("client_assertion", try key.token(claims(for: endpoint.url)).reveal()),
            ]
        }
        var request = HTTPRequest(.post, endpoint.url, headers: headers)
        request.body = Array(
            form.map { "\($0.0)=\(percentEncoded($0.1))" }.joined(separator: "&").utf8)
        // An assertion counts once, and libcurl would send it again.
        request.isOnce = true
        request.allowsPlainHTTP = options.allowsPlainHTTP
        return request
    }

    private func claims(for url: String) -> JSON {
        let random = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        let now = context.clock.now.secondsSince1970
        return [
            "iss": .string(options.clientID), "sub": .string(options.clientID),
            "aud": .string(url), "jti": .string(random.joined(separator: "-")),
            "iat": .integer(now), "exp": .integer(now + Self.assertionSeconds),
        ]
    }

    // MARK: Where

    /// Returns the address that the options name, or the one that the server does.
    private func endpoint() async throws -> Endpoint {
        if let url = options.tokenURL { return Endpoint(url: url) }
        let place = "\(options.url.withoutSlashAtEnd)/.well-known/smart-configuration"
        var request = HTTPRequest(
            .get, place, headers: [HTTPHeader("Accept", .plain("application/json"))])
        request.allowsPlainHTTP = options.allowsPlainHTTP
        let response = try await send(request, to: "`\(place)`")
        switch response.status {
        case 200: break
        case 408, 425, 429, 500...:
            throw FHIRRefusal(
                .unreachable, "`\(place)` answers \(response.status)", after: wait(of: response))
        default:
            throw FHIRRefusal(
                .configuration,
                "`\(place)` answers \(response.status); name the server's `token_url`")
        }
        let answer = try json(of: response, at: "`\(place)`")
        guard let url = answer["token_endpoint"]?.text, url.utf8.count <= 2000,
            url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#")
        else {
            throw FHIRRefusal(
                .configuration, "`\(place)` has no `token_endpoint`; name the server's `token_url`")
        }
        // Nothing secret goes another way than records do.
        guard
            url.lowercased().hasPrefix("https://")
                || !options.url.lowercased().hasPrefix("https://")
        else {
            throw FHIRRefusal(
                .configuration, "`\(place)` names \(Self.shown(url)), which is not https")
        }
        return Endpoint(url: url, takesBasic: try takesBasic(answer, at: "`\(place)`"))
    }

    /// Returns whether a client's secret goes into the header; also without a word about it.
    private func takesBasic(_ answer: JSON, at place: String) throws -> Bool {
        let methods = answer.words("token_endpoint_auth_methods_supported")
        let ours: [String]
        switch proof {
        case .secret: ours = ["client_secret_basic", "client_secret_post"]
        case .key(let pem, let origin):
            ours = ["private_key_jwt"]
            let algorithm = try SigningKey(pem, from: origin).kind.algorithm
            let taken = answer.words("token_endpoint_auth_signing_alg_values_supported")
            guard taken?.contains(algorithm) ?? true else {
                throw FHIRRefusal(
                    .configuration,
                    "\(place) takes no `\(algorithm)`; make a key of another kind with "
                        + "`clarity-jobs fhir keygen`")
            }
        }
        guard let methods else { return true }
        guard let method = ours.first(where: methods.contains) else {
            throw FHIRRefusal(
                .configuration,
                "\(place) takes no `login: \(options.login.rawValue)` "
                    + "(\(ours.joined(separator: ", ")))")
        }
        return method == "client_secret_basic"
    }

    // MARK: Answers

    private func send(_ request: HTTPRequest, to place: String) async throws -> HTTPResponse {
        do throws(TransportError) {
            return try await context.transport.send(request)
        } catch {
            let failure = error.failure(of: place).failure
            throw FHIRRefusal(failure.category, failure.reason)
        }
    }

    private func json(of response: HTTPResponse, at place: String) throws -> JSON {
        guard response.body.count <= Self.mostAnswerBytes else {
            throw FHIRRefusal(
                .configuration,
                "\(place) answers with \(response.body.count) bytes, which is no token")
        }
        do throws(JSONFault) {
            return try JSONParser.parse(response.body)
        } catch {
            // A proxy's page may be gone later.
            throw FHIRRefusal(.unreachable, "\(place) answered with something else than JSON")
        }
    }

    private func granted(
        _ answer: JSON, from start: Duration, at place: String
    ) throws -> Granted {
        func none(_ why: String) -> FHIRRefusal {
            FHIRRefusal(.configuration, "\(place) gave no token: \(why)")
        }
        guard let token = answer["access_token"]?.text, !token.isEmpty else {
            throw none("its answer has no `access_token`")
        }
        guard token.utf8.count <= Self.mostTokenBytes,
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw none("`access_token` is too long, or has characters that no token has") }
        if let type = answer["token_type"]?.text, type.lowercased() != "bearer" {
            throw none("`token_type` is `\(DisplayWord.of(type))`; wanted `Bearer`")
        }
        guard let life = answer["expires_in"], life != .null else {
            return Granted(token: Secret(token), end: nil)
        }
        // Some servers write the number as a text.
        guard let seconds = Int64(life.text ?? life.line),
            (1...Self.mostSeconds).contains(seconds)
        else { throw none("`expires_in` is no number of seconds from 1 to \(Self.mostSeconds)") }
        let span = Duration.seconds(seconds)
        return Granted(token: Secret(token), end: start + span - min(Self.margin, span / 2))
    }

    private func refusal(of response: HTTPResponse, at place: String) -> FHIRRefusal {
        var code: String?
        if response.body.count <= Self.mostAnswerBytes {
            do throws(JSONFault) {
                // Only the code: what else is said may repeat a secret.
                code = try JSONParser.parse(response.body)["error"]?.text.map(DisplayWord.of)
            } catch {
                // The status says enough.
            }
        }
        let says = "\(place) answers \(response.status)" + (code.map { " `\($0)`" } ?? "")
        switch (response.status, code) {
        case (300...399, _):
            return FHIRRefusal(
                .configuration, "\(says), which sends elsewhere; name that place as `token_url`")
        case (408, _), (425, _), (429, _), (500..., _):
            return FHIRRefusal(.unreachable, says, after: wait(of: response))
        case (_, "invalid_scope"):
            return FHIRRefusal(
                .configuration,
                "\(says): it gives no token for `\(options.scope)`; name another `scope`")
        case (401, _), (403, _), (_, "invalid_client"), (_, "unauthorized_client"),
            (_, "invalid_grant"), (_, "access_denied"):
            let why =
                if case .key = proof {
                    "it refuses the client; see whether it has the client's public key, and whether "
                        + "this machine's clock is right"
                } else {
                    "it refuses the client or its secret"
                }
            return FHIRRefusal(.credential, "\(says): \(why)")
        case (404, _), (405, _), (410, _):
            return FHIRRefusal(.configuration, "\(says): there is nobody who gives tokens")
        default: return FHIRRefusal(.configuration, "\(says): it gives no token")
        }
    }

    private func wait(of response: HTTPResponse) -> Duration? {
        RetryAfter.believable(response.headers["retry-after"], now: context.clock.now)
    }

    /// An address, as a message may repeat it: without a query, which may have a secret.
    private static func shown(_ url: String) -> String {
        "`" + url.prefix { !"?`".contains($0) }.prefix(200) + "`"
    }
}

extension JSON {
    /// The texts of a list; `nil` if there is no list.
    fileprivate func words(_ name: String) -> [String]? {
        if case .array(let list) = self[name] { list.compactMap(\.text) } else { nil }
    }
}
