import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `POST /api/v1/run/JOB` of the pages' server, and the tokens that it takes.
@Suite("Runs by a token", .timeLimit(.minutes(5)))
struct PagesRunTests {
    private static let secret = "what-the-program-wrote"

    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            defaults: { retry: { attempts: 1 } }
            jobs:
              - { id: quick, kind: command, options: { command: [echo, \(PagesRunTests.secret)] } }
              - id: broken
                kind: command
                options: { command: [sh, -c, "echo \(PagesRunTests.secret); exit 3"] }
              - { id: slow, kind: command, options: { command: [cat, \(folder)/gate] } }
              - id: waits
                kind: command
                constraints: { storage_free: 900TiB }
                options: { command: [/bin/true] }
              - { id: off, kind: command, enabled: false, options: { command: [/bin/true] } }
              - { id: com.example.old, kind: command, options: { command: [/bin/true] } }

            """
        }
    }

    /// Makes a token and returns it.
    private func token(
        _ playground: Playground, _ name: String, _ jobs: String
    ) async throws -> String {
        let made = try await playground.run("serve", "token", "add", name, "--may", "run:\(jobs)")
        try #require(made.status == 0, "\(made)")
        return try #require(made.outputLines.first)
    }

    private func run(
        _ job: String, _ token: String?, _ pages: PagesProgram, _ headers: [String: String] = [:]
    ) async throws -> PagesProgram.Answer {
        let own = token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        return try await pages.send(
            "POST", "/api/v1/run/\(job)", headers: own.merging(headers) { $1 })
    }

    @Test func `a run that ends while the request waits is answered with its end`() async throws {
        let playground = try await playground()
        let token = try await token(playground, "door", "quick,broken")
        let pages = try await PagesProgram(playground)
        let loop = try playground.start(["loop"])
        defer { kill(loop.processID, SIGTERM) }

        let quick = try await run("quick?wait=120", token, pages)
        let broken = try await run("broken?wait=120", token, pages)

        #expect(quick.status == 200, "\(quick)")
        let answer = try quick.json
        #expect(answer["job"].text == "quick" && answer["state"].text == "succeeded")
        #expect(answer["exit_status"].number == 0 && answer["reason"] == .null)
        #expect(
            try await playground.lastRun(of: "quick")["run"].number == answer["run"].number)
        #expect(broken.status == 200 && quick.headers["content-type"] == "application/json")
        #expect(try broken.json["state"].text == "failed")
        #expect(try broken.json["reason"].text == "exited with status 3")
        #expect(try broken.json["exit_status"].number == 3)
        for text in [quick.text, broken.text] { #expect(!text.contains(PagesRunTests.secret)) }
    }

    @Test func `a run that goes on is answered with 202, and its end to whoever waits`()
        async throws
    {
        let playground = try await playground()
        try #require(mkfifo("\(playground.folder.path)/gate", 0o600) == 0)
        let token = try await token(playground, "door", "slow")
        let pages = try await PagesProgram(playground)
        let loop = try playground.start(["loop"])
        defer { kill(loop.processID, SIGTERM) }

        let first = try await run("slow", token, pages)
        async let last = run("slow?wait=120", token, pages)
        // Opening the gate waits until the program reads from it.
        let path = "\(playground.folder.path)/gate"
        let gate = await Task.detached { open(path, O_WRONLY) }.value
        let running = try await run("slow?wait=1", token, pages)
        close(gate)
        let ended = try await last

        #expect(first.status == 202, "\(first)")
        #expect(running.status == 202, "\(running)")
        #expect(try running.json["state"].text == "running")
        #expect(try running.json["finished_at"] == .null)
        #expect(ended.status == 200, "\(ended)")
        #expect(try ended.json["state"].text == "succeeded")
        let numbers = try [first, running, ended].map { try $0.json["run"].number }
        #expect(Set(numbers).count == 1)
    }

    @Test func `a run that waits for a constraint says for which`() async throws {
        let playground = try await playground()
        let token = try await token(playground, "door", "waits,off")
        let pages = try await PagesProgram(playground)

        let waits = try await run("waits?wait=1", token, pages)
        let off = try await run("off", token, pages)

        #expect(waits.status == 202, "\(waits)")
        #expect(try waits.json["state"].text == "enqueued")
        let reason = try #require(try waits.json["reason"].text)
        #expect(
            reason.hasPrefix("waits for storage_free: ") && reason.hasSuffix("wanted 900 TiB free"))
        #expect(off.status == 409)
        #expect(try off.error == "job `off` has `enabled: false` in the job file")
    }

    @Test func `a token runs its jobs and does nothing else`() async throws {
        let playground = try await playground()
        let token = try await token(playground, "door", "quick")
        let pages = try await PagesProgram(playground)
        let bearer = ["Authorization": "Bearer \(token)"]

        let other = try await run("broken", token, pages)
        let absent = try await run("no-such-job", token, pages)
        let odd = try await run("quick%0Ax", token, pages)
        let nothing = try await run("", token, pages)
        let missing = try await run("quick", nil, pages)
        let wrong = try await run("quick", String(token.reversed()), pages)
        let parameter = try await run("quick?force=1", token, pages)
        let long = try await run("quick?wait=301", token, pages)
        let twice = try await run("quick?wait=1&wait=2", token, pages)
        let foreign = try await run("quick", token, pages, ["Origin": "https://evil.example"])
        let looked = try await pages.send("GET", "/api/v1/run/quick", headers: bearer)
        let jobs = try await pages.send("GET", "/api/v1/jobs", headers: bearer)
        let action = try await pages.send(
            "POST", "/api/v1/actions/run",
            headers: bearer.merging(["Content-Type": "application/json"]) { $1 },
            body: #"{"job":"quick"}"#)
        let asCookie = try await pages.send(
            "GET", "/api/v1/jobs", cookie: "clarity-pages-\(pages.port)=\(token)")

        #expect(other.status == 403 && absent.status == 403)
        #expect(other.text == absent.text && odd.text == other.text && nothing.text == other.text)
        #expect(missing.status == 401 && missing.headers["www-authenticate"] == "Bearer")
        #expect(wrong.status == 401 && wrong.text == missing.text)
        #expect(parameter.status == 400 && long.status == 400 && twice.status == 400)
        #expect(foreign.status == 403 && looked.status == 405)
        #expect(jobs.status == 401 && action.status == 401 && asCookie.status == 401)
        #expect(try await playground.json("history").elements.isEmpty)
    }

    @Test func `a token that is removed stops working at once, and is never shown again`()
        async throws
    {
        let playground = try await playground()
        let first = try await token(playground, "door", "quick,waits")
        let second = try await token(playground, "phone", "broken")
        let pages = try await PagesProgram(playground)

        let before = try await run("quick", first, pages)
        let again = try await playground.run(
            "serve", "token", "add", "door", "--may", "run:quick")
        let list = try await playground.json("serve", "token", "list").elements
        let removed = try await playground.run("serve", "token", "remove", "door")
        let after = try await run("quick", first, pages)
        let others = try await run("broken", second, pages)
        let absent = try await playground.run("serve", "token", "remove", "door")

        #expect(before.status == 202 && after.status == 401 && others.status == 202)
        #expect(removed.status == 0 && removed.output == "`door` is removed\n")
        #expect(again.status == 1 && absent.status == 1)
        #expect(list.map { $0["name"].text } == ["door", "phone"])
        #expect(list.first?["jobs"].elements.map(\.text) == ["quick", "waits"])
        // The file has digests alone, and the log has names and jobs alone.
        let path = "\(playground.statePath)/pages/run-tokens"
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let kept = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        var log: [String] = []
        for _ in 0..<3 { log.append(try #require(await pages.program.readErrorLine())) }
        #expect(
            log == [
                "clarity-jobs: token `door` asked for a run of `quick`: run 1",
                "clarity-jobs: refused a run with 401: the token is wrong or missing",
                "clarity-jobs: token `phone` asked for a run of `broken`: run 2",
            ])
        for token in [first, second] {
            #expect(!kept.contains(token) && !log.contains { $0.contains(token) })
        }
    }

    @Test func `a grant is for the job of that id, and for no other that has it in its name`()
        async throws
    {
        let playground = try await playground()
        let token = try await token(playground, "door", "old")
        let pages = try await PagesProgram(playground)

        let list = try await playground.json("serve", "token", "list").elements
        let whole = try await run("com.example.old", token, pages)
        try playground.write { _, _ in
            """
            version: 1
            jobs:
              - { id: x.com.example.old.x, kind: command, options: { command: [/bin/true] } }

