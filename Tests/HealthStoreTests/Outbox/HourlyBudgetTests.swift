import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct HourlyBudgetTests {
    private let folder = StateFolder()

    private func wait(_ ages: [Int], limit: Int) -> Duration? {
        HourlyBudget.wait(
            after: ages.map { noon - .seconds($0) }, limit: limit, now: noon)
    }

    @Test(
        arguments: [
            ([], 1, nil), ([10], 2, nil), ([10], 1, 3650), ([3659, 10], 2, 1),
            ([3660, 10], 2, nil),
            ([3000, 2000, 1000], 3, 660), ([3000, 2000, 1000], 2, 1660), ([-500], 1, 3660),
        ] as [([Int], Int, Int?)])
    func `a request waits until the hour has room again`(ages: [Int], limit: Int, seconds: Int?) {
        #expect(wait(ages, limit: limit) == seconds.map { .seconds($0) })
    }

    /// Draws a batch by rules of two requests an hour, sends it, and returns how long it must wait.
    private func draw(at now: Instant, _ route: UploadRoute = .metrics) throws -> Duration? {
        let store = try folder.open()
        let draw = try store.outbox.nextBatches(
            limit: 1, rules: [testRules(route, perHour: 2)], at: now)
        if let batch = draw.batch { try store.outbox.settle(batch, processingID: "p", at: now) }
        return draw.wait
    }

    @Test func `all processes share one hour, and another route has its own`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<9))

        let waits = try [0, 600, 1200].map { try draw(at: noon + .seconds($0)) }
        let other = try draw(at: noon + .seconds(1200), .samples)
        let later = try draw(at: noon + .seconds(3660))

        #expect(waits == [nil, nil, .seconds(3660 - 1200)])
        #expect(other == nil)
        #expect(later == nil)
    }

    @Test func `what has to wait is not made into a batch, and nothing waits for nothing`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))
        _ = try (0..<2).map { _ in try draw(at: noon) }

        let third = try draw(at: noon)
        let states = try folder.open().outbox.states()
        try folder.open().sql("DELETE FROM outbox WHERE state = 'queued'")

        #expect(third == .seconds(3660))
        #expect(states == [.accepted: 2, .queued: 1])
        #expect(try draw(at: noon) == nil)
    }

    /// Sends 200 requests, each as soon as the budget allows after a random pause. No hour of the
    /// backend has more than the limit, whenever it begins and however long each request took.
    @Test func `no hour that the backend may count has more requests than its limit`() {
        var random = SeededGenerator(seed: 7)
        var sent: [Instant] = []
        var arrived: [Instant] = []
        var now = noon
        while sent.count < 200 {
            if let wait = HourlyBudget.wait(after: sent.suffix(9), limit: 9, now: now) {
                now = now + wait
                continue
            }
            sent.append(now)
            arrived.append(now + .milliseconds(Int64.random(in: 0...60_000, using: &random)))
            now = now + .milliseconds(Int64.random(in: 0...400_000, using: &random))
        }

        for begin in arrived {
            let hour = arrived.filter { $0 >= begin && $0 - begin < .seconds(3600) }
            #expect(hour.count <= 9)
        }
    }

    @Test func `a refusal in spite of the budget closes the route for the rest of the hour`() throws
    {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        _ = try draw(at: noon)
        let at = noon + .seconds(1000)

        let wait = try store.outbox.closeRoute(.metrics, for: nil, at: at)

        #expect(try store.outbox.closeRoute(.metrics, for: .seconds(3600), at: at) == wait)
        #expect(wait == .seconds(3660 - 1000))
        #expect(try draw(at: at + .seconds(1)) == wait - .seconds(1))
        #expect(try draw(at: at, .samples) == nil)
        #expect(try draw(at: at + wait) == nil)
    }

    @Test func `a wish of the backend's is kept to, and without a request of ours it is an hour`()
        throws
    {
        let store = try folder.open()

        #expect(try store.outbox.closeRoute(.metrics, for: .seconds(30), at: noon) == .seconds(30))
        #expect(try store.outbox.closeRoute(.samples, for: nil, at: noon) == .seconds(3660))
    }

    @Test func `a wish of more than an hour is kept to, whatever the requests of ours`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        _ = try draw(at: noon)
        let wish = Duration.seconds(7200)

        #expect(try store.outbox.closeRoute(.metrics, for: wish, at: noon) == wish)
        #expect(try draw(at: noon + .seconds(3700)) == .seconds(3500))
        #expect(try draw(at: noon + wish) == nil)
    }

    @Test func `a clock that is put back delays by no more than an hour`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        _ = try (0..<2).map { _ in try draw(at: noon) }
        _ = try store.outbox.closeRoute(.samples, for: nil, at: noon)
        let before = noon - .seconds(90_000)

        #expect(try draw(at: before) == .seconds(3660))
        #expect(try draw(at: before, .samples) == .seconds(3660))
        #expect(try draw(at: before + .seconds(3660)) == nil)
    }
}
