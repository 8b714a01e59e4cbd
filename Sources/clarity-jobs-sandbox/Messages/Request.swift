import JSON

/// A request as the routes see it.
struct Request: Sendable {
    var method: String
    /// The path without the query, percent escapes resolved.
    var path: String
    var query: [String: String] = [:]
    /// The value of `Authorization`.
    var authorization: String?
    /// The value of `Content-Type`.
    var contentType: String?
    /// The value of `Host`.
    var host: String?
    /// The number that `Content-Length` gives.
    var announcedLength: Int?
    var body: [UInt8] = []
    /// Whether the body was longer than the dialect allows; it is not kept then.
    var isTooLarge = false
    /// The connection that it came on, counted from 1 by the server; 0 where there is none.
    var connection = 0
    /// The client's port on that connection.
    var peerPort = 0

    /// The bearer token; the scheme's case does not count (RFC 9110).
    var bearer: String? {
        guard let authorization else { return nil }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// Where the service is, as the request sees it.
    var origin: String { "http://" + (host ?? "localhost") }

    /// Whether the body is declared to be JSON, or not declared.
    var isJSON: Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.trimmingSpaces == "application/json"
    }
}

extension StringProtocol {
    /// The text without the spaces and tabs at its ends.
    var trimmingSpaces: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let start = firstIndex(where: { !isSpace($0) }),
            let end = lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[start...end])
    }
}
