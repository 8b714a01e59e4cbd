@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@Suite("What retention forgets")
struct RetentionTests {
    let bed: SQLiteRunStoreBed
    let store: any RunStore
    let connection: FileConnection

    init() throws {
        bed = try SQLiteRunStoreBed()
        store = try bed.open().store
        connection = try FileConnection(path: "\(bed.path)/history.db")
        try connection.execute("PRAGMA foreign_keys = ON")
    }

    @Test func `what is older than its age goes, failures by an age of their own`() throws {
        try insert(1, "a", "succeeded", daysAgo: 91)
        try insert(2, "a", "failed", daysAgo: 366)
        try insert(3, "a", "cancelled", daysAgo: 91)
        try insert(4, "a", "failed", daysAgo: 364)
        try insert(5, "a", "succeeded", daysAgo: 89)
        try insert(6, "a", "enqueued", daysAgo: 400)

        try prune(RetentionPolicy())

        #expect(try ids() == [4, 5, 6])
        #expect(try counts("a") == [1, 1])
        #expect(try store.ledger().pruned == PruneMark(at: .noon, through: RunID(6)))
    }

    @Test func `a job keeps the newest of its runs, and ten times as many failures`() throws {
        for number in Int64(1)...8 { try insert(number, "a", "succeeded", daysAgo: 1) }
        for number in Int64(9)...33 { try insert(number, "a", "failed", daysAgo: 1) }
        try insert(34, "a", "enqueued", daysAgo: 1)
        try insert(35, "b", "succeeded", daysAgo: 1)

        try prune(RetentionPolicy(runs: 2))

        #expect(try ids() == [7, 8] + Array(14...33) + [34, 35])
        #expect(try counts("a") == [2, 20])
        #expect(try counts("b") == [1, 0])
    }

    @Test func `a stricter policy looks at every job again`() throws {
        for number in Int64(1)...8 { try insert(number, "a", "succeeded", daysAgo: 1) }
        try prune(RetentionPolicy(runs: 5))
        try prune(RetentionPolicy(runs: 5))

        try prune(RetentionPolicy(runs: 3))

        #expect(try ids() == [6, 7, 8])
    }

    @Test func `a run goes with all that belongs to it`() throws {
        try insert(1, "a", "succeeded", daysAgo: 91)
        try insert(2, "a", "succeeded", daysAgo: 1)
        try connection.execute(
            """
            INSERT INTO deferrals VALUES
                (1, 'idle', 0, 1, 'constraint', 'idle', 'in use', 'test', 0);
            INSERT INTO attempt_outputs VALUES (1, 1, x'6f', 0, x''), (2, 1, x'6f', 0, x'');
            """)

        try prune(RetentionPolicy())

        #expect(try ids() == [2])
        #expect(try ask("SELECT run_id FROM attempts") == [2])
        #expect(try ask("SELECT run_id FROM attempt_outputs") == [2])
        #expect(try ask("SELECT count(*) FROM deferrals") == [0])
    }

    @Test func `the run that caused an unfinished one stays`() throws {
        try insert(1, "a", "succeeded", daysAgo: 91)
        try insert(2, "a", "succeeded", daysAgo: 91)
        try insert(3, "b", "enqueued", daysAgo: 91)
        try connection.execute("UPDATE runs SET caused_by = 2 WHERE id = 3")

        try prune(RetentionPolicy(runs: 1, bytes: 1))

        #expect(try ids() == [2, 3])
    }

