import JSON

/// A request as the routes receive it.
struct Request: Sendable {
    var method: String
    /// The path without the query, with percent escapes decoded.
    var path: String
    var query: [String: String] = [:]
    /// The decoded parameters of the query in their order; a name may come several times.
    var pairs: [(name: String, value: String)] = []
    /// The further headers that the FHIR server reads, by their names in lower case.
    var headers: [String: String] = [:]
    /// The value of `Authorization`.
    var authorization: String?
    /// The value of `Content-Type`.
    var contentType: String?
    /// The value of `Host`.
    var host: String?
    /// The value of `Content-Length`.
    var announcedLength: Int?
    var body: [UInt8] = []
    /// Whether the body was longer than the dialect allows; then the body is discarded.
    var isTooLarge = false
    /// The number of the connection, counted by the server from 1; 0 without a connection.
    var connection = 0
    /// The client's port on the connection.
    var peerPort = 0

    /// The bearer token. The scheme is not case-sensitive (RFC 9110).
    var bearer: String? {
        guard let authorization else { return nil }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// The URL of the service as the client sees it.
    var origin: String { "http://" + (host ?? "localhost") }

    /// Whether the body is declared as JSON or not declared at all.
    var isJSON: Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.trimmingSpaces == "application/json"
    }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    var trimmingSpaces: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let start = firstIndex(where: { !isSpace($0) }),
            let end = lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[start...end])
    }
}

/// A location in a request, such as `["body", "metrics", 7, "created_at"]`.
struct Location: Hashable, Sendable, ExpressibleByStringLiteral {
    enum Step: Hashable, Sendable {
        case name(String)
        case index(Int)
    }

    var steps: [Step]

    init(stringLiteral name: String) { steps = [.name(name)] }

    static func / (location: Location, name: String) -> Location {
        location.adding(.name(name))
    }

    static func / (location: Location, index: Int) -> Location {
        location.adding(.index(index))
    }

    private func adding(_ step: Step) -> Location {
        var longer = self
        longer.steps.append(step)
        return longer
    }

    var json: JSON {
        .array(
            steps.map { step in
                switch step {
                case .name(let name): .string(name)
                case .index(let index): .count(index)
                }
            })
    }
}

/// A fault at one location of a request.
struct RequestFault {
    var location: Location
    var message: String
    /// The machine-readable type, such as `missing`.
    var type: String
    /// The value found there, or for a missing field the object that lacks it, and further details
    /// such as the bound that the value exceeds.
    ///
    /// Only the deployed backend sends back the values that it refuses.
    var echo: (input: JSON, context: JSON?)?

    var json: JSON {
        let (location, message) = (location.json, JSON.string(message))
        guard let echo else {
            return ["loc": location, "msg": message, "type": .string(type)]
        }
        let members: [JSON.Member] = [
            .init(name: "type", value: .string(type)), .init(name: "loc", value: location),
            .init(name: "msg", value: message), .init(name: "input", value: echo.input),
        ]
        return .object(members + (echo.context.map { [.init(name: "ctx", value: $0)] } ?? []))
    }
}
