@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("What is counted for ever")
struct JobTotalsTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let connection: Connection
    let job: JobID

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        connection = try FileConnection(path: "\(bed.path)/history.db")
        job = try #require(JobID("a"))
    }

    @Test func `each finished run counts once, by its end`() throws {
        for (number, state) in ["succeeded", "failed", "failed", "cancelled"].enumerated() {
            try start(Int64(number))
            try end(Int64(number), state)
        }
        try connection.execute("UPDATE runs SET finished_at_ms = 7000, notes = 'again'")
        try insert(9, "skipped", finished: 5000)
        try start(10)

        let totals = try totals()

        #expect(totals.runs == [.succeeded: 1, .failed: 2, .cancelled: 1, .skipped: 1])
        #expect(totals.failures == [.unreachable: 2])
    }

    @Test(arguments: [
        (0, 0), (100, 0), (101, 1), (1000, 1), (30_000, 3), (3_600_000, 7), (3_600_001, 8),
        (-5, 0),
    ])
    func `an attempt counts in the bucket of its duration`(span: Int64, bucket: Int) throws {
        try start(1)
        try connection.execute(
            """
            INSERT INTO attempts VALUES (1, 1, 50000, NULL, 'running', NULL, NULL, '', 0);
            UPDATE attempts SET result = 'failed', finished_at_ms = 50000 + \(span);
            UPDATE attempts SET tally = 'a=1';
            """)

        let attempts = try totals().attempts

        #expect(attempts.counts.enumerated().filter { $0.element > 0 }.map(\.offset) == [bucket])
        #expect(attempts.counts[bucket] == 1)
        #expect(attempts.sum == .milliseconds(max(span, 0)))
    }

    @Test func `an attempt that vanished has no duration`() throws {
        try start(1)
        try connection.execute(
            """
            INSERT INTO attempts VALUES (1, 1, 0, NULL, 'running', NULL, NULL, '', 0);
            UPDATE attempts SET result = 'interrupted', finished_at_ms = 900000;
            """)

        #expect(try RunHistory(inDirectory: bed.path).totals(at: .noon).isEmpty)
    }

    @Test(arguments: ["succeeded", "failed", "stopped", "interrupted"])
    func `an attempt's answers count by class, however it ended`(result: String) throws {
        try start(1)
        try connection.execute(
            """
            INSERT INTO attempts VALUES (1, 1, 0, NULL, 'running', NULL, NULL, '', 0),
                (1, 2, 0, NULL, 'running', NULL, NULL, '', 0),
                (1, 3, 0, NULL, 'running', NULL, NULL, '', 0);
            UPDATE attempts SET result = '\(result)', finished_at_ms = 9,
                tally = 'http_2xx=12 samples_sent=7 http_none=1' WHERE number = 1;
            UPDATE attempts SET result = '\(result)', finished_at_ms = 9,
                tally = 'my_http_4xx=5 http_2xx=30 http_5xx=2' WHERE number = 2;
            UPDATE attempts SET result = '\(result)', finished_at_ms = 9,
                tally = 'samples_sent=7' WHERE number = 3;
            UPDATE attempts SET tally = 'http_2xx=100';
            """)

        #expect(try totals().answers == [.success: 42, .fault: 2, .none: 1])
    }

    @Test(arguments: [(1000, 0), (1001, 1), (86_400_000, 7), (86_400_001, 8), (-5, 0)])
    func `a run of the schedule counts in the bucket of its delay`(
        delay: Int64, bucket: Int
    ) throws {
        try start(1, delay: delay)
        try end(1, "succeeded")
        try start(2, trigger: "manual", delay: delay)
        try end(2, "succeeded")

        let delays = try totals().delays

        #expect(delays.counts.enumerated().filter { $0.element > 0 }.map(\.offset) == [bucket])
        #expect(delays.counts[bucket] == 1 && delays.sum == .milliseconds(max(delay, 0)))
    }

    @Test func `totals outlive the runs that retention removes`() throws {
        for number in Int64(1)...5 {
            try start(number)
            try end(number, "succeeded")
        }
        let before = try totals()
        #expect(before.runs == [.succeeded: 5])

        try store.decide { _ in [.prune(RetentionPolicy(), at: Instant(secondsSince1970: 1 << 32))]
        }

        let history = try RunHistory(inDirectory: bed.path)
        #expect(try history.runs(of: nil, limit: 9).isEmpty)
        #expect(try totals() == before)
    }

    @Test func `waits count by their reason, also those that go on, and outlive the history`()
        throws
    {
        try insert(1, "enqueued")
        let wait = Deferral(
            .constraint, subject: "network", wanted: "yes", measured: "no", source: "test")
        var idle = wait
        idle.subject = "idle"
        func decide(_ changes: [LedgerChange]) throws { try store.decide { _ in changes } }
        let began = Instant(millisecondsSince1970: 1000)
        try decide([.deferred(RunID(1), [wait, idle], at: began)])
        let pause = Deferral(
            .paused, subject: "paused", wanted: "a resume", measured: "", source: "")
        try decide([.deferred(RunID(1), [pause], at: Instant(millisecondsSince1970: 41_000))])

        let waits = try totals().waits
        try connection.execute("DELETE FROM runs")
        let left = try totals().waits

        // Two constraints for 40 s each, and a pause since then.
        #expect(waits == [.constraint: .seconds(80), .paused: .seconds(59)])
        #expect(left == [.constraint: .seconds(80)])
    }

    @Test func `occurrences without a run count by their outcome, also when a row is extended`()
        throws
    {
        func record(_ outcome: OccurrenceOutcome, from: Int64, to: Int64, _ count: Int) throws {
            try connection.execute(
                """
                INSERT INTO occurrence_fates (job_id, first_ms, latest_ms, occurrences, fate, era)
                VALUES ('a', \(from), \(to), \(count), '\(outcome.rawValue)', 0)
                """)
        }
        try record(.skipped, from: 1000, to: 3000, 3)
        try record(.expired, from: 4000, to: 4000, 1)
        try connection.execute(
            "UPDATE occurrence_fates SET latest_ms = 9000, occurrences = 8 WHERE fate = 'skipped'")
        try record(.skipped, from: 10_000, to: 10_000, 1)

        let missed = try totals().missed
        try connection.execute("DELETE FROM occurrence_fates")

        #expect(missed == [.skipped: 9, .expired: 1])
        #expect(try totals().missed == missed)
    }

    @Test func `a run changes a bounded number of rows`() throws {
        for number in Int64(1)...200 {
            try start(number)
            try end(number, number % 2 == 0 ? "failed" : "succeeded")
        }

        let rows = try connection.first("SELECT count(*) FROM totals") { $0.integer(0) }

        #expect(rows == 4)
    }

    private func totals() throws -> JobTotals {
        try #require(
            try RunHistory(inDirectory: bed.path).totals(
                at: Instant(millisecondsSince1970: 100_000))[job])
    }

    private func start(_ number: Int64, trigger: String = "schedule", delay: Int64 = 0) throws {
        try insert(number, "enqueued", trigger: trigger)
        try connection.execute(
            """
            UPDATE runs SET state = 'running', attempts = 1,
                started_at_ms = scheduled_for_ms + \(delay), lease_owner = 'o', lease_boot = 'b',
                lease_expires_ms = 9 WHERE id = \(number)
            """)
    }

    private func end(_ number: Int64, _ state: String) throws {
        try connection.execute(
            """
            UPDATE runs SET state = '\(state)', finished_at_ms = 6000, lease_owner = NULL,
                lease_boot = NULL, lease_expires_ms = NULL,
                failure_category = iif('\(state)' = 'failed', 'unreachable', NULL),
                failure_reason = iif('\(state)' = 'failed', 'no', NULL) WHERE id = \(number)
            """)
    }

    private func insert(
        _ number: Int64, _ state: String, trigger: String = "schedule", finished: Int64? = nil
    ) throws {
        try connection.execute(
            """
            INSERT INTO runs (id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms,
                is_expedited, is_forced, attempts, failures, interruptions, generation, tally,
                notes, era, finished_at_ms)
            VALUES (\(number), 'a', 'work', '\(trigger)', '\(state)', 1000 * \(number), 0, 0, 0,
                0, 0, 0, 0, '', '', 0, \(finished.map(String.init) ?? "NULL"))
            """)
    }
}