    @Test func `old outcomes go, and each job's record says up to where`() throws {
        let day: Int64 = 86_400_000
        let noon = Instant.noon.millisecondsSince1970
        func daysAgo(_ days: Int64) -> Int { Int(noon - days * day) }
        try store.decide { _ in
            ["a", "b"].compactMap { JobID($0) }.map {
                .setClock($0, JobClock(anchor: .noon, considered: .noon))
            }
        }
        try insert(1, "b", "succeeded", daysAgo: 92, trigger: "schedule")
        try insert(2, "b", "succeeded", daysAgo: 91)
        try connection.execute(
            """
            UPDATE job_records SET era = 1 WHERE job_id = 'a';
            INSERT INTO occurrence_fates VALUES
                ('a', 0, \(noon - 99 * day), \(noon - 91 * day), 2, 'skipped', NULL),
                ('a', 1, \(noon - 99 * day), \(noon - 98 * day), 2, 'skipped', NULL),
                ('a', 1, \(noon - 97 * day), \(noon - 89 * day), 2, 'paused', NULL);
            """)

        try prune(RetentionPolicy())

        #expect(try ask("SELECT first_ms FROM occurrence_fates") == [daysAgo(97)])
        #expect(
            try ask("SELECT pruned_until_ms FROM job_records ORDER BY job_id")
                == [daysAgo(98), daysAgo(92)])
    }

    @Test func `a file that is too large loses what is oldest, failures too`() throws {
        for number in Int64(1)...2000 {
            try insert(number, "a", number % 2 == 0 ? "failed" : "succeeded", daysAgo: 1)
        }
        try connection.execute("UPDATE runs SET finished_at_ms = finished_at_ms + id")
        let before = try connection.usedBytes()

        for _ in 0..<4 { try prune(RetentionPolicy(runs: 10_000, bytes: before / 4 * 3)) }

        let kept = try ids()
        #expect(try connection.usedBytes() <= before / 4 * 3)
        #expect(kept.count > 400)
        #expect(kept == Array(Int(2001 - kept.count)...2000))
    }

    @Test func `a decision removes no more than a bounded part`() throws {
        for number in Int64(1)...600 { try insert(number, "a", "succeeded", daysAgo: 91) }
        try connection.execute("INSERT INTO prune_mark VALUES (1, 0, 600, 600, 1000)")

        try prune(RetentionPolicy())
        let after = try ids().count
        for _ in 0..<2 { try prune(RetentionPolicy()) }

        #expect(after == 350)
        #expect(try ids() == [])
    }

    @Test func `a job that fails each second for months never takes more than its bytes`() throws {
        let policy = RetentionPolicy(runs: 100_000, bytes: 4 << 20)
        try connection.execute("PRAGMA synchronous = OFF")
        var largest: Int64 = 0
        var last: Int64 = 0

        while last < 100_000 {
            // Five times as much as a loop writes between two prunes.
            try connection.execute(
                """
                BEGIN;
                \(RetentionTests.failures(after: last, count: 1000));
                COMMIT;
                """)
            last += 1000
            try prune(policy, at: .noon + .seconds(last))
            largest = max(largest, try connection.usedBytes())
        }

        #expect(largest <= policy.bytes)
        #expect(try ask("SELECT max(id) FROM runs") == [100_000])
        // The file is larger only by what was written between two prunes.
        #expect(
            try ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")[0]
                < 2 * Int(policy.bytes))
        #expect(
            try ask("SELECT kept_failures FROM job_records") == ask("SELECT count(*) FROM runs"))
        #expect(try RunHistory(inDirectory: bed.path).audit(JobSet([])) == [])
    }

    @Test func `one step removes a bounded number of the waits of unfinished runs`() throws {
        try insert(1, "a", "enqueued", daysAgo: 1)
        let noon = Instant.noon.millisecondsSince1970
        for number in Int64(1)...9 {
            try connection.run(
                """
                INSERT INTO deferrals
                    (run_id, subject, since_ms, until_ms, reason, wanted, measured, source, place)
                VALUES (1, 'idle', ?1, ?1, 'constraint', '', '', '', 0)
                """, .integer(noon - number))
        }

        let removed = try HistoryPast(connection: connection).removeAll(through: .noon, 4)

        #expect(removed.runs == 0)
        #expect(removed.others == 4)
        let left = try ask("SELECT since_ms FROM deferrals ORDER BY since_ms")
        #expect(left == (1...5).reversed().map { Int(noon) - $0 })
    }

    // MARK: Rows

    private func prune(_ policy: RetentionPolicy, at instant: Instant = .noon) throws {
        try store.decide { _ in [.prune(policy, at: instant)] }
    }

    private func ask(_ sql: String) throws -> [Int] {
        try connection.all(sql) { Int($0.integer(0)) }
    }

    private func ids() throws -> [Int] { try ask("SELECT id FROM runs ORDER BY id") }

    private func counts(_ job: String) throws -> [Int64] {
        try connection.first(
            "SELECT kept_runs, kept_failures FROM job_records WHERE job_id = ?", .text(job)
        ) { [$0.integer(0), $0.integer(1)] } ?? []
    }

    /// Adds a run that ended, or was enqueued, this many days before noon.
    private func insert(
        _ number: Int64, _ job: String, _ state: String, daysAgo: Int64,
        trigger: String = "manual"
    ) throws {
        let end = Instant.noon.millisecondsSince1970 - daysAgo * 86_400_000
        let hasStarted = state == "succeeded"
        try connection.run(
            """
            INSERT INTO runs
                (id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, is_expedited,
                    is_forced, attempts, failures, interruptions, generation, started_at_ms,
                    finished_at_ms, failure_category, failure_reason, tally, notes, era)
            VALUES (?1, ?2, 'work', ?3, ?4, ?5, ?5, 0, 0, ?6, 0, 0, 0, iif(?6, ?5, NULL),
                iif(?4 = 'enqueued', NULL, ?5), 'work', 'no', '', '', 0)
            """,
            .integer(number), .text(job), .text(trigger), .text(state), .integer(end),
            .integer(hasStarted ? 1 : 0))
        if hasStarted {
            try connection.run(
                """
                INSERT INTO attempts VALUES (?1, 1, ?2, ?2, 'succeeded', NULL, NULL, '', 0)
                """, .integer(number), .integer(end))
        }
        try connection.run(
            """
            INSERT INTO job_records (job_id, kept_runs, kept_failures, revision)
            VALUES (?1, ?2, ?3, (SELECT coalesce(max(revision), 0) + 1 FROM job_records))
            ON CONFLICT DO UPDATE SET
                kept_runs = kept_runs + ?2, kept_failures = kept_failures + ?3
            """,
            .text(job), .integer(["enqueued", "failed"].contains(state) ? 0 : 1),
            .integer(state == "failed" ? 1 : 0))
    }

    /// Returns SQL that adds failed runs of a job, one a second, each with its attempt.
    private static func failures(after last: Int64, count: Int64) -> String {
        let noon = Instant.noon.millisecondsSince1970
        let numbers = """
            WITH RECURSIVE n (i) AS
                (SELECT \(last + 1) UNION ALL SELECT i + 1 FROM n WHERE i < \(last + count))
            """
        return """
            \(numbers) INSERT INTO runs
                (id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, is_expedited,
                    is_forced, attempts, failures, interruptions, generation, started_at_ms,
                    finished_at_ms, failure_category, failure_reason, tally, notes, era)
                SELECT i, 'a', 'work', 'schedule', 'failed', \(noon) + i * 1000,
                    \(noon) + i * 1000, 0, 0, 1, 1, 0, 1, \(noon) + i * 1000,
                    \(noon) + i * 1000 + 5, 'work', 'nothing to read', '', '', 0 FROM n;
            \(numbers) INSERT INTO attempts
                SELECT i, 1, \(noon) + i * 1000, \(noon) + i * 1000 + 5, 'failed', NULL,
                    'nothing to read', '', 0 FROM n;
            INSERT INTO job_records (job_id, kept_failures, revision) VALUES ('a', \(count), 1)
                ON CONFLICT DO UPDATE SET kept_failures = kept_failures + \(count);
            """
    }
}
