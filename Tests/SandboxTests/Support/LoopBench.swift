import JSON

@testable import clarity_jobs_sandbox

extension Bench {
    /// Makes a service that speaks the deployed backend's dialect.
    static func loop(_ quirks: Set<Quirk> = [], faults: [String] = []) throws -> Bench {
        var dialect = Dialect.loop
        dialect.quirks = quirks
        return try Bench(faults: faults, dialect: dialect)
    }

    func loopLogin(_ password: String = Seed.password) throws -> (status: Int, body: JSON) {
        try call(
            "POST", "/auth/login",
            ["email": .string(Seed.email), "password": .string(password)])
    }

    /// Logs in the demo user and returns an access token.
    func loopToken() throws -> String { try loopLogin().body["access_token"].string }

    /// Registers a second user and returns an access token.
    func loopStrangersToken() throws -> String {
        try call(
            "POST", "/auth/register", ["email": "new@example.com", "password": "Fresh-Passw0rd"]
        ).body["access_token"].string
    }

    func upload(_ body: JSON, token: String) throws -> (status: Int, body: JSON) {
        try call("POST", "/health-data/", body, token: token)
    }

    func summary(_ name: String) throws -> JSON? {
        try call("GET", "/_sandbox/summary").body[name]
    }

    /// Sends a request and returns an answer that is delivered whole, with its headers.
    func response(
        _ method: String, _ path: String, _ body: JSON? = nil, token: String? = nil
    ) throws -> Response {
        guard case .whole(let response) = reply(method, path, body, token: token).delivery else {
            throw Unexpected()
        }
        return response
    }
}

extension Response {
    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
