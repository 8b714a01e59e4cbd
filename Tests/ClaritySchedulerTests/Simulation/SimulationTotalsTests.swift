@testable import ClarityScheduler
import ClarityTestSupport
import Testing

/// Simulations of many accounts, whose totals are summed up while they run.
@Suite struct SimulationTotalsTests {
    private func jobs(_ accounts: Int, every seconds: Int64) throws -> JobSet {
        let upload = Job(
            id: try #require(JobID(declared: "upload")), kind: JobKind("upload"),
            schedule: .every(.seconds(seconds)), accountSpread: .seconds(seconds))
        return JobSet(
            (0..<accounts).compactMap { AccountID("a\($0)") }.map {
                JobGroup(account: $0, jobs: [upload], host: "machine")
            })
    }

    private func simulation(
        _ jobs: JobSet, hours: Int64, maxParallel: Int, attempt: Duration
    ) -> Simulation {
        Simulation(
            jobs, maxParallel: maxParallel, over: .noon..<(.noon + .seconds(hours * 3600)),
            conditions: .everythingAllowed, attempt: { _ in attempt }, retention: RetentionPolicy())
    }

    @Test func `the totals are those of every run`() throws {
        let jobs = try jobs(40, every: 3600)
        let simulation = simulation(jobs, hours: 12, maxParallel: 3, attempt: .seconds(240))

        let totals = try simulation.totals(on: MemoryRunStore(), owner: "me")
        let runs = simulation.run().runs.map(\.run)

        let late = runs.compactMap { run in run.startedAt.map { $0 - run.scheduledFor } }.sorted()
        #expect(totals.accounts == 40 && totals.jobs == 40)
        #expect(totals.runs == runs.count)
        #expect(totals.succeeded == runs.count { $0.state == .succeeded })
        #expect(totals.attempts == runs.reduce(0) { $0 + $1.attempts })
        #expect(totals.failed == 0 && totals.expired == 0)
        #expect(totals.latest?.by == late.last)
        #expect(totals.lateness(of: 0.5) == late[(late.count + 1) / 2 - 1])
        #expect(totals.lateness(of: 1) == late.last)
        #expect(totals.mostAtOnce == 3)
        #expect(totals.end == .noon + .seconds(12 * 3600))
    }

    @Test func `runs that are spread over the hour start when they are due`() throws {
        let totals = try simulation(
            try jobs(100, every: 3600), hours: 24, maxParallel: 4, attempt: .seconds(1)
        ).totals(on: MemoryRunStore(), owner: "me")

        #expect(totals.runs >= 2300 && totals.succeeded == totals.runs)
        #expect(totals.missed == 0)
        #expect(totals.mostInMinute < 20)
        let latest = try #require(totals.latest)
        #expect(latest.by < .seconds(5), "\(latest)")
    }

    /// Ten accounts want more than two attempts at the same time can do.
    @Test func `where there is too much for the machine, each account gets as much`() throws {
        let jobs = try jobs(10, every: 1800)
        let simulation = simulation(jobs, hours: 48, maxParallel: 2, attempt: .seconds(600))

        let counts = simulation.run().jobs.map(\.successes)

        #expect(counts.reduce(0, +) >= 500)
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2, "\(counts)")
    }
}
