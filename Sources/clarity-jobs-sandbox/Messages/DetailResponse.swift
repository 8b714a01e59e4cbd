import JSON

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
