import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@testable import clarity_jobs_web

/// The stream of changes.
@Suite("The events of the pages", .timeLimit(.minutes(5)))
struct PagesEventTests {
    /// A browser that listens.
    private final class Listening: Sendable {
        let descriptor: Int32

        init(_ pages: PagesProgram, _ cookie: String) throws {
            descriptor = try LoopbackRequest.open(
                "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:\(pages.port)\r\n"
                    + "Cookie: \(cookie)\r\n\r\n", port: pages.port)
        }

        deinit { close(descriptor) }

        /// Whether something has come that was not read.
        var hasMore: Bool {
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
        }

        /// Ends the connection, whoever still refers to this.
        func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        /// Reads until `text` has come, and returns what has.
        func read(until text: String) async throws -> String {
            let descriptor = descriptor
            return try await blocking {
                var received: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 4096)
                while !String(decoding: received, as: UTF8.self).contains(text) {
                    let count = recv(descriptor, &chunk, chunk.count, 0)
                    guard count > 0 else { break }
                    received += chunk[..<count]
                }
                return String(decoding: received, as: UTF8.self)
            }
        }
    }

    private static let changed = "event: changed\ndata: {}\n\n"

    @Test func `each change of the history is an event, and a reading is none`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 3)
        #expect(
            try await playground.run("import", "\(playground.folder.path)/export.xml").status == 0)
        _ = try await playground.json("pause", "upload")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let browser = try Listening(pages, cookie)
        let head = try await browser.read(until: "retry: 2000\n\n")

        // `records` writes an entry into the audit log at first. An event would come 200 ms later,
        // which is long before the last of these answers.
        for _ in 0..<6 {
            for path in [
                "records?type=HeartRate&by=month", "jobs", "history", "explain?job=upload",
                "status", "doctor",
            ] {
                #expect(
                    try await pages.send("GET", "/api/v1/\(path)", cookie: cookie).status == 200)
            }
        }
        #expect(!browser.hasMore)
        _ = try await pages.act("resume", #"{"job":"upload"}"#, cookie: cookie)
        let first = try await browser.read(until: Self.changed)
        _ = try await playground.json("pause", "upload")
        let second = try await browser.read(until: Self.changed)

        #expect(head.contains("HTTP/1.1 200") && head.contains("Content-Type: text/event-stream"))
        #expect(first.contains(Self.changed) && second.contains(Self.changed))
    }

    @Test func `what a running attempt writes is an event`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.json("pause", "upload")
        mkdir("\(playground.statePath)/attempts", 0o700)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let browser = try Listening(pages, cookie)
        _ = try await browser.read(until: "retry: 2000\n\n")
        _ = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)

        var events = ""
        for name in ["me.1.1.out", "me.1.1.progress"] {
            try playground.folder.write("state/attempts/\(name)", Array("x".utf8))
            events += try await browser.read(until: Self.changed)
        }

        #expect(events.ranges(of: Self.changed).count == 2, "\(events)")
    }

    @Test func `two hundred browsers hear of a change, and the memory stays`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        _ = try await playground.json("pause", "upload")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        var browsers = try (0..<200).map { _ in try Listening(pages, cookie) }
        for browser in browsers { _ = try await browser.read(until: "retry: 2000\n\n") }
        let before = try pages.residentKibibytes
        for _ in 0..<5 {
            _ = try await playground.json("pause", "upload")
            for browser in browsers {
                #expect(try await browser.read(until: Self.changed).contains(Self.changed))
            }
        }
        let after = try pages.residentKibibytes
        let count = try pages.threads
        // Browsers that have left make room for others, once the server has written to them.
        browsers.forEach { $0.leave() }
        let witness = try Listening(pages, cookie)
        _ = try await witness.read(until: "retry: 2000\n\n")
        for _ in 0..<3 {
            _ = try await playground.json("pause", "upload")
            #expect(try await witness.read(until: Self.changed).contains(Self.changed))
        }
        browsers = try (0..<200).map { _ in try Listening(pages, cookie) }
        for browser in browsers { _ = try await browser.read(until: "retry: 2000\n\n") }
        _ = try await playground.json("pause", "upload")
        for browser in browsers {
            #expect(try await browser.read(until: Self.changed).contains(Self.changed))
        }

        #expect(after < 30 << 10 && after - before < 1 << 10, "\(before) to \(after) KiB")
        #expect(count <= 8)
        #expect(try pages.residentKibibytes < 32 << 10)
    }

    @Test func `a server that stops ends the streams and the requests`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground)
        let browser = try Listening(pages, try await pages.enter())
        _ = try await browser.read(until: "retry: 2000\n\n")

        pages.program.signal(SIGTERM)
        let rest = try await browser.read(until: "never")
        let end = await pages.program.finish()

        #expect(!rest.contains("event"))
        #expect(end.status == 143)
    }

    @Test func `changes are collected, and signs of life come every 15 seconds`() {
        let start = ContinuousClock.now
        var plan = EventPlan(at: start)
        #expect(plan.next == start + .seconds(15))

        plan.noteChange(at: start + .milliseconds(900), EventPlan.outputDelay)
        #expect(plan.next == start + .milliseconds(2900))
        plan.noteChange(at: start + .seconds(1), EventPlan.delay)
        plan.noteChange(at: start + .seconds(1) + .milliseconds(150), EventPlan.delay)
        #expect(plan.next == start + .milliseconds(1200))
        #expect(plan.take(at: start + .milliseconds(1199)) == (false, false))
        #expect(plan.take(at: start + .milliseconds(1200)) == (true, false))
        #expect(plan.take(at: start + .milliseconds(1400)) == (false, false))
        #expect(plan.take(at: start + .seconds(15)) == (false, true))
        #expect(plan.next == start + .seconds(30))
    }
}
