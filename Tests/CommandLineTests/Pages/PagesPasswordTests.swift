import ClarityTestSupport
import Glibc
import HTTPServing
import Platform
@testable import ProgramTestSupport
import Testing

@testable import clarity_jobs_web

/// The password of the pages.
@Suite("The password of the pages", .timeLimit(.minutes(3)))
struct PagesPasswordTests {
    private func enter(
        _ pages: PagesProgram, _ password: String, headers: [String: String] = [:]
    ) async throws -> PagesProgram.Answer {
        let own = ["Content-Type": "application/x-www-form-urlencoded"]
        return try await pages.send(
            "POST", "/enter", headers: own.merging(headers) { $1 }, body: "password=\(password)")
    }

    @Test func `the password begins a session, and five wrong ones a minute are taken`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let set = try await playground.run(
            "serve", "password", "--password-stdin", input: "träumt & schläft 7\n")
        #expect(set.status == 0, "\(set.errors)")
        let pages = try await PagesProgram(playground)
        let form = try await pages.send("GET", "/enter")
        let good = "tr%C3%A4umt+%26+schl%C3%A4ft+7"

        let foreign = try await enter(pages, good, headers: ["Origin": "http://evil.example"])
        let right = try await enter(pages, good)
        let memory = try pages.residentKibibytes
        // All at once, because checks one after the other could take longer than the minute.
        let wrong = try await withThrowingTaskGroup { attempts in
            for _ in 0..<6 {
                attempts.addTask { try await enter(pages, "something-else-1").status }
            }
            return try await attempts.reduce(into: []) { $0.append($1) }
        }
        let late = try await enter(pages, good)

        #expect(
            form.status == 200 && form.text.contains("<form method=\"post\" action=\"/enter\">"))
        #expect(memory < 40 << 10, "the 64 MiB of the check are not given back: \(memory) KiB")
        #expect(foreign.status == 403 && foreign.cookie == nil)
        #expect(right.status == 303 && right.headers["location"] == "/today")
        #expect(
            try await pages.send("GET", "/api/v1/session", cookie: right.cookie).status == 200)
        #expect(wrong.sorted() == [403, 403, 403, 403, 403, 429])
        #expect(late.status == 429 && late.cookie == nil)
        let wait = try #require(late.headers["retry-after"].flatMap { Int($0) })
        #expect((1...60).contains(wait))
    }

    @Test func `the password is kept as a hash that only its owner can read`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let short = try await playground.run(
            "serve", "password", "--password-stdin", input: "too short\n")
        let none = try await playground.run("serve", "password", "--password-stdin")
        let set = try await playground.run(
            "serve", "password", "--password-stdin", input: "correct horse battery\n")

        #expect(
            short.isRefusal(
                64, "clarity-jobs: the password of the pages has at least 12 characters"))
        #expect(
            none.isRefusal(
                64, "clarity-jobs: no password on standard input; wanted one line with it"))
        #expect(
            set.status == 0 && set.errors == "clarity-jobs: the pages have a new password\n"
                || set.errors == "the pages have a new password\n", "\(set.errors)")
        let path = "\(playground.statePath)/pages/password"
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(text.hasPrefix("$argon2id$v=19$m=65536,t=2,p=1$") && !text.contains("horse"))
    }

    @Test func `a password beside the data counts until it changes`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let former = "\(playground.statePath)/pages-password"
        for password in ["correct horse battery", "another horse battery"] {
            _ = try await playground.run(
                "serve", "password", "--password-stdin", input: "\(password)\n")
            guard access(former, F_OK) != 0, password.hasPrefix("correct") else { continue }
            try #require(rename("\(playground.statePath)/pages/password", former) == 0)
            let pages = try await PagesProgram(playground)
            #expect(try await enter(pages, password).status == 303)
        }
        let pages = try await PagesProgram(playground)

        #expect(access(former, F_OK) != 0)
        #expect(try await enter(pages, "correct horse battery").status == 403)
        #expect(try await enter(pages, "another horse battery").status == 303)
    }

    @Test func `without a password nobody logs in by one`() async throws {
        let pages = try await PagesProgram(try await Playground(sandboxOptions: nil))

        let form = try await pages.send("GET", "/enter")
        let answer = try await enter(pages, "")

        #expect(!form.text.contains("<form") && form.text.contains("clarity-jobs serve link"))
        #expect(answer.status == 403 && answer.cookie == nil)
    }

    @Test func `attempts are counted for a minute each, by peer and account`() {
        var attempts = PasswordAttempts()
        let start = ContinuousClock.now

        let first = (0..<5).map { attempts.take("a", "anna", at: start + .seconds($0)) }

        #expect(first.allSatisfy { $0 == nil })
        #expect(attempts.take("a", "anna", at: start + .seconds(10)) == .seconds(50))
        #expect(attempts.take("b", "anna", at: start + .seconds(10)) == nil)
        #expect(attempts.take("a", "ben", at: start + .seconds(10)) == nil)
        #expect(attempts.take("a", "anna", at: start + .seconds(59)) == .seconds(1))
        #expect(attempts.take("a", "anna", at: start + .seconds(60)) == nil)
        #expect(attempts.take("a", "anna", at: start + .seconds(60)) == .seconds(1))
        // A right one does not count.
        attempts.giveBack("a", "anna")
        #expect(attempts.take("a", "anna", at: start + .seconds(60)) == nil)
    }

    @Test func `one peer has 20 attempts a minute, and an account 30 of all peers`() {
        var attempts = PasswordAttempts()
        let now = ContinuousClock.now

        for number in 0..<20 { #expect(attempts.take("a", "\(number)", at: now) == nil) }
        #expect(attempts.take("a", "anna", at: now) == .seconds(60))
        for number in 0..<30 { #expect(attempts.take("peer \(number)", "anna", at: now) == nil) }
        #expect(attempts.take("b", "anna", at: now) == .seconds(60))
        #expect(attempts.take("b", "ben", at: now) == nil)
    }

    @Test func `on this machine each user is a peer, and behind a proxy each address`() throws {
        let peer = try #require(ListenAddress("127.0.0.1:54321"))
        let elsewhere = try #require(ListenAddress("192.0.2.7:54321"))

        #expect(PagePeer.name(elsewhere, user: nil, forwarded: "1.2.3.4") == "192.0.2.7")
        #expect(PagePeer.name(peer, user: 1000, forwarded: nil) == "user 1000")
        #expect(PagePeer.name(peer, user: nil, forwarded: nil) == "127.0.0.1")
        #expect(
            PagePeer.name(peer, user: 33, forwarded: "1.2.3.4, 192.0.2.7")
                == "user 33 for 192.0.2.7")
    }
}
