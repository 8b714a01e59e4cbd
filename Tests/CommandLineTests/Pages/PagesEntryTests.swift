import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing
import WebAPI

@testable import clarity_jobs_web

/// How a browser logs in, and for how long.
@Suite("The way into the pages", .timeLimit(.minutes(3)))
struct PagesEntryTests {
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil)
    }

    @Test func `a link opens the pages once, with a cookie that scripts cannot read`()
        async throws
    {
        let playground = try await playground()
        let pages = try await PagesProgram(playground)
        let link = try await pages.link()

        let first = try await pages.send("GET", link)
        let second = try await pages.send("GET", link)
        let page = try await pages.send("GET", "/today", cookie: first.cookie)

        #expect(first.status == 303 && first.headers["location"] == "/today")
        let cookie = try #require(first.headers["set-cookie"])
        #expect(
            cookie.wholeMatch(
                of:
                    /clarity-pages-\d+=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200/
            )
                != nil, "\(cookie)")
        #expect(second.status == 403 && second.cookie == nil)
        #expect(second.text.contains("This link was used before, or it has expired."))
        #expect(page.status == 200 && page.text.contains("<html"))
    }

    @Test func `a link is used up by neither a look at its head nor a wrong one`() async throws {
        let pages = try await PagesProgram(try await playground())
        let link = try await pages.link()

        let head = try await pages.send("HEAD", link)
        let wrong = try await pages.send("GET", "\(link.dropLast(2))00")

        #expect(head.status == 200 && head.cookie == nil)
        #expect(wrong.status == 403 && wrong.cookie == nil)
        #expect(try await pages.send("GET", link).status == 303)
    }

    @Test func `a link works for ten minutes and is kept as a digest only`() async throws {
        let playground = try await playground()
        let pages = try await PagesProgram(playground)
        let link = try await pages.link()
        let file = "\(playground.statePath)/pages/link"
        let text = String(decoding: try TemporaryFolder.read(file), as: UTF8.self)
        var status = stat()
        stat(file, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(!text.contains(link.suffix(64)))

        // The file as if the link had been made 601 seconds ago.
        let access = PageAccess(stateDirectory: playground.statePath)
        let now = Instant(millisecondsSince1970: Int64(time(nil)) * 1000)
        let late = try access.makeLink(at: now - .seconds(601))
        let expired = try await pages.send("GET", "/enter?token=\(late)")
        let fresh = try access.makeLink(at: now - .seconds(590))

        #expect(expired.status == 403 && expired.cookie == nil)
        #expect(try await pages.send("GET", "/enter?token=\(fresh)").status == 303)
    }

    @Test func `a link that is made once the server says that it listens names its port`()
        async throws
    {
        let playground = try await playground()
        let early = try await playground.run("serve", "link")
        #expect(early.output.hasPrefix("http://127.0.0.1:8799/enter?token="))
        #expect(
            early.errors == """
                no pages were served yet: `clarity-jobs serve`, or clarity-jobs-web.socket of systemd

                """)
        // A server that listened elsewhere before.
        try PageAccess(stateDirectory: playground.statePath).note(address: "http://127.0.0.1:9")

        let pages = try await PagesProgram(playground)
        let noted = try PageAccess(stateDirectory: playground.statePath).address()
        let link = try await playground.run("serve", "link")

        #expect(noted == "http://127.0.0.1:\(pages.port)")
        #expect(link.output.hasPrefix("http://127.0.0.1:\(pages.port)/enter?token="))
        #expect(link.status == 0 && link.errors == "")
    }

    @Test func `without a session there is no page, no data and no action`() async throws {
        let pages = try await PagesProgram(try await playground())
        let cookie = "clarity-pages-\(pages.port)=\(String(repeating: "0", count: 64))"

        for cookie in [nil, cookie] {
            let page = try await pages.send("GET", "/jobs", cookie: cookie)
            let data = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)
            let events = try await pages.send("GET", "/api/v1/events", cookie: cookie)
            let action = try await pages.send(
                "POST", "/api/v1/actions/pause", cookie: cookie,
                headers: ["Content-Type": "application/json"], body: #"{"job":"upload"}"#)

            #expect(page.status == 303 && page.headers["location"] == "/enter")
            #expect(data.status == 401 && events.status == 401 && action.status == 401)
            #expect(
                try data.error == "nobody is logged in; `clarity-jobs serve link` makes a link")
        }
    }

    @Test func `a link is shown at the start on a terminal only`() async throws {
        let playground = try await playground()
        let terminal = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["serve", "--listen", "127.0.0.1:0"],
            environment: playground.terminalEnvironment)
        let screen = await terminal.read(until: "(works once, for 10 minutes)")
        let link = try #require(
            screen.firstMatch(
                of: /open http:\/\/127\.0\.0\.1:(\d+)(\/enter\?token=[0-9a-f]{64}) \(works/))
        let port = try #require(UInt16(link.output.1))
        let opened = try await LoopbackRequest.answer(
            "GET", String(link.output.2), host: "127.0.0.1:\(port)", port: port)
        #expect(opened.hasPrefix("HTTP/1.1 303"), "\(opened)")
        terminal.signal(SIGTERM)
        #expect(await terminal.finish().status == 143)

        let pages = try await PagesProgram(playground)
        pages.program.signal(SIGTERM)
        let end = await pages.program.finish()

        #expect(end.status == 143 && end.errors == "" && end.output == "")
        #expect(access("\(playground.statePath)/pages/link", F_OK) != 0)
    }

    @Test func `a session ends after 12 hours, and an account's 17th ends its first`() throws {
        let folder = try TemporaryFolder()
        let anna = PageAccess(stateDirectory: folder.path, account: "anna")
        let main = PageAccess(stateDirectory: folder.path)
        let file = PageSessions(stateDirectory: folder.path)
        let start = Instant(secondsSince1970: 1_800_000_000)
        func begin(_ access: PageAccess, at now: Instant) throws -> String {
            let link = try access.makeLink(at: now)
            return PageAccess.digest(
                try #require(try access.enter(link: link, as: "wearer", at: now)))
        }
        func open(at now: Instant) throws -> [String] { try file.list(at: now).map(\.digest) }

        let first = try begin(anna, at: start)
        let other = try begin(main, at: start)
        let life = Duration.seconds(12 * 3600)
        #expect(try open(at: start + life - .seconds(1)) == [first, other])
        #expect(try open(at: start + life) == [])
        // The clock was set back.
        #expect(try open(at: start - .seconds(61)) == [])
        let later = try (1...16).map { try begin(anna, at: start + .seconds($0)) }

        #expect(try open(at: start + .seconds(60)) == [other] + later)
        let path = "\(folder.path)/pages/sessions"
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
    }
}
