@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("The history of a removed account")
struct AccountErasureTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let anna: AccountID
    let job: JobID

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        anna = try #require(AccountID("anna"))
        job = try #require(JobID("anna/say"))
    }

    private var history: FileConnection {
        get throws { try FileConnection(path: "\(bed.path)/history.db") }
    }

    private func run(_ id: Int64, _ state: RunState) -> Run {
        var run = Run(
            id: RunID(id), job: job, kind: .command, trigger: .manual, scheduledFor: .noon,
            enqueuedAt: .noon, isExpedited: false, isForced: false, causedBy: nil)
        (run.state, run.attempts, run.startedAt) = (state, 1, .noon)
        run.parameters = ["WHO": "a secret"]
        if state == .running { run.lease = Lease(owner: "me", state: .mine) }
        guard state == .failed else { return run }
        run.finishedAt = .noon + .seconds(1)
        run.notes = ["a secret note"]
        run.failure = Failure(.work, "exited with status 3: a secret line")
        return run
    }

    private func attempt(_ id: Int64, _ result: Attempt.Result) -> Attempt {
        var attempt = Attempt(run: RunID(id), number: 1, startedAt: .noon, result: result)
        guard result == .failed else { return attempt }
        attempt.finishedAt = .noon + .seconds(1)
        attempt.reason = "exited with status 3: a secret line"
        attempt.output = AttemptOutput(
            head: Array("a secret line".utf8), leftOutBytes: 0, tail: [])
        return attempt
    }

    private func end(_ id: Int64) throws {
        let facts = [AttemptFact("waiting", 3, at: .noon)]
        try store.decide { _ in
            [
                .put(run(id, .failed)), .putAttempt(attempt(id, .failed)),
                .putFacts(facts, of: anna, at: .noon),
            ]
        }
    }

    private func begin(_ id: Int64) throws {
        try store.decide { _ in [.put(run(id, .running)), .putAttempt(attempt(id, .running))] }
    }

    private func secrets() throws -> Int {
        try ["runs", "attempts", "attempt_outputs", "account_facts"].reduce(0) { sum, table in
            let rows = try history.all("SELECT * FROM \(table)") { row in
                (0..<40).map { row.isNull($0) ? "" : row.text($0) }.joined(separator: "|")
            }
            return sum + rows.count { $0.contains("secret") || $0.contains("waiting|3") }
        }
    }

    @Test func `an attempt that ends after its account was removed leaves no text`() throws {
        try begin(1)
        try end(1)
        try begin(2)
        let before = try secrets()

        try AccountErasure(history, at: bed.path).run(of: anna, at: .noon)
        let between = try secrets()
        try end(2)

        #expect(before == 5 && between == 0)
        #expect(try secrets() == 0)
        let runs = try history.all(
            "SELECT state, failure_reason, finished_at_ms - started_at_ms FROM runs ORDER BY id"
        ) { "\($0.text(0)) \($0.text(1)) \($0.integer(2))" }
        #expect(runs == Array(repeating: "failed removed with its account 1000", count: 2))
    }
}
