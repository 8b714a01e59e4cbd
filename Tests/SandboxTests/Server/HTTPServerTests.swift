import HTTPServing
import Platform
import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct HTTPServerTests {
    /// A server on a free port, with its service and an access token.
    private struct Running {
        let bench: Bench
        let server: HTTPServer
        let token: String

        init(_ faults: String...) throws {
            bench = try Bench(faults: faults)
            token = try bench.token()
            // From here on, only the server's thread may use the service.
            guard
                let server = HTTPServer(
                    bench.service, try Listener(ListenAddress(host: 0x7F00_0001, port: 0)))
            else { throw Bench.Unexpected() }
            self.server = server
        }

        func client() throws -> RawClient { try RawClient(port: server.address.port) }

        var authorization: String { "Authorization: Bearer \(token)" }

        /// Waits until the server has received `count` requests.
        func untilRequests(_ count: Int) throws {
            for _ in 0..<10_000 where try summary()["requests"] == .count(count) { return }
            throw Bench.Unexpected()
        }

        func summary() throws -> JSON { try sandbox("summary") }

        func sandbox(_ name: String) throws -> JSON {
            let client = try client()
            client.send("GET", "/_sandbox/\(name)")
            return try JSONParser.parse(client.receiveAnswer().body)
        }
    }

    @Test func `requests on one connection are answered in turn`() throws {
        let running = try Running()
        let client = try running.client()

        client.send(
            "POST", "/api/v1/health-data/upload", JSON.upload([.heartRate(1)]).bytes,
            headers: [running.authorization, "Content-Type: application/json"])
        let uploaded = client.receiveAnswer()
        client.send("GET", "/api/v1/health-data?limit=1", headers: [running.authorization])
        let listed = client.receiveAnswer()
        client.send("GET", "/api/v1/auth/me")
        let refused = client.receiveAnswer()

        #expect(uploaded.status == 201)
        #expect(uploaded.head.contains("Content-Type: application/json\r\n"))
        #expect(listed.status == 200)
        #expect(try JSONParser.parse(listed.body)["data"].elements[0]["id"] == .id(1))
        #expect(refused.status == 401)
        #expect(refused.head.contains("WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"))
    }

    @Test func `escapes of the path and the query are resolved`() throws {
        let running = try Running()
        let client = try running.client()

        client.send("GET", "/api/v1/health%2Ddata?limit=%31", headers: [running.authorization])
        let answer = client.receiveAnswer()

        #expect(try JSONParser.parse(answer.body)["pagination"]?["page_size"] == 1)
    }

    @Test func `a body in chunks is one body`() throws {
        let running = try Running()
        let client = try running.client()
        let body = JSON.upload((0..<100).map { .heartRate($0) }).bytes
        let head = [
            "POST /api/v1/health-data/upload HTTP/1.1", "Host: localhost",
            running.authorization, "Transfer-Encoding: chunked", "", "",
        ]

        client.send(Array(head.joined(separator: "\r\n").utf8))
        for start in stride(from: 0, to: body.count, by: 1000) {
            let chunk = body[start..<min(start + 1000, body.count)]
            client.send(
                Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk
                    + Array("\r\n".utf8))
        }
        client.send(Array("0\r\n\r\n".utf8))

        #expect(client.receiveAnswer().status == 201)
        #expect(try running.summary()["metrics"] == 100)
    }

    @Test func `a body of more than 5 MiB is 413, one of 5 MiB is read`() throws {
        let running = try Running()
        let client = try running.client()
        let limit = Dialect.blueprint.limits.bodyBytes
        let spaces = [UInt8](repeating: 0x20, count: limit + 1)

        client.send(
            "POST", "/api/v1/health-data/upload", spaces, headers: [running.authorization])
        let tooLong = client.receiveAnswer()
        client.send(
            "POST", "/api/v1/health-data/upload", Array(spaces.dropLast()),
            headers: [running.authorization])
        let longest = client.receiveAnswer()

        #expect(tooLong.status == 413)
        #expect(longest.status == 422)
    }

    @Test func `reset ends the connection without an answer`() throws {
        let running = try Running("GET /health: reset")
        let client = try running.client()

        client.send("GET", "/api/v1/health")
        let received = client.receiveAll()

        #expect(received.text == "")
        #expect(received.end == .reset)
    }

    @Test func `drop stores the upload and resets`() throws {
        let running = try Running("POST /health-data/upload: drop")
        let client = try running.client()

        client.send(
            "POST", "/api/v1/health-data/upload", JSON.upload([.heartRate(1)]).bytes,
            headers: [running.authorization])
        let received = client.receiveAll()

        #expect(received.text == "")
        #expect(received.end == .reset)
        let summary = try running.summary()
        #expect(summary["metrics"] == 1)
        #expect(summary["by_status"] == ["200": 1, "reset": 1])
    }

    @Test func `truncate announces the whole and sends half`() throws {
        let running = try Running("GET /insights/history/*: truncate")
        let client = try running.client()
        let path = "/api/v1/insights/history/\(Seed.user)?limit=100"

        client.send("GET", path, headers: [running.authorization])
        let received = client.receiveAll()
        let second = try running.client()
        second.send("GET", path, headers: [running.authorization])
        let whole = second.receiveAnswer()

        let parts = received.text.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts[0].hasPrefix("HTTP/1.1 200"))
        #expect(parts[0].contains("Content-Length: \(whole.body.count)"))
        #expect(Array(parts[1].utf8).count == whole.body.count / 2)
    }

    @Test func `latency delays one answer and holds up no other`() throws {
        let running = try Running("GET /health: latency=300ms")
        let slow = try running.client()
        let quick = try running.client()
        let start = ContinuousClock.now

        slow.send("GET", "/api/v1/health")
        quick.send("GET", "/api/v1/pat/health")
        let quickAnswer = quick.receiveAnswer()
        let counted = try running.summary()["requests"]
        let slowAnswer = slow.receiveAnswer()

        #expect(quickAnswer.status == 200)
        // The server had handled both before the slow answer went out. The login is the third.
        #expect(counted == 3)
        #expect(slowAnswer.status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(300))
    }

    @Test func `an upload counts as answered when its answer left for a client that was there`()
        throws
    {
        let running = try Running(
            "POST /health-data/upload: pass x2, latency=200ms, drop, truncate",
            "GET /health: latency=400ms")
        func upload(_ client: borrowing RawClient) {
            client.send(
                "POST", "/api/v1/health-data/upload", JSON.upload([.heartRate(1)]).bytes,
                headers: [running.authorization])
        }
        let first = try running.client()
        for _ in 0..<2 {
            upload(first)
            #expect(first.receiveAnswer().status == 201)
        }
        do {
            let dead = try running.client()
            upload(dead)
            try running.untilRequests(4)
        }
        for _ in 0..<2 {
            let other = try running.client()
            upload(other)
            _ = other.receiveAll()
        }
        // This answer waits longer than the delayed one for the client that is gone.
        let last = try running.client()
        last.send("GET", "/api/v1/health")
        _ = last.receiveAnswer()

        let sends = try running.sandbox("sends")["sends"].elements

        #expect(sends.map { $0["accepted"] } == [true, true, false, false, false])
        #expect(sends.map { $0["last"] } == [false, true, true, true, true])
        #expect(sends[0]["connection"] == sends[1]["connection"])
        #expect(sends.allSatisfy { $0["peer_port"] != 0 })
    }

    @Test func `hang answers nothing until the server ends`() throws {
        let running = try Running("GET /health: hang x2")
        let clients = try (0..<2).map { _ in try running.client() }
        for client in clients { client.send("GET", "/api/v1/health") }
        try running.untilRequests(3)

        running.server.stop()
        let received = clients.map { $0.receiveAll() }

        #expect(received.allSatisfy { $0.text == "" && $0.end != .silent })
    }

    @Test func `the server ends while an answer waits`() throws {
        let running = try Running("GET /health: latency=1h")
        let client = try running.client()
        client.send("GET", "/api/v1/health")
        try running.untilRequests(2)

        running.server.stop()

        #expect(client.receiveAll().end != .silent)
    }

    @Test func `uploads of many connections are all stored`() throws {
        let running = try Running()
        let clients = try (0..<16).map { _ in try running.client() }

        for (index, client) in clients.enumerated() {
            let metrics = (0..<10).map { JSON.heartRate(index * 10 + $0) }
            client.send(
                "POST", "/api/v1/health-data/upload", JSON.upload(metrics).bytes,
                headers: [running.authorization])
        }
        let statuses = clients.map { $0.receiveAnswer().status }

        #expect(statuses == [Int](repeating: 201, count: 16))
        #expect(try running.summary()["distinct_metric_ids"] == 160)
    }

    @Test func `a port that is taken is refused with the system's reason`() throws {
        let first = try Listener(ListenAddress(host: 0x7F00_0001, port: 0))
        let address = first.address

        let error = #expect(throws: SystemError.self) { _ = try Listener(address) }

        #expect(error?.description == "Address already in use")
    }
}
