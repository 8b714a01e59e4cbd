public import ClarityJobs

/// Builds every request that the client sends; pure, so that a dry run prints the same ones.
public struct APIRequests: Hashable, Sendable {
    private let base: String
    private let dialect: Dialect

    /// Creates a builder for the backend at `base`, such as `https://host/api/v1`.
    public init(base: String, dialect: Dialect) {
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
        self.dialect = dialect
    }

    /// `POST` of a person's credentials.
    public func login(email: String, password: Secret) -> HTTPRequest {
        post(dialect.paths.login) { json in
            json.field("email", email)
            json.field("password", password.reveal())
            json.field("remember_me", true)
        }
    }

    /// `POST` of the refresh token, without the access token.
    public func refresh(_ refreshToken: Secret) -> HTTPRequest {
        post(dialect.paths.refresh) { $0.field("refresh_token", refreshToken.reveal()) }
    }

    /// `POST` that ends a session.
    public func logout(_ refreshToken: Secret, token: Secret) -> HTTPRequest {
        post(dialect.paths.logout) { $0.field("refresh_token", refreshToken.reveal()) }
            .authorized(by: token)
    }

    /// `GET` of who the token belongs to.
    public func me(token: Secret) -> HTTPRequest {
        get(dialect.paths.me, token: token)
    }

    /// `POST` of a batch of samples.
    ///
    /// - Throws: `APIError.validation` with the indices of metrics that cannot be written, and
    ///   `.requestTooLarge` beyond the dialect's limits.
    public func upload(_ batch: UploadBatch, token: Secret) throws(APIError) -> HTTPRequest {
        post(dialect.paths.upload, body: try dialect.uploadBody(batch)).authorized(by: token)
    }

    /// What an upload by `route` must keep to; without one by the dialect's standard route.
    ///
    /// - Throws: `APIError.notOffered`.
    func uploadRules(_ route: UploadRoute?) throws(APIError) -> UploadRules {
        guard route != .samples else { throw .notOffered("uploads by the route `samples`") }
        return UploadRules(
            route: .metrics, samplesPerRequest: dialect.limits.metricsPerRequest,
            requestBytes: dialect.limits.requestBytes, isIdempotent: true, takesFuture: false,
            kinds: dialect.fields.mapValues { UploadRules.Kind($0.metricType) })
    }

    /// `GET` of how far the backend is with an upload.
    public func processing(_ id: String, token: Secret) -> HTTPRequest {
        get(dialect.paths.processing, id: id, token: token)
    }

    /// `GET` of a page of the health data that the backend has.
    public func healthDataPage(limit: Int, cursor: String?, token: Secret) -> HTTPRequest {
        var query = [("limit", String(limit))]
        if let cursor { query.append(("cursor", cursor)) }
        return get(dialect.paths.healthData, query: query, token: token)
    }

    /// `GET` of a page of a person's insights, newest first.
    public func insightsPage(user: String, limit: Int, offset: Int, token: Secret) -> HTTPRequest {
        get(
            dialect.paths.insightHistory, id: user,
            query: [("limit", String(limit)), ("offset", String(offset))], token: token)
    }

    private func get(
        _ path: String, id: String = "", query: [(name: String, value: String)] = [],
        token: Secret
    ) -> HTTPRequest {
        let pairs = query.map { "\($0.name)=\(percentEncoded($0.value))" }.joined(separator: "&")
        let whole = path.replacing("{id}", with: percentEncoded(id))
        return HTTPRequest(
            .get, base + whole + (pairs.isEmpty ? "" : "?\(pairs)"), headers: [accept]
        ).authorized(by: token)
    }

    private func post(_ path: String, _ fields: (inout JSONWriter) -> Void) -> HTTPRequest {
        var json = JSONWriter()
        json.object(nil, fields)
        return post(path, body: json.bytes)
    }

    private func post(_ path: String, body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            .post, base + path,
            headers: [accept, HTTPHeader("Content-Type", .plain("application/json"))], body: body)
    }

    private var accept: HTTPHeader { HTTPHeader("Accept", .plain("application/json")) }
}

/// `text` with every byte that RFC 3986 does not call unreserved as `%XX`: an id that a server
/// made up cannot leave its place in a path, and a `+` stays a plus.
private func percentEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            encoded.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            encoded += byte < 16 ? "%0" : "%"
            encoded += String(byte, radix: 16, uppercase: true)
        }
    }
    return encoded
}
