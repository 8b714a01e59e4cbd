import ClarityScheduler
import ClarityTestSupport
import Glibc
import HealthStore
@testable import ProgramTestSupport
import Testing

/// How sessions with the pages end, and that one account's end is not another's.
@Suite("The sessions of the pages", .timeLimit(.minutes(5)))
struct PagesSessionTests {
    private let family = AccountsProgramTests()
    private let password = "correct horse battery"

    /// The accounts anna and ben, which have a password each, and the server of their pages.
    private func pages(_ ids: [String] = ["anna", "ben"]) async throws
        -> (PagesProgram, Playground)
    {
        let playground = try await family.playground()
        for id in ids {
            let added = try await family.run(playground, "accounts", "add", id)
            try #require(added.status == 0, "\(added.errors)")
            try await setPassword(password, of: id, playground)
        }
        let pages = try await PagesProgram(
            playground, environment: ["CLARITY_JOBS_KEY": family.key])
        return (pages, playground)
    }

    private func setPassword(
        _ password: String, of id: String, _ playground: Playground
    ) async throws {
        let set = try await family.run(
            playground, "serve", "password", "--account", id, "--password-stdin",
            input: "\(password)\n")
        try #require(set.status == 0, "\(set.errors)")
    }

    private func enter(
        _ account: String, _ password: String, _ pages: PagesProgram
    ) async throws -> PagesProgram.Answer {
        try await pages.send(
            "POST", "/enter", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: "account=\(account)&password=\(password.replacing(" ", with: "+"))")
    }

    /// Returns who is logged in with a cookie, or the status if nobody has.
    private func who(_ cookie: String?, _ pages: PagesProgram) async throws -> String {
        let answer = try await pages.send("GET", "/api/v1/session", cookie: cookie)
        guard answer.status == 200 else { return "\(answer.status)" }
        return try answer.json["account"].text ?? "no account"
    }

    @Test func `a new password ends the sessions of its account alone`() async throws {
        let (pages, playground) = try await pages()
        let byPassword = try await enter("anna", password, pages).cookie
        let byLink = try await pages.enter(as: "anna")
        let others = try await pages.enter(as: "ben")
        let main = try await pages.enter()
        #expect(try await who(byPassword, pages) == "anna")

        try await setPassword("another horse battery", of: "anna", playground)

        #expect(try await who(byPassword, pages) == "401")
        #expect(try await who(byLink, pages) == "401")
        #expect(try await who(others, pages) == "ben")
        #expect(try await who(main, pages) == "no account")
        let old = try await enter("anna", password, pages)
        let new = try await enter("anna", "another horse battery", pages)
        #expect(old.status == 403 && new.status == 303)
    }

    @Test func `a logout ends the session and its events, and clears the cookie`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let pages = try await PagesProgram(playground)
        let cookie = try await pages.enter()
        let other = try await pages.enter()
        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        let csrf = try #require(session["csrf"].text)
        let events = try LoopbackRequest.open(
            "GET /api/v1/events HTTP/1.0\r\nHost: 127.0.0.1:\(pages.port)\r\n"
                + "Cookie: \(cookie)\r\n\r\n", port: pages.port)
        defer { close(events) }

