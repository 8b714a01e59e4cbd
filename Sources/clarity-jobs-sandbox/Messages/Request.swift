import JSON

/// A request as the routes receive it.
struct Request: Sendable {
    var method: String
    /// The path without the query, with percent escapes decoded.
    var path: String
    var query: [String: String] = [:]
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
