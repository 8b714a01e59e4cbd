import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing
import WebAPI

/// The pages of a job file with accounts: a wearer sees their own data, and who looks after the
/// accounts sees the states of all and values of nobody.
@Suite("The pages of many accounts", .timeLimit(.minutes(5)))
struct PagesAccountsTests {
    private let family = AccountsProgramTests()

    /// Anna and Ben with data, and the server of their pages.
    private func pages() async throws -> (PagesProgram, Playground) {
        let playground = try await family.playground()
        try await family.logIn(["anna", "ben"], playground)
        try await family.upload(3, as: "anna", playground)
        try await family.upload(5, as: "ben", playground)
        let pages = try await PagesProgram(
            playground, environment: ["CLARITY_JOBS_KEY": family.key])
        return (pages, playground)
    }

    /// Returns a path of the API with something for each variable and each parameter that it needs.
    private func path(_ route: APIRoute, job: String, run: Int) -> String {
        let values = [
            "id": route.path.hasPrefix("runs") ? "\(run)" : "1", "number": "1",
            "start": "2026-10-01T10:00:00Z",
            "type": route.path.hasPrefix("metrics") ? "heart_rate" : "HeartRate", "job": job,
        ]
        var path = route.path
        var query: [String] = []
        for parameter in route.parameters where parameter.isRequired {
            let value = values[parameter.name] ?? ""
            if parameter.name == route.variable {
                path = path.replacing("{\(parameter.name)}", with: value)
            } else {
                query.append("\(parameter.name)=\(value)")
            }
        }
        return "/api/v1/\(path)" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
    }

    private func runs(of account: String, _ playground: Playground) async throws -> [Int] {
        let history = try await family.run(
            playground, "history", "--account", account, "-o", "json")
        return try JSONValue(history.output).elements.compactMap {
            $0["run"].number.map { Int($0) }
        }
    }

    @Test func `on every path a wearer sees what is their own and nothing of another`()
        async throws
    {
        let (pages, playground) = try await pages()
        let cookie = try await pages.enter(as: "anna")
        let own = try #require(try await runs(of: "anna", playground).first)
        let others = try #require(try await runs(of: "ben", playground).first)

        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        let types = try await pages.send("GET", "/api/v1/metrics", cookie: cookie)
        #expect(session["viewer"].text == "wearer" && session["account"].text == "anna")
        #expect(session["zone"].text != nil)
        #expect(types.text.contains("heart_rate") && types.status == 200, "\(types.text)")
        for route in APIRoute.all {
            let mine = path(route, job: "anna/upload", run: own)
            let theirs = path(route, job: "ben/upload", run: others)
            let answer = try await pages.send("GET", mine, cookie: cookie)
            let foreign =
                mine == theirs
                ? nil : try await pages.send("GET", theirs, cookie: cookie)

            #expect((answer.status == 403) == (route.reach == .accounts), "\(mine): \(answer.text)")
            #expect([200, 403, 404].contains(answer.status), "\(mine): \(answer.text)")
            #expect(!answer.text.contains("ben"), "\(mine): \(answer.text)")
            if let foreign, ["explain", "runs/{id}"].contains(route.path) {
                #expect(foreign.status == 404, "\(theirs): \(foreign.text)")
            }
            #expect(foreign.map { !$0.text.contains("ben@") } ?? true, "\(theirs)")
        }
        // Parameters that a path does not need.
        for question in ["history?job=ben/upload", "next?job=ben/upload", "missed?job=ben/upload"] {
            let answer = try await pages.send("GET", "/api/v1/\(question)", cookie: cookie)
            #expect(answer.status == 404, "\(question): \(answer.text)")
        }
    }

