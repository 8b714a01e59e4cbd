import SQLite

/// The steps that create `history.db`, append-only: a released step never changes.
///
/// The CHECK constraints of the newest version allow the words of `RunState`, `Trigger`,
/// `OccurrenceFate`, `StopReason`, `WaitReason` and the other stored types, and no others. A new
/// word needs a new step; `HistorySchemaTests` compares the constraints with the types.
let historyMigrations = Migrations(
    applicationID: 0x434C_4A48,
    steps: [
        """
        CREATE TABLE job_clocks (
            job_id TEXT PRIMARY KEY NOT NULL,
            anchor_at_ms INTEGER NOT NULL,
            considered_until_ms INTEGER NOT NULL CHECK (considered_until_ms >= anchor_at_ms - 1),
            -- How often the clock was set back. An occurrence is told apart by instant and era.
            era INTEGER NOT NULL DEFAULT 0 CHECK (era >= 0)
        ) STRICT, WITHOUT ROWID;

        -- AUTOINCREMENT: a run's number is never used twice, whatever is pruned.
        CREATE TABLE runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            job_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            trigger TEXT NOT NULL
                CHECK (trigger IN ('schedule', 'catchUp', 'manual', 'event', 'chain')),
            state TEXT NOT NULL
                CHECK (state IN
                    ('enqueued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped')),
            scheduled_for_ms INTEGER NOT NULL,
            enqueued_at_ms INTEGER NOT NULL,
            not_before_ms INTEGER,
            is_expedited INTEGER NOT NULL CHECK (is_expedited IN (0, 1)),
            is_forced INTEGER NOT NULL CHECK (is_forced IN (0, 1)),
            attempts INTEGER NOT NULL CHECK (attempts >= 0),
            failures INTEGER NOT NULL CHECK (failures BETWEEN 0 AND attempts),
            interruptions INTEGER NOT NULL CHECK (interruptions >= 0),
            generation INTEGER NOT NULL CHECK (generation >= 0),
            lease_owner TEXT,
            lease_boot TEXT,
            lease_expires_ms INTEGER,
            started_at_ms INTEGER,
            finished_at_ms INTEGER,
            checkpoint TEXT,
            caused_by INTEGER REFERENCES runs (id) ON DELETE SET NULL,
            failure_category TEXT,
            failure_reason TEXT,
            stop_reason TEXT
                CHECK (stop_reason IN
                    ('timeout', 'constraintLost', 'shutdown', 'cancelled', 'leaseLost')),
            tally TEXT NOT NULL,
            notes TEXT NOT NULL,
            era INTEGER NOT NULL CHECK (era >= 0),
            CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
            CHECK ((lease_owner IS NULL) = (lease_boot IS NULL)),
            CHECK ((lease_owner IS NULL) = (lease_expires_ms IS NULL)),
            CHECK ((state IN ('succeeded', 'failed', 'cancelled', 'skipped'))
                = (finished_at_ms IS NOT NULL)),
            CHECK (state NOT IN ('running', 'succeeded') OR started_at_ms IS NOT NULL),
            CHECK ((attempts > 0) = (started_at_ms IS NOT NULL)),
            CHECK (not_before_ms IS NULL OR state = 'enqueued'),
            CHECK ((failure_category IS NULL) = (failure_reason IS NULL)),
            CHECK (state <> 'failed' OR failure_reason IS NOT NULL)
        ) STRICT;

        CREATE INDEX runs_open ON runs (job_id) WHERE state IN ('enqueued', 'running');
        CREATE UNIQUE INDEX runs_one_running ON runs (job_id) WHERE state = 'running';
        CREATE UNIQUE INDEX runs_one_an_occurrence ON runs (job_id, era, scheduled_for_ms)
            WHERE trigger IN ('schedule', 'catchUp');
        CREATE INDEX runs_by_job ON runs (job_id, id);

        CREATE TABLE attempts (
            run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            number INTEGER NOT NULL CHECK (number >= 1),
            started_at_ms INTEGER NOT NULL,
            finished_at_ms INTEGER,
            result TEXT NOT NULL
                CHECK (result IN ('running', 'succeeded', 'failed', 'stopped', 'interrupted')),
            stop_reason TEXT
                CHECK (stop_reason IN
                    ('timeout', 'constraintLost', 'shutdown', 'cancelled', 'leaseLost')),
            reason TEXT,
            tally TEXT NOT NULL,
            peak_memory_bytes INTEGER NOT NULL CHECK (peak_memory_bytes >= 0),
            PRIMARY KEY (run_id, number),
            CHECK ((result = 'running') = (finished_at_ms IS NULL))
        ) STRICT, WITHOUT ROWID;

        -- The key's columns come first and in its order: SQLite 3.40 checks the integrity of a table
        -- WITHOUT ROWID by the wrong columns otherwise.
        CREATE TABLE occurrence_fates (
            job_id TEXT NOT NULL,
            era INTEGER NOT NULL CHECK (era >= 0),
            first_ms INTEGER NOT NULL,
            latest_ms INTEGER NOT NULL CHECK (latest_ms >= first_ms),
            occurrences INTEGER NOT NULL CHECK (occurrences >= 1),
            fate TEXT NOT NULL CHECK (fate IN ('coalesced', 'skipped')),
            run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
            PRIMARY KEY (job_id, era, first_ms)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE deferrals (
            run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            subject TEXT NOT NULL,
            since_ms INTEGER NOT NULL,
            until_ms INTEGER CHECK (until_ms >= since_ms),
            reason TEXT NOT NULL
                CHECK (reason IN ('notDue', 'constraint', 'backoff', 'overlap', 'paused')),
            wanted TEXT NOT NULL,
            measured TEXT NOT NULL,
            source TEXT NOT NULL,
            PRIMARY KEY (run_id, subject, since_ms)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX deferrals_now ON deferrals (run_id, subject) WHERE until_ms IS NULL;
        """,
        secondHistoryVersion, thirdHistoryVersion, outputHistoryVersion, awaitsHistoryVersion,
        patienceHistoryVersion, bootHistoryVersion, namedHistoryVersion,
        sourcesHistoryVersion, totalsHistoryVersion,
        answersHistoryVersion,
    ])

