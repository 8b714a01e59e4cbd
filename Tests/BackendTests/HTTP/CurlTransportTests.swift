import HealthModel
import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc
import Testing

@testable import Backend
@testable import BackendContract

/// Tests the transport over real sockets. Time limits that a test does not wait for are an hour, so
/// that only the limit under test can expire.
@Suite(.timeLimit(.minutes(5)))
struct CurlTransportTests {
    private func transport(
        total: Duration = .seconds(3600), stall: Duration = .seconds(3600), answerBytes: Int = 65536
    ) throws -> CurlTransport {
        try CurlTransport(
            version: "1.2.3",
            limits: .init(total: total, stall: stall, answerBytes: answerBytes))
    }

    private func fault(
        _ transport: CurlTransport, _ request: HTTPRequest
    ) async -> TransportError? {
        do throws(TransportError) {
            _ = try await transport.send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a request arrives as it is and its answer comes back`() async throws {
        let server = try ScriptedServer([
            .answer(201, #"{"a":1}"#, headers: ["Retry-After:  7 ", "X-Twice: 1", "x-twice: 2"])
        ])
        let request = HTTPRequest(
            .post, "\(server.url)/a/../b?c=%2B",
            headers: [
                HTTPHeader("Authorization", .secret(Secret("Bearer t"))),
                HTTPHeader("Content-Type", .plain("application/json")),
            ], body: Array(#"{"é":2}"#.utf8))

        let response = try await transport().send(request)

        #expect(response.status == 201)
        #expect(response.body == Array(#"{"a":1}"#.utf8))
        #expect(response.headers["retry-after"] == "7")
        #expect(response.headers["x-twice"] == "2")
        let seen = try #require(server.requests.first)
        #expect(seen.method == "POST")
        #expect(seen.target == "/a/../b?c=%2B")
        #expect(seen.body == #"{"é":2}"#)
        #expect(
            seen.headers == [
                "host": "127.0.0.1:\(server.port)", "accept": "*/*", "accept-encoding": "gzip",
                "authorization": "Bearer t",
                "content-type": "application/json", "user-agent": "clarity-jobs/1.2.3",
                "content-length": "8",
            ])
    }

    @Test func `a large body is sent without asking first`() async throws {
        let server = try ScriptedServer([.answer()])
        let body = Array(repeating: UInt8(ascii: "x"), count: 2_000_000)

        _ = try await transport().send(HTTPRequest(.post, server.url, body: body))

        let seen = try #require(server.requests.first)
        #expect(seen.body.utf8.count == 2_000_000)
        #expect(seen.headers["expect"] == nil)
    }

    @Test func `a POST without a body has a content length of 0`() async throws {
        let server = try ScriptedServer([.answer(), .answer()])
        let transport = try transport()

        _ = try await transport.send(HTTPRequest(.post, server.url, body: []))
        _ = try await transport.send(HTTPRequest(.post, server.url))

        #expect(server.requests.map(\.body) == ["", ""])
        #expect(server.requests.map { $0.headers["content-length"] } == ["0", "0"])
    }

    @Test func `a connection is kept and nothing of a request stays with it`() async throws {
        let server = try ScriptedServer([.answer(), .answer(404)])
        let transport = try transport()

        _ = try await transport.send(
            HTTPRequest(
                .post, server.url, headers: [HTTPHeader("Authorization", .plain("Bearer t"))],
                body: [0x31]))
        let second = try await transport.send(HTTPRequest(.get, server.url))

        #expect(second.status == 404)
        #expect(server.connections == 1)
        #expect(server.requests.map(\.method) == ["POST", "GET"])
        #expect(server.requests.last?.headers["authorization"] == nil)
        #expect(server.requests.last?.body == "")
    }

    @Test(arguments: [ScriptedAnswer.close, .reset])
    func `a kept connection that the server gave up is replaced at once`(
        ending: ScriptedAnswer
    ) async throws {
        let server = try ScriptedServer([.answer(), ending, .answer(200, "[]")])
        let transport = try transport()
        let request = HTTPRequest(.post, server.url, body: [0x31])

        _ = try await transport.send(request)
        let response = try await transport.send(request)

        #expect(response.body == Array("[]".utf8))
        #expect(server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test(arguments: [ScriptedAnswer.close, .reset])
    func `what must not arrive twice is not sent again, and goes over a connection of its own`(
        ending: ScriptedAnswer
    ) async throws {
        let server = try ScriptedServer([.answer(), ending, .answer(), .answer(200, "[]")])
        let transport = try transport()
        let request = HTTPRequest(.post, server.url, body: [0x31])
        var once = request
        once.isOnce = true

        _ = try await transport.send(request)
        let fault = await fault(transport, once)
        _ = try await transport.send(once)
        _ = try await transport.send(request)

        #expect(fault == .reset)
        #expect(server.requests.map(\.connection) == [1, 2, 3, 1])
    }

    @Test(arguments: [ScriptedAnswer.close, .reset])
    func `what must not arrive twice is not sent again over a kept connection either`(
        ending: ScriptedAnswer
    ) async throws {
        let server = try ScriptedServer([.answer(), .answer(), ending, .answer()])
        let transport = try transport()
        var once = HTTPRequest(.post, server.url, body: [0x31])
        (once.isOnce, once.keepsConnection) = (true, true)

        _ = try await transport.send(once)
        _ = try await transport.send(once)
        let fault = await fault(transport, once)
        _ = try await transport.send(once)

        #expect(fault == .reset)
        // libcurl connects again before it notices that it cannot send again.
        #expect(server.requests.map { $0.connection == 1 } == [true, true, true, false])
        #expect(server.requests.allSatisfy { $0.body == "1" })
    }

    @Test(arguments: [
        (ScriptedAnswer.reset, TransportError.reset), (.close, .reset),
        (.truncated(#"{"a":"#, announced: 20), .truncated),
        (.truncated(#"{"a":"#, announced: 20, then: .reset), .truncated),
        (.garbage("220 mail.example ESMTP\r\n"), .malformed),
        (.answer(200, String(repeating: " ", count: 65537)), .tooLarge(limit: 65536)),
        (
            ScriptedAnswer(
                Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + Array(repeating: 0x20, count: 70_000),
                .close), .tooLarge(limit: 65536)
        ),
        (
            ScriptedAnswer(
                Array("HTTP/1.1 200 OK\r\n".utf8)
                    + Array(
                        repeating: Array(
                            "X-Filler: \(String(repeating: "x", count: 999))\r\n".utf8), count: 80
                    )
                    .joined(), .close), .headTooLarge(limit: 65536)
        ),
    ])
    func `an answer that breaks off or overflows is told apart`(
        answer: ScriptedAnswer, wanted: TransportError
    ) async throws {
        let server = try ScriptedServer([answer])

        let fault = await fault(try transport(), HTTPRequest(.get, server.url))

        #expect(fault == wanted)
        #expect(server.requests.count == 1)
    }

    @Test func `an answer of just the limit is read`() async throws {
        let server = try ScriptedServer([.answer(200, String(repeating: " ", count: 65536))])

        let response = try await transport().send(HTTPRequest(.get, server.url))

        #expect(response.body.count == 65536)
    }

    @Test func `an interim answer is passed over`() async throws {
        let interim = Array("HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n".utf8)
        let server = try ScriptedServer([
            ScriptedAnswer(interim + ScriptedAnswer.answer(200, "1").bytes, .keep)
        ])

        let response = try await transport().send(HTTPRequest(.get, server.url))

        #expect(response.status == 200)
        #expect(response.headers["retry-after"] == nil)
        #expect(response.body == [0x31])
    }

    @Test func `a redirect is an answer and its target is never asked`() async throws {
        let other = try ScriptedServer([.answer()])
        let server = try ScriptedServer([.answer(307, headers: ["Location: \(other.url)/x"])])
        let request = HTTPRequest(
            .get, server.url, headers: [HTTPHeader("Authorization", .secret(Secret("Bearer t")))])

        let response = try await transport().send(request)

        #expect(response.status == 307)
        #expect(other.connections == 0)
    }

    @Test func `a connection is not for the programs that are started meanwhile`() async throws {
        let server = try ScriptedServer([.answer()])
        let transport = try transport()

        _ = try await transport.send(HTTPRequest(.get, server.url))

        let connections = try Descriptors.connections(to: server.port)
        #expect(connections.map { fcntl($0, F_GETFD) } == [FD_CLOEXEC])
    }

    @Test func `a port that nobody listens on is a failed connection`() async throws {
        let port = try DeafPort()

        let fault = await fault(
            try transport(), HTTPRequest(.get, "http://127.0.0.1:\(port.number)"))

        withExtendedLifetime(port) {}
        #expect(fault == .couldNotConnect)
    }

    @Test func `a server that says nothing stalls`() async throws {
        let server = try ScriptedServer([.silence])

        let fault = await fault(
            try transport(stall: .milliseconds(100)), HTTPRequest(.get, server.url))

        #expect(fault == .stalled)
    }

    @Test func `a server that stops within its answer stalls`() async throws {
        let server = try ScriptedServer([.truncated("{", announced: 9, then: .keep)])

        let fault = await fault(
            try transport(stall: .milliseconds(100)), HTTPRequest(.get, server.url))

        #expect(fault == .stalled)
    }

    @Test func `a request without an answer times out`() async throws {
        let server = try ScriptedServer([.silence])

        let fault = await fault(
            try transport(total: .milliseconds(100)), HTTPRequest(.get, server.url))

        #expect(fault == .timeout)
    }

    @Test func `a cancelled task closes its connection`() async throws {
        let server = try ScriptedServer([.silence, .answer()])
        let transport = try transport()
        let task = Task { await fault(transport, HTTPRequest(.get, server.url)) }
        var events = server.events.makeAsyncIterator()

        #expect(await events.next() == .connected(1))
        _ = await events.next()
        task.cancel()

        #expect(await task.value == .cancelled)
        #expect(await events.next() == .closedByClient(1))
        #expect(try await transport.send(HTTPRequest(.get, server.url)).status == 200)
    }

    @Test func `a task that is cancelled before it sends sends nothing`() async throws {
        let server = try ScriptedServer([.answer()])
        let transport = try transport()
        let task = Task {
            // The task cancels itself before it sends.
            await withCheckedContinuation { cancelled in
                withUnsafeCurrentTask { $0?.cancel() }
                cancelled.resume()
            }
            return await fault(transport, HTTPRequest(.get, server.url))
        }

        #expect(await task.value == .cancelled)
        #expect(server.connections == 0)
    }

    @Test func `requests of several tasks are under way together`() async throws {
        let server = try ScriptedServer([.silence, .answer()])
        let transport = try transport()
        let first = Task { await fault(transport, HTTPRequest(.get, server.url)) }
        var events = server.events.makeAsyncIterator()
        _ = await events.next()
        _ = await events.next()

        let second = try await transport.send(HTTPRequest(.get, "\(server.url)/second"))
        first.cancel()

        #expect(second.status == 200)
        #expect(await first.value == .cancelled)
        #expect(server.requests.map(\.target) == ["/", "/second"])
    }

    @Test func `a large body arrives as it is`() async throws {
        let server = try ScriptedServer([.answer()])
        let text = String(repeating: "abc", count: 100_000)

        _ = try await transport().send(HTTPRequest(.post, server.url, body: Array(text.utf8)))

        #expect(server.requests.map(\.body) == [text])
        #expect(server.requests.first?.headers["content-length"] == "300000")
    }

    @Test func `plain http to another machine is refused before anything is sent`() async throws {
        let fault = await fault(
            try transport(), HTTPRequest(.get, "http://192.0.2.1:9/"))

        #expect(fault == .refused("plain http is for this machine only; use `https://`"))
    }

    @Test(arguments: [
        ("X-Note", "a\r\nX-Other: b", "the header `X-Note` is empty or holds a control character"),
        ("X-Note", "a\nb", "the header `X-Note` is empty or holds a control character"),
        ("X-Note", "a\0b", "the header `X-Note` is empty or holds a control character"),
        ("X-Note", "", "the header `X-Note` is empty or holds a control character"),
        ("X-Note: a\r\nX-Other", "b", "a header's name is no HTTP token"),
        ("", "b", "a header's name is no HTTP token"),
        ("X Note", "b", "a header's name is no HTTP token"),
    ])
    func `a header cannot smuggle another one`(
        name: String, value: String, reason: String
    ) async throws {
        let server = try ScriptedServer([.answer()])

        let fault = await fault(
            try transport(),
            HTTPRequest(.get, server.url, headers: [HTTPHeader(name, .plain(value))]))

        #expect(fault == .refused(reason))
        #expect(server.connections == 0)
    }

    @Test func `a version with a line break is refused too`() async throws {
        let server = try ScriptedServer([.answer()])
        let transport = try CurlTransport(version: "1\r\nX: y")

        let fault = await fault(transport, HTTPRequest(.get, server.url))

        #expect(
            fault == .refused("the header `User-Agent` is empty or holds a control character"))
    }

    @Test func `https offers TLS 1.3 alone and takes nothing less`() async throws {
        let server = try ScriptedServer([.garbage("no TLS here")], readsHTTP: false)

        let fault = await fault(
            try transport(), HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"))

        var events = server.events.makeAsyncIterator()
        _ = await events.next()
        guard case .bytes(let hello) = await events.next() else {
            Issue.record("the server got no greeting")
            return
        }
        // RFC 8446, section 4.2.1: supported_versions (43), 3 bytes, 2 bytes of versions, 1.3.
        let extensionBytes: [UInt8] = [0, 43, 0, 3, 2, 3, 4]
        #expect(hello.indices.contains { hello[$0...].starts(with: extensionBytes) })
        #expect(fault == .tls)
    }
}
