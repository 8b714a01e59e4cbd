import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct RoutingTests {
    @Test(arguments: [
        ("GET", "/nothing"), ("GET", "/health-data/"), ("POST", "/health-data/upload/more"),
        ("GET", "/insights/history"), ("GET", ""),
    ])
    func `a path without an endpoint is 404`(_ method: String, _ path: String) throws {
        let bench = try Bench()
        // A trailing slash adds no segment, so `/health-data/` is an endpoint: 401 without a token.
        let expected = path == "/health-data/" ? 401 : path == "/insights/history" ? 401 : 404

        #expect(try bench.call(method, path).status == expected)
    }

    @Test(arguments: [
        ("GET", "/auth/login", "POST"), ("DELETE", "/health-data", "GET"),
        ("POST", "/insights/status", "GET"), ("GET", "/health-data/upload", "POST"),
        ("POST", "/health-data/processing/x", "GET"), ("HEAD", "/health", "GET"),
    ])
    func `another method is 405 and told which there are`(
        _ method: String, _ path: String, _ allowed: String
    ) throws {
        let bench = try Bench()

        guard case .whole(let response) = bench.reply(method, path).delivery else {
            throw Bench.Unexpected()
        }

        #expect(response.status == 405)
        #expect(response.headers.contains(.init(name: "Allow", value: allowed)))
        #expect(response.headers.contains { $0.value == "application/problem+json" })
    }

    @Test func `every endpoint but the open ones wants a token`() throws {
        let bench = try Bench()

        for endpoint in Dialect.blueprint.endpoints {
            for token in [nil, "unknown"] {
                let answer = try bench.call(endpoint.method, endpoint.path, token: token)
                if endpoint.isOpen {
                    #expect(answer.status != 401, "\(endpoint.path)")
                } else {
                    #expect(answer.status == 401, "\(endpoint.path)")
                    #expect(answer.body == ["error": "invalid_token"])
                }
            }
        }
    }

    @Test func `a literal segment goes before a parameter`() throws {
        let bench = try Bench()
        let token = try bench.token()

        let status = try bench.call("GET", "/insights/status", token: token)
        let unknown = try bench.call("GET", "/insights/none", token: token)

        #expect(status.body["data"]?["service"] == "insights")
        #expect(unknown.status == 404)
    }

    @Test func `a body that is no JSON object is 422 at its place`() throws {
        let bench = try Bench()
        func login(_ body: String) throws -> [String] {
            let request = Request(
                method: "POST", path: "/api/v1/auth/login", body: Array(body.utf8))
            guard case .whole(let response) = bench.service.reply(to: request).delivery,
                response.status == 422
            else { throw Bench.Unexpected() }
            return try JSONParser.parse(response.body).faults
        }

        #expect(try login("") == ["body.0 json_invalid"])
        #expect(try login("{\"email\": \"a\tb\"}") == ["body.12 json_invalid"])
        #expect(try login("[]") == ["body dict_type"])
    }

    @Test(arguments: [
        ("application/json", 422), ("Application/JSON; charset=utf-8", 422), ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
    ])
    func `a body that is declared otherwise is 415`(_ type: String, _ status: Int) throws {
        let bench = try Bench()

        let reply = bench.service.reply(
            to: Request(
                method: "POST", path: "/api/v1/auth/login", contentType: type,
                body: Array("{}".utf8)))

        #expect(reply.outcome == String(status))
    }

    @Test func `a body that is too long is 413`() throws {
        let bench = try Bench()
        let token = try bench.token()

        let reply = bench.service.reply(
            to: Request(
                method: "POST", path: "/api/v1/health-data/upload",
                authorization: "Bearer \(token)", isTooLarge: true))

        #expect(reply.outcome == "413")
    }

    @Test func `the scheme of a token may be written in either case`() throws {
        let bench = try Bench()
        let token = try bench.token()

        let reply = bench.service.reply(
            to: Request(
                method: "GET", path: "/api/v1/auth/me", authorization: "bearer \(token)"))

        #expect(reply.outcome == "200")
    }

    @Test func `service health needs no token`() throws {
        let bench = try Bench()

        #expect(try bench.call("GET", "/health").body["status"] == "healthy")
        #expect(try bench.call("GET", "/pat/health").body["service"] == "pat")
    }
}
