import Database
import Platform

/// The schema of `history.db`. A new file gets it at once, and one of an earlier release by the
/// steps that it lacks: whoever changes a table changes its text below, and adds a step that does
/// the same. A step never changes.
let historyMigrations = Migrations(
    applicationID: 0x434C_4A48,
    schema: [
        jobTables, runTables, outputTables, bootTables, sourceTables, totalTables, answerTables,
        factTables, machineTables, waitTables,
    ].joined(separator: "\n"),
    oldest: 11,
    steps: [factTables, machineTables, waitTables, parametersColumn])

/// Gives a history the current schema, and backs it up before that changes.
func migrateHistory(_ connection: FileConnection, at path: String) throws {
    try historyMigrations.migrate(connection) { _ in
        let source = try FileConnection(path: path, access: .readOnly)
        try BackupFolder.makeBeforeMigration(of: path, sizeBytes: source.sizeBytes()) {
            try source.writeCopy(to: $0, form: nil)
        }
    }
}

/// What is known of each job, and how far the history was pruned.
let jobTables = """
    CREATE TABLE job_records (
        job_id TEXT PRIMARY KEY NOT NULL,
        anchor_at_ms INTEGER,
        considered_until_ms INTEGER,
        -- The schedule by which that was decided, and since when it is that schedule.
        schedule TEXT,
        schedule_since_ms INTEGER,
        -- How often the clock was set back. An occurrence is told apart by instant and era.
        era INTEGER NOT NULL DEFAULT 0 CONSTRAINT job_records_era CHECK (era >= 0),
        last_finished_ms INTEGER,
        paused_since_ms INTEGER,
        paused_until_ms INTEGER,
        pause_reason TEXT,
        -- Occurrences up to and including this instant may have lost their fates to retention.
        pruned_until_ms INTEGER,
        -- The finished runs that the history has, and those that failed apart from them.
        kept_runs INTEGER NOT NULL DEFAULT 0 CONSTRAINT job_records_runs CHECK (kept_runs >= 0),
        kept_failures INTEGER NOT NULL DEFAULT 0
            CONSTRAINT job_records_failures CHECK (kept_failures >= 0),
        -- Rises with each change of any record, so that a process reads only what others changed.
        revision INTEGER NOT NULL,
        -- Before this instant a server wants no attempt of the job.
        retry_after_ms INTEGER,
        CONSTRAINT job_records_considered CHECK (considered_until_ms >= anchor_at_ms - 1),
        CONSTRAINT job_records_clock
            CHECK ((anchor_at_ms IS NULL) = (considered_until_ms IS NULL)),
        CONSTRAINT job_records_schedule CHECK ((anchor_at_ms IS NULL) = (schedule IS NULL)),
        CONSTRAINT job_records_since
            CHECK ((anchor_at_ms IS NULL) = (schedule_since_ms IS NULL)),
        CONSTRAINT job_records_pause CHECK ((paused_since_ms IS NULL) = (pause_reason IS NULL)),
        CONSTRAINT job_records_pause_end
            CHECK (paused_until_ms IS NULL OR paused_since_ms IS NOT NULL)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX job_records_by_revision ON job_records (revision);

    -- How far the history was pruned.
    CREATE TABLE prune_mark (
        id INTEGER PRIMARY KEY CONSTRAINT prune_mark_one CHECK (id = 1),
        at_ms INTEGER NOT NULL,
        through_run INTEGER NOT NULL,
        -- The last run whose job was held against the number of runs to keep, and that number.
        counted_run INTEGER NOT NULL,
        counted_limit INTEGER NOT NULL
    ) STRICT;
    """