    @Test func `on every path the caretaker sees states and no values`() async throws {
        let (pages, playground) = try await pages()
        let cookie = try await pages.enter()
        let run = try #require(try await runs(of: "ben", playground).first)

        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        #expect(session["viewer"].text == "caretaker" && session["account"] == .null)
        for route in APIRoute.all {
            let path = path(route, job: "ben/upload", run: run)
            let answer = try await pages.send("GET", path, cookie: cookie)

            #expect(
                answer.status == (route.reach == .values ? 403 : 200), "\(path): \(answer.text)")
        }
        for action in APIAction.all where action.reach == .values {
            let answer = try await pages.act(action.name, #"{"id":1}"#, cookie: cookie)
            #expect(answer.status == 403, "\(action.name): \(answer.text)")
        }
        let accounts = try await pages.send("GET", "/api/v1/accounts", cookie: cookie).json
        let states = accounts["accounts"].elements.map { $0["account"].text }
        let pause = try await pages.act("pause", #"{"job":"ben/upload"}"#, cookie: cookie)
        #expect(states == ["anna", "ben"])
        #expect(pause.status == 200, "\(pause.text)")
    }

    @Test func `the caretaker sees how runs ended, and nothing that a wearer's program printed`()
        async throws
    {
        let playground = try await family.playground()
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in
            text
                + "  - { id: say, kind: command, schedule: { every: 1h }, retry: { attempts: 3 }, "
                + "options: { command: [sh, -c, 'echo invented diary; exit 75'] } }\n"
        }
        try await family.logIn(["anna"], playground)
        try playground.folder.write("anna.xml", Array("no export".utf8))
        for job in ["upload", "say"] {
            _ = try await family.run(playground, "run", "anna/\(job)")
        }
        let pages = try await PagesProgram(
            playground, environment: ["CLARITY_JOBS_KEY": family.key])
        let (caretaker, wearer) = (try await pages.enter(), try await pages.enter(as: "anna"))
        let numbers = try await runs(of: "anna", playground)
        let paths =
            numbers.map { "runs/\($0)" } + [
                "history", "explain?job=anna/say", "jobs", "missed", "next", "accounts", "doctor",
            ]

        for path in paths {
            let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: caretaker)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(!answer.text.contains("invented diary"), "\(path): \(answer.text)")
            #expect(!answer.text.contains("\"notes\": [\""), "\(path): \(answer.text)")
        }
        let run = try #require(numbers.first)
        let seen = try await pages.send("GET", "/api/v1/runs/\(run)", cookie: caretaker).text
        let own = try await pages.send("GET", "/api/v1/runs/\(run)", cookie: wearer)
        let terminal = try await family.run(playground, "history", "show", "\(run)")
        #expect(seen.contains("exited with status 75"), "\(seen)")
        #expect(own.text.contains("invented diary"), "\(own.text)")
        #expect(terminal.output.contains("invented diary"))
    }

    @Test
    func `why a wearer's program paused its job, and with which parameters it ran, is theirs`()
        async throws
    {
        let playground = try await family.playground()
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        let report = #"echo "{\"pause\": \"invented diary\"}" >> "$CLARITY_REPORT""#
        try playground.write { _, _ in
            text
                + "  - { id: say, kind: command, options: { params: { WHO: }, "
                + "command: [sh, -c, '\(report)'] } }\n"
        }
        try await family.logIn(["anna"], playground)
        let ran = try await family.run(playground, "run", "anna/say", "--set", "WHO=invented name")
        let pages = try await PagesProgram(
            playground, environment: ["CLARITY_JOBS_KEY": family.key])
        let cookie = try await pages.enter()
        let number = try #require(try await runs(of: "anna", playground).first)

        let terminal = try await family.run(playground, "history", "show", "\(number)")
        #expect(ran.status == 0, "\(ran)")
        #expect(terminal.output.contains("invented diary"), "\(terminal.output)")
        #expect(terminal.output.contains("WHO=invented name"), "\(terminal.output)")
        for path in ["runs/\(number)", "history", "explain?job=anna/say", "jobs"] {
            let answer = try await pages.send("GET", "/api/v1/\(path)", cookie: cookie)
            #expect(answer.status == 200 && !answer.text.contains("invented"), "\(answer.text)")
        }
        let jobs = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)
        #expect(jobs.text.contains("its program asked for it"), "\(jobs.text)")
    }

    @Test func `a fault in another account's file is nothing that a wearer sees`() async throws {
        let (pages, playground) = try await pages()
        let cookie = try await pages.enter(as: "anna")
        try playground.folder.write("accounts.d/ben.yaml", Array("logn: x\n".utf8))

        let faulty = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)
        // A fault in their own part may quote what only whoever looks after the accounts is to see.
        let text = String(
            decoding: try TemporaryFolder.read(playground.jobFilePath), as: UTF8.self)
        try playground.write { _, _ in
            text + "  - { id: say, kind: command, options: { command: [x], zzz: 1 } }\n"
        }
        let held = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)
        try playground.write { _, _ in text }
        try playground.folder.write("accounts.d/ben.yaml", Array("login: x@example.org\n".utf8))
        try #require(
            rename(
                "\(playground.folder.path)/accounts.d/anna.yaml",
                "\(playground.folder.path)/accounts.d/anne.yaml") == 0)
        let renamed = try await pages.send("GET", "/api/v1/jobs", cookie: cookie)

        #expect(faulty.status == 200 && faulty.text.contains("anna/upload"), "\(faulty.text)")
        #expect(!faulty.text.contains("ben"), "\(faulty.text)")
        #expect(held.status == 200 && !held.text.contains("zzz"), "\(held.text)")
        #expect(held.text.contains("the job file has an error"), "\(held.text)")
        #expect(renamed.status != 200 && !renamed.text.contains("anne"), "\(renamed.text)")
    }

    @Test func `an action on what is another's is refused, and changes nothing`() async throws {
        let (pages, playground) = try await pages()
        let cookie = try await pages.enter(as: "anna")
        _ = try await family.run(playground, "run", "ben/upload", "--ask")
        let asked = try #require(try await runs(of: "ben", playground).first)
        let before = try await family.run(playground, "history", "--account", "ben", "-o", "json")

        for (name, body) in [
            ("pause", #"{"job":"ben/upload"}"#), ("resume", #"{"job":"ben/upload"}"#),
            ("run", #"{"job":"ben/upload"}"#), ("cancel", #"{"run":\#(asked)}"#),
            ("retry", #"{"run":\#(asked)}"#), ("retry", #"{"job":"ben/upload"}"#),
        ] {
            let answer = try await pages.act(name, body, cookie: cookie)
            #expect(answer.status == 409, "\(name) \(body): \(answer.text)")
        }

        let after = try await family.run(playground, "history", "--account", "ben", "-o", "json")
        let explained = try await family.run(playground, "explain", "ben/upload", "-o", "json")
        let own = try await pages.act("pause", #"{"job":"anna/upload"}"#, cookie: cookie)
        #expect(after.output == before.output)
        #expect(try JSONValue(explained.output)["paused"] == .null)
        #expect(own.status == 200, "\(own.text)")
    }

    @Test func `a wearer logs in with a password or a link of their own`() async throws {
        let (pages, playground) = try await pages()
        let set = try await family.run(
            playground, "serve", "password", "--account", "anna", "--password-stdin",
            input: "correct horse battery\n")
        try #require(set.status == 0, "\(set.errors)")
        func enter(_ account: String, _ password: String) async throws -> PagesProgram.Answer {
            try await pages.send(
                "POST", "/enter", headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: "account=\(account)&password=\(password)")
        }
        let link = try await pages.link(as: "ben")

        let right = try await enter("anna", "correct+horse+battery")
        let wrong = try await enter("anna", "correct+horse+hammer")
        let none = try await enter("ben", "correct+horse+battery")
        let nobody = try await enter("..", "correct+horse+battery")
        let main = try await enter("", "correct+horse+battery")
        let bare = try await pages.send(
            "GET", link.replacing("account=ben&", with: ""))
        let others = try await pages.send("GET", link.replacing("=ben&", with: "=anna&"))
        let entered = try await pages.send("GET", link)
        let again = try await pages.send("GET", link)

        let cookie = try #require(right.cookie)
        let session = try await pages.send("GET", "/api/v1/session", cookie: cookie).json
        #expect(session["account"].text == "anna")
        for answer in [wrong, none, nobody, main] {
            #expect(answer.status == 403 && answer.cookie == nil)
            #expect(answer.text == wrong.text)
        }
        #expect(bare.status == 403 && others.status == 403 && again.status == 403)
        let ben = try #require(entered.cookie)
        #expect(
            try await pages.send("GET", "/api/v1/session", cookie: ben).json["account"].text
                == "ben")
    }

    @Test func `who is logged in sees nothing more of an account that was wiped`() async throws {
        let (pages, playground) = try await pages()
        let cookie = try await pages.enter(as: "anna")
        let before = try await pages.send("GET", "/api/v1/metrics", cookie: cookie)

        let removed = try await family.run(
            playground, "accounts", "remove", "anna", "--wipe", "--yes")
        let after = try await pages.send("GET", "/api/v1/metrics", cookie: cookie)
        let link = try await playground.run("serve", "link", "--account", "anna")
        let entered = try await pages.send("GET", "/enter?account=anna&token=0")

        #expect(before.status == 200 && removed.status == 0, "\(removed.errors)")
        #expect(after.status == 401, "\(after.text)")
        #expect(link.status == 64 && entered.status == 403)
        #expect(!family.exists("state/accounts/anna", playground))
    }

    @Test func `the pages of one account alone are not served`() async throws {
        let playground = try await family.playground()

        let end = try await family.run(playground, "serve", "--account", "anna")

        #expect(end.status == 64)
        #expect(end.errors.contains("`serve` shows the pages of all accounts"), "\(end.errors)")
    }
}
