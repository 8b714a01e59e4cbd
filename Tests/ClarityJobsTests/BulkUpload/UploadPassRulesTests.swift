import ClarityScheduler
import Platform
import ClarityTestSupport
import Synchronization
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// Tests uploads to a backend that keeps more or less than it is sent.
@Suite struct UploadPassRulesTests {
    private let desk = UploadDesk()

    private func bench() throws -> WorkBench {
        let desk = desk
        let bench = WorkBench { request in desk.take(request) }
        try bench.logIn()
        return bench
    }

    /// Makes rules of a backend that does not deduplicate.
    private func rules(
        perType: Int? = nil, perHour: Int? = nil, resends: Bool = true, isIdempotent: Bool = false,
        types: [SampleKind: String] = [.heartRate: "heart_rate", .steps: "activity"],
        ranges: [SampleKind: ClosedRange<Double>] = [:]
    ) -> UploadEndpoint {
        UploadEndpoint(
            types: types, ranges: ranges, perType: perType, perHour: perHour,
            isIdempotent: isIdempotent, resends: resends)
    }

    @Test func `a type that is kept once a request is sent once a request`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<3)

        let (outcome, reports) = await bench.pass(rules(perType: 1))

        #expect(outcome == .success)
        #expect(bench.backend.requests.map(\.metricIDs.count) == [1, 1, 1])
        #expect(reports.tally["samples_accepted"] == 3)
    }

    @Test func `samples that the rules refuse are counted by reason and never sent`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<3)
        let start = Instant(secondsSince1970: 1_700_000_000)
        _ = try bench.store().outbox.enqueue(
            [.steps, .vo2Max].map {
                Sample(kind: $0, start: start, end: start, value: .single(7))
            })
        let strict = rules(ranges: [.steps: 0...6])

        let (outcome, reports) = await bench.pass(strict)
        let later = await bench.pass(rules(types: [.vo2Max: "fitness"]))

        #expect(outcome == .success)
        #expect(reports.tally["samples_accepted"] == 3)
        #expect(reports.tally["samples_out_of_range"] == 1)
        #expect(reports.tally["samples_rejected"] == 1)
        #expect(reports.tally["samples_not_accepted"] == 1)
        #expect(reports.tally["samples_set_aside"] == 1)
        #expect(
            reports.notes.sorted() == [
                "not sent: steps (1): its value is outside the range that the backend accepts",
                "not sent: vo2_max (1): the backend does not accept this kind",
            ])
        #expect(later.reports.tally["samples_requeued"] == 1)
        #expect(later.reports.tally["samples_accepted"] == 1)
        #expect(try bench.states() == [.accepted: 4, .rejected: 1])
    }

    @Test func `each attempt reports every count, so that none of an earlier one stays`()
        async throws
    {
        let bench = try bench()
        try bench.enqueue(0..<3)
        let first = await bench.pass(rules(types: [.steps: "activity"]))

        let second = await bench.pass(rules(types: [.steps: "activity"]))

        #expect(first.reports.tally["samples_not_accepted"] == 3)
        #expect(Set(second.reports.tally.names).isSuperset(of: first.reports.tally.names))
        #expect(!second.reports.tally.hasCounted)
    }

    @Test func `when the hour's requests are used up, the run says so and when it goes on`()
        async throws
    {
        let bench = try bench()
        try bench.enqueue(0..<5)

        let first = await bench.pass(rules(perType: 1, perHour: 2))
        bench.clock.advance(by: .seconds(60))
        let early = await bench.pass(rules(perType: 1, perHour: 2))
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()
        let later = await bench.pass(rules(perType: 1, perHour: 2))

        func spent(_ wait: Duration) -> Outcome {
            .snooze(
                after: wait,
                Failure(.work, "the requests that the backend allows in an hour are used up"))
        }
        #expect(first.outcome == spent(.seconds(3660)))
        #expect(early.outcome == spent(.seconds(3600)))
        #expect(later.outcome == spent(.seconds(3660)))
        #expect(bench.backend.requests.count == 4)
        #expect(try bench.states() == [.accepted: 4, .queued: 1])
    }

    @Test(arguments: [nil, "0"])
    func `a refusal in spite of the budget waits by our own clock`(wish: String?) async throws {
        let bench = WorkBench { _ in
            HTTPResponse(status: 429, headers: wish.map { ["retry-after": $0] } ?? [:])
        }
        try bench.logIn()
        try bench.enqueue(0..<5)

        let first = await bench.pass(rules(perHour: 100))
        bench.clock.advance(by: .seconds(600))
        let second = await bench.pass(rules(perHour: 100))

        let failure = Failure(.unreachable, "the backend asks for fewer requests (429)")
        #expect(first.outcome == .retry(after: .seconds(3660), failure))
        guard case .snooze(.seconds(3060), _) = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        #expect(bench.backend.requests.count == 1)
        #expect(try bench.states() == [.sending: 5])
        #expect(try bench.store().outbox.possiblyDoubled() == DoubledSamples())
    }

    @Test func `an unanswered upload is resent byte for byte, as a possible duplicate`()
        async throws
    {
        let desk = desk
        let isDown = Mutex(true)
        let bench = WorkBench { request throws(TransportError) in
            if isDown.withLock({ $0 }) { throw .truncated }
            return desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<5)

        let first = await bench.pass(rules())
        isDown.withLock { $0 = false }
        try bench.enqueue(5..<9)
        let second = await bench.pass(rules())

        #expect(first.outcome == APIError.interrupted.outcome)
        #expect(first.reports.tally["samples_possibly_doubled"] == 0)
        #expect(second.outcome == .success)
        #expect(second.reports.tally["samples_possibly_doubled"] == 5)
        #expect(Set(bench.backend.requests.dropLast().map(\.body)).count == 1)
        #expect(try bench.store().outbox.possiblyDoubled().samples == 5)
        #expect(try bench.states() == [.accepted: 9])
    }

    @Test func `a send without an answer is held back when the job file says so`() async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .timeout }
        try bench.logIn()
        try bench.enqueue(0..<5)

        let first = await bench.pass(rules(resends: false))
        let calls = bench.backend.requests.count
        let second = await bench.pass(rules(resends: false))

        #expect(first.outcome == APIError.timeout.outcome)
        #expect(first.reports.tally["samples_in_doubt"] == 5)
        #expect(first.reports.tally["samples_set_aside"] == 5)
        #expect(
            first.reports.notes == [
                "not sent: heart_rate (5): it may have arrived, and sending it again could double it"
            ])
        #expect(second.outcome == .success)
        #expect(bench.backend.requests.count == calls)
        #expect(try bench.states() == [.setAside: 5])
    }

    @Test(arguments: [true, false])
    func `a kill before the answer leaves the batch in doubt`(resends: Bool)
        async throws
    {
        let bench = try bench()
        try bench.enqueue(0..<5)
        _ = try bench.store().outbox.nextBatches(
            limit: 100, rules: [rules(resends: resends)], at: bench.clock.now)

        let (outcome, reports) = await bench.pass(rules(resends: resends))

        #expect(outcome == .success)
        #expect(reports.tally["samples_possibly_doubled"] == (resends ? 5 : 0))
        #expect(reports.tally["samples_in_doubt"] == (resends ? 0 : 5))
        #expect(try bench.states() == (resends ? [.accepted: 5] : [.setAside: 5]))
    }

    @Test(arguments: [TransportError.offline, .couldNotConnect, .tls, .nameNotResolved])
    func `an upload that never reached the backend is not in doubt`(error: TransportError)
        async throws
    {
        let desk = desk
        let isDown = Mutex(true)
        let bench = WorkBench { request throws(TransportError) in
            if isDown.withLock({ $0 }) { throw error }
            return desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<5)

        _ = await bench.pass(rules(resends: false))
        isDown.withLock { $0 = false }
        let (outcome, reports) = await bench.pass(rules(resends: false))

        #expect(outcome == .success)
        #expect(reports.tally["samples_accepted"] == 5)
        #expect(try bench.store().outbox.possiblyDoubled() == DoubledSamples())
    }

    @Test(arguments: [nil, 401, 500, 503])
    func `what a renewal of the session fails with is no word on the upload`(status: Int?)
        async throws
    {
        let bench = WorkBench { request throws(TransportError) in
            guard request.path == "/auth/refresh" else { return .status(401) }
            guard let status else { throw .truncated }
            return .status(status)
        }
        try bench.logIn()
        try bench.enqueue(0..<5)

        _ = await bench.pass(rules(resends: false))

        #expect(try bench.states() == [.sending: 5])
        let next = try bench.store().outbox.nextBatches(
            limit: 100, rules: [rules()], at: bench.clock.now)
        #expect(next.batch?.possibleSends == 0)
        #expect(next.batch?.samples.count == 5)
    }

    @Test func `a 409 of a backend without deduplication confirms nothing`() async throws {
        for route in ["metrics", "samples"] {
            let bench = WorkBench { _ in .status(409) }
            try bench.logIn()
            try bench.enqueue(0..<4)
            let options = ["backend.dialect": "loop", "route": route]

            let (outcome, reports) = await bench.attempt("bulk-upload", options)

            #expect(outcome == APIError.unavailable(status: 409).outcome)
            #expect(reports.tally["samples_known"] == 0)
            #expect(try bench.store().outbox.counts().waiting == 4)
        }
    }

    @Test func `what a firewall stops is sent in the size that the job file says by then`()
        async throws
    {
        let bench = WorkBench { request in
            String(decoding: request.body ?? [], as: UTF8.self).split(separator: "\"identifier\":")
                .count
                > 11
                ? HTTPResponse(status: 403, body: Array("<html>no</html>".utf8))
                : HTTPResponse(
                    status: 202,
                    body: Array(#"{"upload_id":"u","samples_received":{"quantity":10}}"#.utf8))
        }
        try bench.logIn()
        try bench.enqueue(0..<20)
        let options = ["backend.dialect": "loop", "route": "samples", "on_ambiguous": "hold"]

        let first = await bench.attempt("bulk-upload", options)
        let second = await bench.attempt(
            "bulk-upload", options.merging(["batch_size": "10"]) { $1 })

        #expect(first.outcome == APIError.blocked.outcome)
        #expect(second.outcome == .success)
        #expect(try bench.states() == [.stored: 20])
        #expect(try bench.store().outbox.possiblyDoubled() == DoubledSamples())
    }

    @Test(arguments: [(500, true), (500, false), (503, true), (503, false)])
    func `a server error leaves the batch in doubt`(status: Int, resends: Bool) async throws {
        let desk = desk
        let isDown = Mutex(true)
        let bench = WorkBench { request in
            isDown.withLock { $0 } ? .status(status) : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<1)

        _ = await bench.pass(rules(resends: resends))
        isDown.withLock { $0 = false }
        _ = await bench.pass(rules(resends: resends))

        #expect(try bench.states() == (resends ? [.accepted: 1] : [.setAside: 1]))
        #expect(try bench.store().outbox.possiblyDoubled().samples == (resends ? 1 : 0))
    }

    @Test func `a refused batch is split in halves, and no sample is in doubt`() async throws {
        let desk = desk
        let bench = WorkBench { request in
            request.metricIDs.count > 2 ? .status(400) : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<8)

        let (outcome, _) = await bench.pass(rules())

        #expect(outcome == .success)
        #expect(try bench.states() == [.accepted: 8])
        #expect(try bench.store().outbox.possiblyDoubled() == DoubledSamples())
    }

    @Test func `a batch with an incomplete answer is split only if it may be resent`()
        async throws
    {
        for resends in [true, false] {
            let bench = WorkBench { request in
                let count = request.metricIDs.count
                return .status(
                    201,
                    #"{"processing_id":"p","accepted_metrics":\#(count == 4 ? 3 : count)}"#)
            }
            try bench.logIn()
            try bench.enqueue(0..<4)

            _ = await bench.pass(rules(resends: resends))

            #expect(try bench.states() == (resends ? [.accepted: 4] : [.setAside: 4]))
            #expect(try bench.store().outbox.possiblyDoubled().samples == (resends ? 4 : 0))
        }
    }

    /// The packer counts with an upper bound instead of the size that is written, so that the store
    /// need not know how each backend encodes samples.
    @Test(
        arguments: Dialect.all.flatMap { dialect in
            dialect.endpoints.keys.map { (dialect.name, $0) }
        })
    func `no sample is written larger than the packer takes it for`(
        name: String, route: UploadRoute
    ) throws {
        let dialect = try #require(Dialect.named(name))
        let rules = try dialect.endpoint(route)
        let at = Instant(millisecondsSince1970: 1_700_000_000_999)
        for kind in SampleKind.allCases where rules.metricType(of: kind) != nil {
            let range = rules.field(of: kind)?.ranges.first
            let sample = Sample(
                kind: kind, start: at, end: at,
                value: largest(kind, (range?.lowerBound ?? 0) + 1.0 / 3.0),
                source: String(repeating: "\u{1}", count: 100))
            let id = MetricID(userID: WorkBench.user, sample: sample).description
            func size(_ count: Int) throws -> Int {
                let batch = UploadBatch(
                    id: "1", userID: WorkBench.user, clientTimestamp: at,
                    metrics: Array(repeating: UploadMetric(id: id, sample: sample), count: count),
                    route: route)
                let request = try APIRequests(base: WorkBench.url, dialect: dialect)
                    .upload(batch, token: Secret("t"))
                return request.body?.count ?? .max
            }

            #expect(try size(1) < 2048 + sample.mostBytes)
            #expect(try size(2) - size(1) < sample.mostBytes)
        }
    }

    /// Returns a value with as many digits as possible.
    private func largest(_ kind: SampleKind, _ number: Double) -> Sample.Value {
        // Within the range of each kind.
        var day = ActivityDay()
        for kind in ActivityDay.kinds { day[kind] = 100.0 / 3 }
        let count = 1_000_000_000
        let night = SleepNight(
            totalMinutes: count, efficiency: 1.0 / 3.0, wakeCount: count, awakeMinutes: count,
            lightMinutes: count, deepMinutes: count, remMinutes: count, minutesToSleep: count)
        return switch kind {
        case .sleep: .sleep(night)
        case .activity: .activity(day)
        case .mood, .stress, .cognitive: .values(MeasuredValues([.stress: number]))
        case .workout: .values(MeasuredValues([.activeMinutes: number], text: "x"))
        case .environmental: .values(MeasuredValues([.bodyTemperature: number]))
        case .bloodPressure: .pressure(systolic: 118, diastolic: 76)
        default: .single(number)
        }
    }

    @Test func `the run tells where every sample is`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<3)

        let (_, reports) = await bench.attempt("bulk-upload")

        #expect(
            reports.account == "3 samples = 3 accepted")
    }
}
