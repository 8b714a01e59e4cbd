import Platform
import ClarityTestSupport
import Foundation
import HealthStore
import JSON
@testable import ProgramTestSupport
import Synchronization
import Testing
import WebAPI

@testable import ClarityHost
import HTTPServing
@testable import clarity_jobs
@testable import clarity_jobs_web

/// The parts of the pages' server that need no server.
@Suite("The parts of the pages")
struct PagesPartsTests {
    @Test(arguments: [
        (
            APIValue.job, ["a", "com.clarity.refresh", "A-1_2.b", "anna/a", "-_1/A"],
            ["", "-a", ".a", "a b", "a\n", "ä", "/a", "a/", "a/b/c", "A/a", "anna/-a"]
        ),
        (.type, ["heart_rate", "HeartRate"], ["", "1a", "a-b", "-a", "a\0"]),
        (.number(1...10), ["1", "10"], ["0", "11", "-1", "+1", "01", "1.0", "1e1", " 1", ""]),
        (
            .time, ["2026-11-20", "2026-11-20T06:00:00Z", "2026-11-20T06:00:00.25+01:00"],
            [
                "now", "2026-11-20T06:00", "20261120", "-1", "2026-11-20Z", "2026-11-31T06:00:00Z",
                "2026-11-20T24:00:00Z", "2026-11-20T06:60:00Z", "2026-11-20T06:00:00+24:00",
            ]
        ),
        (.since, ["30d", "2026-11-20"], ["0d", "d", "30", "30h", "-30d", "2026-09-31"]),
        (
            .day, ["2026-11-20", "2024-02-29", "2000-02-29", "2026-12-31"],
            [
                "2026-11-20T06:00:00Z", "2026-1-1", "2026-00-01", "2026-13-01", "2026-01-00",
                "2026-01-32", "2026-02-29", "2100-02-29", "2026-04-31",
            ]
        ),
        (.span, ["90m", "7d", "1s", "12h"], ["0m", "-1d", "7", "7w", "1h30m"]),
        (.choice(["raw", "day"]), ["raw", "day"], ["", "rawday", "RAW", "raw\n"]),
        (
            .note, ["abroad, ünd 旅", "a -- b", String(repeating: "x", count: 200)],
            ["", "-x", "a\nb", "a\r\nb", "a\u{7F}", "a\u{85}b", String(repeating: "x", count: 201)]
        ),
    ])
    func `a value is taken if it is of its type`(
        value: APIValue, good: [String], bad: [String]
    ) {
        #expect(good.filter { !value.accepts($0) } == [])
        #expect(bad.filter { value.accepts($0) } == [])
    }

    @Test func `no value that is taken looks like an option`() throws {
        for route in APIRoute.all {
            for parameter in route.parameters {
                for text in ["--config=/tmp/x", "-c", "--", "-"] {
                    #expect(!parameter.value.accepts(text), "\(route.path) \(parameter.name)")
                }
            }
        }
        let words = try #require(APIRoute.all.first { $0.path == "history" })
            .words("", [(name: "job", value: "a"), (name: "limit", value: "3")])
        #expect(words == ["history", "--limit=3", "--", "a"])
    }

