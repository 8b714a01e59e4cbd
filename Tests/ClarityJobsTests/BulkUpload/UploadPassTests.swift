@testable import Backend
@testable import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite struct UploadPassTests {
    private let desk = UploadDesk()

    private func bench() throws -> WorkBench {
        let desk = desk
        let bench = WorkBench { request in desk.take(request) }
        try bench.logIn()
        return bench
    }

    @Test func `nothing is asked of the backend when nothing waits`() async {
        let bench = WorkBench()

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(reports.tally["samples_sent"] == 0)
        #expect(bench.backend.calls == [])
    }

    @Test func `without an answer the same bytes are sent again, and known ones confirmed`()
        async throws
    {
        let desk = desk
        let isDown = Mutex(true)
        let bench = WorkBench { request throws(TransportError) in
            // The backend stores the upload, but its answer never arrives.
            let answer = desk.take(request)
            if isDown.withLock({ $0 }) { throw .truncated }
            return answer
        }
        try bench.logIn()
        try bench.enqueue(0..<150)

        let first = await bench.attempt("bulk-upload")
        let kept = try bench.states()
        bench.clock.advance(by: .seconds(100))
        try bench.enqueue(150..<160)
        isDown.withLock { $0 = false }
        let second = await bench.attempt("bulk-upload")

        #expect(first.outcome == APIError.interrupted.outcome)
        #expect(kept == [.queued: 50, .sending: 100])
        #expect(second.outcome == .success)
        let bodies = bench.backend.requests.map(\.body)
        #expect(bodies.count == 4 + 2)
        #expect(Set(bodies[...4]).count == 1)
        #expect(second.reports.tally["samples_known"] == 100)
        let states = try bench.states()
        #expect(states == [.confirmed: 100, .accepted: 60])
        #expect(Set(desk.metricIDs).count == 160)
    }

    @Test(arguments: [
        TransportError.offline, .couldNotConnect, .nameNotResolved, .timeout, .tls,
    ])
    func `a network error never counts against the samples`(error: TransportError) async throws {
        let bench = WorkBench { _ throws(TransportError) in throw error }
        try bench.logIn()
        try bench.enqueue(0..<3)

        for _ in 1...4 {
            let (outcome, _) = await bench.attempt("bulk-upload")
            guard case .retry(_, let failure) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.category == .unreachable)
        }

        #expect(try bench.states() == [.sending: 3])
    }

    @Test func `a batch that breaks every connection is sent in ever smaller ones`() async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .timeout }
        try bench.logIn()
        try bench.enqueue(0..<100)

        for _ in 1...6 { _ = await bench.attempt("bulk-upload") }

        #expect(try bench.states() == [.queued: 75, .sending: 25])
    }

    @Test(arguments: [502, 503, 504])
    func `a gateway's error does not count against the samples`(status: Int) async throws {
        let bench = WorkBench { _ in .status(status) }
        try bench.logIn()
        try bench.enqueue(0..<3)

        for _ in 1...6 { _ = await bench.attempt("bulk-upload") }

        #expect(try bench.states() == [.sending: 3])
    }

    @Test(arguments: [400, 422, 413])
    func `one bad sample of 100 ends alone and the others arrive`(status: Int) async throws {
        let desk = desk
        let poison = Mutex("")
        let bench = WorkBench { request in
            request.metricIDs.contains(poison.withLock { $0 })
                ? .status(status) : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<100)
        let bad = Sample(
            kind: .heartRate, start: Instant(secondsSince1970: 1_700_000_000 + 37 * 60),
            end: Instant(secondsSince1970: 1_700_000_000 + 37 * 60), value: .single(54.625))
        poison.withLock { $0 = MetricID(userID: WorkBench.user, sample: bad).description }

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(reports.tally["samples_accepted"] == 99)
        #expect(reports.tally["samples_rejected"] == 1)
        #expect(try bench.states() == [.accepted: 99, .rejected: 1])
        #expect(bench.backend.requests.count <= 15)
    }

    @Test func `samples that the backend names are rejected without a search`() async throws {
        let desk = desk
        let bench = WorkBench { request in
            request.metricIDs.count == 10
                ? .status(
                    422,
                    """
                    {"detail":[{"loc":["body","metrics",3,"biometric_data"],"type":"value_error"}]}
                    """)
                : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<10)

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(bench.backend.requests.map(\.metricIDs.count) == [10, 9])
        #expect(reports.tally["samples_rejected"] == 1)
        #expect(try bench.states() == [.accepted: 9, .rejected: 1])
    }

    /// Returns the stored words of the backend about the samples in a state.
    private func words(_ state: OutboxState, _ bench: WorkBench) throws -> [String?] {
        var selection = OutboxSelection()
        selection.state = state
        let store = try bench.store()
        return try store.outbox.entries(selection, limit: 9).entries.map {
            try store.outbox.sample($0.id)?.serverWords
        }
    }

    @Test(arguments: [400, 422])
    func `what the backend says of a sample that it names is kept without values`(status: Int)
        async throws
    {
        let desk = desk
        let bench = WorkBench { request in
            request.metricIDs.count == 10
                ? .status(
                    status,
                    """
                    {"detail":[{"loc":["body","metrics",3,"x"],"type":"value_error",\
                    "msg":"Input should be less than 51.5","input":50.375}]}
                    """)
                : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<10)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(try words(.rejected, bench) == ["Input should be less than #"])
    }

    @Test(arguments: [
        #"{"detail":"Validation failed: 50.5 is odd"}"#,
        #"{"detail":[{"loc":["body","metrics"],"type":"t","msg":"Validation failed: 50.5 is odd"}]}"#,
    ])
    func `what the backend says of a sample that is refused alone is kept`(body: String)
        async throws
    {
        let desk = desk
        let bad = Sample(
            kind: .heartRate, start: Instant(secondsSince1970: 1_700_000_000 + 4 * 60),
            end: Instant(secondsSince1970: 1_700_000_000 + 4 * 60), value: .single(50.5))
        let poison = MetricID(userID: WorkBench.user, sample: bad).description
        let bench = WorkBench { request in
            request.metricIDs.contains(poison) ? .status(400, body) : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<10)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(try words(.rejected, bench) == ["Validation failed: # is odd"])
    }

    @Test(arguments: [
        (#"{"detail":{"code":"SAVE_FAILED","message":"No room for 50.5"}}"#, "No room for #"),
        (#"{"detail":"Internal Server Error"}"#, nil),
    ])
    func `what the backend says as it breaks is kept when a sample is set aside for it`(
        body: String, kept: String?
    ) async throws {
        let bench = WorkBench { _ in .status(500, body) }
        try bench.logIn()
        try bench.enqueue(0..<1)

        for _ in 1...6 { _ = await bench.attempt("bulk-upload") }

        #expect(try bench.states() == [.setAside: 1])
        #expect(try words(.setAside, bench) == [kept])
    }

    @Test func `an answer that does not add up is asked again in halves`() async throws {
        let bench = WorkBench { request in
            let count = request.metricIDs.count
            // The backend silently drops one of any four samples, but accepts fewer.
            return .status(
                201, #"{"processing_id":"p","accepted_metrics":\#(count >= 4 ? count - 1 : count)}"#
            )
        }
        try bench.logIn()
        try bench.enqueue(0..<4)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(bench.backend.requests.map(\.metricIDs.count) == [4, 2, 2])
        #expect(try bench.states() == [.accepted: 4])
    }

    @Test func `a sample that is neither taken nor named ends rejected`() async throws {
        let bench = WorkBench { _ in .status(201, #"{"processing_id":"p","accepted_metrics":0}"#) }
        try bench.logIn()
        try bench.enqueue(0..<1)

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(reports.tally["samples_rejected"] == 1)
        #expect(
            try bench.store().outbox.review().map(\.reason) == [
                "the backend does not take it and does not say why"
            ])
    }

    @Test(arguments: [400, 409, 422])
    func `a refusal for what the backend has confirms it and sends the rest`(status: Int)
        async throws
    {
        let desk = desk
        let bench = WorkBench { request in
            switch request.metricIDs.count {
            case 10:
                .status(
                    status,
                    #"{"errors":[{"field":"metrics[3].metric_id","code":"duplicate"},"#
                        + #"{"field":"metrics[5].heart_rate","code":"out_of_range"}]}"#)
            case 9:
                .status(
                    status, #"{"errors":[{"field":"metrics[3].metric_id","code":"duplicate"}]}"#)
            default: desk.take(request)
            }
        }
        try bench.logIn()
        try bench.enqueue(0..<10)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(bench.backend.requests.map(\.metricIDs.count) == [10, 9, 4, 4])
        #expect(try bench.states() == [.confirmed: 1, .rejected: 1, .accepted: 8])
    }

    @Test func `a sample on which the backend breaks is set aside, the others arrive`()
        async throws
    {
        let desk = desk
        let poison = Mutex("")
        let bench = WorkBench { request in
            request.metricIDs.contains(poison.withLock { $0 })
                ? .status(500) : desk.take(request)
        }
        try bench.logIn()
        try bench.enqueue(0..<120)
        let start = Instant(secondsSince1970: 1_700_000_000 + 7 * 60)
        let bad = Sample(kind: .heartRate, start: start, end: start, value: .single(50.875))
        poison.withLock { $0 = MetricID(userID: WorkBench.user, sample: bad).description }

        var outcomes: [Outcome] = []
        while outcomes.last != .success, outcomes.count < 6 {
            outcomes.append(await bench.attempt("bulk-upload").outcome)
        }

        #expect(outcomes.last == .success)
        #expect(try bench.states() == [.accepted: 119, .setAside: 1])
    }

    @Test func `a backend that breaks on two batches in a row is left alone`() async throws {
        let bench = WorkBench { _ in .status(500) }
        try bench.logIn()
        try bench.enqueue(0..<300)

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == APIError.server(status: 500, after: nil).outcome)
        #expect(bench.backend.requests.count == 2 * 3)
        #expect(reports.tally["samples_set_aside"] == 0)
        #expect(try bench.states() == [.queued: 300])
    }

    @Test func `a session that ended leaves the batch as it is`() async throws {
        let bench = WorkBench { _ in .status(401) }
        try bench.logIn()
        try bench.enqueue(0..<3)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(
            outcome
                == .awaits(
                    .login,
                    Failure(
                        .credential,
                        "waits for a login: the session has ended; run `clarity-jobs auth login`")))
        #expect(try bench.states() == [.sending: 3])
        #expect(try bench.store().sessions.load() == nil)
    }

    @Test func `a warning stops the work between two batches`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<900)
        let backend = bench.backend

        let (outcome, reports) = await bench.attempt(
            "bulk-upload", isEnding: { backend.requests.count >= 2 })

        #expect(
            outcome
                == .retry(
                    after: nil, Failure(.work, "its time ended before everything was done")))
        // The batches that were under way are settled.
        let accepted = reports.tally["samples_accepted"]
        #expect((200...500).contains(accepted))
        #expect(try bench.states() == [.accepted: accepted, .queued: 900 - accepted])
    }

    @Test func `the batch size of the job is kept`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<7)

        _ = await bench.attempt("bulk-upload", ["batch_size": "3"])

        #expect(bench.backend.requests.map(\.metricIDs.count) == [3, 3, 1])
    }
}
