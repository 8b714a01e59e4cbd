import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

/// Tests the transport against a hostile TLS server. Time limits that a test does not wait for are
/// an hour, so that only the limit under test can expire.
@Suite(
    .enabled(if: HostileServer.isAvailable, "needs python3 and openssl"), .timeLimit(.minutes(5)))
struct CurlTransportTLSTests {
    private static let token = "Bearer marker-9f3b"

    private func transport(
        _ trust: CurlTransport.Trust, total: Duration = .seconds(3600),
        stall: Duration = .seconds(3600)
    ) throws -> CurlTransport {
        try CurlTransport(
            version: "1.2.3",
            limits: .init(
                connect: .seconds(3600), total: total, stall: stall, answerBytes: 65536,
                headBytes: 16384), trust: trust)
    }

    private func request(_ url: String, body: [UInt8]? = nil) -> HTTPRequest {
        HTTPRequest(
            body == nil ? .get : .post, url,
            headers: [
                HTTPHeader("Authorization", .secret(Secret(CurlTransportTLSTests.token)))
            ], body: body)
    }

    private func fault(_ transport: CurlTransport, _ url: String) async -> TransportError? {
        do throws(TransportError) {
            _ = try await transport.send(request(url))
            return nil
        } catch {
            return error
        }
    }

    // MARK: Trust

    /// A way in which a server is not the intended one.
    enum Impostor: String, CaseIterable {
        case speaksOldTLS, hasExpired, isAnother, isUnknown, hasOtherKey
        case bundleIsMissing, bundleIsGarbage

        var error: TransportError {
            switch self {
            case .speaksOldTLS: .tlsVersion
            case .hasExpired: .certificateOutOfDate
            case .isAnother: .certificateForOtherHost
            case .isUnknown: .certificateNotTrusted
            case .hasOtherKey: .pinMismatch
            case .bundleIsMissing, .bundleIsGarbage: .authoritiesUnreadable
            }
        }
    }

    @Test(arguments: Impostor.allCases)
    func `a server that is not the one that is meant gets no request`(
        impostor: Impostor
    ) async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.identity(
            "server", subject: impostor == .isAnother ? "other" : "loopback",
            days: impostor == .hasExpired ? -1 : 2)
        let server = try await HostileServer(
            identity, newest: impostor == .speaksOldTLS ? "1.2" : "1.3")
        var trust = CurlTransport.Trust(authorities: authority.certificate)
        switch impostor {
        case .isUnknown: trust.authorities = nil
        case .bundleIsMissing: trust.authorities = authority.certificate + ".gone"
        case .bundleIsGarbage: trust.authorities = try authority.write("garbage.pem", "garbage")
        case .hasOtherKey:
            let others = [
                try await authority.identity("other").pin,
                try await authority.identity("third").pin,
            ]
            trust.pins = try PublicKeyPins(others)
        default: break
        }

        let fault = await fault(try transport(trust), "\(server.url)/ok")