/// Version 3: the condition that a run itself needs, beyond its job's constraints.
private let thirdHistoryVersion = """
    ALTER TABLE runs ADD COLUMN needs TEXT
        CHECK (needs = 'external_power' OR needs = 'network_unmetered')
        CHECK (needs IS NULL OR state <> 'running');
    """

/// Version 4: the output of attempts' programs, where it is kept; deleted with the attempt.
private let outputHistoryVersion = """
    CREATE TABLE attempt_outputs (
        run_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        head BLOB NOT NULL,
        left_out_bytes INTEGER NOT NULL CHECK (left_out_bytes >= 0),
        tail BLOB NOT NULL,
        PRIMARY KEY (run_id, number),
        FOREIGN KEY (run_id, number) REFERENCES attempts (run_id, number) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    """

/// Version 5: a run may wait for a login or a source file, words that the CHECK of `needs` refuses.
private let awaitsHistoryVersion = """
    ALTER TABLE runs ADD COLUMN awaits TEXT
        CONSTRAINT awaits_words CHECK (awaits = 'login' OR awaits = 'source')
        CONSTRAINT awaits_state CHECK (awaits IS NULL OR state <> 'running');
    """

/// Version 6: the occurrence that a coalesced run stands for, and a server's Retry-After.
private let patienceHistoryVersion = """
    -- The latest of the occurrences that were coalesced into a waiting run: it stands for that one.
    ALTER TABLE runs ADD COLUMN latest_occurrence_ms INTEGER;
    -- Before this instant a server wants no attempt of the job.
    ALTER TABLE job_records ADD COLUMN retry_after_ms INTEGER;
    """

/// Version 7: the last boot for which runs were enqueued, in one row, so that the restart of a
/// scheduler does not count as a boot.
private let bootHistoryVersion = """
    CREATE TABLE boot_mark (
        id INTEGER PRIMARY KEY CONSTRAINT boot_mark_id CHECK (id = 1),
        boot TEXT NOT NULL
    ) STRICT;
    """

/// Version 9: the fingerprints of the sources, and backfills of past occurrences.
private let sourcesHistoryVersion = """
    CREATE TABLE source_fingerprints (
        path TEXT PRIMARY KEY NOT NULL,
        is_folder INTEGER NOT NULL
            CONSTRAINT source_fingerprints_is_folder CHECK (is_folder = 0 OR is_folder = 1),
        files INTEGER NOT NULL CONSTRAINT source_fingerprints_files CHECK (files >= 0),
        newest_change_ns INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Once, but again where it came to nothing.
    CREATE UNIQUE INDEX runs_one_backfill ON runs (job_id, scheduled_for_ms)
        WHERE trigger = 'backfill'
            AND (state = 'enqueued' OR state = 'running' OR state = 'succeeded');
    """

