import ClarityScheduler
import ClarityTestSupport
import Glibc
import HealthModel
import HealthStore
import Synchronization
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// What the answers of a database mean, and which part of the days it gets next.
@Suite struct PublishWorkerTests {
    private static let options = [
        "to": "influx", "url": "https://home.example", "org": "home", "bucket": "health",
        "secret": "TOKEN",
    ]

    private func publish(
        _ bench: WorkBench, _ options: [String: String] = options
    ) async -> (outcome: Outcome, reports: Reports) {
        await bench.attempt("publish", options, environment: ["TOKEN": "invented", "TZ": "UTC"])
    }

    /// Stores a heart rate at noon of each day from 2023-11-15 on.
    private func fill(_ bench: WorkBench, days: Range<Int64>) throws {
        _ = try bench.store().outbox.enqueue(
            days.map { day in
                let noon = Instant(secondsSince1970: (19_676 + day) * 86_400 + 43_200)
                return Sample(kind: .heartRate, start: noon, end: noon, value: .single(61.5))
            })
    }

    private func lines(_ bench: WorkBench) -> [[String]] {
        bench.backend.requests.map { request in
            String(decoding: request.body ?? [], as: UTF8.self).split(separator: "\n")
                .map(String.init)
        }
    }

    @Test(arguments: [
        (204, nil as Failure.Category?, false), (200, nil, false), (302, .configuration, false),
        (400, .work, false), (401, .credential, false), (403, .credential, false),
        (404, .configuration, false), (413, .work, false), (422, .work, false),
        (429, .unreachable, true), (500, .unreachable, true), (503, .unreachable, true),
    ])
    func `an answer means what its status says`(
        status: Int, category: Failure.Category?, isRetried: Bool
    ) async throws {
        let bench = WorkBench { _ in
            HTTPResponse(
                status: status, headers: ["retry-after": "7"], body: Array("BODY-MARKER".utf8))
        }
        try fill(bench, days: 0..<1)

        let (outcome, reports) = await publish(bench)
        let again = await publish(bench)

        switch outcome {
        case .success: #expect(category == nil)
        case .failure(let failure):
            #expect(failure.category == category && !isRetried)
            #expect(failure.reason.hasPrefix("`https://home.example` answers \(status)"))
            #expect(!failure.reason.contains("MARKER"))
        case .retry(let wait, let failure):
            #expect(failure.category == category && isRetried && wait == .seconds(7))
        case .snooze, .awaits: Issue.record("\(outcome)")
        }
        #expect(reports.tally["days_published"] == (category == nil ? 1 : 0))
        // What was not confirmed comes again, and nothing else.
        #expect(lines(bench).count == (category == nil ? 1 : 2))
        #expect(category != nil || again.outcome == .success)
    }

    @Test func `a body that is too large comes in halves, each confirmed on its own`() async throws
    {
        let calls = Mutex(0)
        let bench = WorkBench { request in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            let lines = request.body?.count { $0 == UInt8(ascii: "\n") } ?? 0
            return .status(lines > 3 ? 413 : call == 4 ? 500 : 204)
        }
        try fill(bench, days: 0..<10)

        let broken = await publish(bench)
        let again = await publish(bench)

        // 10, 5, 2 and 3, of which the last one fails; then what is left.
        #expect(lines(bench).map(\.count) == [10, 5, 2, 3, 8, 4, 2, 2, 4, 2, 2])
        #expect(broken.reports.tally["days_published"] == 2)
        #expect(again.outcome == .success && again.reports.tally["days_published"] == 8)
        let points = Set(lines(bench).joined())
        #expect(points.count == 10)
    }