            """
        }
        let gone = try await run("com.example.old", token, pages)

        #expect(list.first?["jobs"].elements.map(\.text) == ["com.example.old"])
        #expect(whole.status == 202)
        #expect(gone.status == 409)
        #expect(try gone.error == "no job `com.example.old` in the job file")
        let runs = try await playground.json("history").elements
        #expect(runs.map { $0["job"].text } == ["com.example.old"])
    }

    @Test func `a job that is faulty in the job file is refused without a word of that file`()
        async throws
    {
        let playground = try await playground()
        let token = try await token(playground, "door", "quick")
        let pages = try await PagesProgram(playground)
        try playground.write { _, _ in
            """
            version: 1
            jobs:
              - { id: quick, kind: command, secret-key: 1, options: { command: [/bin/true] } }
              - { id: other, kind: command, options: { command: [/bin/true] } }

            """
        }

        let faulty = try await run("quick", token, pages)

        #expect(faulty.status == 409, "\(faulty)")
        #expect(try faulty.error == "the job is faulty in the job file")
        #expect(!faulty.text.contains("secret-key") && !faulty.text.contains("jobs.yaml"))
    }

    @Test func `requests and wrong tokens are bounded, and the right token works all the same`()
        async throws
    {
        let playground = try await playground()
        let token = try await token(playground, "door", "quick")
        let pages = try await PagesProgram(playground)

        var wrong: [Int] = []
        for _ in 0..<6 { wrong.append(try await run("quick", "0123", pages).status) }
        let right = try await run("quick", token, pages)
        var many: [PagesProgram.Answer] = []
        for _ in 0..<60 { many.append(try await run("other", token, pages)) }

        #expect(wrong == [401, 401, 401, 401, 401, 429])
        #expect(right.status == 202)
        #expect(many.dropLast().allSatisfy { $0.status == 403 })
        #expect(many.last?.status == 429)
        #expect(many.last?.headers["retry-after"].flatMap { Int($0) }.map { 1...61 ~= $0 } == true)
    }

    @Test func `pages that only show run nothing for a token`() async throws {
        let playground = try await playground()
        let token = try await token(playground, "door", "quick")
        let pages = try await PagesProgram(playground, ["--read-only"])

        #expect(try await run("quick", token, pages).status == 403)
        #expect(try await playground.json("history").elements.isEmpty)
    }

    @Test(arguments: [
        (["door"], "wants --may run:JOB"), (["door", "--may", "quick"], "--may is `run:JOB`"),
        (["door", "--may", "run:"], "--may is `run:JOB`"),
        (["door", "--may", "run:nothing"], "no job `nothing` in the job file"),
        (["a b", "--may", "run:quick"], "wants one name of letters"),
    ])
    func `a token without a job that is there is not made`(
        words: [String], fault: String
    ) async throws {
        let playground = try await playground()

        let result = try await playground.start(["serve", "token", "add"] + words).finish()

        #expect(result.status == 64 && result.output == "")
        #expect(result.errors.contains(fault), "\(result)")
    }
}
