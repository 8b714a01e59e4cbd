import ClarityTestSupport
import Glibc
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

    @Test func `the password begins a session, and five attempts a minute are taken`()
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
        // All at once, because checks one after the other could take longer than the minute. The
        // answer that refuses one comes first.
        let (wrong, late) = try await withThrowingTaskGroup { attempts in
            for _ in 0..<5 {
                attempts.addTask { try await enter(pages, "something-else-1").status }
            }
            let first = try await attempts.next()
            let late = try await enter(pages, good)
            return (try await attempts.reduce(into: [first]) { $0.append($1) }, late)
        }

        #expect(
            form.status == 200 && form.text.contains("<form method=\"post\" action=\"/enter\">"))
        #expect(memory < 40 << 10, "the 64 MiB of the check are not given back: \(memory) KiB")
        #expect(foreign.status == 403 && foreign.cookie == nil)
        #expect(right.status == 303 && right.headers["location"] == "/today")
        #expect(
            try await pages.send("GET", "/api/v1/session", cookie: right.cookie).status == 200)
        #expect(wrong == [429, 403, 403, 403, 403])
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
        let path = "\(playground.statePath)/pages-password"
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(text.hasPrefix("$argon2id$v=19$m=65536,t=2,p=1$") && !text.contains("horse"))
    }

    @Test func `without a password nobody comes in by one`() async throws {
        let pages = try await PagesProgram(try await Playground(sandboxOptions: nil))

        let form = try await pages.send("GET", "/enter")
        let answer = try await enter(pages, "")

        #expect(!form.text.contains("<form") && form.text.contains("clarity-jobs serve link"))
        #expect(answer.status == 403 && answer.cookie == nil)
    }

    @Test func `attempts are counted for a minute each`() {
        var attempts = PasswordAttempts()
        let start = ContinuousClock.now

        let first = (0..<5).map { attempts.take(at: start + .seconds($0)) }

        #expect(first.allSatisfy { $0 == nil })
        #expect(attempts.take(at: start + .seconds(10)) == .seconds(50))
        #expect(attempts.take(at: start + .seconds(59)) == .seconds(1))
        #expect(attempts.take(at: start + .seconds(60)) == nil)
        #expect(attempts.take(at: start + .seconds(60)) == .seconds(1))
    }
}
