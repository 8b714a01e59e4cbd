import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

/// What a person does on the pages, and what the log says of what was seen there.
@Suite("Actions and views of the pages", .timeLimit(.minutes(5)))
struct PagesActionTests {
    private func playground() async throws -> Playground {
        try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder) + """
                  - id: quick
                    kind: command
                    retry: { attempts: 1 }
                    options: { command: [/bin/true] }
                  - id: broken
                    kind: command
                    retry: { attempts: 1 }
                    options: { command: [/bin/false] }

                """
        }
    }

    @Test func `an action does what its command does`() async throws {
        let playground = try await playground()
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let pause = try await pages.act(
            "pause", #"{"job":"quick","for":"7d","reason":"--abroad, ünd"}"#, cookie: cookie)
        let pauseNote = try await pages.act(
            "pause", #"{"job":"quick","for":"7d","reason":"abroad, ünd"}"#, cookie: cookie)
        let paused = try await playground.json("explain", "quick")["paused"]
        let resume = try await pages.act("resume", #"{"job":"quick"}"#, cookie: cookie)
        let resumed = try await playground.json("explain", "quick")["paused"]

        #expect(pause.status == 400)
        #expect(pauseNote.status == 200 && pauseNote.headers["content-type"] == "application/json")
        #expect(try pauseNote.json.elements.first?["job"].text == "quick")
        #expect(paused["reason"].text == "abroad, ünd" && isInstant(paused["until"].text))
        #expect(resume.status == 200 && resumed == .null)
    }

    @Test func `a run is asked for, and can be cancelled and retried`() async throws {
        let playground = try await playground()
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let asked = try await pages.act("run", #"{"job":"quick"}"#, cookie: cookie)
        let waiting = try await playground.lastRun(of: "quick")
        let number = try #require(waiting["run"].number)
        let cancelled = try await pages.act("cancel", "{\"run\":\(number)}", cookie: cookie)
        let again = try await pages.act("cancel", "{\"run\":\(number)}", cookie: cookie)
        let retried = try await pages.act("retry", "{\"run\":\(number)}", cookie: cookie)
        let done = try await playground.run("run", "--due")
        let succeeded = try await playground.lastRun(of: "quick")

        #expect(asked.status == 200, "\(asked.text)")
        #expect(try asked.json.elements.first?["run"].number == number)
        #expect(waiting["state"].text == "enqueued" && waiting["trigger"].text == "manual")
        #expect(cancelled.status == 200)
        #expect(again.status == 409)
        #expect(try again.json["status"].number == 64)
        #expect(try again.json["message"].text == "run \(number) has ended already: cancelled")
        #expect(try again.error == "run \(number) has ended already: cancelled")
        #expect(retried.status == 200, "\(retried.text)")
        #expect([0, 75].contains(done.status) && succeeded["state"].text == "succeeded")
    }

    @Test func `samples are retried and discarded by state and kind`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 3)
        #expect(
            try await playground.run("import", "\(playground.folder.path)/export.xml").status == 0)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let everything = try await pages.act("outbox-discard", "{}", cookie: cookie)
        let others = try await pages.act(
            "outbox-discard", #"{"state":"queued","kind":"sleep"}"#, cookie: cookie)
        let all = try await pages.act(
            "outbox-discard", #"{"state":"queued","kind":"heart_rate"}"#, cookie: cookie)

        #expect(everything.status == 400)
        #expect(try everything.error == "`state` is missing")
        #expect(others.status == 200, "\(others.text)")
        #expect(try others.json["discarded"].number == 0)
        #expect(all.status == 200)
        #expect(try all.json["discarded"].number == 3)
        #expect(
            try await playground.json("outbox", "list", "--in-state", "queued").elements.isEmpty)
    }

    @Test func `one sample is discarded and retried, or the command's line says why not`()
        async throws
    {
        let playground = try await playground()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        try await playground.sandbox?.addFault("POST /health-data/upload: 422 x*")
        _ = try await playground.run("run", "upload")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()

        let discard = try await pages.act("sample-discard", #"{"id":2}"#, cookie: cookie)
        let again = try await pages.act("sample-discard", #"{"id":"2"}"#, cookie: cookie)
        let retry = try await pages.act("sample-retry", #"{"id":3}"#, cookie: cookie)
        let missing = try await pages.act("sample-retry", #"{"id":99}"#, cookie: cookie)

        #expect(discard.status == 200, "\(discard.text)")
        #expect(try discard.json["discarded"].number == 1)
        #expect(again.status == 409)
        #expect(try again.error == "sample 2 was discarded before")
        #expect(retry.status == 200)
        #expect(try retry.json["retried"].number == 1)
        #expect(missing.status == 409)
        #expect(try missing.error == "the outbox has no sample 99")
        for (body, error) in [
            ("{}", "`id` is missing"),
            (#"{"id":0}"#, "`id` is a number from 1 to 9223372036854775807"),
            (#"{"id":"--all"}"#, "`id` is a number from 1 to 9223372036854775807"),
        ] {
            let faulty = try await pages.act("sample-discard", body, cookie: cookie)
            #expect(faulty.status == 400)
            #expect(try faulty.error == error)
        }
        let foreign = try await pages.act(
            "sample-discard", #"{"id":1}"#, cookie: cookie, headers: ["X-CSRF-Token": ""])
        #expect(foreign.status == 403)
        let states = try await playground.json("outbox", "list").elements.map {
            [$0["id"].number, $0["state"].text == "queued" ? 1 : 0]
        }
        #expect(states == [[3, 1], [2, 0], [1, 0]])
    }

    @Test func `an action outlives a server that is killed in it`() async throws {
        let playground = try await playground()
        _ = try await playground.json("resume", "quick")
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        let token = try #require(session["csrf"].text)
        let body = #"{"job":"quick"}"#
        // The command waits for the history, which this test keeps locked.
        let history = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        try history.execute("BEGIN IMMEDIATE")
        let browser = try LoopbackRequest.open(
            "POST /api/v1/actions/pause HTTP/1.1\r\nHost: 127.0.0.1:\(pages.port)\r\n"
                + "Cookie: \(cookie)\r\nX-CSRF-Token: \(token)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body, port: pages.port)
        defer { close(browser) }
        var child: Int32?
        while child == nil {
            try Task.checkCancellation()
            child = ProcessTable.children(of: pages.program.processID).first
        }

        pages.program.signal(SIGKILL)
        #expect(await pages.program.finish().status == 137)
        try history.execute("ROLLBACK")

        // Where nobody reaps it, it stays as a zombie.
        let command = try #require(child)
        while let state = try? TemporaryFolder.read("/proc/\(command)/stat"),
            !String(decoding: state, as: UTF8.self).contains(") Z ")
        {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(try await playground.json("explain", "quick")["paused"] != .null)
        #expect(try await playground.run("audit").status == 0)
    }

    @Test func `a page's views of a metric are one entry an hour and session`() async throws {
        let playground = try await playground()
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        #expect(try await playground.run("run", "upload").status == 0)
        let pages = try await PagesProgram(playground)
        let (first, second) = (try await pages.enter(), try await pages.enter())
        func views() async throws -> [JSONValue] {
            try await playground.json("audit", "log").elements.filter {
                $0["detail"].text?.contains("shown on a page") == true
            }
        }

        var hours: [Int] = []
        for cookie in [first, first, second, first] {
            for path in ["metrics/heart_rate?since=2026-10-01", "records?type=HeartRate&by=month"] {
                let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: cookie)
                #expect(answer.status == 200, "\(answer.text)")
            }
            hours.append(try await views().count)
        }

        // Two parts of a session each; an hour may begin in the meantime.
        let entries = try await views()
        let starts = Set(entries.compactMap { $0["at"].text?.prefix(13) })
        #expect(entries.count <= 4 * starts.count && entries.count >= 4, "\(hours)")
        if starts.count == 1 { #expect(hours == [2, 2, 4, 4]) }
        #expect(entries.allSatisfy { $0["action"].text == "read" })
        #expect(try await playground.run("audit", "log", "--verify").status == 0)
        // A view on a terminal is an entry each.
        let before = try await playground.json("audit", "log").elements.count
        _ = try await playground.json("metrics", "heart_rate", "--since", "2026-10-01")
        _ = try await playground.json("metrics", "heart_rate", "--since", "2026-10-01")
        #expect(try await playground.json("audit", "log").elements.count == before + 2)
    }
}
