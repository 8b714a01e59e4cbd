import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Requests that two programs may read differently, or that a server would read only in part.
@Suite("Requests with two meanings", .timeLimit(.minutes(3)))
struct RawRequestTests {
    /// What a server must refuse: the request's line after the method, and its headers.
    private static let refused: [(path: String, headers: [String])] = [
        ("/x", ["Host: a", "Content-Length: 4", "Content-Length: 40"]),
        ("/x", ["Host: a", "Content-Length: 4", "content-length: 4"]),
        ("/x", ["Host: a", "Content-Length: 4, 40"]),
        ("/x", ["Host: a", "Content-Length: 4", "Transfer-Encoding: chunked"]),
        ("/x", ["Host: a", "Transfer-Encoding: chunked", "Content-Length: 4"]),
        ("/x", ["Host: a", "Host: b", "Content-Length: 4"]),
        ("/x%00y", ["Host: a", "Content-Length: 4"]),
        ("/x?a=b%00c", ["Host: a", "Content-Length: 4"]),
        ("/x?a%00=b", ["Host: a", "Content-Length: 4"]),
        ("/x?" + Array(repeating: "a=1", count: 101).joined(separator: "&"), ["Host: a"]),
    ]

    /// Sends bytes, and returns the statuses of all answers until the server ends the connection.
    private func statuses(_ text: String, port: UInt16) async throws -> [Substring] {
        try await blocking {
            let socket = try LoopbackRequest.open(text, port: port)
            defer { close(socket) }
            var limit = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(
                socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            var answer: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = recv(socket, &chunk, chunk.count, 0)
                // A server that still has bytes to read resets the connection after its answer.
                if count == 0 || (count < 0 && errno == ECONNRESET) { break }
                guard count > 0 else { throw TemporaryFolder.Errno(code: errno) }
                answer += chunk[..<count]
            }
            let parts = String(decoding: answer, as: UTF8.self).split(separator: "HTTP/1.1 ")
            return parts.map { $0.prefix(3) }
        }
    }

    private func check(_ port: UInt16) async throws {
        for (path, headers) in Self.refused {
            for method in ["GET", "POST"] {
                let head = (["\(method) \(path) HTTP/1.1"] + headers).joined(separator: "\r\n")
                // What follows must never be taken for a request of its own.
                let next = "GET /y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

                let found = try await statuses("\(head)\r\n\r\n0\r\n\r\n\(next)", port: port)

                // libmicrohttpd sends the head of a refusal of its own twice.
                #expect(Set(found) == ["400"], "\(method) \(path.prefix(20)) \(headers)")
            }
        }
    }

    @Test func `the pages refuse them with 400 and close the connection`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground, [])
        let cookie = try await pages.enter()
        let query = Array(repeating: "a=1", count: 100).joined(separator: "&")

        try await check(pages.port)
        let hundred = try await pages.send("GET", "/today?\(query)", cookie: cookie)

        #expect(hundred.status == 200)
    }

    @Test func `the receiver refuses them with 400 and closes the connection`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)

        try await check(receiver.port)
        let push = try await receiver.send(ReceiverProgram.push(0), token: token)

        #expect(push.status == 200)
    }

    // MARK: Leave to send a body

    /// Sends a head that waits for leave to send the body, and returns the statuses of all answers.
    private func statuses(
        _ path: String, length: Int, _ headers: [String] = [], port: UInt16
    ) async throws -> [Substring] {
        let head =
            ["POST \(path) HTTP/1.1", "Expect: 100-continue", "Content-Length: \(length)"] + headers
        return try await statuses(head.joined(separator: "\r\n") + "\r\n\r\n", port: port)
    }

    @Test func `the receiver refuses a push before its body if the client waits`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let path = ReceiverProgram.path
        let json = ["Host: a", "Content-Type: application/json"]
        let port = receiver.port

        let large = try await statuses(
            path, length: 65 << 20, json + ["x-api-key: \(token)"], port: port)
        let foreign = try await statuses(path, length: 9, json + ["x-api-key: no"], port: port)
        let text = try await statuses(
            path, length: 9, ["Host: a", "x-api-key: \(token)"], port: port)
        let lost = try await statuses("/", length: 9, ["Host: a"], port: port)
        let body = ReceiverProgram.push(3)
        let taken = try await LoopbackRequest.answer(
            "POST", path,
            headers: [
                "x-api-key": token, "Content-Type": "application/json", "Expect": "100-continue",
            ], body: body, port: port)

        #expect(large == ["413"] && foreign == ["401"] && text == ["415"] && lost == ["404"])
        #expect(taken.contains("HTTP/1.1 200 OK"), "\(taken)")
        #expect(try playground.received().values.map { $0 } == [Array(body.utf8)])
    }

    @Test func `the pages refuse a body that is too large before it if the client waits`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground, [])
        let cookie = try await pages.enter()
        let token = try await pages.send("GET", "/api/v1/session", cookie: cookie).json["csrf"].text
        let head = [
            "Host: 127.0.0.1:\(pages.port)", "Cookie: \(cookie)", "Content-Type: application/json",
            "X-CSRF-Token: \(token ?? "")",
        ]

        let large = try await statuses(
            "/api/v1/actions/run", length: 65 << 20, head, port: pages.port)
        let lost = try await statuses("/nowhere", length: 9, head, port: pages.port)

        #expect(large == ["413"])
        #expect(lost == ["405"])
    }
}
