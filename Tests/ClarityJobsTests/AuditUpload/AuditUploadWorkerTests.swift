import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Synchronization
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite struct AuditUploadWorkerTests {
    private static let url = "https://audit.example/entries"

    /// Returns the numbers of the entries in each request.
    private func numbers(_ bench: WorkBench) -> [[Int]] {
        bench.backend.requests.map { request in
            String(decoding: request.body ?? [], as: UTF8.self).split(separator: "\n").map { line in
                Int(line.dropFirst("{\"number\":".count).prefix { $0.isNumber }) ?? 0
            }
        }
    }

    private func upload(
        _ bench: WorkBench, _ options: [String: String] = [:]
    ) async -> (outcome: Outcome, reports: Reports) {
        await bench.attempt("audit-upload", ["url": Self.url].merging(options) { $1 })
    }

    @Test func `entries go once, in their order, and without values`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        try bench.enqueue(0..<5)
        for _ in 0..<3 {
            try bench.store().audit.record(.exported, ["steps": 2], detail: "to a file")
        }

        let first = await upload(bench, ["page_size": "2"])
        try bench.store().audit.record(.exported)
        let second = await upload(bench)
        let third = await upload(bench)

        #expect([first, second, third].map(\.outcome) == [.success, .success, .success])
        #expect(numbers(bench) == [[1, 2], [3, 4], [5], [6]])
        #expect([first, second, third].map { $0.reports.tally["entries_sent"] } == [5, 1, 0])
        let request = try #require(bench.backend.requests.first)
        #expect(request.method == .post && request.url == Self.url)
        // A token is sent to nobody but the backend.
        #expect(request.headers == [HTTPHeader("Content-Type", .plain("application/x-ndjson"))])
        let records = try bench.store().audit.records(limit: 9)
        let body = String(decoding: try #require(bench.backend.requests[1].body), as: UTF8.self)
        #expect(
            body.split(separator: "\n").first.map(String.init)
                == """
                {"number":3,"hash":"\(records[2].hash)","at":"\(records[2].at)","action":"exported",\
                "counts":{"steps":2}}
                """)
        for request in bench.backend.requests {
            let text = String(decoding: request.body ?? [], as: UTF8.self)
            #expect(!text.contains("MARKER") && !text.contains("50.125"))
        }
    }

    @Test func `what is uploaded names no account, job or run`() async throws {
        let desk = UploadDesk()
        let bench = WorkBench { desk.take($0) }
        try bench.logIn()
        try bench.enqueue(0..<3)
        _ = await bench.attempt("bulk-upload")
        let before = bench.backend.requests.count

        _ = await upload(bench)

        let body = String(
            decoding: bench.backend.requests.dropFirst(before).flatMap { $0.body ?? [] },
            as: UTF8.self)
        #expect(body.contains(#""counts":{"heart_rate":3}"#))
        for name in [WorkBench.user, "job.bulk-upload", "program", "run", "attempt", "detail"] {
            #expect(!body.contains(name), "\(name)")
        }
    }

    @Test func `an answer that was lost makes the same entries come again`() async throws {
        let calls = Mutex(0)
        let bench = WorkBench { _ throws(TransportError) in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 2 { throw .truncated }
            return .status(204)
        }
        for _ in 0..<4 { try bench.store().audit.record(.exported) }

        let broken = await upload(bench, ["page_size": "3"])
        let again = await upload(bench, ["page_size": "3"])

        #expect(
            broken.outcome
                == .retry(
                    after: nil,
                    Failure(.unreachable, "the audit log's receiver gave no whole answer")))
        #expect(again.outcome == .success)
        #expect(numbers(bench) == [[1, 2, 3], [4], [4]])
    }

    @Test(arguments: [
        (200, nil as Failure.Category?, false), (204, nil, false), (301, .configuration, false),
        (307, .configuration, false), (400, .work, false), (401, .credential, false),
        (403, .credential, false), (404, .work, false), (413, .work, false),
        (429, .unreachable, true), (500, .unreachable, true), (503, .unreachable, true),
    ])
    func `an answer means what its status says`(
        status: Int, category: Failure.Category?, isRetried: Bool
    ) async throws {
        let bench = WorkBench { _ in .status(status) }
        try bench.store().audit.record(.exported)

        let (outcome, _) = await upload(bench)

        switch outcome {
        case .success: #expect(category == nil)
        case .failure(let failure): #expect(failure.category == category && !isRetried)
        case .retry(_, let failure), .snooze(_, let failure), .awaits(_, let failure):
            #expect(failure.category == category && isRetried)
        }
        #expect(try bench.store().audit.uploadedNumber() == (category == nil ? 1 : 0))
    }

    @Test(arguments: [
        (TransportError.offline, Failure.Category.unreachable), (.pinMismatch, .configuration),
        (.tlsVersion, .configuration), (.refused("no"), .configuration),
        (.stalled, .unreachable), (.library(code: 7), .internalFault),
    ])
    func `no answer is said without a word of the backend`(
        error: TransportError, category: Failure.Category
    ) async throws {
        let bench = WorkBench { _ throws(TransportError) in throw error }
        try bench.store().audit.record(.exported)

        let (outcome, _) = await upload(bench)

        switch outcome {
        case .success: Issue.record("it succeeded")
        case .retry(_, let failure), .snooze(_, let failure), .awaits(_, let failure),
            .failure(let failure):
            #expect(failure.category == category)
            #expect(!failure.reason.contains("backend"))
        }
    }

    @Test func `without a place nothing goes anywhere`() async throws {
        let bench = WorkBench()
        try bench.store().audit.record(.exported)

        let (outcome, _) = await bench.attempt("audit-upload")

        #expect(outcome == .failure(Failure(.configuration, "`url` is missing")))
        #expect(bench.backend.requests.isEmpty)
    }

    @Test func `the receiver is trusted by the job's own options`() throws {
        let bench = WorkBench()
        let order = bench.order(
            "audit-upload",
            ["url": Self.url, "backend.ca_bundle": "/backend.pem", "ca_bundle": "/audit.pem"])

        #expect(try order.trust().authorities == "/audit.pem")
        #expect(
            try bench.order("refresh", ["backend.ca_bundle": "/backend.pem"]).trust()
                .authorities == "/backend.pem")
    }

    @Test func `a dry run shows the entries and confirms none`() async throws {
        let bench = WorkBench()
        try bench.store().audit.record(.exported)
        let before = bench.stateContents()
        let shown = Mutex<[String]>([])

        let outcome = await DryRun.run(
            bench.order("audit-upload", ["url": Self.url]), environment: [:], clock: bench.clock,
            show: { text in shown.withLock { $0.append(text) } })

        let text = shown.withLock { $0.joined(separator: "\n") }
        #expect(outcome == .success)
        #expect(text.contains("POST \(Self.url)\n"))
        #expect(text.contains("-> taken as stored: a place that is not the backend"))
        #expect(text.contains("would be: 1 entry sent"))
        #expect(bench.stateContents() == before)
    }
}
