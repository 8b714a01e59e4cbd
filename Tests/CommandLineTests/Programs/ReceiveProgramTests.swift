import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@Suite("The receiver of pushes", .timeLimit(.minutes(5)))
struct ReceiveProgramTests {
    /// Ends the receiver, and returns the lines of its log.
    private func log(of receiver: ReceiverProgram) async -> [String] {
        receiver.program.signal(SIGTERM)
        let end = await receiver.program.finish()
        #expect(end.status == 143 && end.output == "")
        return end.errorLines.map { String($0.dropFirst("clarity-jobs: ".count)) }
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    // MARK: Good pushes

    @Test func `a push is a private file of its own, however often it comes`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let push = ReceiverProgram.push(1)

        let first = try await receiver.send(push, token: token)
        let again = try await receiver.send(push, token: token)
        let bearer = try await receiver.send(
            push, token: "", headers: ["Authorization": "Bearer \(token)"])
        let utf8 = try await receiver.send(
            ReceiverProgram.push(2), token: token, type: "Application/JSON; charset=utf-8")

        let files = try playground.received()
        #expect(
            [first, again, bearer, utf8].allSatisfy { $0 == .init(status: 200, text: "stored") })
        #expect(Set(files.values) == [Array(push.utf8), Array(ReceiverProgram.push(2).utf8)])
        let folder = playground.folder.path
        #expect(mode("\(folder)/received") == 0o700)
        for name in files.keys {
            #expect(mode("\(folder)/\(name)") == 0o600)
            #expect(name.wholeMatch(of: /received\/[0-9a-f]{64}\.json/) != nil)
        }
        #expect(files.count == 2)
        #expect(
            await log(of: receiver) == [
                "stored a push of \(push.utf8.count) bytes",
                "stored a push of \(push.utf8.count) bytes",
                "stored a push of \(push.utf8.count) bytes",
                "stored a push of \(ReceiverProgram.push(2).utf8.count) bytes",
            ])
    }

    @Test func `a job takes each sample of the pushes once, and deletes their files`()
        async throws
    {
        let (playground, token) = try await ReceiverProgram.playground()
        try await playground.logIn()
        let receiver = try await ReceiverProgram(playground)
        // The second push has the sample of the first, in another text.
        let bodies = [
            ReceiverProgram.push(1), ReceiverProgram.push(1) + "\n", ReceiverProgram.push(2),
        ]
        for body in bodies { #expect(try await receiver.send(body, token: token).status == 200) }
        #expect(try playground.received().count == 3)

        let first = try await playground.run("run", "upload")
        let told = try await playground.lastRun(of: "upload")
        let left = try playground.received()
        #expect(try await receiver.send(bodies[0], token: token).status == 200)
        let second = try await playground.run("run", "upload")

        #expect(first.status == 0 && second.status == 0, "\(first.errors)\(second.errors)")
        #expect(told["counts"]["files_deleted"] == .number(3))
        #expect(left.isEmpty)
        #expect(try playground.received().isEmpty)
        #expect(try await playground.sandbox?.count("metrics") == 2)
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 2)
    }

    @Test func `the steps of a day that come in two pushes are one day`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        try await playground.logIn()
        let receiver = try await ReceiverProgram(playground)
        for hour in ["08", "20"] {
            let push = """
                {"data":{"metrics":[{"name":"step_count","units":"count","data":[
                    {"date":"2026-10-10 \(hour):00:00 +0000","qty":1000,"source":"Watch"}]}]}}
                """
            #expect(try await receiver.send(push, token: token).status == 200)
            #expect(
                try await playground.run("import", "\(playground.folder.path)/received").status == 0
            )
        }

        let run = try await playground.run("run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 1)
    }

    @Test func `a dry run leaves the pushes, and so does an import`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        try await playground.logIn()
        let receiver = try await ReceiverProgram(playground)
        #expect(try await receiver.send(ReceiverProgram.push(1), token: token).status == 200)

        let dryRun = try await playground.run("dry-run", "upload")
        let imported = try await playground.run("import", "\(playground.folder.path)/received")

        #expect(dryRun.status == 0 && imported.status == 0, "\(imported.errors)")
        #expect(try playground.received().count == 1)
    }

    // MARK: Refused pushes

    private struct Refusal: CustomTestStringConvertible {
        var status: Int
        var text: String
        var body = ReceiverProgram.push(1)
        var method = "POST"
        var path = ReceiverProgram.path
        var type = "application/json"
        var token: String?

        var testDescription: String { "\(status) \(text)" }

        static let all = [
            Refusal(status: 401, text: "the token is wrong or missing", token: ""),
            Refusal(
                status: 401, text: "the token is wrong or missing",
                token: String(repeating: "0", count: 64)),
            Refusal(status: 404, text: "there is only /health-auto-export", path: "/"),
            Refusal(status: 405, text: "only POST is answered", method: "PUT"),
            Refusal(status: 405, text: "only POST is answered", body: "", method: "GET"),
            Refusal(
                status: 415, text: "only JSON is taken; set the export format to JSON",
                body: "a,b\n", type: "text/csv"),
            Refusal(
                status: 415, text: "only JSON is taken; set the export format to JSON",
                type: "multipart/form-data; boundary=x"),
            Refusal(
                status: 400, text: "the body is no JSON at byte 0: `{` should stand here", body: ""),
            Refusal(
                status: 400, text: "the body is no JSON at byte 0: `{` should stand here",
                body: "[]"),
            Refusal(
                status: 400, text: "the body has no object `data`", body: #"{"data":[],"x":{}}"#),
            Refusal(
                status: 400,
                text: "the body is no JSON at byte 13: the text ends where a value "
                    + "should be", body: #"{"data":{"a":"#),
            Refusal(
                status: 400, text: "the body is no JSON at byte 13: the number is too large",
                body: #"{"data":{"a":1e999}}"#),
            Refusal(
                status: 400, text: "the body is no JSON at byte 11: text after the value",
                body: #"{"data":{}}x"#),
        ]
    }

    @Test func `a refused push leaves its reason, and nothing else`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)

        for refusal in Refusal.all {
            let answer = try await receiver.send(
                refusal.body, token: refusal.token ?? token, method: refusal.method,
                path: refusal.path, type: refusal.type)
            #expect(answer == .init(status: refusal.status, text: refusal.text))
        }

        #expect(try playground.received().keys.isEmpty)
        #expect(
            await log(of: receiver)
                == Refusal.all.map { "refused a push with \($0.status): \($0.text)" })
    }

    static let hasCurl = access("/usr/bin/curl", X_OK) == 0

    @Test(.enabled(if: hasCurl, "needs curl"))
    func `a push that is too large is refused, whether it says so first or not`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let path = try playground.folder.write("large", [])
        #expect(truncate(path, (64 << 20) + 1) == 0)
        // Its request has no length.
        let curl = try await ChildProgram.run(
            "/usr/bin/curl",
            [
                "-sS", "-H", "x-api-key: \(token)", "-H", "Content-Type: application/json", "-H",
                "Transfer-Encoding: chunked", "-H", "Expect:", "-w", "%{http_code}",
                "--data-binary", "@\(path)", "http://127.0.0.1:\(receiver.port)/health-auto-export",
            ])
        let announced = try await receiver.send(
            String(repeating: " ", count: (64 << 20) + 1), token: token)

        let text = "a push has at most 64 MiB; turn on batching"
        #expect(curl.output == "\(text)\n413", "\(curl.errors)")
        #expect(announced == .init(status: 413, text: text))
        #expect(try playground.received().isEmpty)
        // The largest push that is taken.
        let head = #"{"data":{},"x":""#
        let largest = head + String(repeating: "x", count: 60 << 10) + #""}"#
        let spaces = String(repeating: " ", count: (64 << 20) - largest.utf8.count)
        #expect(try await receiver.send(largest + spaces, token: token).status == 200)
    }

    @Test func `a full folder takes nothing until jobs have read it`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let large = try playground.folder.write("received/large.json", [])
        let body = ReceiverProgram.push(1)

        #expect(truncate(large, 1 << 30) == 0)
        let full = try await LoopbackRequest.answer(
            "POST", ReceiverProgram.path,
            headers: ["x-api-key": token, "Content-Type": "application/json"], body: body,
            port: receiver.port)
        #expect(truncate(large, 1 << 30 - Int(body.utf8.count)) == 0)
        let last = try await receiver.send(body, token: token)
        unlink(large)
        for number in 1..<10_000 { try playground.folder.write("received/\(number)", []) }
        let many = try await receiver.send(ReceiverProgram.push(2), token: token)

        #expect(full.hasPrefix("HTTP/1.1 507") && full.contains("Retry-After: 3600\r\n"))
        #expect(full.hasSuffix("there is no room; jobs have to read what waits\n"))
        #expect(last.status == 200 && many.status == 507)
        #expect(try playground.received().keys.filter { $0.count > 60 }.count == 1)
    }

    @Test func `a large push holds up no other request`() async throws {
        // A busy machine may answer the large one first now and then. A receiver that is held up
        // always does.
        var areFirst = false
        for _ in 0..<10 where !areFirst { areFirst = try await othersComeFirst() }

        #expect(areFirst, "the large push was answered before the others")
    }

    /// Whether other requests are answered while a large push is looked at.
    private func othersComeFirst() async throws -> Bool {
        let (playground, token) = try await ReceiverProgram.playground()
        let other = try await playground.run("receive", "token", "add", "watch")
        let receiver = try await ReceiverProgram(playground)
        let body = #"{"data":{"x":["# + String(repeating: "1,", count: 3 << 20) + "1]}}"
        let large = try await blocking {
            try LoopbackRequest.open(
                """
                POST \(ReceiverProgram.path) HTTP/1.1\r
                Host: 127.0.0.1\r
                x-api-key: \(token)\r
                Content-Type: application/json\r
                Connection: close\r
                Content-Length: \(body.utf8.count)\r
                \r
                \(body)
                """, port: receiver.port)
        }
        defer { close(large) }
        // All of it has arrived, and it is looked at before its file has a name.
        var status = stat()
        while stat("\(playground.folder.path)/received/.push-1.part", &status) != 0
            || status.st_size < body.utf8.count
        {
            try Task.checkCancellation()
            var byte: UInt8 = 0
            guard recv(large, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 else { return false }
            await Task.yield()
        }

        let unknown = try await receiver.send("", token: "", method: "GET", path: "/")
        let small = try await receiver.send(
            ReceiverProgram.push(1), token: try #require(other.outputLines.first))
        var byte: UInt8 = 0
        let early = recv(large, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        let answer = try await blocking {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(large, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        }

        #expect(unknown.status == 404 && small.status == 200)
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(try playground.received().count == 2)
        return early == -1
    }

    @Test func `too many pushes at the same time are put off`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let receiver = try await ReceiverProgram(playground)
        let body = ReceiverProgram.push(1)
        var held: [Int32] = []
        defer { held.forEach { close($0) } }
        for _ in 0..<8 {
            held.append(
                try LoopbackRequest.open(
                    """
                    POST \(ReceiverProgram.path) HTTP/1.1\r
                    Host: 127.0.0.1\r
                    x-api-key: \(token)\r
                    Content-Type: application/json\r
                    Content-Length: 1000\r
                    \r
                    {"data"
                    """, port: receiver.port))
        }

        // The kernel has taken the eight, but the server may not have read them all.
        var answer = try await receiver.send(body, token: token)
        while answer.status == 200 {
            try Task.checkCancellation()
            answer = try await receiver.send(body, token: token)
        }
        #expect(answer == .init(status: 503, text: "too many pushes at the same time"))
        held.forEach { close($0) }
        held = []
        while answer.status == 503 {
            try Task.checkCancellation()
            answer = try await receiver.send(body, token: token)
        }

        #expect(answer.status == 200)
        while try playground.received().count > 1 {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(Array(try playground.received().values) == [Array(body.utf8)])
    }

    @Test func `a token has its pushes of a minute, and another token its own`() async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let other = try await playground.run("receive", "token", "add", "watch")
        // Boot time, which a suspended machine goes on with, ends the minute.
        let clock = "\(playground.folder.path)/clock"
        func set(suspended: Int64) throws {
            let bytes = [Int64(0), suspended].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            }
            let file = open(clock, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            try #require(pwrite(file, bytes, bytes.count, 0) == bytes.count)
        }
        try set(suspended: 0)
        let receiver = try await ReceiverProgram(
            playground, environment: ["LD_PRELOAD": Faultline.library, "FAULTLINE_CLOCK": clock])
        let push = ReceiverProgram.push(1)
        func answer() async throws -> String {
            try await LoopbackRequest.answer(
                "POST", ReceiverProgram.path,
                headers: ["x-api-key": token, "Content-Type": "application/json"], body: push,
                port: receiver.port)
        }

        // What is refused for another reason counts too.
        for _ in 0..<600 {
            #expect(try await receiver.send("[]", token: token, type: "text/csv").status == 415)
        }
        let refused = try await answer()
        let others = try await receiver.send(
            push, token: try #require(other.outputLines.first))
        try set(suspended: 60_000)
        let later = try await answer()

        #expect(refused.hasPrefix("HTTP/1.1 429"), "\(refused)")
        #expect(refused.hasSuffix("a token has at most 600 pushes a minute\n"))
        let wait = refused.firstMatch(of: /Retry-After: (\d+)\r\n/).flatMap { Int($0.1) }
        #expect((1...60).contains(wait ?? 0), "\(refused)")
        #expect(others.status == 200 && later.hasPrefix("HTTP/1.1 200"), "\(later)")
        #expect(try playground.received().count == 1)
    }

    @Test(arguments: [
        ("write:before:1:ENOSPC", 507), ("sync:before:1:ENOSPC", 507), ("sync:before:1:EIO", 500),
        ("rename:before:1:EACCES", 500), ("open:before:1:EMFILE", 500),
    ])
    func `what the disk refuses is not stored and not confirmed`(
        rule: String, status: Int
    ) async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        // Starting opens files of the folder, too.
        let start = try await passages(playground, faultline)
        let rule = rule.replacing("open:before:1", with: "open:before:\(start.opens + 1)")

        let faulty = try await ReceiverProgram(
            playground,
            environment: faultline.environment(
                texts: ["clarity-jobs-web:\(rule)"], folder: "\(playground.folder.path)/received"))
        let answer = try await faulty.send(ReceiverProgram.push(1), token: token)
        let left = try playground.received()
        let again = try await faulty.send(ReceiverProgram.push(1), token: token)

        #expect(answer.status == status, "\(answer)")
        #expect(!answer.text.contains(playground.folder.path))
        #expect(left.isEmpty)
        #expect(again.status == 200)
    }

    // MARK: Kills

    /// Returns how often a receiver that only starts passes points, and its opens.
    private func passages(
        _ playground: Playground, _ faultline: Faultline
    ) async throws -> (all: Int, opens: Int) {
        let receiver = try await ReceiverProgram(
            playground,
            environment: faultline.environment(folder: "\(playground.folder.path)/received"))
        await receiver.kill()
        defer { faultline.reset() }
        return (
            try faultline.count(of: .any, program: .web),
            try faultline.count(of: .open, program: .web)
        )
    }

    @Test func `a kill at any point leaves a whole push or none, and one that was confirmed`()
        async throws
    {
        let (playground, token) = try await ReceiverProgram.playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let folder = "\(playground.folder.path)/received"
        let start = try await passages(playground, faultline).all
        let counting = try await ReceiverProgram(
            playground, environment: faultline.environment(folder: folder))
        #expect(try await counting.send(ReceiverProgram.push(0), token: token).status == 200)
        await counting.kill()
        let end = try faultline.count(of: .any, program: .web)
        // The file and its two times of being synced are among them.
        #expect(try faultline.count(of: .sync, program: .web) == 1)
        #expect(end > start + 6)
        var kept = 0

        for nth in start + 1...end {
            faultline.reset()
            let push = ReceiverProgram.push(nth)
            let body = Array(push.utf8)
            let doomed = try await ReceiverProgram(
                playground,
                environment: faultline.environment(
                    texts: ["clarity-jobs-web:any:before:\(nth):kill"], folder: folder))
            let isConfirmed = await doomed.confirms(push, token: token)
            let visible = try playground.received().filter { !$0.key.contains("/.") }.values
                .filter { $0 != Array(ReceiverProgram.push(0).utf8) }
            #expect(visible.allSatisfy { $0 == body }, "\(nth)")
            #expect(visible.count == 1 || !isConfirmed, "\(nth)")
            kept += visible.count
            await doomed.kill()

            let next = try await ReceiverProgram(playground)
            let again = try await next.send(push, token: token)
            #expect(again.status == 200)
            let files = try playground.received()
            #expect(files.count == 2 && files.values.contains(body), "\(nth): \(files.keys)")
            for (name, bytes) in files where bytes == body {
                unlink("\(playground.folder.path)/\(name)")
            }
        }

        #expect(kept > 0)
    }

    @Test(arguments: ["unlink:before:1", "unlink:after:1", "commit:before:9"])
    func `a worker that is killed before or after it deletes a push loses and doubles nothing`(
        point: String
    ) async throws {
        let (playground, token) = try await ReceiverProgram.playground()
        try await playground.logIn()
        let receiver = try await ReceiverProgram(playground)
        for minute in 0..<2 {
            let push = ReceiverProgram.push(minute)
            #expect(try await receiver.send(push, token: token).status == 200)
        }
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let rules = ["clarity-jobs-worker:\(point):kill"]
        let folder = point.hasPrefix("unlink") ? "\(playground.folder.path)/received" : nil

        let doomed = try await playground.run(
            "run", "upload", environment: faultline.environment(texts: rules, folder: folder))

        // The run starts a second attempt by itself.
        #expect(doomed.status == 0, "\(doomed.errors)")
        #expect(try await playground.lastRun(of: "upload")["attempts"] == .number(2))
        #expect(try faultline.struck() == 1)
        #expect(try playground.received().isEmpty)
        #expect(try await playground.sandbox?.count("metrics") == 2)
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 2)
    }

    @Test func `each confirmed push is there once, however often the receiver is killed`()
        async throws
    {
        let count = getenv("CLARITY_PUSHES").flatMap { Int(String(cString: $0)) } ?? 200
        let seed = TrialSeed.first
        var random = SeededGenerator(seed: seed)
        let (playground, token) = try await ReceiverProgram.playground()
        try await playground.logIn()
        let keeper = try await ReceiverKeeper(playground)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<4 {
                group.addTask {
                    for minute in stride(from: first, to: count, by: 4) {
                        try await keeper.confirm(ReceiverProgram.push(minute), token: token)
                    }
                }
            }
            // A kill comes after a few pushes, in the middle of the next ones.
            var stored = 0
            while stored < count {
                let most = min(Int.random(in: 1...20, using: &random), count - stored)
                stored += try await keeper.kill(after: most)
            }
            try await group.waitForAll()
        }

        let files = try playground.received()
        #expect(
            Set(files.filter { !$0.key.contains("/.") }.values)
                == Set((0..<count).map { Array(ReceiverProgram.push($0).utf8) }), "seed \(seed)")
        let run = try await playground.run("run", "upload")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try await playground.sandbox?.count("metrics") == count)
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == count)
    }
}
