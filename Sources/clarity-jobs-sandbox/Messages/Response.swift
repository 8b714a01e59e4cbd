import JSON

/// An answer as the routes produce it.
struct Response: Hashable, Sendable {
    /// A header and its value.
    struct Header: Hashable, Sendable {
        var name: String
        var value: String
    }

    var status: Int
    var headers: [Header]
    var body: [UInt8]

    /// Returns an answer with a JSON body.
    static func json(
        _ status: Int, _ body: JSON, type: String = "application/json", headers: [Header] = []
    ) -> Response {
        Response(
            status: status, headers: [Header(name: "Content-Type", value: type)] + headers,
            body: body.bytes)
    }

    /// Returns the answer 200 with a JSON body.
    static func ok(_ body: JSON) -> Response { .json(200, body) }

    /// Returns problem details (RFC 9457).
    static func problem(
        _ status: Int, _ detail: String, instance: String, headers: [Header] = []
    ) -> Response {
        .json(
            status,
            [
                "type": "about:blank", "title": .string(title(status)),
                "status": .count(status), "detail": .string(detail),
                "instance": .string(instance),
            ],
            type: "application/problem+json", headers: headers)
    }

    /// The contract's answer to a request whose token is missing, unknown, expired or revoked.
    static let invalidToken = Response.json(
        401, ["error": "invalid_token"],
        headers: [Header(name: "WWW-Authenticate", value: "Bearer error=\"invalid_token\"")])

    /// Returns an error with a code of the contract: `{"error": {"code", "message"}}`.
    static func error(_ status: Int, code: String, _ message: String) -> Response {
        .json(status, ["error": ["code": .string(code), "message": .string(message)]])
    }

    /// Returns a list of the faults in a request.
    static func unprocessable(_ faults: [RequestFault]) -> Response {
        .json(422, ["detail": .array(faults.map(\.json))])
    }

    static func title(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: status < 500 ? "Request Refused" : "Server Fault"
        }
    }
}

/// The answers of an API that no route gives.
protocol AnswerForms: AnyObject {
    /// The answer to a request whose token is missing, unknown, expired or revoked.
    var invalidToken: Response { get }
    /// Returns the answer when the store cannot read or write.
    func storeFailed(_ request: Request) -> Response
    /// Returns the answer for an injected error status.
    func fault(
        _ status: Int, _ headers: [Response.Header], _ request: Request
    ) -> Response
    /// Returns the answer for a failure after the request was processed.
    func failureAfterStoring(_ status: Int, _ request: Request) -> Response
    /// Returns the answer with the headers that every answer has.
    func dressed(_ response: Response) -> Response
    /// An answer 200 that is no JSON.
    var garbage: Response { get }
}

extension AnswerForms {
    var garbage: Response {
        Response(
            status: 200,
            headers: [.init(name: "Content-Type", value: "application/json")],
            body: Array("<html><body>It works!</body></html>".utf8))
    }
}

/// An answer that ends a request early.
struct Refusal: Error {
    var response: Response

    init(_ response: Response) { self.response = response }
}

/// What the server does on the connection.
struct Reply: Hashable, Sendable {
    /// How the answer is sent, if at all.
    enum Delivery: Hashable, Sendable {
        case whole(Response)
        /// Announces the length of the whole body, sends half of it and closes the connection.
        case half(Response)
        /// Resets the connection without an answer.
        case reset
        /// Never sends anything.
        case never
    }

    var delivery: Delivery
    /// How long the answer is delayed.
    var delay: Duration?
    /// Whether the routes processed the request, and no fault took their place.
    var isCarriedOut = false
    /// The entry in the record of uploads to mark once the answer has been sent.
    var send: Int64?

    /// The outcome that the record of requests counts: the status, `reset` or `hang`.
    var outcome: String {
        switch delivery {
        case .whole(let response), .half(let response): String(response.status)
        case .reset: "reset"
        case .never: "hang"
        }
    }
}

// The formats of the deployed backend's errors.

extension Response {
    /// Returns `{"detail": "text"}`, the format of most routes.
    static func detail(_ status: Int, _ text: String, headers: [Header] = []) -> Response {
        .json(status, ["detail": .string(text)], headers: headers)
    }

    /// Returns problem details below `detail`, the format of the auth routes.
    static func nestedProblem(
        _ status: Int, _ type: String, _ text: String, instance: String
    ) -> Response {
        .json(status, ["detail": details(status, type, text, instance)])
    }

    /// Returns problem details at the top level, the format of the limiter only.
    static func limited(instance: String, headers: [Header]) -> Response {
        .json(
            429,
            details(
                429, "rate_limit_exceeded", "Too many requests in this window.", instance),
            headers: headers)
    }

    /// Returns an error with a code, the format of the insight routes.
    static func coded(
        _ status: Int, _ code: String, _ message: String, request: String, at time: String
    ) -> Response {
        .json(
            status,
            [
                "detail": [
                    "code": .string(code), "message": .string(message), "details": [:],
                    "request_id": .string(request), "timestamp": .string(time),
                    "suggested_action": .null,
                ]
            ])
    }

    /// The answer after an exception that nobody caught.
    static let crash = Response(
        status: 500, headers: [Header(name: "Content-Type", value: "text/plain; charset=utf-8")],
        body: Array("Internal Server Error".utf8))

    private static func details(
        _ status: Int, _ type: String, _ text: String, _ instance: String
    ) -> JSON {
        [
            "type": .string(type), "title": .string(title(status)), "status": .count(status),
            "detail": .string(text), "instance": .string(instance), "trace_id": .null,
            "errors": .null, "help_url": .null,
        ]
    }
}
