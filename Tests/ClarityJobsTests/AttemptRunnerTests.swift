@testable import Backend
@testable import BackendContract
@testable import HealthStore
import HealthModel
import ClarityScheduler
import Database
import Platform
import ClarityTestSupport

@testable import ClarityJobs
@preconcurrency import Glibc
import Testing

@Suite struct AttemptRunnerTests {
    @Test(arguments: [
        (["backend.url": ""], "`backend.url` is missing"),
        (["backend.dialect": "x"], "`backend.dialect` is not a known dialect"),
        (["backend.retry_wait": "0"], "`backend.retry_wait` is not 1 to 60000 milliseconds"),
        (
            ["backend.max_requests_per_second": "nan"],
            "`backend.max_requests_per_second` is not a number in its range"
        ),
        (
            ["backend.max_connections": "0"],
            "`backend.max_connections` is not a number in its range"
        ),
        (["batch_size": "1001"], "option `batch_size` is not a number in its range"),
        (["batch_size": "many"], "option `batch_size` is not a number in its range"),
        (["route": "window"], "option `route` is not one of its words"),
        (["on_ambiguous": ""], "option `on_ambiguous` is not one of its words"),
        (["sources.0.kind": "fax"], "there is no source of the kind `fax`"),
        (["sources.0.kind": "apple-health-export"], "`sources.0.path` is missing"),
    ])
    func `a faulty order is a configuration failure`(
        options: [String: String], reason: String
    ) async {
        let bench = WorkBench()

        let (outcome, _) = await bench.attempt("bulk-upload", options)

        #expect(outcome == .failure(Failure(.configuration, reason)))
    }

    @Test func `a dialect that is to be found out is asked for once and kept in the store`()
        async throws
    {
        let bench = WorkBench { request throws(TransportError) in
            request.path == "/auth/health"
                ? .ok(#"{"status":"healthy","service":"authentication"}"#)
                : .ok(#"{"success":true,"data":{"insights":[],"has_more":false}}"#)
        }
        try bench.logIn()

        let first = await bench.attempt("insight-history", ["backend.dialect": "auto"])
        let second = await bench.attempt("insight-history", ["backend.dialect": "auto"])

        #expect(first.outcome == .success && second.outcome == .success)
        #expect(
            bench.backend.calls.filter { $0 == "GET /auth/health" }.count == 1)
        #expect(
            bench.backend.requests.first?.headers.contains { $0.name == "Authorization" } == false)
        #expect(try bench.store().sessions.dialect(of: WorkBench.url) == "loop")
    }

