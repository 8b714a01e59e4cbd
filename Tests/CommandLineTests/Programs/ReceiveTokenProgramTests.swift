import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// What one token can do to the pushes of another, and to those after its end.
@Suite("The tokens of pushes", .timeLimit(.minutes(3)))
struct ReceiveTokenProgramTests {
    /// Begins a push, and leaves its last byte out.
    private func begin(
        _ body: String, token: String, _ receiver: ReceiverProgram
    ) throws -> Int32 {
        try LoopbackRequest.open(
            """
            POST \(ReceiverProgram.path) HTTP/1.0\r
            Host: 127.0.0.1\r
            x-api-key: \(token)\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body.dropLast())
            """, port: receiver.port)
    }

    /// Waits until this many pushes are arriving.
    private func waitForDrafts(_ count: Int, _ playground: Playground) async throws {
        while try playground.received().keys.count(where: { $0.hasSuffix(".part") }) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `a push that began before its token was revoked is refused at its end`()
        async throws
    {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let body = ReceiverProgram.push(1)
        let push = try begin(body, token: token, receiver)
        defer { close(push) }
        try await waitForDrafts(1, playground)

        let revoked = try await playground.run("receive", "token", "revoke", "phone")
        // Whoever has the name afterwards has another token.
        let added = try await playground.run("receive", "token", "add", "phone")
        let answer = try await blocking {
            var last = Array(body.utf8.suffix(1))
            guard send(push, &last, 1, Int32(MSG_NOSIGNAL)) == 1 else { return "" }
            var received: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(push, &chunk, chunk.count, 0)
                guard count > 0 else { return String(decoding: received, as: UTF8.self) }
                received += chunk[..<count]
            }
        }

        #expect(revoked.status == 0 && added.status == 0, "\(revoked.errors)\(added.errors)")
        #expect(answer.hasPrefix("HTTP/1.1 401") || answer.hasPrefix("HTTP/1.0 401"), "\(answer)")
        #expect(answer.hasSuffix("the token was revoked\n"), "\(answer)")
        #expect(try playground.received().isEmpty)
    }

    @Test func `a token with many pushes leaves places for another token`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let added = try await playground.run("receive", "token", "add", "watch")
        let other = try #require(added.outputLines.first)
        let receiver = try await ReceiverProgram(playground)
        var held: [Int32] = []
        defer { held.forEach { close($0) } }
        for number in 0..<20 {
            held.append(try begin(ReceiverProgram.push(number), token: token, receiver))
        }
        try await waitForDrafts(4, playground)

        let own = try await receiver.send(ReceiverProgram.push(30), token: token)
        let others = try await receiver.send(ReceiverProgram.push(31), token: other)

        #expect(own == .init(status: 503, text: "too many pushes at the same time"))
        #expect(others == .init(status: 200, text: "stored"))
        #expect(try playground.received().keys.count { $0.hasSuffix(".part") } == 4)
    }
}