/// The runs, their attempts and reasons to wait, and what became of the other occurrences.
///
/// The CHECK constraints allow the words of `RunState`, `Trigger`, `OccurrenceOutcome`,
/// `StopReason`, `WaitReason` and the other stored types, and no others; `HistorySchemaTests`
/// compares them.
let runTables = """
    -- AUTOINCREMENT: a run's number is never used twice, whatever is pruned.
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        trigger TEXT NOT NULL CONSTRAINT runs_trigger
            CHECK (trigger = 'schedule' OR trigger = 'catchUp' OR trigger = 'manual'
                OR trigger = 'event' OR trigger = 'chain' OR trigger = 'backfill'),
        state TEXT NOT NULL CONSTRAINT runs_state
            CHECK (state = 'enqueued' OR state = 'running' OR state = 'succeeded'
                OR state = 'failed' OR state = 'cancelled' OR state = 'skipped'),
        scheduled_for_ms INTEGER NOT NULL,
        enqueued_at_ms INTEGER NOT NULL,
        not_before_ms INTEGER,
        is_expedited INTEGER NOT NULL
            CONSTRAINT runs_is_expedited CHECK (is_expedited = 0 OR is_expedited = 1),
        is_forced INTEGER NOT NULL
            CONSTRAINT runs_is_forced CHECK (is_forced = 0 OR is_forced = 1),
        attempts INTEGER NOT NULL CONSTRAINT runs_attempts CHECK (attempts >= 0),
        failures INTEGER NOT NULL CONSTRAINT runs_failures CHECK (failures BETWEEN 0 AND attempts),
        interruptions INTEGER NOT NULL CONSTRAINT runs_interruptions CHECK (interruptions >= 0),
        generation INTEGER NOT NULL CONSTRAINT runs_generation CHECK (generation >= 0),
        lease_owner TEXT,
        lease_boot TEXT,
        lease_expires_ms INTEGER,
        started_at_ms INTEGER,
        finished_at_ms INTEGER,
        checkpoint TEXT,
        caused_by INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        failure_category TEXT CONSTRAINT runs_failure_category
            CHECK (failure_category = 'work' OR failure_category = 'unreachable'
                OR failure_category = 'credential' OR failure_category = 'configuration'
                OR failure_category = 'disk' OR failure_category = 'internal'),
        failure_reason TEXT,
        stop_reason TEXT CONSTRAINT runs_stop_reason
            CHECK (stop_reason = 'timeout' OR stop_reason = 'stalled'
                OR stop_reason = 'constraintLost' OR stop_reason = 'shutdown'
                OR stop_reason = 'cancelled' OR stop_reason = 'superseded'
                OR stop_reason = 'leaseLost'),
        -- What another process asks the holder of the lease for.
        stop_request TEXT CONSTRAINT runs_stop_request
            CHECK (stop_request = 'timeout' OR stop_request = 'stalled'
                OR stop_request = 'constraintLost' OR stop_request = 'shutdown'
                OR stop_request = 'cancelled' OR stop_request = 'superseded'
                OR stop_request = 'leaseLost'),
        tally TEXT NOT NULL,
        notes TEXT NOT NULL,
        era INTEGER NOT NULL CONSTRAINT runs_era CHECK (era >= 0),
        needs TEXT CONSTRAINT runs_needs
            CHECK (needs = 'external_power' OR needs = 'network_unmetered'),
        awaits TEXT CONSTRAINT runs_awaits CHECK (awaits = 'login' OR awaits = 'source'),
        -- The latest of the occurrences that were coalesced into a waiting run: it stands for that one.
        latest_occurrence_ms INTEGER,
        parameters TEXT,
        CONSTRAINT runs_needs_state CHECK (needs IS NULL OR state <> 'running'),
        CONSTRAINT runs_awaits_state CHECK (awaits IS NULL OR state <> 'running'),
        CONSTRAINT runs_lease CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
        CONSTRAINT runs_lease_boot CHECK ((lease_owner IS NULL) = (lease_boot IS NULL)),
        CONSTRAINT runs_lease_end CHECK ((lease_owner IS NULL) = (lease_expires_ms IS NULL)),
        CONSTRAINT runs_finished
            CHECK ((state = 'succeeded' OR state = 'failed' OR state = 'cancelled'
                OR state = 'skipped') = (finished_at_ms IS NOT NULL)),
        CONSTRAINT runs_started
            CHECK (started_at_ms IS NOT NULL OR state <> 'running' AND state <> 'succeeded'),
        CONSTRAINT runs_attempted CHECK ((attempts > 0) = (started_at_ms IS NOT NULL)),
        CONSTRAINT runs_not_before CHECK (not_before_ms IS NULL OR state = 'enqueued'),
        CONSTRAINT runs_stop_state CHECK (stop_request IS NULL OR state = 'running'),
        CONSTRAINT runs_failure CHECK ((failure_category IS NULL) = (failure_reason IS NULL)),
        CONSTRAINT runs_failed CHECK (state <> 'failed' OR failure_reason IS NOT NULL)
    ) STRICT;
    CREATE INDEX runs_open ON runs (job_id) WHERE state = 'enqueued' OR state = 'running';
    CREATE UNIQUE INDEX runs_one_running ON runs (job_id) WHERE state = 'running';
    CREATE UNIQUE INDEX runs_one_an_occurrence ON runs (job_id, era, scheduled_for_ms)
        WHERE trigger = 'schedule' OR trigger = 'catchUp';
    CREATE INDEX runs_by_job ON runs (job_id, id);
    CREATE INDEX runs_by_end ON runs (state = 'failed', finished_at_ms)
        WHERE finished_at_ms IS NOT NULL;
    CREATE INDEX runs_kept ON runs (job_id, state = 'failed', id)
        WHERE finished_at_ms IS NOT NULL;
    CREATE INDEX runs_by_cause ON runs (caused_by) WHERE caused_by IS NOT NULL;

    CREATE TABLE attempts (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CONSTRAINT attempts_number CHECK (number >= 1),
        started_at_ms INTEGER NOT NULL,
        finished_at_ms INTEGER,
        result TEXT NOT NULL CONSTRAINT attempts_result
            CHECK (result = 'running' OR result = 'succeeded' OR result = 'failed'
                OR result = 'stopped' OR result = 'interrupted'),
        stop_reason TEXT CONSTRAINT attempts_stop_reason
            CHECK (stop_reason = 'timeout' OR stop_reason = 'stalled'
                OR stop_reason = 'constraintLost' OR stop_reason = 'shutdown'
                OR stop_reason = 'cancelled' OR stop_reason = 'superseded'
                OR stop_reason = 'leaseLost'),
        reason TEXT,
        tally TEXT NOT NULL,
        peak_memory_bytes INTEGER NOT NULL
            CONSTRAINT attempts_memory CHECK (peak_memory_bytes >= 0),
        PRIMARY KEY (run_id, number),
        CONSTRAINT attempts_finished CHECK ((result = 'running') = (finished_at_ms IS NULL))
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE deferrals (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        subject TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        until_ms INTEGER CONSTRAINT deferrals_until CHECK (until_ms >= since_ms),
        reason TEXT NOT NULL CONSTRAINT deferrals_reason
            CHECK (reason = 'notDue' OR reason = 'constraint' OR reason = 'backoff'
                OR reason = 'overlap' OR reason = 'paused'),
        wanted TEXT NOT NULL,
        measured TEXT NOT NULL,
        source TEXT NOT NULL,
        -- The order in which a run's reasons to wait were found.
        place INTEGER NOT NULL,
        PRIMARY KEY (run_id, subject, since_ms)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX deferrals_now ON deferrals (run_id, subject) WHERE until_ms IS NULL;

    -- The key's columns come first and in its order: SQLite 3.40 checks the integrity of a table
    -- WITHOUT ROWID by the wrong columns otherwise.
    CREATE TABLE occurrence_fates (
        job_id TEXT NOT NULL,
        era INTEGER NOT NULL CONSTRAINT occurrence_fates_era CHECK (era >= 0),
        first_ms INTEGER NOT NULL,
        latest_ms INTEGER NOT NULL
            CONSTRAINT occurrence_fates_latest CHECK (latest_ms >= first_ms),
        occurrences INTEGER NOT NULL CONSTRAINT occurrence_fates_count CHECK (occurrences >= 1),
        fate TEXT NOT NULL CONSTRAINT occurrence_fates_fate
            CHECK (fate = 'coalesced' OR fate = 'skipped' OR fate = 'expired' OR fate = 'paused'),
        run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        PRIMARY KEY (job_id, era, first_ms)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX fates_by_end ON occurrence_fates (latest_ms);
    CREATE INDEX fates_by_run ON occurrence_fates (run_id) WHERE run_id IS NOT NULL;
    """