    @Test func `an attempt without time for its next request comes back when there is room`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bench = WorkBench { _ throws(TransportError) in
            .ok(#"{"success":true,"data":{"insights":[],"has_more":false}}"#)
        }
        try bench.logIn()
        let options = [
            "backend.max_requests_per_second": "0.1", "state.limits_folder": folder.path,
        ]

        let first = await bench.attempt("insight-history", options)
        // Two other processes have taken the next turns: 10 s and 20 s from now.
        let url = WorkBench.url
        for _ in 0..<2 {
            _ = try await LimitedTransport(
                bench.backend, SharedLimits(requestsPerSecond: 0.1), backend: url,
                folder: folder.path, clock: StandingClock(clock: bench.clock)
            ).send(HTTPRequest(.get, "\(url)/x"))
        }
        let second = await bench.attempt("insight-history", options)

        #expect(first.outcome == .success)
        #expect(
            second.outcome
                == .snooze(
                    after: .seconds(30),
                    Failure(
                        .unreachable,
                        "this machine sends the backend as much as "
                            + "`backend.max_requests_per_second` and `backend.max_connections` allow"
                    )))
        // A wait for the own limit is not counted as an answer that did not come.
        #expect(!second.reports.tally.names.contains("http_none"))
        #expect(bench.backend.calls.count == 3)
    }

    @Test func `what needs no backend asks for no dialect`() async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .offline }

        let (outcome, _) = await bench.attempt("cleanup", ["backend.dialect": "auto"])

        #expect(outcome == .success)
        #expect(bench.backend.requests.isEmpty)
    }

    @Test(arguments: ["bulk-upload", "refresh", "processing-status", "insight-history", "cleanup"])
    func `an attempt ends with the facts of its account`(kind: String) async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .offline }
        try bench.logIn()
        try bench.enqueue(0..<3)

        let (_, reports) = await bench.attempt(kind, ["fresh.heart_rate": "60000"])

        #expect(
            reports.facts.map { "\($0.name) \($0.value.map { String($0) } ?? "-")" } == [
                "fresh_until.heart_rate -", "waiting 3", "unconfirmed 0", "set_aside 0",
                "rejected 0", "logged_in 1", "last_reading -",
            ])
        #expect(reports.facts.allSatisfy { $0.at == bench.clock.now })
    }

    @Test func `an attempt that cannot report its facts says why`() async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .offline }
        try bench.logIn()
        try bench.store().changeAnyway {
            try $0.execute("UPDATE session SET sealed = zeroblob(99)")
        }

        let (outcome, reports) = await bench.attempt("cleanup")

        #expect(outcome == .success)
        #expect(reports.facts == [])
        #expect(
            reports.notes.last
                == "`status` keeps what it knew of the data: the login that was kept is damaged; run "
                + "`clarity-jobs auth login`")
    }

    @Test func `facts follow from what the attempt itself changed`() async throws {
        let bench = WorkBench { _ throws(TransportError) in
            .status(201, #"{"processing_id":"p","accepted_metrics":3}"#)
        }
        try bench.logIn()
        try bench.enqueue(0..<3)

        let (_, reports) = await bench.attempt("bulk-upload", ["fresh.heart_rate": "60000"])

        // The newest of the samples ends two minutes after the first, and the goal is a minute.
        #expect(
            reports.facts.first { $0.name == "fresh_until.heart_rate" }?.value
                == 1_700_000_180_000)
        #expect(reports.facts.first { $0.name == "waiting" }?.value == 0)
    }

    @Test(arguments: ["export-data", "audit-upload"])
    func `an attempt that changes no health data reports no facts`(kind: String) async throws {
        let bench = WorkBench()
        try bench.logIn()

        let (_, reports) = await bench.attempt(kind, ["fresh.heart_rate": "60000"])

        #expect(reports.facts == [])
    }

    @Test func `an unknown kind is a configuration failure`() async {
        let bench = WorkBench()

        let (outcome, _) = await bench.attempt("sing")

        #expect(
            outcome
                == .failure(Failure(.configuration, "there is no worker for the kind `sing`")))
    }

    @Test func `every kind of the catalogue has a worker`() {
        // `NotifyAttempt` needs no backend, and so no worker of this sort.
        for declaration in clarityCatalogue.kinds where declaration.kind != .notify {
            #expect(kindWorker(for: declaration.kind) != nil, "\(declaration.kind)")
        }
    }

    @Test func `a store without its key is a configuration failure`() async throws {
        let bench = WorkBench()
        try bench.enqueue(0..<1)
        unlink("\(bench.state)/keys/master.key")

        let (outcome, _) = await bench.attempt("cleanup")

        #expect(
            outcome
                == .failure(
                    HealthStoreError.lostKey(path: "\(bench.state)/health.db").failure))
    }

    @Test func `an unforeseen error shows its type and nothing of its text`() {
        struct Odd: Error { var secret = "MARKER" }

        #expect(
            outcome(of: Odd())
                == .failure(Failure(.internalFault, "unexpected error of type `Odd`")))
    }

    @Test func `the login of another user is a configuration failure`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        let sessions = StoredSessions(try bench.store(), backend: WorkBench.url)
        let other = Session(
            userID: "other", email: "o@example.com", accessToken: Secret("a"),
            refreshToken: Secret("r"), expiresAt: bench.clock.now)

        let failure = #expect(throws: Failure.self) {
            try sessions.save(other, at: bench.clock.now)
        }

        #expect(failure?.category == .configuration)
        #expect(try sessions.load()?.userID == WorkBench.user)
    }

    @Test(arguments: ["refresh", "bulk-upload", "processing-status", "insight-history"])
    func `another backend sees neither tokens nor samples`(kind: String) async throws {
        let bench = WorkBench()
        try bench.logIn()
        try bench.enqueue(0..<1)
        let batch = try #require(try bench.store().outbox.nextBatch(limit: 1, at: bench.clock.now))
        try bench.store().outbox.settle(batch, processingID: "p", at: bench.clock.now)
        try bench.enqueue(1..<2)

        let (outcome, _) = await bench.attempt(kind, ["backend.url": "http://127.0.0.1:9/api/v2"])

        #expect(
            outcome
                == .failure(
                    Failure(
                        .credential,
                        "the login is for another backend than `backend.url`; run "
                            + "`clarity-jobs auth login`")))
        #expect(bench.backend.calls == [])
        #expect(try bench.states() == [.accepted: 1, .queued: 1])
    }

    @Test(arguments: [
        LongText("\\", times: 4000), LongText("é", times: 2000), "\u{1B}[31mx",
        "\u{9B}31mx", "\u{202E}x", "a\nb", "a\r\nb",
    ])
    func `what is said fits a report's line and steers no terminal`(name: LongText) async throws {
        let bench = WorkBench()
        let folder = try TemporaryFolder()

        let (outcome, reports) = await bench.attempt(
            "bulk-upload",
            [
                "sources.0.kind": "apple-health-export",
                "sources.0.path": "\(folder.path)/\(name.text)",
                "sources.1.kind": "apple-health-export",
                "sources.1.path": "\(folder.path)/\(name.text)2",
            ])

        // The first source's fault ends the run; the second one's is a note.
        #expect(reports.notes.count == 1)
        for report in [AttemptReport.outcome(outcome)] + reports.notes.map({ .note($0) }) {
            #expect(report.line.utf8.count <= AttemptReport.longestLine)
        }
        let texts = reports.notes + ["\(outcome)"]
        for scalar in texts.joined().unicodeScalars {
            #expect(![.control, .format].contains(scalar.properties.generalCategory))
        }
    }

    @Test func `a note is cut where a report ends`() {
        #expect("abc".cut(toBytes: 3) == "abc")
        #expect("éééé".cut(toBytes: 7) == "éé...")
        #expect(String(repeating: "x", count: 5000).cut(toBytes: 900).utf8.count == 900)
    }

    @Test func `an attempt waits for a change of the master key to end`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        let descriptor = open("\(bench.state)/health.lock", O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        defer { close(descriptor) }

        let (outcome, _) = await bench.attempt("refresh")

        #expect(
            outcome
                == .retry(
                    after: nil,
                    Failure(
                        .unreachable,
                        "the master key of `\(bench.state)/health.db` is being changed; try again "
                            + "when that has ended")))
        #expect(bench.backend.calls == [])
    }
}

/// A clock whose waits take no time, as those of another process do.
private struct StandingClock: WallClock {
    let clock: ManualClock
    var now: Instant { clock.now }
    var elapsed: Duration { clock.elapsed }
    func sleep(for span: Duration) async {}
}
