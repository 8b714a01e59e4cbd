import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("Outcomes of occurrences in the history")
struct OutcomeRowTests {
    private let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    private struct Row: Equatable {
        var first: Instant
        var latest: Instant
        var count: Int
        var outcome: String
    }

    private func rows() throws -> [Row] {
        try FileConnection(path: "\(bed.path)/history.db").all(
            "SELECT first_ms, latest_ms, occurrences, fate FROM occurrence_fates ORDER BY first_ms"
        ) { row in
            Row(
                first: Instant(millisecondsSince1970: row.integer(0)),
                latest: Instant(millisecondsSince1970: row.integer(1)),
                count: Int(row.integer(2)), outcome: row.text(3))
        }
    }

    @Test func `occurrences that share an outcome one after the other are one row`() throws {
        let (store, owner) = try bed.open()
        let job = try #require(JobID("a"))
        let jobs = JobSet([Job(id: job, kind: JobKind("work"), schedule: .every(.seconds(1)))])
        var planner = Planner(jobs: jobs, owner: owner, seed: 1)
        func look(_ second: Int, _ events: Planner.Event...) throws {
            let span = Duration.seconds(second)
            try store.decide { ledger in
                planner.handle(
                    events, at: Moment(wall: .noon + span, elapsed: span),
                    conditions: .everythingAllowed, ledger: ledger
                ).changes
            }
        }

        try look(0, .pause([job], until: nil, reason: ""))
        for second in 1...100 { try look(second, .tick) }
        try look(101, .resume([job]))
        for second in 102...110 { try look(second, .tick) }

        #expect(
            try rows() == [
                Row(
                    first: .noon + .seconds(1), latest: .noon + .seconds(101), count: 101,
                    outcome: "coalesced"),
                Row(
                    first: .noon + .seconds(102), latest: .noon + .seconds(110), count: 9,
                    outcome: "skipped"),
            ])
        #expect(try RunHistory(inDirectory: bed.path).audit(jobs) == [])
    }
}