/// The output of attempts' programs, where it is kept; deleted with the attempt.
let outputTables = """
    CREATE TABLE attempt_outputs (
        run_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        head BLOB NOT NULL,
        left_out_bytes INTEGER NOT NULL
            CONSTRAINT attempt_outputs_left_out CHECK (left_out_bytes >= 0),
        tail BLOB NOT NULL,
        PRIMARY KEY (run_id, number),
        FOREIGN KEY (run_id, number) REFERENCES attempts (run_id, number) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    """

/// The last boot for which runs were enqueued, in one row, so that the restart of a
/// scheduler does not count as a boot.
let bootTables = """
    CREATE TABLE boot_mark (
        id INTEGER PRIMARY KEY CONSTRAINT boot_mark_id CHECK (id = 1),
        boot TEXT NOT NULL
    ) STRICT;
    """

/// The fingerprints of the sources, and backfills of past occurrences.
let sourceTables = """
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

/// What held when the last attempt of each account ended; the account is empty for a job file
/// without accounts.
let factTables = """
    CREATE TABLE account_facts (
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        value INTEGER,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (account, name)
    ) STRICT, WITHOUT ROWID;
    """

// Only where several machines share a history. Without it, an attempt ran on this one.
let machineTables = """
    CREATE TABLE attempt_machines (
        run_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        machine TEXT NOT NULL,
        PRIMARY KEY (run_id, number),
        FOREIGN KEY (run_id, number) REFERENCES attempts (run_id, number) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    """

/// What happened since the file was made, which stays when runs are pruned.
///
/// Triggers count, in the transaction that ends the run or the attempt. A job has a bounded number
/// of rows, and the end of a run changes up to four of them.
let totalTables = """
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

/// How often a job's HTTP requests were answered, and with which class of status, since
/// the file was made.
///
/// An attempt's tally is `name=count` joined by spaces. CAST takes the digits and leaves the rest.
let answerTables = """
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

/// How long runs waited, and how many occurrences started no run of their own, since the file was
/// made; as `totals`, it stays when the history is pruned.
let waitTables = """
    CREATE TABLE wait_totals (
        job_id TEXT NOT NULL,
        reason TEXT NOT NULL CONSTRAINT wait_totals_reason
            CHECK (reason = 'notDue' OR reason = 'constraint' OR reason = 'backoff'
                OR reason = 'overlap' OR reason = 'paused'),
        sum_ms INTEGER NOT NULL CONSTRAINT wait_totals_sum CHECK (sum_ms >= 0),
        PRIMARY KEY (job_id, reason)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE missed_totals (
        job_id TEXT NOT NULL,
        fate TEXT NOT NULL CONSTRAINT missed_totals_fate
            CHECK (fate = 'coalesced' OR fate = 'skipped' OR fate = 'expired' OR fate = 'paused'),
        number INTEGER NOT NULL CONSTRAINT missed_totals_number CHECK (number > 0),
        PRIMARY KEY (job_id, fate)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER wait_totals_of_ended AFTER UPDATE OF until_ms ON deferrals
    WHEN OLD.until_ms IS NULL AND NEW.until_ms IS NOT NULL
    BEGIN
        INSERT INTO wait_totals (job_id, reason, sum_ms)
        SELECT job_id, NEW.reason, NEW.until_ms - NEW.since_ms FROM runs WHERE id = NEW.run_id
        ON CONFLICT (job_id, reason) DO UPDATE SET sum_ms = sum_ms + excluded.sum_ms;
    END;

    CREATE TRIGGER missed_totals_of_outcome AFTER INSERT ON occurrence_fates
    BEGIN
        INSERT INTO missed_totals (job_id, fate, number)
        VALUES (NEW.job_id, NEW.fate, NEW.occurrences)
        ON CONFLICT (job_id, fate) DO UPDATE SET number = number + excluded.number;
    END;

    CREATE TRIGGER missed_totals_of_more AFTER UPDATE OF occurrences ON occurrence_fates
    WHEN NEW.occurrences > OLD.occurrences
    BEGIN
        INSERT INTO missed_totals (job_id, fate, number)
        VALUES (NEW.job_id, NEW.fate, NEW.occurrences - OLD.occurrences)
        ON CONFLICT (job_id, fate) DO UPDATE SET number = number + excluded.number;
    END;
    """

/// The values that a request for a run set for parameters of its job, `NAME=VALUE` one per line.
let parametersColumn = "ALTER TABLE runs ADD COLUMN parameters TEXT"

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
func bucket(_ value: String, _ bounds: [Int64]) -> String {
    let cases = bounds.map { "WHEN \(value) <= \($0) THEN '\($0)'" }
    return "CASE \(cases.joined(separator: " ")) ELSE '0' END"
}
