import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

/// Tests probes over real sockets.
@Suite(.timeLimit(.minutes(5))) struct URLProbeTests {
    private func outcome(_ url: String) async throws -> Result<Int, TransportError> {
        try await blocking {
            let probe = try URLProbe(version: "1.2.3")
            return Result { () throws(TransportError) in try probe.status(of: url) }
        }
    }

    @Test func `a probe is one request that names only its user agent`() async throws {
        let server = try ScriptedServer([
            .answer(302, headers: ["Location: /elsewhere", "Set-Cookie: a=b"]), .answer(),
        ])

        let outcome = try await outcome("\(server.url)/a/../ok?x=%2B")

        #expect(outcome == .success(302))
        let seen = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        #expect(seen.method == "GET")
        #expect(seen.target == "/a/../ok?x=%2B")
        #expect(
            seen.headers == [
                "host": "127.0.0.1:\(server.port)", "accept": "*/*",
                "user-agent": "clarity-jobs/1.2.3",
            ])
    }

    @Test func `a probe can ask again and keeps no cookie`() async throws {
        let server = try ScriptedServer([
            .answer(200, "", headers: ["Set-Cookie: a=b"]), .answer(404, ""),
        ])

        let statuses = try await blocking {
            let probe = try URLProbe(version: "1.2.3")
            return [try probe.status(of: server.url), try probe.status(of: server.url)]
        }

        #expect(statuses == [200, 404])
        #expect(server.requests.last?.headers["cookie"] == nil)
    }

    @Test(arguments: [
        (ScriptedAnswer.answer(200, ""), Result<Int, TransportError>.success(200)),
        (.answer(599), .success(599)),
        // The probe waits neither for a very long body nor for one that never ends.
        (.truncated("a", announced: 1 << 40, then: .keep), .success(200)),
        (.answer(200, String(repeating: "x", count: 3_000_000)), .success(200)),
        (.truncated("", announced: 20), .failure(.truncated)),
        (.reset, .failure(.reset)), (.close, .failure(.reset)),
        (.garbage("220 mail.example ESMTP\r\n"), .failure(.malformed)),
        (.garbage("HTTP/1.1 100 Continue\r\n\r\n"), .failure(.reset)),
    ])
    func `the head is the answer and the rest is left`(
        answer: ScriptedAnswer, wanted: Result<Int, TransportError>
    ) async throws {
        let server = try ScriptedServer([answer])

        #expect(try await outcome(server.url) == wanted)
    }

    @Test func `a port that nobody listens on is no answer`() async throws {
        let url = "http://127.0.0.1:1/"

        #expect(try await outcome(url) == .failure(.couldNotConnect))
    }

    @Test func `a server without a trusted certificate is no answer`() async throws {
        let server = try ScriptedServer([.garbage("no tls\r\n")], readsHTTP: false)

        let outcome = try await outcome("https://127.0.0.1:\(server.port)/")

        #expect(outcome == .failure(.tls))
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/hostname", "http://a:b@127.0.0.1/", "127.0.0.1", "",
        "http://a b/",
    ])
    func `what is no url of http or https, or holds a password, is refused`(
        url: String
    ) async throws {
        guard case .failure(.refused) = try await outcome(url) else {
            Issue.record("\(url) was asked")
            return
        }
    }
}
