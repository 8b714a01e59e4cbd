@testable import clarity_jobs
import ClarityScheduler
import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

@Suite("demo", .timeLimit(.minutes(5)))
struct DemoCommandProgramTests {
    private let folder: TemporaryFolder
    private var environment: [String: String] {
        [
            "HOME": "\(folder.path)/home", "TMPDIR": "\(folder.path)/temporary",
            "PATH": "/usr/bin:/bin", "TZ": "Asia/Tokyo",
            // What is there already is not read.
            "CLARITY_JOBS_CONFIG": "\(folder.path)/home/jobs.yaml",
            "CLARITY_JOBS_STATE": "\(folder.path)/home/state",
        ]
    }

    init() throws {
        folder = try TemporaryFolder()
        for name in ["home", "temporary"] { mkdir("\(folder.path)/\(name)", 0o700) }
        try folder.write("home/jobs.yaml", Array("not a job file\n".utf8))
    }

    private func left() throws -> [String] { try folder.contents().keys.sorted() }

    private func demo() throws -> TerminalProgram {
        try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["demo", "--listen", "127.0.0.1:0"],
            environment: environment)
    }

    private func link(_ screen: String) throws -> (port: UInt16, path: String) {
        let link = try #require(
            screen.firstMatch(of: /open http:\/\/127\.0\.0\.1:(\d+)(\/enter\?token=\S+)/),
            "\(screen)")
        return (try #require(UInt16(link.1)), String(link.2))
    }

    /// Returns the port of the stand-in for a server.
    private func standIn(_ screen: String) throws -> UInt16 {
        let count = /received: http:\/\/127\.0\.0\.1:(\d+)\/_sandbox\/summary/
        return try #require(screen.firstMatch(of: count).flatMap { UInt16($0.1) }, "\(screen)")
    }

    @Test func `invented days are on the pages, and Ctrl-C leaves nothing`() async throws {
        let program = try demo()
        let screen = await program.read(until: "works once")
        let link = try link(screen)
        // What the other side has, and each sample once.
        let port = try standIn(screen)
        let counts = try JSONValue(
            await LoopbackRequest.send("GET", "/_sandbox/summary", port: port))
        let sent = try #require(
            screen.firstMatch(of: /succeeded: ([\d,]+) sent/)
                .flatMap { Int($0.1.replacing(",", with: "")) }, "\(screen)")
        #expect(counts["samples"].number == sent && counts["doubled"].number == 0, "\(counts)")
        #expect(counts["metrics"] == counts["distinct_metric_ids"])
        #expect(screen.contains("the outbox is sound: \(sent) samples"))
        func send(_ path: String, cookie: String? = nil) async throws -> PagesProgram.Answer {
            let text = try await LoopbackRequest.answer(
                "GET", path, host: "127.0.0.1:\(link.port)",
                headers: cookie.map { ["Cookie": $0] } ?? [:], body: "", port: link.port)
            return try #require(PagesProgram.Answer(text), "no answer: \(text)")
        }
        let cookie = try #require(try await send(link.path).cookie)
        var days: [String: Int] = [:]
        for measure in ["heart_rate", "steps", "sleep", "resting_heart_rate"] {
            let answer = try await send("/api/v1/metrics/\(measure)?since=90d", cookie: cookie)
            let found = try answer.json["measures"].elements.first?["days"].elements ?? []
            days[measure] = found.count
        }
        let summary = try await send("/api/v1/summary", cookie: cookie)
        program.type("\u{3}")
        let end = await program.finish()

        #expect(days.values.allSatisfy { $0 >= 55 && $0 <= 60 }, "\(days)")
        #expect(summary.status == 200)
        #expect(end.status == 130, "\(end.screen)")
        await #expect(throws: (any Error).self) {
            _ = try await LoopbackRequest.send("GET", "/_sandbox/summary", port: port)
        }
        #expect(end.screen.contains("the demo's data is removed: \(folder.path)/temporary/"))
        #expect(try left() == ["home", "home/jobs.yaml", "temporary"])
    }

    @Test func `a signal ends the pages too, and removes the data`() async throws {
        let program = try demo()
        let screen = await program.read(until: "works once")
        let port = try link(screen).port
        let standIn = try standIn(screen)

        program.signal(SIGTERM)
        let end = await program.finish()

        #expect(end.status == 143, "\(end.screen)")
        #expect(try left() == ["home", "home/jobs.yaml", "temporary"])
        for port in [port, standIn] {
            await #expect(throws: (any Error).self) {
                _ = try await LoopbackRequest.send("GET", "/", port: port)
            }
        }
    }

    @Test func `without the program of the pages it shows the summary and names the package`()
        async throws
    {
        for name in ["clarity-jobs", "clarity-jobs-worker", "clarity-jobs-keeper"] {
            try folder.linkProgram(name)
        }

        let result = try await ChildProgram.run(
            "\(folder.path)/clarity-jobs", ["demo"], environment: environment)

        #expect(result.status == 78, "\(result.errors)")
        #expect(result.output.contains("resting heart rate"), "\(result)")
        #expect(
            result.errorLines.suffix(2) == [
                "clarity-jobs: there is no program `clarity-jobs-web`, which shows the pages",
                "help: install the package clarity-jobs-web too",
            ], "\(result)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/temporary") == [])
    }

    @Test func `the same time gives the same export, and nothing in it is later`() throws {
        let now = try #require(Instant(rfc3339: "2026-11-20T12:34:56Z"))

        let text = DemoExport.text(at: now, in: .utc)
        let again = DemoExport.text(at: now, in: .utc)
        let times = text.matches(of: /endDate="([^"]*)"/).map { String($0.1) }

        #expect(text == again)
        #expect(times.count > 5000)
        #expect(times.max().map { $0 <= "2026-11-20 12:34:56 +0000" } == true)
        #expect(times.min().map { $0 >= "2026-09-21" } == true, "\(times.min() ?? "")")
    }
}