    @Test func `an answer that was lost makes the same points come again`() async throws {
        let calls = Mutex(0)
        let bench = WorkBench { _ throws(TransportError) in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 1 { throw .truncated }
            return .status(204)
        }
        try fill(bench, days: 0..<2)

        let broken = await publish(bench)
        let again = await publish(bench)
        let third = await publish(bench)

        #expect(
            broken.outcome
                == .retry(
                    after: nil,
                    Failure(.unreachable, "`https://home.example` gave no whole answer")))
        #expect([again, third].map(\.outcome) == [.success, .success])
        #expect(lines(bench).count == 2 && lines(bench)[0] == lines(bench)[1])
        // Each time that something may have left, the audit log says so first.
        let exported = try bench.store().audit.records(limit: 9)
            .filter { $0.entry?.action == .exported }
        #expect(exported.map { $0.entry?.counts } == [["heart_rate": 2], ["heart_rate": 2]])
        #expect(exported.first?.entry?.detail == "to https://home.example, by publish")
    }

    @Test func `ten years come in requests of at most 5000 points, the newest first`() async throws
    {
        let bench = WorkBench { _ in .status(204) }
        bench.clock.set(Instant(secondsSince1970: (19_676 + 3700) * 86_400))
        try fill(bench, days: 0..<3653)

        let (outcome, reports) = await publish(bench)

        #expect(outcome == .success && reports.tally["days_published"] == 3653)
        let sent = lines(bench)
        #expect(Set(sent.joined()).count == 3653 && sent.joined().count == 3653)
        #expect(sent.allSatisfy { $0.count <= 5000 } && sent.count > 10)
        let times = sent.compactMap { $0.last?.split(separator: " ").last.flatMap { Int($0) } }
        #expect(times == times.sorted(by: >))
    }

    @Test func `another receiver, and another time, get everything or the last days`() async throws
    {
        let bench = WorkBench { _ in .status(204) }
        bench.clock.set(Instant(secondsSince1970: (19_676 + 30) * 86_400 + 60))
        try fill(bench, days: 0..<31)

        _ = await publish(bench)
        let other = await publish(
            bench, Self.options.merging(["bucket": "other", "days": "3"]) { $1 })
        let back = await publish(bench)

        // The day of now is not over.
        #expect([other, back].map(\.outcome) == [.success, .success])
        #expect(lines(bench).map(\.count) == [30, 2, 30])
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("10.9.8.7", true), ("172.16.0.1", true), ("172.31.255.255", true),
        ("172.32.0.1", false), ("192.168.1.5", true), ("192.169.0.1", false),
        ("169.254.3.4", true), ("8.8.8.8", false), ("::1", true), ("::2", false),
        ("fd12::1", true), ("fe80::1", true), ("2001:db8::1", false), ("fec0::1", false),
        ("::ffff:10.0.0.1", true), ("::ffff:8.8.8.8", false),
    ])
    func `a password goes over mqtt to private addresses alone`(
        text: String, isPrivate: Bool
    ) throws {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        try #require(getaddrinfo(text, nil, &hints, &found) == 0)
        defer { freeaddrinfo(found) }

        let address = try #require(found?.pointee.ai_addr)

        #expect(BrokerConnection.isPrivate(address) == isPrivate)
    }

    @Test(arguments: [
        (["bucket": ""], "`to: influx` wants one of the options `bucket` and `database`"),
        (["org": ""], "option `bucket` wants `org`, its organisation"),
        (["url": "mqtt://home.example"], "option `url` of `to: influx` begins with `https://`"),
        (["to": "mqtt"], "option `url` of `to: mqtt` begins with `mqtts://` or `mqtt://`"),
        (["secret": "NONE"], "there is no variable and no credential `NONE` with the secret"),
        (["discovery_prefix": "ha"], "option `discovery_prefix` is for `to: mqtt`"),
    ])
    func `options that do not fit are a fault of the job file`(
        change: [String: String], reason: String
    ) async throws {
        let bench = WorkBench { _ in .status(204) }
        try fill(bench, days: 0..<1)

        let (outcome, _) = await publish(bench, Self.options.merging(change) { $1 })

        #expect(outcome == .failure(Failure(.configuration, reason)))
        #expect(bench.backend.requests.isEmpty)
    }
}
