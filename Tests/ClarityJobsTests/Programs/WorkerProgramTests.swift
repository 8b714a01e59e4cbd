import HealthModel
import HealthStore
import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc
import Testing

@testable import ClarityJobs

@Suite struct WorkerProgramTests {
    /// Makes a bench with the machine's time, because the program uses the machine's clock.
    private func bench() throws -> WorkBench {
        let bench = WorkBench()
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        bench.clock.set(Instant(secondsSince1970: Int64(time.tv_sec)))
        try bench.logIn()
        return bench
    }

    private func lines(_ bench: WorkBench, _ kind: String, at url: String = "") -> [String] {
        bench.order(kind, url.isEmpty ? [:] : ["backend.url": url]).lines
    }

    // MARK: attempt

    @Test func `an attempt reports its counts and its outcome and ends with 0`() throws {
        let bench = try bench()
        let process = try WorkerProcess(["attempt"])

        process.order(lines(bench, "cleanup"))
        let end = process.end()

        #expect(end.status == 0)
        #expect(end.reports.contains("count samples_removed 0"))
        #expect(end.reports.last == "outcome success")
        #expect(try end.reports.map { try AttemptReport(line: $0) }.count == end.reports.count)
        #expect(end.output == "" && end.errors == "")
    }

    @Test func `a failed attempt is reported and ends with 0 too`() throws {
        let bench = WorkBench()
        let process = try WorkerProcess(["attempt"])

        process.order(lines(bench, "refresh"))
        let end = process.end()

        #expect(end.status == 0)
        #expect(
            end.reports.last
                == "outcome awaits login credential waits for a login; run `clarity-jobs auth login`"
        )
    }

    @Test func `a warning ends the work where it can be taken up again`() throws {
        let bench = try bench()
        let page = #"{"data":[],"pagination":{"has_next":true,"next_cursor":"c1"}}"#
        let insights = #"{"success":true,"data":{"insights":[],"has_more":false}}"#
        let server = try ScriptedServer([
            .answer(200, #"{"user_id":"\#(WorkBench.user)"}"#), .answer(200, insights),
            .answer(200, page),
        ])
        try bench.logIn(at: server.url)
        let process = try WorkerProcess(["attempt"])

        kill(process.id, SIGTERM)
        process.order(lines(bench, "refresh", at: server.url))
        let end = process.end()

        #expect(end.status == 0)
        #expect(
            end.reports.filter { !$0.hasPrefix("fact ") }.suffix(3) == [
                "checkpoint whole c1",
                "note its time ended after 1 page of metrics; the profile, the latest insights "
                    + "and these pages are kept",
                "outcome retry - work its time ended before everything was done",
            ])
    }

    @Test func `a warning ends a request whose answer does not come`() async throws {
        let bench = try bench()
        let page = #"{"data":[],"pagination":{"has_next":true,"next_cursor":"c1"}}"#
        let insights = #"{"success":true,"data":{"insights":[],"has_more":false}}"#
        let server = try ScriptedServer([
            .answer(200, #"{"user_id":"\#(WorkBench.user)"}"#), .answer(200, insights),
            .answer(200, page), .silence,
        ])
        try bench.logIn(at: server.url)
        let process = try WorkerProcess(["attempt"])
        var order = bench.order("refresh", ["backend.url": server.url])
        order.warning = .milliseconds(20)
        process.order(order.lines)
        var requests = 0
        for await event in server.events {
            if case .request = event { requests += 1 }
            if requests == 4 { break }
        }

        kill(process.id, SIGTERM)
        let end = process.end()

        #expect(end.status == 0)
        #expect(
            end.reports.filter { !$0.hasPrefix("fact ") }.suffix(2) == [
                "checkpoint whole c1", "outcome retry - work stopped before it was done",
            ])
    }

    @Test func `a worker ends at once with its scheduler`() async throws {
        let bench = try bench()
        let server = try ScriptedServer([.silence])
        try bench.logIn(at: server.url)
        let process = try WorkerProcess(["attempt"])
        process.order(lines(bench, "refresh", at: server.url))
        for await event in server.events {
            if case .request = event { break }
        }

        process.endOrders()
        let end = process.end()

        #expect(end.status == 70)
        #expect(end.reports == [])
    }

    @Test func `an order that ends early is refused`() throws {
        let process = try WorkerProcess(["attempt"])

        process.order(["run=1"])
        process.endOrders()
        let end = process.end()

        #expect(end.status == 65)
        #expect(end.errors == "clarity-jobs-worker: no whole order on descriptor 3\n")
    }

    @Test func `an order without a field is refused by its name`() throws {
        let process = try WorkerProcess(["attempt"])

        process.order(["run=1", "end"])
        let end = process.end()

        #expect(end.status == 65)
        #expect(
            end.errors
                == "clarity-jobs-worker: the order on descriptor 3 is faulty: expected a job's id for `job`\n"
        )
    }

    // MARK: dry-run

    @Test func `a dry run shows its requests on the standard output`() throws {
        let bench = try bench()
        let before = bench.stateContents()
        let process = try WorkerProcess(["dry-run"])

        process.order(lines(bench, "insight-history"))
        let end = process.end()

        #expect(end.status == 0)
        #expect(
            end.output.hasPrefix("GET http://127.0.0.1:9/api/v1/insights/history/")
                && end.output.hasSuffix("nothing was sent, nothing was changed\n"))
        #expect(bench.stateContents() == before)
    }

    @Test func `a dry run that could not go on says why and ends with its category`() throws {
        let bench = WorkBench()
        let process = try WorkerProcess(["dry-run"])

        process.order(lines(bench, "refresh"))
        let end = process.end()

        #expect(end.status == 77)
        #expect(
            end.errors
                == "clarity-jobs-worker: nobody is logged in; run `clarity-jobs auth login`\n")
    }

    private static let pinsWanted =
        "`backend.pins` wants at least two different pins, one of them of a backup key, each "
        + "`sha256//` and the 44 characters of a digest in base64"

    @Test func `an attempt with one pin alone says what is wanted and sends nothing`() throws {
        let bench = try bench()
        let server = try ScriptedServer([.answer()])
        let process = try WorkerProcess(["attempt"])
        let pin = "sha256//" + String(repeating: "A", count: 43) + "="

        process.order(
            bench.order("refresh", ["backend.url": server.url, "backend.pins": pin]).lines)
        let end = process.end()

        #expect(
            end.reports.last
                == "outcome failure configuration \(WorkerProgramTests.pinsWanted)")
        #expect(server.connections == 0)
    }

    @Test(
        .enabled(if: HostileServer.isAvailable, "needs python3 and openssl"),
        arguments: [true, false])
    func `a password goes to a server with a pinned key alone`(isPinned: Bool) async throws {
        let bench = WorkBench()
        let authority = try await TestAuthority()
        let identity = try await authority.identity("server")
        let pins = [
            try await authority.identity("other").pin,
            isPinned ? identity.pin : try await authority.identity("third").pin,
        ]
        let server = try await HostileServer(identity)

        let end = try await blocking {
            let process = try WorkerProcess(["auth", "login", "--email", "a@example.com"])
            process.order(
                bench.order(
                    "backend",
                    [
                        "backend.url": "\(server.url)/ok",
                        "backend.ca_bundle": authority.certificate,
                        "backend.pins": pins.joined(separator: "\n"),
                    ]
                ).lines)
            process.type(["PASSWORD-MARKER"])
            return process.end().errors
        }

        let requests = await server.finish().count { $0.hasPrefix("request") }
        #expect(requests == (isPinned ? 1 : 0))
        let sentence = "clarity-jobs-worker: the backend's key is none of `backend.pins`\n"
        #expect((end == sentence) == !isPinned)
    }

    @Test(.enabled(if: HostileServer.isAvailable, "needs python3 and openssl"))
    func `no environment variable has the keys of a connection written to a file`() async throws {
        let folder = try TemporaryFolder()
        let keys = "\(folder.path)/tls-keys"
        let authority = try await TestAuthority()
        let server = try await HostileServer(try await authority.identity("server"))

        let status = try await blocking {
            try WorkerProcess(
                ["probe", "\(server.url)/ok"], environment: ["SSLKEYLOGFILE=\(keys)"]
            )
            .end().status
        }

        _ = await server.finish()
        #expect(status == 69)
        #expect(access(keys, F_OK) == -1)
    }

    @Test func `a login with one pin alone ends with 78`() throws {
        let bench = WorkBench()

        let process = try WorkerProcess(["auth", "login", "--email", "a@example.com"])
        process.order(bench.order("backend", ["backend.pins": "sha256//x"]).lines)
        process.type(["PASSWORD-MARKER"])
        let end = process.end()

        #expect(end.status == 78)
        #expect(end.errors == "clarity-jobs-worker: \(WorkerProgramTests.pinsWanted)\n")
    }

    // MARK: proxies

    @Test func `another machine is reached through the environment's proxy`() throws {
        let bench = WorkBench()
        let refusal = ScriptedAnswer.answer(407, "who are you?")
        let proxy = try ScriptedServer(Array(repeating: refusal, count: 4))

        let process = try WorkerProcess(
            ["auth", "login", "--email", "a@example.com"],
            environment: ["https_proxy=\(proxy.url)"])
        process.order(lines(bench, "backend", at: "https://backend.example/api"))
        process.type(["PASSWORD-MARKER"])
        let end = process.end()

        #expect(end.status == 69)
        #expect(end.errors == "clarity-jobs-worker: the proxy makes no way to the backend (407)\n")
        let first = try #require(proxy.requests.first)
        #expect(first.method == "CONNECT" && first.target == "backend.example:443")
        #expect(proxy.requests.allSatisfy { $0.body.isEmpty && $0.headers["authorization"] == nil })
    }

    @Test func `this machine is reached without any proxy`() throws {
        let bench = WorkBench()
        let proxy = try ScriptedServer([.answer()])
        let server = try ScriptedServer([.answer(401, "{}")])

        let process = try WorkerProcess(
            ["auth", "login", "--email", "a@example.com"],
            environment: [
                "http_proxy=\(proxy.url)", "https_proxy=\(proxy.url)", "all_proxy=\(proxy.url)",
            ])
        process.order(lines(bench, "backend", at: server.url))
        process.type(["PASSWORD-MARKER"])
        let end = process.end()

        #expect(end.status == 77)
        #expect(server.requests.count == 1)
        #expect(proxy.connections == 0)
    }

    // MARK: auth

    @Test func `a login keeps the session`() throws {
        let bench = WorkBench()
        let server = try ScriptedServer([
            .answer(
                200,
                """
                {"user":{"user_id":"u1","email":"a@example.com"},"tokens":{"access_token":"MARKER",\
                "refresh_token":"MARKER","token_type":"bearer","expires_in":3600}}
                """)
        ])

        let process = try WorkerProcess(["auth", "login", "--email", "a@example.com"])
        process.order(lines(bench, "backend", at: server.url))
        process.type(["PASSWORD-MARKER"])
        let login = process.end()

        #expect(login.status == 0)
        #expect(login.output.hasPrefix("logged in as a@example.com (u1) until 2"))
        #expect(try bench.store().sessions.load()?.userID == "u1")
        #expect(!(login.output + login.errors).contains("MARKER"))
        #expect(server.requests.first?.body.contains("PASSWORD-MARKER") == true)
    }

    @Test func `a wrong password ends with 77, an unreachable backend with 69`() throws {
        let bench = WorkBench()
        let server = try ScriptedServer([.answer(401, "{}")])
        func login(_ url: String) throws -> (status: Int32, errors: String) {
            let process = try WorkerProcess(["auth", "login", "--email", "a@example.com"])
            process.order(lines(bench, "backend", at: url))
            process.type(["wrong"])
            let end = process.end()
            return (end.status, end.errors)
        }

        let wrong = try login(server.url)
        // Nobody listens on port 9 (discard) here.
        let unreachable = try login("http://127.0.0.1:9")

        #expect(wrong.status == 77)
        #expect(
            wrong.errors
                == "clarity-jobs-worker: the backend refused the e-mail address or the password\n")
        #expect(unreachable.status == 69)
    }

    @Test(arguments: [
        [], ["fly"], ["attempt", "now"], ["auth"], ["auth", "fly"], ["auth", "status"],
        ["auth", "status", "--state"], ["auth", "status", "--colour", "red"],
        ["auth", "status", "--state", "/nowhere", "--output", "red"],
        [
            "auth", "login", "--dialect", "blueprint", "--email", "a@example.com", "--state",
            "/nowhere",
        ],
    ])
    func `what is not understood ends with 64 and the usage`(arguments: [String]) throws {
        let end = try WorkerProcess(arguments).end()

        #expect(end.status == 64)
        #expect(end.errors.contains("usage: clarity-jobs-worker attempt\n"))
    }
}
