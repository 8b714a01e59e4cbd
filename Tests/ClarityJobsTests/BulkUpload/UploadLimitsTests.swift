import HealthModel
@testable import Backend
@testable import BackendContract
import HealthStore
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Testing

@Suite struct UploadLimitsTests {
    private let desk = UploadDesk()

    private func bench() throws -> WorkBench {
        let desk = desk
        let bench = WorkBench { request in desk.take(request) }
        try bench.logIn()
        return bench
    }

    @Test(
        arguments: [
            (501, 500, false, true), (500, 500, false, false), (501, 500, true, false),
            (501, 500, nil, false), (1_000_000, 0, false, false), (1, 0, false, false),
        ] as [(Int64, Int64, Bool?, Bool)])
    func `many samples wait for external power where there surely is none`(
        waiting: Int64, limit: Int64, power: Bool?, waits: Bool
    ) {
        let limits = UploadLimits(largeUpload: limit)

        let need = limits.need(waiting, OrderConditions(externalPower: power))

        #expect((need != nil) == waits)
    }

    @Test(arguments: [(true, 1000), (false, nil), (nil, nil)] as [(Bool?, Int64?)])
    func `the budget holds where the connection surely is metered`(
        metered: Bool?, budget: Int64?
    ) {
        let limits = UploadLimits(meteredBudget: 1000, largeUpload: 0)

        #expect(limits.budget(OrderConditions(metered: metered)) == budget)
        #expect(UploadLimits(largeUpload: 0).budget(OrderConditions(metered: metered)) == nil)
    }

    @Test func `on battery a large upload reads its sources and sends nothing`() async throws {
        let bench = try bench()
        bench.writeExport(0..<12)
        try bench.logIn(expiresIn: .seconds(3600))
        let options = bench.source.merging(["large_upload": "10"]) { $1 }

        let (outcome, _) = await bench.attempt(
            "bulk-upload", options, conditions: OrderConditions(externalPower: false))
        let held = try bench.states()
        let later = await bench.attempt(
            "bulk-upload", options, conditions: OrderConditions(externalPower: true))

        #expect(
            outcome
                == .awaits(
                    .externalPower,
                    Failure(
                        .work,
                        "12 samples wait, more than 10: they are sent on external power")))
        #expect(held == [.queued: 12])
        #expect(later.outcome == .success)
        #expect(try bench.states() == [.accepted: 12])
        #expect(Set(desk.metricIDs).count == 12)
    }

    @Test func `over a metered connection no more than the budget is sent in a day`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<1300)
        let options = ["metered_budget": "131072", "large_upload": "0"]
        let metered = OrderConditions(metered: true)

        let first = await bench.attempt("bulk-upload", options, conditions: metered)
        let sent = bench.backend.requests.reduce(0) { $0 + ($1.body?.count ?? 0) }
        let second = await bench.attempt("bulk-upload", options, conditions: metered)
        let same = bench.backend.requests.reduce(0) { $0 + ($1.body?.count ?? 0) }
        let dry = try bench.states()
        let third = await bench.attempt("bulk-upload", options)

        let used = Outcome.snooze(
            after: .seconds(3600),
            Failure(
                .work,
                "the 128 KiB that may go over a metered connection in 24 h are used up"))
        #expect(first.outcome == used && second.outcome == used)
        // Each upload counts in whole steps of 4 KiB, so that the count reveals no size.
        #expect((108_000...131_072).contains(sent), "\(sent)")
        #expect(same <= 131_072)
        #expect((dry[.queued] ?? 0) > 600)
        #expect(third.outcome == .success)
        #expect(Set(desk.metricIDs).count == 1300)
    }

    @Test func `on a connection that stays metered the rest follows by and by`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<1300)
        let options = ["metered_budget": "131072", "large_upload": "0"]
        var waits: [Duration] = []

        var outcome = Outcome.success
        while waits.count < 100 {
            outcome =
                await bench.attempt(
                    "bulk-upload", options, conditions: OrderConditions(metered: true)
                ).outcome
            guard case .snooze(let wait, _) = outcome else { break }
            waits.append(wait)
            bench.clock.advance(by: wait)
            try bench.logIn()
        }

        #expect(outcome == .success)
        #expect(Set(desk.metricIDs).count == 1300)
        #expect(waits.allSatisfy { $0 > .zero && $0 <= .seconds(3600) })
        #expect((30...72).contains(waits.count), "\(waits.count)")
        // The rest of the budget is not used up by tiny uploads.
        let bodies = bench.backend.requests.dropLast().compactMap { $0.body?.count }
        #expect(bodies.allSatisfy { $0 > 1500 }, "\(bodies)")
    }

    @Test func `a budget that is over is whole again after a day`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<1000)
        let options = ["metered_budget": "65536", "large_upload": "0"]
        let metered = OrderConditions(metered: true)
        _ = await bench.attempt("bulk-upload", options, conditions: metered)
        let taken = desk.metricIDs.count

        bench.clock.advance(by: .seconds(24 * 3600))
        try bench.logIn()
        _ = await bench.attempt("bulk-upload", options, conditions: metered)

        #expect(taken > 100)
        #expect(abs(desk.metricIDs.count - 2 * taken) <= 2)
    }

    @Test func `an upload that was warned goes on where it was, each sample once`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<900)
        let backend = bench.backend

        let first = await bench.attempt(
            "bulk-upload", isEnding: { backend.requests.count >= 2 })
        let between = try bench.states()
        let second = await bench.attempt("bulk-upload")

        #expect(first.outcome != .success)
        // What was under way was settled.
        #expect((200...500).contains(between[.accepted] ?? 0))
        #expect(between[.queued] == 900 - (between[.accepted] ?? 0))
        #expect(second.outcome == .success)
        #expect(desk.metricIDs.count == 900 && Set(desk.metricIDs).count == 900)
        #expect(backend.requests.count == 9)
    }

    @Test func `another user's session sends nothing of the owner's`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<5)
        let store = try bench.store()

        let error = #expect(throws: HealthStoreError.self) {
            _ = try store.outbox.nextBatches(
                limit: 5, rules: [UploadEndpoint(types: [.heartRate: "heart_rate"])],
                at: bench.clock.now, of: "somebody-else")
        }

        guard case .otherUser? = error else {
            Issue.record("another error")
            return
        }
        #expect(try bench.states() == [.queued: 5])
    }
}