        #expect(fault == impostor.error)
        // Waits for this line: a server that is ended may not have accepted the connection yet.
        #expect(await server.next() == "connected 1")
        let log = await server.finish()
        #expect(!log.contains { $0.hasPrefix("request") || $0.contains("marker") })
    }

    @Test(arguments: [0, 1])
    func `a server with a pinned key is believed, the backup too`(place: Int) async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        var pins = [try await authority.identity("other").pin]
        pins.insert(identity.pin, at: place)
        let server = try await HostileServer(identity)
        let transport = try transport(
            .init(authorities: authority.certificate, pins: PublicKeyPins(pins)))

        let response = try await transport.send(request("\(server.url)/ok"))

        #expect(response.status == 200)
        #expect(await server.next() == "connected 1")
        #expect(await server.next() == "request 1 GET /ok \(CurlTransportTLSTests.token)")
    }

    // MARK: Limits

    @Test(arguments: [
        ("/endless", TransportError.tooLarge(limit: 65536)),
        ("/announced", .tooLarge(limit: 65536)), ("/bomb", .tooLarge(limit: 65536)),
        ("/drip", .stalled), ("/silent", .stalled), ("/cut", .truncated),
        ("/cut-cleanly", .truncated), ("/no-gzip", .badEncoding),
        ("/other-encoding", .badEncoding), ("/heads", .headTooLarge(limit: 16384)),
        ("/interim", .headTooLarge(limit: 16384)), ("/line", .headTooLarge(limit: 16384)),
    ])
    func `a hostile answer ends with its error and a closed connection`(
        path: String, wanted: TransportError
    ) async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(
            .init(authorities: authority.certificate),
            stall: wanted == .stalled ? .milliseconds(200) : .seconds(3600))

        let fault = await fault(transport, "\(server.url)\(path)")

        #expect(fault == wanted)
        #expect("\(wanted)".contains("marker") == false)
        let log = await server.finish()
        #expect(log.count { $0.hasPrefix("request") } == 1)
        #expect(log.last == "closed 1")
    }

    @Test func `an endless answer times out`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(
            .init(authorities: authority.certificate), total: .milliseconds(200))

        #expect(await fault(transport, "\(server.url)/drip") == .timeout)
    }

    @Test func `a compressed answer is read`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(.init(authorities: authority.certificate))

        let response = try await transport.send(request("\(server.url)/gzip"))

        #expect(response.body == Array("[1]".utf8))
    }

    @Test func `a redirect to another server takes no token there`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let other = try ScriptedServer([.answer()])
        let transport = try transport(.init(authorities: authority.certificate))

        let response = try await transport.send(
            request("\(server.url)/redirect/\(other.port)"))

        #expect(response.status == 307)
        #expect(other.connections == 0)
    }

    // MARK: Connections

    @Test func `a cancelled task has closed its connection`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(.init(authorities: authority.certificate))
        let task = Task { await fault(transport, "\(server.url)/silent") }
        _ = await server.next()
        _ = await server.next()

        task.cancel()

        #expect(await task.value == .cancelled)
        #expect(await server.next() == "closed 1")
    }

    @Test func `a connection that the server closed is replaced`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(.init(authorities: authority.certificate))

        for _ in 1...3 {
            let response = try await transport.send(request("\(server.url)/close"))
            #expect(response.status == 200)
        }

        let log = await server.finish()
        #expect(log.count { $0.hasPrefix("request") } == 3)
    }

    @Test func `a large body begins anew on another connection`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(.init(authorities: authority.certificate))
        let text = String(repeating: "0123456789abcdef", count: 1 << 16)
        let body = Array(text.utf8)

        let first = try await transport.send(request("\(server.url)/once", body: body))
        let second = try await transport.send(request("\(server.url)/once", body: body))

        // The digest of these bytes by `sha256sum`.
        let digest = "aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f"
        #expect(String(decoding: first.body, as: UTF8.self) == digest)
        #expect(String(decoding: second.body, as: UTF8.self) == digest)
    }

    @Test func `requests share a connection of HTTP 2 where it is offered`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(
            try await authority.identity("server"), streams: 2)
        let transport = try transport(.init(authorities: authority.certificate))

        // The server answers neither request before it has both.
        async let first = transport.send(request("\(server.url)/a"))
        async let second = transport.send(request("\(server.url)/b"))

        #expect(try await first.status == 200)
        #expect(try await second.body == Array("{}".utf8))
        #expect(await server.next() == "connected 1")
        #expect(await server.next()?.hasPrefix("stream 1 ") == true)
        #expect(await server.next()?.hasPrefix("stream 1 ") == true)
    }

    @Test func `thousands of requests take one connection`() async throws {
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))
        let transport = try transport(.init(authorities: authority.certificate))

        for _ in 1...2000 {
            let response = try await transport.send(request("\(server.url)/quiet"))
            #expect(response.body.count == 4096)
        }

        #expect(try Descriptors.connections(to: server.port).count == 1)
        #expect(await server.next() == "connected 1")
        let last = try await transport.send(request("\(server.url)/ok"))
        #expect(last.status == 200)
        #expect(await server.next()?.hasPrefix("request 1 ") == true)
    }
}