        let forged = try await pages.send("DELETE", "/api/v1/session", cookie: cookie)
        let foreign = try await pages.send(
            "DELETE", "/api/v1/session", cookie: cookie,
            headers: ["X-CSRF-Token": csrf, "Origin": "http://evil.example"])
        let before = try await who(cookie, pages)
        let left = try await pages.send(
            "DELETE", "/api/v1/session", cookie: cookie, headers: ["X-CSRF-Token": csrf])
        // The stream ends; a read of it returns.
        let stream = try await blocking {
            var received: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(events, &chunk, chunk.count, 0)
                guard count > 0 else { return String(decoding: received, as: UTF8.self) }
                received += chunk[..<count]
            }
        }

        #expect(forged.status == 403 && foreign.status == 403 && before == "no account")
        #expect(left.status == 200, "\(left.text)")
        let cleared = try #require(left.headers["set-cookie"])
        #expect(cleared.hasPrefix("clarity-pages-\(pages.port)=;"), "\(cleared)")
        #expect(cleared.contains("; Max-Age=0") && cleared.contains("; HttpOnly"))
        #expect(try await who(cookie, pages) == "401")
        #expect(try await who(other, pages) == "no account")
        #expect(stream.contains("text/event-stream"), "\(stream)")
    }

    @Test func `sessions are listed and ended on the command line`() async throws {
        let (pages, playground) = try await pages()
        let anna = try await enter("anna", password, pages).cookie
        let ben = try await pages.enter(as: "ben")
        let main = try await pages.enter()

        let list = try await family.run(playground, "serve", "sessions", "list", "-o", "json")
        let own = try await family.run(
            playground, "serve", "sessions", "list", "--account", "anna", "-o", "json")
        let text = try await family.run(playground, "serve", "sessions", "list")
        let rows = try JSONValue(list.output).elements
        #expect(rows.map { $0["account"].text } == ["anna", "ben", nil])
        #expect(try JSONValue(own.output).elements.map { $0["account"].text } == ["anna"])
        #expect(text.outputLines.first?.split(separator: " ").first == "SESSION", "\(text.errors)")
        let name = try #require(rows[0]["session"].text)
        #expect(name.wholeMatch(of: /[0-9a-f]{8}/) != nil)

        let foreign = try await family.run(
            playground, "serve", "sessions", "end", name, "--account", "ben")
        #expect(foreign.status == 1)
        #expect(
            foreign.errors.hasPrefix("clarity-jobs: there is no session `\(name)` of `ben`"),
            "\(foreign.errors)")
        #expect(try await who(anna, pages) == "anna")
        let one = try await family.run(playground, "serve", "sessions", "end", name)
        #expect(one.status == 0 && one.outputLines == ["1 session ended"], "\(one.errors)")
        #expect(try await who(anna, pages) == "401")
        #expect(try await who(ben, pages) == "ben")
        let none = try await family.run(playground, "serve", "sessions", "end")
        #expect(none.status == 64, "\(none.errors)")
        let rest = try await family.run(playground, "serve", "sessions", "end", "--all")
        #expect(rest.outputLines == ["2 sessions ended"], "\(rest.errors)")
        #expect(try await who(ben, pages) == "401")
        #expect(try await who(main, pages) == "401")
    }

    @Test func `a page lists the sessions of its account, with browser, address and last use`()
        async throws
    {
        let (pages, playground) = try await pages()
        let phone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
            + "Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
        let link = try await pages.link(as: "anna")
        let anna = try #require(
            try await pages.send("GET", link, headers: ["User-Agent": phone]).cookie)
        let second = try await pages.enter(as: "anna")
        let main = try await pages.enter()
        func sessions(_ cookie: String) async throws -> [JSONValue] {
            try await pages.send("GET", "/api/v1/sessions", cookie: cookie).json.elements
        }
        let own = try await pages.send("GET", "/api/v1/session", cookie: anna).json["session"].text

        let rows = try await sessions(anna)
        #expect(rows.map { $0["account"].text } == ["anna", "anna"])
        #expect(rows.first?["session"].text == own)
        #expect(rows.map { $0["browser"].text } == ["Safari on iPhone", "another program"])
        #expect(rows.map { $0["address"].text } == ["127.0.0.1", "127.0.0.1"])
        #expect(rows.allSatisfy { $0["used_at"] == $0["begun_at"] })
        // Who looks after the accounts sees all of them.
        #expect(try await sessions(main).count == 3)

        // As if the phone had last been used two minutes ago.
        let path = "\(playground.statePath)/pages/sessions"
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        let name = try #require(own)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
        let used = try #require(Instant(rfc3339: String(line.split(separator: " ")[4])))
        let before = used - .seconds(120)
        let words = line.split(separator: " ").map { String($0) }
        let old = (words[..<4] + ["\(before)"] + words[5...]).joined(separator: " ")
        try playground.folder.write(
            "state/pages/sessions", Array(text.replacing(line, with: old).utf8))
        var noted = before
        while noted == before {
            let row = try await sessions(anna).first { $0["session"].text == name }
            noted = try #require(row?["used_at"].text.flatMap { Instant(rfc3339: $0) })
        }
        #expect(noted > used - .seconds(1))
        // Nobody is logged out by what an earlier version wrote.
        let digest = words[0]
        try playground.folder.write(
            "state/pages/sessions", Array("\(digest) \(used) wearer anna\n".utf8))
        #expect(try await who(anna, pages) == "anna")
        #expect(try await who(second, pages) == "401")
    }

    @Test func `a page ends a session of its account, or all others, and the audit log has it`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: [])
        try await playground.logIn()
        let pages = try await PagesProgram(playground)
        let (own, first) = (try await pages.enter(), try await pages.enter())
        let (second, third) = (try await pages.enter(), try await pages.enter())
        func name(_ cookie: String) async throws -> String {
            let session = try await pages.send("GET", "/api/v1/session", cookie: cookie)
            return try #require(try session.json["session"].text)
        }
        let (ownName, firstName) = (try await name(own), try await name(first))

        let one = try await pages.act(
            "session-end", #"{"session":"\#(firstName)"}"#, cookie: own)
        let again = try await pages.act(
            "session-end", #"{"session":"\#(firstName)"}"#, cookie: own)
        let faulty = try await pages.act("session-end", #"{"session":"--all"}"#, cookie: own)
        #expect(one.status == 200, "\(one.text)")
        #expect(again.status == 409 && faulty.status == 400)
        #expect(try await who(first, pages) == "401")
        #expect(try await who(second, pages) == "no account")

        let others = try await pages.act(
            "sessions-end", #"{"except":"\#(ownName)"}"#, cookie: own)
        #expect(try others.json["ended"].number == 2, "\(others.text)")
        #expect(try await who(second, pages) == "401")
        #expect(try await who(third, pages) == "401")
        #expect(try await who(own, pages) == "no account")

        let all = try await pages.act("sessions-end", "{}", cookie: own)
        #expect(try all.json["ended"].number == 1, "\(all.text)")
        #expect(try await who(own, pages) == "401")
        let log = try await playground.run("audit", "log", "-o", "json")
        let ended = try JSONValue(log.output).elements.filter { $0["action"].text == "logged out" }
        #expect(
            ended.map { $0["counts"]["sessions"].number } == [1, 2, 1]
                && ended.first?["detail"].text == "of the web pages: \(firstName)", "\(log.output)")
    }

    @Test func `nobody ends a session of another account`() async throws {
        let (pages, _) = try await pages()
        let (anna, ben) = (try await pages.enter(as: "anna"), try await pages.enter(as: "ben"))
        let session = try await pages.send("GET", "/api/v1/session", cookie: ben).json
        let name = try #require(session["session"].text)

        let one = try await pages.act("session-end", #"{"session":"\#(name)"}"#, cookie: anna)
        let all = try await pages.act("sessions-end", "{}", cookie: anna)

        #expect(one.status == 409 && all.status == 200, "\(one.text) \(all.text)")
        #expect(try await who(ben, pages) == "ben")
        #expect(try await who(anna, pages) == "401")
    }

    @Test(arguments: [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Firefox on Linux"
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
                + "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "Edge on Windows"
        ),
        (
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
                + "Chrome/126.0.0.0 Mobile Safari/537.36", "Chrome on Android"
        ),
        ("\u{1B}[31m", "another program"),
    ])
    func `a browser is recognised by its header`(header: String, name: String) {
        let browser = PageSessions.Browser(address: "192.0.2.7, x\n\u{1B}", userAgent: header)

        #expect(browser.name == name)
        #expect(browser.address == "192.0.2.7x")
        #expect(PageSessions.Browser(address: "", userAgent: nil).address == "unknown")
    }

    @Test func `who has no account any more can neither log in nor stay`() async throws {
        let (pages, playground) = try await pages()
        let cookie = try await enter("anna", password, pages).cookie
        let link = try await pages.link(as: "anna")
        #expect(try await who(cookie, pages) == "anna")

        // The data stays, and so does the password.
        let removed = try await family.run(playground, "accounts", "remove", "anna")
        #expect(removed.status == 0, "\(removed.errors)")
        let page = try await pages.send("GET", "/today", cookie: cookie)
        let entered = try await enter("anna", password, pages)
        let wrong = try await enter("anna", "wrong horse battery", pages)
        let linked = try await pages.send("GET", link)

        #expect(page.status == 303 && page.headers["location"] == "/enter")
        #expect(try await who(cookie, pages) == "401")
        #expect(entered.status == 403 && entered.cookie == nil)
        #expect(entered.text == wrong.text)
        #expect(linked.status == 403 && linked.cookie == nil)
    }

    @Test func `whoever comes back has no session from before`() async throws {
        let (pages, playground) = try await pages()
        let anna = try await pages.enter(as: "anna")
        let ben = try await pages.enter(as: "ben")

        for words in [["remove", "anna"], ["add", "anna"]] {
            let end = try await playground.start(
                ["accounts"] + words, environment: ["CLARITY_JOBS_KEY": family.key]
            ).finish()
            #expect(end.status == 0, "\(end.errors)")
        }

        #expect(try await who(anna, pages) == "401")
        #expect(try await who(ben, pages) == "ben")
        #expect(try await enter("anna", password, pages).status == 303)
    }

    @Test func `70 logins of one account end no session of another`() async throws {
        let (pages, _) = try await pages()
        let ben = try await pages.enter(as: "ben")
        let first = try await pages.enter(as: "anna")
        var last = first
        for _ in 0..<70 { last = try #require(try await enter("anna", password, pages).cookie) }

        #expect(try await who(ben, pages) == "ben")
        #expect(try await who(first, pages) == "401")
        #expect(try await who(last, pages) == "anna")
    }

    // MARK: Attempts

    @Test func `wrong passwords of one account leave others theirs, and links always work`()
        async throws
    {
        let (pages, _) = try await pages()
        var statuses: [Int] = []
        for _ in 0..<6 {
            statuses.append(try await enter("anna", "wrong horse battery", pages).status)
        }

        #expect(statuses == [403, 403, 403, 403, 403, 429])
        #expect(try await enter("ben", password, pages).status == 303)
        #expect(try await who(try await pages.enter(as: "anna"), pages) == "anna")
        // Nobody learns which accounts there are by how many attempts they have.
        for number in 0..<6 {
            let answer = try await enter("nobody", "wrong horse battery", pages)
            #expect(answer.status == (number < 5 ? 403 : 429))
        }
    }

    @Test func `wrong links are limited, and the right one still works`() async throws {
        let (pages, _) = try await pages()
        let link = try await pages.link(as: "anna")
        var statuses: [String: [Int]] = [:]
        for account in ["anna", "nobody"] {
            for _ in 0..<6 {
                let answer = try await pages.send("GET", "/enter?account=\(account)&token=0")
                #expect(answer.cookie == nil)
                statuses[account, default: []].append(answer.status)
            }
        }

        #expect(statuses["anna"] == [403, 403, 403, 403, 403, 429])
        #expect(statuses["nobody"] == statuses["anna"])
        #expect(try await pages.send("GET", link).status == 303)
    }

    @Test(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0, "needs root"))
    func `wrong passwords of another user of this machine lock nobody out`() async throws {
        let (pages, _) = try await pages()
        var statuses: [String] = []
        for _ in 0..<6 {
            let end = try await ChildProgram.run(
                "/usr/bin/setpriv",
                [
                    "--reuid=65534", "--clear-groups", "/usr/bin/curl", "-s", "-o", "/dev/null",
                    "-w", "%{http_code}", "-d", "account=anna&password=wrong+horse+battery",
                    "http://127.0.0.1:\(pages.port)/enter",
                ])
            statuses.append(end.output)
        }

        #expect(statuses == ["403", "403", "403", "403", "403", "429"])
        #expect(try await enter("anna", password, pages).status == 303)
    }
}
