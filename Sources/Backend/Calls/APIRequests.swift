public import BackendContract
public import HealthModel
import JSON

/// Builds every request that the client sends, without side effects: a dry run prints the same
/// ones.
public struct APIRequests: Hashable, Sendable {
    private let base: String
    let dialect: Dialect

    /// Creates a builder for the backend at `base`, such as `https://host/api/v1`.
    public init(base: String, dialect: Dialect) {
        self.base = base.withoutSlashAtEnd
        self.dialect = dialect
    }

    /// The value of a body's field.
    enum FieldValue {
        case text(String)
        case secret(Secret)
        case flag(Bool)
    }

    /// Returns the request of a call, with `body` as its JSON body unless it is `nil`.
    ///
    /// - Parameters:
    ///   - id: the id in the path.
    ///   - token: the access token; left out if the call takes none.
    /// - Throws: `APIError.notOffered`.
    func request(
        _ call: APICall, id: String = "", query: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, token: Secret? = nil
    ) throws(APIError) -> HTTPRequest {
        let route = try dialect.route(call)
        let pairs = query.map { "\($0.name)=\(percentEncoded($0.value))" }.joined(separator: "&")
        let path = route.path.replacing("{id}", with: percentEncoded(id))
        var headers = [HTTPHeader("Accept", .plain("application/json"))]
        if body != nil { headers.append(HTTPHeader("Content-Type", .plain("application/json"))) }
        var request = HTTPRequest(
            route.method, base + path + (pairs.isEmpty ? "" : "?\(pairs)"), headers: headers,
            body: body)
        request.call = call
        request.isOnce = !route.isRepeatable
        guard let token, route.isAuthorized else { return request }
        return request.authorized(by: token)
    }

    /// Returns the request of a call whose body holds those of `values` that the dialect has fields
    /// for.
    ///
    /// - Throws: `APIError.notOffered`; `.refused` if a field is missing that the dialect requires.
    func request(
        _ call: APICall, _ values: [BodyField: FieldValue], token: Secret? = nil
    ) throws(APIError) -> HTTPRequest {
        let route = try dialect.route(call)
        if let missing = route.fields.first(where: { values[$0] == nil }) {
            throw .refused("the \(call.name) lacks `\(missing.rawValue)`")
        }
        var json = JSONWriter()
        json.object { json in
            for field in route.fields + route.optionalFields {
                switch values[field] {
                case .text(let text): json.field(field.rawValue, text)
                case .secret(let secret): json.field(field.rawValue, secret.reveal())
                case .flag(let flag): json.field(field.rawValue, flag)
                case nil: break
                }
            }
        }
        return try request(call, body: json.bytes, token: token)
    }

    /// Returns a user's id in the dialect's spelling.
    func userID(_ id: String) -> String { dialect.lowersUserIDs ? id.lowercased() : id }

    /// The request whose answer identifies the backend's dialect; the same for every dialect.
    var greeting: HTTPRequest {
        get throws(APIError) { try request(.greeting) }
    }
}

// MARK: - The session

extension APIRequests {
    /// `POST` of a user's credentials.
    func login(email: String, password: Secret) throws(APIError) -> HTTPRequest {
        try request(
            .login,
            [.email: .text(email), .password: .secret(password), .rememberMe: .flag(true)])
    }

    /// `POST` of the refresh token, without the access token.
    func refresh(_ refreshToken: Secret) throws(APIError) -> HTTPRequest {
        try request(.refresh, [.refreshToken: .secret(refreshToken)])
    }

    /// `POST` that ends a session.
    func logout(_ refreshToken: Secret, token: Secret) throws(APIError) -> HTTPRequest {
        try request(.logout, [.refreshToken: .secret(refreshToken)], token: token)
    }

    /// `GET` of the account that the token belongs to.
    func me(token: Secret?) throws(APIError) -> HTTPRequest { try request(.me, token: token) }

    // MARK: - Health data and insights

    /// `POST` of a batch of samples by its route.
    ///
    /// - Throws: `APIError.validation` with the indices of metrics that cannot be written;
    ///   `.requestTooLarge` if the batch exceeds the limits of the route; `.notOffered`.
    public func upload(_ batch: UploadBatch, token: Secret?) throws(APIError) -> HTTPRequest {
        let endpoint = try dialect.endpoint(batch.route)
        return try request(
            endpoint.route.call, body: try endpoint.body(batch, userID: userID(batch.userID)),
            token: token)
    }

    /// `GET` of the progress of an upload.
    func processing(
        _ id: String, route: UploadRoute = .metrics, token: Secret?
    ) throws(APIError) -> HTTPRequest {
        try request(try dialect.endpoint(route).route.statusCall, id: id, token: token)
    }

    /// `GET` of a page of the health data that the backend has.
    ///
    /// - Parameter cursor: the cursor that the previous page named. If the backend pages by offset,
    ///   the number of rows before this page.
    func healthDataPage(
        limit: Int, cursor: String?, token: Secret?
    ) throws(APIError) -> HTTPRequest {
        var query = [("limit", String(limit))]
        switch dialect.paging {
        case .cursor: if let cursor { query.append(("cursor", cursor)) }
        // Sent even for the first page: only then does the backend say where the next one is.
        case .offset: query.append(("offset", cursor ?? "0"))
        }
        return try request(.healthData, query: query, token: token)
    }

    /// `GET` of a page of a user's insights, newest first.
    func insightsPage(
        user: String, limit: Int, offset: Int, token: Secret?
    ) throws(APIError) -> HTTPRequest {
        try request(
            .insightHistory, id: userID(user),
            query: [("limit", String(limit)), ("offset", String(offset))], token: token)
    }
}

/// Returns `text` with every byte as `%XX` that RFC 3986 does not call unreserved. So an id that a
/// server made up cannot leave its path segment, and a `+` stays a plus.
package func percentEncoded(_ text: String) -> String {
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