/// Version 10: what happened since the file was made, which stays when runs are pruned.
///
/// Triggers count, in the transaction that ends the run or the attempt. A job has a bounded number
/// of rows, and the end of a run changes up to four of them.
private let totalsHistoryVersion = """
    CREATE TABLE totals (
        job_id TEXT NOT NULL,
        measure TEXT NOT NULL CONSTRAINT totals_measure
            CHECK (measure = 'runs' OR measure = 'failures' OR measure = 'attempts'
                OR measure = 'delays'),
        -- The state of the runs, the category of the failures, or the upper bound of a bucket in
        -- milliseconds, 0 for the bucket without one.
        label TEXT NOT NULL,
        number INTEGER NOT NULL CONSTRAINT totals_number CHECK (number > 0),
        sum_ms INTEGER NOT NULL CONSTRAINT totals_sum CHECK (sum_ms >= 0),
        PRIMARY KEY (job_id, measure, label)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER totals_of_ended_run AFTER UPDATE OF finished_at_ms ON runs
    WHEN OLD.finished_at_ms IS NULL AND NEW.finished_at_ms IS NOT NULL
    BEGIN
        \(countingRun)
    END;

    CREATE TRIGGER totals_of_run_made_ended AFTER INSERT ON runs
    WHEN NEW.finished_at_ms IS NOT NULL
    BEGIN
        \(countingRun)
    END;

    -- Nobody knows when an interrupted attempt ended.
    CREATE TRIGGER totals_of_attempt AFTER UPDATE OF result ON attempts
    WHEN OLD.result = 'running' AND NEW.result <> 'running' AND NEW.result <> 'interrupted'
    BEGIN
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT job_id, 'attempts',
            \(bucket("NEW.finished_at_ms - NEW.started_at_ms", JobTotals.durationBounds)), 1,
            max(NEW.finished_at_ms - NEW.started_at_ms, 0)
        FROM runs WHERE id = NEW.run_id
        \(addingToTotals);
    END;
    """

private let countingRun = """
    INSERT INTO totals (job_id, measure, label, number, sum_ms)
        VALUES (NEW.job_id, 'runs', NEW.state, 1, 0)
        \(addingToTotals);
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT NEW.job_id, 'failures', NEW.failure_category, 1, 0
        WHERE NEW.state = 'failed' AND NEW.failure_category IS NOT NULL
        \(addingToTotals);
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT NEW.job_id, 'delays',
            \(bucket("NEW.started_at_ms - NEW.scheduled_for_ms", JobTotals.delayBounds)), 1,
            max(NEW.started_at_ms - NEW.scheduled_for_ms, 0)
        WHERE NEW.started_at_ms IS NOT NULL
            AND (NEW.trigger = 'schedule' OR NEW.trigger = 'catchUp')
        \(addingToTotals);
    """

private let addingToTotals = """
    ON CONFLICT (job_id, measure, label)
        DO UPDATE SET number = number + excluded.number, sum_ms = sum_ms + excluded.sum_ms
    """

/// Returns an SQL expression for the label of the bucket of a value in milliseconds.
private func bucket(_ value: String, _ bounds: [Int64]) -> String {
    let cases = bounds.map { "WHEN \(value) <= \($0) THEN '\($0)'" }
    return "CASE \(cases.joined(separator: " ")) ELSE '0' END"
}

/// Version 11: how often a job's HTTP requests were answered, and with which class of status, since
/// the file was made.
///
/// An attempt's tally is `name=count` joined by spaces. CAST takes the digits and leaves the rest.
private let answersHistoryVersion = """
    CREATE TABLE answer_totals (
        job_id TEXT NOT NULL,
        class TEXT NOT NULL CONSTRAINT answer_totals_class
            CHECK (class = '2xx' OR class = '3xx' OR class = '4xx' OR class = '5xx'
                OR class = 'none'),
        number INTEGER NOT NULL CONSTRAINT answer_totals_number CHECK (number > 0),
        PRIMARY KEY (job_id, class)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER answer_totals_of_attempt AFTER UPDATE OF result ON attempts
    WHEN OLD.result = 'running' AND NEW.result <> 'running' AND instr(NEW.tally, 'http_') > 0
    BEGIN
        INSERT INTO answer_totals (job_id, class, number)
        SELECT job_id, class, number FROM (
            SELECT classes.column1 AS class, CAST(substr(NEW.tally,
                nullif(instr(' ' || NEW.tally, ' http_' || classes.column1 || '='), 0)
                    + length('http_' || classes.column1 || '=')) AS INTEGER) AS number
            FROM (VALUES ('2xx'), ('3xx'), ('4xx'), ('5xx'), ('none')) AS classes
        ), runs WHERE number > 0 AND runs.id = NEW.run_id
        ON CONFLICT (job_id, class) DO UPDATE SET number = number + excluded.number;
    END;
    """
