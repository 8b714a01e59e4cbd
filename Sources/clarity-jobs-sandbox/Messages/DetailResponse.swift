import JSON

// The forms in which the deployed backend speaks of errors.

extension Response {
    /// `{"detail": "text"}`: what most routes say.
    static func detail(_ status: Int, _ text: String, headers: [Header] = []) -> Response {
        .json(status, ["detail": .string(text)], headers: headers)
    }

    /// Problem details below `detail`, as the auth routes have them.
    static func nestedProblem(
        _ status: Int, _ type: String, _ text: String, instance: String
    ) -> Response {
        .json(status, ["detail": details(status, type, text, instance)])
    }

    /// Problem details at the top, as the limiter alone has them.
    static func limited(instance: String, headers: [Header]) -> Response {
        .json(
            429,
            details(
                429, "rate_limit_exceeded", "Too many requests in this window.", instance),
            headers: headers)
    }

    /// An error with a code, as the insight routes have it.
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

    /// What comes of an exception that nobody caught.
    static let crash = Response(
        status: 500, headers: [Header(name: "Content-Type", value: "text/plain; charset=utf-8")],
        body: Array("Internal Server Error".utf8))

    /// The list of what is wrong with a request, each with the value that was found there.
    static func unprocessable(_ faults: [EchoedFault]) -> Response {
        .json(422, ["detail": .array(faults.map(\.json))])
    }

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

/// What is wrong at one place of a request, with the value found there: the deployed backend
/// sends back what it refuses.
struct EchoedFault: Hashable, Sendable {
    var location: Location
    var message: String
    /// The machine's word for it, such as `missing`.
    var type: String
    /// The value; for a field that is missing, the object that lacks it.
    var input: JSON
    /// The bound that was crossed, and the like.
    var context: JSON?

    var json: JSON {
        let json: JSON = [
            "type": .string(type), "loc": location.json, "msg": .string(message),
            "input": input,
        ]
        guard let context, case .object(let members) = json else { return json }
        return .object(members + [.init(name: "ctx", value: context)])
    }
}
