@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("What the history knows of each account")
struct AccountHistoryTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let anna: AccountID
    let annabel: AccountID

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        anna = try #require(AccountID("anna"))
        annabel = try #require(AccountID("anna-bel"))
    }

    private func accounts() throws -> [AccountID?: AccountHistory] {
        try RunHistory(inDirectory: bed.path).accounts(at: .noon)
    }

    @Test func `an account has its own facts and clocks and no others`() throws {
        let facts: [(AccountID?, Int64?)] = [(anna, 1), (annabel, nil), (nil, 3)]
        let jobs = try ["anna/b", "anna-bel/a", "anna/a", "a"].map { try #require(JobID($0)) }
        try store.decide { _ in
            facts.map { .putFacts([AttemptFact("waiting", $1, at: .noon)], of: $0, at: .noon) }
                + jobs.map { .setClock($0, JobClock(anchor: .noon, considered: .noon)) }
        }

        let accounts = try accounts()

        #expect(Set(accounts.keys) == [anna, annabel, nil])
        #expect(accounts[anna]?.facts.map(\.value) == [1])
        #expect(accounts[annabel]?.facts.map(\.value) == [nil])
        #expect(accounts[nil]?.facts.map(\.value) == [3])
        #expect(accounts.values.allSatisfy { $0.factsAt == .noon })
        #expect(accounts[anna]?.clocks.map(\.job.rawValue) == ["anna/a", "anna/b"])
        #expect(accounts[annabel]?.clocks.map(\.job.rawValue) == ["anna-bel/a"])
        #expect(accounts[nil]?.clocks.map(\.job.rawValue) == ["a"])
    }

    @Test func `a pause that is over is no obstacle`() throws {
        let jobs = try ["anna/a", "anna/b"].map { try #require(JobID($0)) }
        let pause = Pause(since: .noon, until: .noon + .milliseconds(1), reason: "r")
        try store.decide { _ in
            [
                .setPause(jobs[0], pause), .setPause(jobs[1], Pause(since: .noon, until: .noon)),
            ]
        }

        let obstacles = try accounts()[anna]?.obstacles ?? []

        #expect(obstacles.map(\.job) == [jobs[0]])
        #expect(obstacles.map(\.obstacle) == [.paused(pause)])
    }

    @Test func `the failures of a hundred thousand runs are found by an index`() throws {
        let plan = try FileConnection(path: "\(bed.path)/history.db").all(
            "EXPLAIN QUERY PLAN \(RunHistory.lastFailures)"
        ) { $0.text(3) }

        #expect(!plan.contains { $0.hasPrefix("SCAN runs") }, "\(plan)")
        #expect(plan.contains { $0.contains("runs_kept (job_id=? AND <expr>=?)") }, "\(plan)")
    }

    @Test(arguments: [
        RunHistory.lastEndsQuery, "SELECT id FROM \(RunHistory.successes(of: "'a'")) LIMIT 9",
    ])
    func `the last success of a million runs is found by an index, without sorting`(
        query: String
    ) throws {
        let plan = try FileConnection(path: "\(bed.path)/history.db").all(
            "EXPLAIN QUERY PLAN \(query)"
        ) { $0.text(3) }

        #expect(plan.contains { $0.contains("runs_kept (job_id=? AND <expr>=?)") }, "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0 == "SCAN runs" }, "\(plan)")
    }
}