    @Test func `the description has each path, and what it refers to exists`() throws {
        let text = APIDescription().document.page
        let document = try JSONValue(text)

        let paths = Set(
            APIRoute.all.map { "/api/v1/\($0.path)" }
                + APIAction.all.map { "/api/v1/actions/\($0.name)" }
                + ["/api/v1/session", "/api/v1/events", "/api/v1/run/{job}"])
        #expect(document["paths"]["/api/v1/session"].keys == ["get", "delete"])
        #expect(document["paths"].keys == paths)
        let schemas = document["components"]["schemas"].keys
        let references = text.matches(of: /"\$ref": "#\/components\/schemas\/([^"]+)"/)
        #expect(!references.isEmpty && !text.contains("#/$defs"))
        #expect(Set(references.map { String($0.output.1) }).subtracting(schemas) == [])
        #expect(document["openapi"].text == "3.1.0")
    }

    @Test func `a pool runs three commands of a person, 32 wait, and one more is refused`() async {
        let pool = CommandPool(program: ["/bin/true"], environment: [:])
        let gate = Latch()
        let started = Mutex(0)
        let ended = Mutex(0)

        let taken = (0..<36).map { _ in
            pool.work.start(for: .person("anna")) {
                started.withLock { $0 += 1 }
                _ = gate.isOpen(within: 60_000)
                ended.withLock { $0 += 1 }
            }
        }

        #expect(taken.prefix(35).allSatisfy { $0 } && !taken[35])
        while started.withLock({ $0 }) < 3 { await Task.yield() }
        #expect(started.withLock { $0 } == 3)
        gate.open()
        while ended.withLock({ $0 }) < 35 { await Task.yield() }
        #expect(started.withLock { $0 } == 35)
        #expect(pool.work.start(for: .person("anna")) {})
    }

    @Test func `a request that waits for its run outlasts a server that is busy`() async throws {
        let folder = try TemporaryFolder()
        let pool = CommandPool(
            program: ["/bin/sh", "-c", #"echo '{"state": "succeeded", "kind": "command"}'"#],
            environment: [:])
        let entrances = PageEntrances(
            jobFile: "/nonexistent", stateDirectory: folder.path, hasAccounts: false,
            environment: [:])
        let server = PageServer(
            PageServer.Settings(
                hosts: PageHosts(
                    try #require(ListenAddress("127.0.0.1:1")), isEncrypted: false, outer: nil),
                isReadOnly: false, isEncrypted: false, isBehindProxy: false),
            port: 1, entrances: entrances,
            sessions: OpenSessions(PageSessions(stateDirectory: folder.path), entrances),
            commands: pool, events: ChangeEvents(stateDirectory: folder.path),
            runs: TokenRuns(stateDirectory: folder.path))
        let gate = Latch()
        let isFull = (0..<36).map { _ in
            pool.work.start(for: .person("token door")) { _ = gate.isOpen(within: 60_000) }
        }
        try #require(isFull.last == false)
        func answer(
            within span: Duration, then free: () -> Void
        ) async throws -> (status: UInt32, json: JSONValue) {
            let order = TokenRun(token: "door", job: "a", wait: span)
            let answer = await withCheckedContinuation { answer in
                server.follow(order, 7, until: .now + span) { answer.resume(returning: $0) }
                free()
            }
            guard case .bytes(let bytes) = answer.content else { return (answer.status, .null) }
            return (answer.status, try JSONValue(String(decoding: bytes, as: UTF8.self)))
        }

        let late = try await answer(within: .zero) {}
        let ended = try await answer(within: .seconds(60)) {
            gate.open()
            // The server looks at once when the history changes.
            #expect(throws: Never.self) { try folder.write("history.db", [0]) }
        }

        #expect(late.status == 202 && late.json["run"].number == 7)
        #expect(late.json["reason"].text == "the server is busy and cannot look at the run")
        #expect(ended.status == 200, "\(ended)")
        #expect(ended.json["state"].text == "succeeded" && ended.json["exit_status"].number == 0)
    }

    @Test func `who asks for many commands keeps nobody else waiting`() {
        var queue = WorkQueue<Int>()
        let (anna, ben, carl) = (
            Asker.person("anna"), Asker.person("ben"), Asker.person("carl")
        )

        let annas = (0..<60).map { queue.add($0, for: anna) }
        #expect(annas.count { $0 == .begins } == 3 && annas.count { $0 == .waits } == 32)
        #expect(queue.add(100, for: ben) == .begins)
        #expect(queue.add(101, for: ben) == .waits)
        #expect(queue.add(200, for: carl) == .waits)
        // Who has nothing running comes before who has waited longer.
        #expect(queue.end(of: anna)?.job == 200)
        // Then who has the least running; anna has two and ben has one.
        #expect(queue.end(of: carl)?.job == 101)
        #expect(queue.end(of: ben)?.job == 3)
    }

    @Test func `many event streams of one person end for those of another`() throws {
        let events = ChangeEvents(stateDirectory: "/nonexistent")
        let annas = (0..<256).compactMap { _ in events.client(of: "anna") { false } }
        for stream in annas.prefix(2) {
            #expect(stream.next(room: 1000) { nil } == Array("retry: 2000\n\n".utf8))
        }

        #expect(events.client(of: "anna") { false } == nil)
        let ben = try #require(events.client(of: "ben") { false })

        #expect(annas.count == 256)
        #expect(annas[0].next(room: 1000) { nil } == [])
        #expect(annas[1].next(room: 1000) { nil } == nil)
        #expect(ben.next(room: 1000) { nil }?.isEmpty == false)
    }

    @Test func `strangers have one place, and leave the others to persons`() {
        var queue = WorkQueue<Int>()

        let taken = (0..<100).map { queue.add($0, for: .stranger("\($0 / 10)")) }

        #expect(taken.count { $0 == .begins } == 1)
        // Eight of each of the first eight peers wait, and nobody after 64 of them.
        #expect(taken.count { $0 == .waits } == 64)
        #expect(queue.add(100, for: .person("")) == .begins)
        #expect(queue.end(of: .stranger("0"))?.job == 1)
    }

    @Test(arguments: [
        (CommandAnswer.End.failure(.timedOut), false, 504, "the command took longer than 30s"),
        (.failure(.tooLarge), false, 400, "the answer is too long; ask for a shorter time"),
        (.failure(.refused("cannot make a pipe: x")), false, 503, "cannot make a pipe: x"),
        (
            end(64, "", "clarity-jobs: no run 7 in the history\n"), true, 404,
            "no run 7 in the history"
        ),
        (end(64, "", "clarity-jobs: --since\nhelp: x\n"), false, 400, "--since"),
        (end(66, "", "clarity-jobs: no data\n"), false, 404, "no data"),
        (end(1, "", "clarity-jobs: none\n"), true, 404, "none"),
        (end(74, "", "clarity-jobs: disk is full\n"), true, 503, "disk is full"),
        (end(0, "", ""), false, 503, "the command ended with 0"),
        (end(143, "[{\"a\":1}", ""), false, 503, "the command ended with 143"),
        (end(1, "{\"holds\":false}\n", ""), false, 200, nil),
        // Commands that could not go on have closed what they had begun, or were cut off in it.
        (end(69, "[\n{\"a\":1}\n]\n", "clarity-jobs: no server\n"), false, 503, "no server"),
        (end(74, "{\"a\":1}\n", "clarity-jobs: disk is full\n"), false, 503, "disk is full"),
        (end(137, "{\"a\":1}\n", ""), false, 503, "the command ended with 137"),
        (end(1, "{\"runs\":[{\"id\":1}", "clarity-jobs: none\n"), false, 503, "none"),
        (end(1, "{\"text\":\"]}", "clarity-jobs: none\n"), false, 503, "none"),
        (end(0, "{\"a\":1}{\"a\":2}", ""), false, 503, "the command ended with 0"),
    ])
    func `the end of a command decides the status`(
        end: CommandAnswer.End, namesOne: Bool, status: UInt32, error: String?
    ) throws {
        let answer = CommandAnswer.toQuery(end, namesOne: namesOne)

        #expect(answer.status == status)
        guard case .bytes(let bytes) = answer.content else {
            Issue.record("the answer has no JSON")
            return
        }
        let told = try JSONValue(String(decoding: bytes, as: UTF8.self))
        #expect(told["error"].text == error)
    }

    private static func end(_ status: Int32, _ output: String, _ errors: String)
        -> CommandAnswer.End
    {
        .success(
            CapturedCommand.Result(
                status: status, output: Array(output.utf8), errors: Array(errors.utf8)))
    }

    @Test func `beyond loopback, addresses and the machine's name are answered`() throws {
        let address = try #require(ListenAddress("0.0.0.0:8799"))
        let hosts = PageHosts(address, isEncrypted: true, outer: "https://health.example:8799")

        for host in ["192.0.2.7:8799", "127.0.0.1:8799", "localhost:8799", "health.example:8799"] {
            #expect(hosts.accepts(host: host), "\(host)")
            #expect(hosts.accepts(origin: "https://\(host)", host: host))
            #expect(!hosts.accepts(origin: "http://\(host)", host: host))
        }
        for host in [
            "192.0.2.7", "192.0.2.7:1", "evil.example:8799", "192.0.2.7.evil.example:8799",
            "3221225991:8799", "0xC0.0.2.7:8799",
        ] {
            #expect(!hosts.accepts(host: host), "\(host)")
        }
        #expect(!hosts.accepts(host: nil))
    }

    @Test(arguments: [
        ("https://health.example", "https://health.example"),
        ("https://Health.example:8443/", "https://health.example:8443"),
        ("http://health.example", nil), ("https://", nil), ("https://a b", nil),
        ("https://a/b", nil), ("https://a:b", nil), ("https://a@b", nil), ("health.example", nil),
    ])
    func `the address of a proxy is an origin with TLS`(text: String, origin: String?) {
        #expect(PageHosts.outer(text) == origin)
    }

    @Test func `every file of the pages is embedded`() async throws {
        let check = try await ChildProgram.run(
            "\(Playground.root)/scripts/list-assets", ["--check"],
            environment: ["PATH": "/usr/bin:/bin"])
        let folder = "\(Playground.root)/Sources/CWebPages/assets"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)

        #expect(check.status == 0, "\(check.errors)")
        for name in names {
            guard case .fixed(let bytes)? = PageFiles.answer(name)?.content else {
                Issue.record("`\(name)` is missing")
                continue
            }
            let file = try TemporaryFolder.read("\(folder)/\(name)")
            #expect(
                Array(UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)) == file,
                "`\(name)` has changed since the build")
        }
        #expect(PageFiles.answer("../include/CWebPages.h") == nil)
    }
}
