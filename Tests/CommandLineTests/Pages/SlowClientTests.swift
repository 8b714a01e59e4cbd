import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Clients that take connections and do nothing with them, or next to nothing.
@Suite("Slow clients", .serialized, .timeLimit(.minutes(5)))
struct SlowClientTests {
    /// Connections to a port: every second one is silent, and the others drip a byte of a head at a
    /// time. Whatever the server closes is opened again.
    private final class Crowd {
        private let port: UInt16
        private let head: [UInt8]
        private var sockets: [Int32] = []
        /// How many bytes of the head each connection has sent.
        private var sent: [Int] = []
        private(set) var reopened = 0

        init(_ count: Int, port: UInt16, head: String) throws {
            self.port = port
            self.head = Array(head.utf8)
            for _ in 0..<count {
                sockets.append(try LoopbackRequest.open("", port: port))
                sent.append(0)
            }
        }

        deinit { sockets.forEach { close($0) } }

        /// Opens again what was closed, and lets every second connection send one more byte.
        func press() throws {
            for index in sockets.indices {
                var byte: UInt8 = 0
                let count = recv(sockets[index], &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
                if count == 0 || count < 0 && errno != EAGAIN {
                    close(sockets[index])
                    sockets[index] = try LoopbackRequest.open("", port: port)
                    sent[index] = 0
                    reopened += 1
                }
                guard index % 2 == 1 else { continue }
                var next = head[sent[index] % head.count]
                if send(sockets[index], &next, 1, Int32(MSG_NOSIGNAL)) == 1 { sent[index] += 1 }
            }
        }
    }

    /// A server without a crowd, asked at the same moment: what holds up both is the machine.
    private struct CalmServer {
        private let pages: PagesProgram
        private let cookie: String

        init() async throws {
            pages = try await PagesProgram(try await Playground(sandboxOptions: nil))
            cookie = try await pages.enter()
        }

        func answer(_ path: String) async throws {
            _ = try await pages.send("GET", path, cookie: cookie)
        }
    }

    /// Returns an answer, and whether it came within a second.
    private func timely<Answer>(
        _ ask: () async throws -> Answer
    ) async throws -> (answer: Answer, isTimely: Bool) {
        let start = ContinuousClock.now
        let answer = try await ask()
        return (answer, ContinuousClock.now - start < .seconds(1))
    }

    @Test func `under 600 slow connections the pages answer within a second`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let crowd = try Crowd(
            600, port: pages.port, head: "GET /today HTTP/1.1\r\nHost: x\r\nX-Slow: yes yes yes")

        let calm = try await CalmServer()

        for _ in 0..<5 {
            try crowd.press()
            for path in ["/today", "/assets/app.js", "/enter", "/runs/1"] {
                async let isMachineSlow = !timely { try await calm.answer(path) }.isTimely
                let page = try await timely { try await pages.send("GET", path, cookie: cookie) }
                let isExcused = try await isMachineSlow
                #expect(page.answer.status == 200, "\(path)")
                #expect(page.isTimely || isExcused, "\(path)")
            }
        }
        #expect(crowd.reopened > 0)
    }

    @Test func `under 600 slow bodies the pages answer within a second`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let set = try await playground.run(
            "serve", "password", "--password-stdin", input: "correct horse battery\n")
        #expect(set.status == 0, "\(set.errors)")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let head = """
            POST /enter HTTP/1.1\r
            Host: 127.0.0.1:\(pages.port)\r
            Content-Type: application/x-www-form-urlencoded\r
            Content-Length: 1000\r
            \r
            p
            """
        var bodies: [Int32] = []
        defer { bodies.forEach { close($0) } }
        for _ in 0..<600 { bodies.append(try LoopbackRequest.open(head, port: pages.port)) }

        let calm = try await CalmServer()
        for _ in 0..<5 {
            for var body in bodies {
                _ = send(body, &body, 1, Int32(MSG_NOSIGNAL))
            }
            async let isMachineSlow = !timely { try await calm.answer("/today") }.isTimely
            let page = try await timely { try await pages.send("GET", "/today", cookie: cookie) }
            let isExcused = try await isMachineSlow
            #expect(page.answer.status == 200)
            #expect(page.isTimely || isExcused)
        }
    }

    @Test func `under 600 slow connections the receiver stores a push within a second`()
        async throws
    {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let crowd = try Crowd(
            600, port: receiver.port,
            head: "POST \(ReceiverProgram.path) HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: yes yes")

        let calm = try await CalmServer()
        for number in 0..<5 {
            try crowd.press()
            async let isMachineSlow = !timely { try await calm.answer("/today") }.isTimely
            let push = try await timely {
                try await receiver.send(ReceiverProgram.push(number), token: token)
            }
            let isExcused = try await isMachineSlow
            #expect(push.answer == .init(status: 200, text: "stored"))
            #expect(push.isTimely || isExcused)
        }
        #expect(try playground.received().count == 5)
    }

    @Test func `a head that is not whole after ten seconds ends its connection`() async throws {
        let (playground, _) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let descriptor = try LoopbackRequest.open("POST / HTTP/1.1\r\n", port: receiver.port)
        defer { close(descriptor) }
        let start = ContinuousClock.now

        // A byte a second, as the deadline runs.
        let took = try await blocking {
            var byte = UInt8(ascii: "X")
            var second = timeval(tv_sec: 1, tv_usec: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVTIMEO, &second, socklen_t(MemoryLayout<timeval>.size))
            var answer: UInt8 = 0
            while recv(descriptor, &answer, 1, 0) < 0, errno == EAGAIN,
                ContinuousClock.now - start < .seconds(25)
            {
                send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL))
            }
            return ContinuousClock.now - start
        }

        #expect(took > .seconds(9) && took < .seconds(15), "\(took)")
    }
}
