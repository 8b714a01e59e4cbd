import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopTransportTests {
    @Test(arguments: [
        ("/health", "/health"), ("/health", "/api/v1/health"), ("", "/api/v1/health/ready"),
        ("", "/api/v1/auth/health"), ("the index", "/api/v1/"),
    ])
    func `the health and the index of the service need no token`(_ note: String, _ path: String)
        throws
    {
        let reply = try Bench.loop().service.reply(to: Request(method: "GET", path: path))

        #expect(reply.outcome == "200")
    }

    @Test func `every endpoint but the open ones wants a token`() throws {
        let bench = try Bench.loop()

        for endpoint in Dialect.loop.endpoints where !endpoint.isOpen {
            let answer = try bench.call(endpoint.method, endpoint.path)
            #expect(answer.status == 401, "\(endpoint.path)")
            #expect(answer.body == ["detail": "Authentication required"])
        }
    }

    @Test(arguments: [
        ("GET", "/nothing", 404), ("POST", "/health-data/upload", 405), ("GET", "/insights", 405),
        ("GET", "/healthkit/sync", 404), ("POST", "/insights/generate", 405),
        ("POST", "/pat/analyze", 404), ("POST", "/healthkit_upload", 404),
        ("GET", "/health-data/query", 410),
    ])
    func `the blueprint's and other clients' paths are not there`(
        _ method: String, _ path: String, _ status: Int
    ) throws {
        let bench = try Bench.loop()

        #expect(try bench.call(method, path, token: try bench.loopToken()).status == status)
    }

    @Test(arguments: [
        ("/auth/login/", "/auth/login"), ("/health/", "/health"),
        ("/insights/a%\r\nb/", "/insights/a%25%0D%0Ab"),
    ])
    func `a slash too many sends the client elsewhere`(_ path: String, _ target: String) throws {
        let bench = try Bench.loop()

        guard
            case .whole(let response) = bench.service.reply(
                to: Request(method: "POST", path: "/api/v1" + path, host: "host:1")
            ).delivery
        else { throw Bench.Unexpected() }

        #expect(response.status == 307)
        #expect(response.header("Location") == "http://host:1/api/v1" + target)
    }

    @Test(
        arguments: [
            ([0x1F, 0x8B, 0x08], 400, "There was an error parsing the body"),
            (Array("{".utf8), 422, nil),
            (Array("[]".utf8), 422, nil), ([], 422, nil),
        ] as [([UInt8], Int, String?)])
    func `a body that is no JSON object has its status`(
        _ body: [UInt8], _ status: Int, _ detail: String?
    ) throws {
        let bench = try Bench.loop()

        guard
            case .whole(let response) = bench.service.reply(
                to: Request(method: "POST", path: "/api/v1/auth/login", body: body)
            ).delivery
        else { throw Bench.Unexpected() }

        #expect(response.status == status)
        if let detail {
            #expect(try JSONParser.parse(response.body)["detail"] == .string(detail))
        }
    }

    @Test func `a body that is too long is told its size`() throws {
        let bench = try Bench.loop()

        let reply = bench.service.reply(
            to: Request(
                method: "POST", path: "/api/v1/health-data/",
                authorization: "Bearer \(try bench.loopToken())", announcedLength: 6_291_456,
                isTooLarge: true))

        guard case .whole(let response) = reply.delivery else { throw Bench.Unexpected() }
        let body = try JSONParser.parse(response.body)
        #expect(response.status == 413)
        #expect(response.header("Retry-After") == "3600")
        #expect(body["max_size_mb"] == 5.0)
        #expect(body["received_size_mb"] == 6.0)
    }

    @Test func `answers are not to be stored, but a crash says nothing of it`() throws {
        let bench = try Bench.loop(faults: ["GET /health: pass, 500"])

        let usual = try bench.response("GET", "/health")
        let crash = try bench.response("GET", "/health")

        #expect(usual.header("Cache-Control") == "no-store, private")
        #expect(crash == .crash)
    }

    @Test(
        arguments: [
            ("POST", "/auth/login", 401, "invalid_credentials"),
            ("POST", "/auth/refresh", 500, "refresh_error"), ("GET", "/auth/me", 401, nil),
            ("POST", "/health-data/", 400, nil), ("GET", "/health-data", 400, nil),
            ("GET", "/health-data/processing/x", 400, nil), ("DELETE", "/health-data/x", 400, nil),
            ("POST", "/healthkit/", 500, nil), ("POST", "/insights/", 503, nil),
            ("GET", "/health", 200, nil),
        ] as [(String, String, Int, String?)])
    func `an outage looks like a mistake of the client where it is deployed`(
        _ method: String, _ path: String, _ status: Int, _ type: String?
    ) throws {
        let bench = try Bench.loop([.wrongStatuses], faults: ["\(method) \(path): outage"])
        let clean = try Bench.loop(faults: ["\(method) \(path): outage"])

        let answer = try bench.call(method, path, [:])

        #expect(answer.status == status)
        if let type { #expect(answer.body["detail"]?["type"] == .string(type)) }
        #expect(try clean.call(method, path, [:]).status == 503)
    }

    @Test func `an outage of the logins counts towards the lock`() throws {
        let bench = try Bench.loop(
            [.wrongStatuses, .lockout], faults: ["POST /auth/login: outage x3"])

        let statuses = try (0..<4).map { _ in try bench.loopLogin().status }

        #expect(statuses == [401, 401, 401, 429])
    }
}
