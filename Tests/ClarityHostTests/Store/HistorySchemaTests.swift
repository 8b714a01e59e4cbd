@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Database
import Testing

@Suite("The schema of the history")
struct HistorySchemaTests {
    let bed: SQLiteRunStoreBed

    init() throws { bed = try SQLiteRunStoreBed() }

    @Test func `a file of 0.1.0 opens as the newest with all that it holds`() throws {
        try makeFirstRelease()
        let before = try keptRows()

        let (store, _) = try bed.open()

        #expect(try keptRows() == before)
        #expect(before["attempts"]?.count == 5)
        let ledger = try store.ledger()
        let a = try #require(JobID("a"))
        #expect(
            ledger.jobs.byJob == [
                a: JobRecord(
                    clock: JobClock(
                        anchor: instant(1000), considered: instant(5000), era: 1,
                        scheduleSince: instant(5000)),
                    lastFinished: instant(2600)),
                try #require(JobID("b")): JobRecord(
                    clock: JobClock(
                        anchor: instant(1000), considered: instant(999),
                        scheduleSince: instant(999))),
                // A job that only ever ran on request has no clock.
                try #require(JobID("c")): JobRecord(lastFinished: instant(3000)),
            ])
        #expect(ledger.open.keys.sorted() == [RunID(3), RunID(4)])
        #expect(ledger.open[RunID(3)]?.lease == Lease(owner: "1-gone", state: .lapsed))
        #expect(
            ledger.waits == [
                RunID(4): [
                    Deferral(
                        .constraint, subject: "network", wanted: "connected", measured: "none",
                        source: "test")
                ]
            ])
        // Run number 7 was used once and is never used again.
        #expect(ledger.nextRun == RunID(8))
        let history = try RunHistory(inDirectory: bed.path)
        let runs = try history.runs(of: nil, limit: 10)
        #expect(runs.map(\.id.rawValue) == [5, 4, 3, 2, 1])
        #expect(runs.last?.notes == ["one", #"two \n three"#])
        #expect(runs.last?.causedBy == nil)
        #expect(runs.first?.causedBy == RunID(1))
        #expect(runs[3].failure == Failure(.work, "no"))
        #expect(try history.attempts(of: RunID(1)).map(\.result) == [.failed, .succeeded])
        #expect(try history.attempts(of: RunID(1)).map(\.machine) == [nil, nil])
        #expect(try history.attempts(of: RunID(2)).map(\.stopReason) == [.timeout])
        let spans = try history.deferrals(of: RunID(1))
        #expect(spans.map(\.until) == [instant(1500), nil])
        let outcomes = try ask("SELECT job_id || era || first_ms || fate FROM occurrence_fates")
        #expect(outcomes == ["a01200coalesced", "a11300skipped"])
        #expect(try ask("PRAGMA user_version") == ["\(historyMigrations.newest)"])
        #expect(try ask("PRAGMA integrity_check") == ["ok"])
        #expect(try ask("PRAGMA foreign_key_check") == [])
        #expect(try ask("SELECT count(*) FROM account_facts") == ["0"])
        #expect(
            try ask("SELECT sql FROM sqlite_schema WHERE name = 'account_facts'")
                == [factTables.trimmingPrefix("\n").split(separator: ";").joined()])
    }

    @Test func `a run that runs needs nothing`() throws {
        try makeFirstRelease()
        _ = try bed.open()
        let connection = try FileConnection(path: path, access: .readWrite)

        try connection.execute("UPDATE runs SET needs = 'external_power' WHERE id = 4")
        #expect(throws: DatabaseError.self) {
            try connection.execute("UPDATE runs SET needs = 'external_power' WHERE id = 3")
        }
    }

    @Test func `reading a file of 0.1.0 leaves it as it is`() throws {
        try makeFirstRelease()
        let before = try bed.folder.contents()

        let history = try RunHistory(inDirectory: bed.path)
        let runs = try history.runs(of: nil, limit: 10)

        #expect(runs.count == 5)
        #expect(try bed.folder.contents() == before)
    }

    @Test func `a migration that breaks off leaves the file as it was`() throws {
        try makeFirstRelease()
        let tables = try ask("SELECT sql FROM sqlite_schema ORDER BY name")
        var broken = historyMigrations
        broken.steps[1] += "; INSERT INTO runs (id) VALUES ('no number');"
        let connection = try FileConnection(path: path)

        #expect(throws: DatabaseError.self) { try broken.migrate(connection) }

        #expect(try ask("PRAGMA user_version") == ["11"])
        #expect(try ask("SELECT sql FROM sqlite_schema ORDER BY name") == tables)
        #expect(try ask("SELECT count(*) FROM runs") == ["5"])
        #expect(try bed.open().store.ledger().open.count == 2)
    }

    @Test func `every CHECK has a name, and neither it nor an index compares with IN`() throws {
        _ = try bed.open()

        let statements = try ask("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")

        #expect(statements.count > 15)
        #expect(statements.flatMap { faultyChecks(in: $0) } == [])
    }

    @Test func `unfinished runs and occurrences are found by an index`()
        throws
    {
        _ = try bed.open()
        let open = try FileConnection(path: path).all(
            "EXPLAIN QUERY PLAN SELECT id FROM \(RunRow.open) ORDER BY id"
        ) { $0.text(3) }
        let occurrences = try FileConnection(path: path).all(
            """
            EXPLAIN QUERY PLAN SELECT id FROM runs WHERE job_id = 'a' AND era = 0
                AND (trigger = 'schedule' OR trigger = 'catchUp') AND scheduled_for_ms > 1
            """
        ) { $0.text(3) }

        #expect(open.first?.contains("USING INDEX runs_open") == true, "\(open)")
        #expect(
            occurrences.first?.contains(
                "runs_one_an_occurrence (job_id=? AND era=? AND scheduled_for_ms>?)") == true,
            "\(occurrences)")
    }

    @Test func `a file that another process writes to opens at once, and shrinks the next time`()
        throws
    {
        try makeFirstRelease()
        try historyMigrations.migrate(try FileConnection(path: path))
        try FileConnection(path: path).execute(
            """
            CREATE TABLE rows_of_before (bytes BLOB);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO rows_of_before SELECT zeroblob(4000) FROM n;
            DROP TABLE rows_of_before;
            """)
        let sizeBefore = try sizeBytes()
        let writer = try FileConnection(path: path)
        try writer.execute("BEGIN IMMEDIATE")

        let start = ContinuousClock.now
        let first = try bed.open()
        let wait = ContinuousClock.now - start
        let freeThen = try freePages()
        try writer.execute("ROLLBACK")
        bed.end(first.owner)
        _ = try bed.open()

        #expect(wait < .seconds(20), "\(wait)")
        #expect(freeThen > 2000)
        #expect(try freePages() == 0)
        #expect(sizeBefore > 8 << 20, "\(sizeBefore)")
        let size = try sizeBytes()
        #expect(size < 512 << 10, "\(size)")
    }

    @Test func `a file of which less than half is free stays as it is`() throws {
        let first = try bed.open()
        let connection = try FileConnection(path: path)
        try connection.execute(
            """
            CREATE TABLE rows_of_before (bytes BLOB);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO rows_of_before SELECT zeroblob(4000) FROM n;
            DELETE FROM rows_of_before WHERE rowid <= 2000;
            """)
        bed.end(first.owner)

        _ = try bed.open()

        #expect(try freePages() > 1500)
    }

    @Test func `the tables allow the words of the engine and no others`() throws {
        _ = try bed.open()
        let stops = words(StopReason.self)

        #expect(try allowed("state", in: "runs") == words(RunState.self))
        #expect(try allowed("trigger", in: "runs") == words(Trigger.self))
        #expect(try allowed("stop_reason", in: "runs") == stops)
        #expect(try allowed("stop_request", in: "runs") == stops)
        #expect(try allowed("stop_reason", in: "attempts") == stops)
        #expect(
            try (allowed("needs", in: "runs") + allowed("awaits", in: "runs")).sorted()
                == words(NeededCondition.self).sorted())
        #expect(try allowed("failure_category", in: "runs") == words(Failure.Category.self))
        #expect(try allowed("result", in: "attempts") == words(Attempt.Result.self))
        #expect(try allowed("fate", in: "occurrence_fates") == words(OccurrenceOutcome.self))
        #expect(try allowed("reason", in: "deferrals") == words(WaitReason.self))
        let finished = RunState.allCases.filter(\.isFinished).map(\.rawValue).sorted()
        let sql = try ask("SELECT sql FROM sqlite_schema WHERE name = 'runs'").joined()
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let check = "CHECK ((state = 'succeeded' OR state = 'failed' OR state = 'cancelled' "
        #expect(sql.contains(check + "OR state = 'skipped')"))
        #expect(finished == ["cancelled", "failed", "skipped", "succeeded"])
    }

    private var path: String { "\(bed.path)/history.db" }

    private func instant(_ milliseconds: Int64) -> Instant {
        Instant(millisecondsSince1970: milliseconds)
    }

    private func ask(_ sql: String) throws -> [String] {
        try FileConnection(path: path).all(sql) { $0.text(0) }
    }

    private func freePages() throws -> Int64 {
        try #require(
            try FileConnection(path: path).first("PRAGMA freelist_count") { $0.integer(0) })
    }

    private func sizeBytes() throws -> Int {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return Int(status.st_size)
    }

    /// Returns the rows of the tables of 0.1.0 in the columns that they had, as SQL literals.
    private func keptRows() throws -> [String: [String]] {
        let tables = [
            "job_records", "runs", "attempts", "occurrence_fates", "deferrals", "prune_mark",
            "attempt_outputs", "boot_mark", "sqlite_sequence",
        ]
        return try tables.reduce(into: [:]) { rows, table in
            let columns = try ask(
                """
                SELECT 'quote(' || name || ')' FROM pragma_table_info('\(table)')
                WHERE name <> 'parameters'
                """)
            rows[table] = try ask(
                "SELECT \(columns.joined(separator: " || ',' || ")) FROM \(table)")
        }
    }

    private func words<Word: CaseIterable & RawRepresentable<String>>(
        _ type: Word.Type
    ) -> [String] {
        type.allCases.map(\.rawValue)
    }

    /// Returns the words that the CHECK of a column allows.
    private func allowed(_ column: String, in table: String) throws -> [String] {
        let sql = try #require(
            try ask("SELECT sql FROM sqlite_schema WHERE name = '\(table)'").first)
        let start = try #require(sql.firstRange(of: "CHECK (\(column) = '"))
        let rest = sql[start.lowerBound...]
        let list = rest[..<(try #require(rest.firstRange(of: "')")).lowerBound)]
        return list.split(separator: "'", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// Makes a file as 0.1.0 made it, with rows of every kind.
    private func makeFirstRelease() throws {
        mkdir(bed.path, 0o700)
        let connection = try FileConnection(path: path)
        try connection.execute("PRAGMA journal_mode = WAL")
        try FirstRelease.make("history.db", in: connection)
        try connection.execute("PRAGMA foreign_keys = ON")
        try connection.execute(
            #"""
            INSERT INTO job_records (job_id, anchor_at_ms, considered_until_ms, schedule,
                schedule_since_ms, era, last_finished_ms, kept_runs, kept_failures, revision)
            VALUES ('a', 1000, 5000, '', 5000, 1, 2600, 1, 1, 1),
                ('b', 1000, 999, '', 999, 0, NULL, 0, 0, 2),
                ('c', NULL, NULL, NULL, NULL, 0, 3000, 1, 0, 3);
            INSERT INTO runs (id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms,
                not_before_ms, is_expedited, is_forced, attempts, failures, interruptions,
                generation, lease_owner, lease_boot, lease_expires_ms, started_at_ms,
                finished_at_ms, checkpoint, caused_by, failure_category, failure_reason,
                stop_reason, tally, notes, era)
            VALUES
                (1, 'a', 'work', 'schedule', 'succeeded', 1000, 1001, NULL, 0, 0, 2, 1, 0, 2, NULL,
                    NULL, NULL, 1100, 2500, 'half', NULL, NULL, NULL, NULL, 'read=2', 'one
            two \\n three', 0),
                (2, 'a', 'work', 'catchUp', 'failed', 1100, 1101, NULL, 0, 0, 1, 1, 0, 1, NULL,
                    NULL, NULL, 1100, 2600, NULL, NULL, 'work', 'no', 'timeout', '', '', 1),
                (3, 'a', 'work', 'schedule', 'running', 1200, 1201, NULL, 0, 0, 1, 0, 0, 1,
                    '1-gone', 'boot', 9000, 1300, NULL, NULL, NULL, NULL, NULL, NULL, '', '', 1),
                (4, 'b', 'work', 'event', 'enqueued', 1200, 1201, 9000, 1, 1, 0, 0, 0, 0, NULL,
                    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', '', 0),
                (5, 'c', 'work', 'chain', 'succeeded', 1300, 1301, NULL, 0, 0, 1, 0, 0, 1, NULL,
                    NULL, NULL, 1300, 3000, NULL, 1, NULL, NULL, NULL, '', '', 0),
                (7, 'c', 'work', 'manual', 'enqueued', 1300, 1301, NULL, 0, 0, 0, 0, 0, 0, NULL,
                    NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, '', '', 0);
            DELETE FROM runs WHERE id = 7;
            INSERT INTO attempts VALUES
                (1, 1, 1100, 1200, 'failed', NULL, 'no', '', 0),
                (1, 2, 2100, 2500, 'succeeded', NULL, NULL, 'read=2', 4096),
                (2, 1, 1100, 2600, 'failed', 'timeout', 'no', '', 0),
                (3, 1, 1300, NULL, 'running', NULL, NULL, '', 0),
                (5, 1, 1300, 3000, 'succeeded', NULL, NULL, '', 0);
            INSERT INTO occurrence_fates VALUES
                ('a', 0, 1200, 1300, 2, 'coalesced', 1), ('a', 1, 1300, 1300, 1, 'skipped', NULL);
            INSERT INTO deferrals VALUES
                (1, 'idle', 1100, 1500, 'constraint', 'idle', 'in use', 'test', 0),
                (1, 'network', 1200, NULL, 'constraint', 'connected', 'none', 'test', 1),
                (4, 'network', 1200, NULL, 'constraint', 'connected', 'none', 'test', 0);
            INSERT INTO boot_mark VALUES (1, 'b');
            INSERT INTO attempt_outputs VALUES (1, 2, x'6f6b', 0, x'');
            INSERT INTO prune_mark VALUES (1, 1000, 1, 1, 1000);
            """#)
    }
}
