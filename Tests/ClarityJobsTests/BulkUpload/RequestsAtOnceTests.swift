@testable import Backend
@testable import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Synchronization
import Testing

@testable import ClarityJobs

/// A backend that deduplicates gets up to four requests at once.
@Suite(.timeLimit(.minutes(1))) struct RequestsAtOnceTests {
    private let desk = UploadDesk()

    private func bench(
        _ gate: RequestGate, _ answer: ScriptedBackend.Answer? = nil
    ) throws -> WorkBench {
        let desk = desk
        let bench = WorkBench(gate: gate, answer ?? { request in desk.take(request) })
        try bench.logIn()
        return bench
    }

    @Test func `after an answer that took a batch, four are sent at once`() async throws {
        let gate = RequestGate(group: 4)
        let bench = try bench(gate)
        try bench.enqueue(0..<900)

        let (outcome, reports) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(gate.most == 4)
        #expect(reports.tally["samples_accepted"] == 900)
        #expect(desk.metricIDs.count == 900 && Set(desk.metricIDs).count == 900)
        #expect(bench.backend.requests.count == 9)
        #expect(try bench.states() == [.accepted: 900])
    }

    @Test func `with several under way a refused batch is split, and nothing is lost`() async throws
    {
        let gate = RequestGate(group: 1)
        let refused = Mutex(0)
        let desk = desk
        let bench = try bench(gate) { request in
            guard request.metricIDs.count == 100, refused.withLock({ $0 < 2 }), desk.metricIDs != []
            else { return desk.take(request) }
            refused.withLock { $0 += 1 }
            return .status(400)
        }
        try bench.enqueue(0..<900)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        #expect(Set(desk.metricIDs).count == 900 && desk.metricIDs.count == 900)
        #expect(try bench.states() == [.accepted: 900])
    }

    @Test func `after a refusal the next batch is sent alone`() async throws {
        let sending = Mutex<[Int64?]>([])
        let (desk, watched) = (desk, Watched())
        let bench = try bench(RequestGate(group: 4, times: 1)) { request in
            let number = sending.withLock { sending in
                sending.append(watched.sending)
                return sending.count
            }
            return number == 2 ? .status(400) : desk.take(request)
        }
        watched.bench.withLock { $0 = bench }
        defer { watched.bench.withLock { $0 = nil } }
        try bench.enqueue(0..<900)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome == .success)
        // After the four come the halves of the refused one, before anything else is drawn.
        #expect(sending.withLock { $0[5] } == 100)
        #expect(desk.metricIDs.count == 900)
    }

    @Test func `after a failure the batches under way are settled`() async throws {
        let gate = RequestGate(group: 4, times: 1)
        let count = Mutex(0)
        let desk = desk
        let bench = try bench(gate) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 3 ? .status(403) : desk.take(request)
        }
        try bench.enqueue(0..<900)

        let (outcome, _) = await bench.attempt("bulk-upload")

        #expect(outcome != .success)
        // Those that were answered before the failure was known made room for others.
        #expect((5...8).contains(bench.backend.requests.count))
        let states = try bench.states()
        #expect(states[.sending] == 100)
        #expect(states[.accepted] == Int64(desk.metricIDs.count))
        #expect(states[.queued] == Int64(900 - 100 - desk.metricIDs.count))
    }

    @Test func `a backend that keeps every copy gets one request at a time`() async throws {
        let sending = Mutex<[Int64?]>([])
        let (desk, watched) = (desk, Watched())
        let bench = try bench(RequestGate(group: 1)) { request in
            sending.withLock { $0.append(watched.sending) }
            return desk.take(request)
        }
        watched.bench.withLock { $0 = bench }
        defer { watched.bench.withLock { $0 = nil } }
        try bench.enqueue(0..<900)
        let rules = UploadEndpoint(types: [.heartRate: "heart_rate"], isIdempotent: false)

        let (outcome, _) = await bench.pass(rules)

        #expect(outcome == .success)
        #expect(sending.withLock { $0 } == Array(repeating: 100, count: 9))
    }

    /// A bench that its own backend looks at.
    private final class Watched: Sendable {
        let bench = Mutex<WorkBench?>(nil)

        /// The samples that are being sent.
        var sending: Int64? {
            do { return try bench.withLock { $0 }?.states()[.sending] } catch { return nil }
        }
    }

    @Test func `a later value of a day waits until the former one has arrived`() throws {
        let bench = WorkBench()
        let store = try bench.store()
        let start = Instant(secondsSince1970: 1_700_006_400)
        let rules = UploadEndpoint(types: [.steps: "steps"])
        func day(_ index: Int64, _ steps: Double) -> Sample {
            let start = start + .seconds(index * 86_400)
            return Sample(
                kind: .steps, start: start, end: start + .seconds(86_400), value: .single(steps))
        }
        func next(besides batches: OutboxBatch...) throws -> OutboxBatch? {
            try store.outbox.nextBatches(
                limit: 1, rules: [rules], at: bench.clock.now, besides: Set(batches.map(\.id))
            ).batch
        }
        _ = try store.outbox.enqueue(aggregates: [day(0, 10)], asOf: start + .seconds(100_000))
        let former = try #require(try next())
        _ = try store.outbox.enqueue(aggregates: [day(0, 20)], asOf: start + .seconds(200_000))

        #expect(try next(besides: former) == nil)
        _ = try store.outbox.enqueue(aggregates: [day(9, 30)], asOf: start + .seconds(900_000))
        let other = try #require(try next(besides: former))
        try store.outbox.settle(former, processingID: "p", at: bench.clock.now)
        let later = try #require(try next(besides: other))

        #expect(other.samples == [day(9, 30)])
        #expect(later.samples == [day(0, 20)])
    }
}
