/// Version 2: job records, decisions with their inputs, and retention.
///
/// A CHECK cannot be changed, so tables with new states are created anew as
/// <https://www.sqlite.org/lang_altertable.html> says; foreign keys are off meanwhile. The words
/// are joined by OR: for an IN with more than two words SQLite builds a table at each statement,
/// which is eleven tables for each run that is written.
let secondHistoryVersion = """
    CREATE TABLE job_records (
        job_id TEXT PRIMARY KEY NOT NULL,
        anchor_at_ms INTEGER,
        considered_until_ms INTEGER,
        -- The schedule by which that was decided, and since when it is that schedule.
        schedule TEXT,
        schedule_since_ms INTEGER,
        -- How often the clock was set back. An occurrence is told apart by instant and era.
        era INTEGER NOT NULL DEFAULT 0 CHECK (era >= 0),
        last_finished_ms INTEGER,
        paused_since_ms INTEGER,
        paused_until_ms INTEGER,
        pause_reason TEXT,
        -- Occurrences up to and including this instant may have lost their fates to retention.
        pruned_until_ms INTEGER,
        -- The finished runs that the history has, and those that failed apart from them.
        kept_runs INTEGER NOT NULL DEFAULT 0 CHECK (kept_runs >= 0),
        kept_failures INTEGER NOT NULL DEFAULT 0 CHECK (kept_failures >= 0),
        -- Rises with each change of any record, so that a process reads only what others changed.
        revision INTEGER NOT NULL,
        CHECK (considered_until_ms >= anchor_at_ms - 1),
        CHECK ((anchor_at_ms IS NULL) = (considered_until_ms IS NULL)),
        CHECK ((anchor_at_ms IS NULL) = (schedule IS NULL)),
        CHECK ((anchor_at_ms IS NULL) = (schedule_since_ms IS NULL)),
        CHECK ((paused_since_ms IS NULL) = (pause_reason IS NULL)),
        CHECK (paused_until_ms IS NULL OR paused_since_ms IS NOT NULL)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX job_records_by_revision ON job_records (revision);

    INSERT INTO job_records
        (job_id, anchor_at_ms, considered_until_ms, schedule, schedule_since_ms, era,
            last_finished_ms, kept_runs, kept_failures, revision)
    SELECT jobs.job_id, anchor_at_ms, considered_until_ms,
        -- Nobody took down by which schedule; whoever decides next does, from there on.
        iif(anchor_at_ms IS NULL, NULL, ''), considered_until_ms, coalesce(era, 0),
        (SELECT finished_at_ms FROM runs WHERE runs.job_id = jobs.job_id
            AND finished_at_ms IS NOT NULL AND attempts > 0 ORDER BY id DESC LIMIT 1),
        (SELECT count(*) FROM runs WHERE runs.job_id = jobs.job_id
            AND finished_at_ms IS NOT NULL AND state <> 'failed'),
        (SELECT count(*) FROM runs WHERE runs.job_id = jobs.job_id AND state = 'failed'),
        row_number() OVER (ORDER BY jobs.job_id)
    FROM (SELECT job_id FROM job_clocks UNION SELECT job_id FROM runs) AS jobs
    LEFT JOIN job_clocks ON job_clocks.job_id = jobs.job_id;
    DROP TABLE job_clocks;

    CREATE TABLE new_runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        trigger TEXT NOT NULL
            CHECK (trigger = 'schedule' OR trigger = 'catchUp' OR trigger = 'manual'
                OR trigger = 'event' OR trigger = 'chain'),
        state TEXT NOT NULL
            CHECK (state = 'enqueued' OR state = 'running' OR state = 'succeeded'
                OR state = 'failed' OR state = 'cancelled' OR state = 'skipped'),
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
        failure_category TEXT
            CHECK (failure_category = 'work' OR failure_category = 'unreachable'
                OR failure_category = 'credential' OR failure_category = 'configuration'
                OR failure_category = 'disk' OR failure_category = 'internal'),
        failure_reason TEXT,
        stop_reason TEXT
            CHECK (stop_reason = 'timeout' OR stop_reason = 'stalled'
                OR stop_reason = 'constraintLost' OR stop_reason = 'shutdown'
                OR stop_reason = 'cancelled' OR stop_reason = 'superseded'
                OR stop_reason = 'leaseLost'),
        -- What another process asks the holder of the lease for.
        stop_request TEXT
            CHECK (stop_request = 'timeout' OR stop_request = 'stalled'
                OR stop_request = 'constraintLost' OR stop_request = 'shutdown'
                OR stop_request = 'cancelled' OR stop_request = 'superseded'
                OR stop_request = 'leaseLost'),
        tally TEXT NOT NULL,
        notes TEXT NOT NULL,
        era INTEGER NOT NULL CHECK (era >= 0),
        CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
        CHECK ((lease_owner IS NULL) = (lease_boot IS NULL)),
        CHECK ((lease_owner IS NULL) = (lease_expires_ms IS NULL)),
        CHECK ((state = 'succeeded' OR state = 'failed' OR state = 'cancelled' OR state = 'skipped')
            = (finished_at_ms IS NOT NULL)),
        CHECK (state NOT IN ('running', 'succeeded') OR started_at_ms IS NOT NULL),
        CHECK ((attempts > 0) = (started_at_ms IS NOT NULL)),
        CHECK (not_before_ms IS NULL OR state = 'enqueued'),
        CHECK (stop_request IS NULL OR state = 'running'),
        CHECK ((failure_category IS NULL) = (failure_reason IS NULL)),
        CHECK (state <> 'failed' OR failure_reason IS NOT NULL)
    ) STRICT;
    -- Before the rows, so that no number of a run that is gone is ever used again.
    INSERT INTO sqlite_sequence (name, seq)
        SELECT 'new_runs', seq FROM sqlite_sequence WHERE name = 'runs';
    INSERT INTO new_runs
        (id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, not_before_ms,
            is_expedited, is_forced, attempts, failures, interruptions, generation, lease_owner,
            lease_boot, lease_expires_ms, started_at_ms, finished_at_ms, checkpoint, caused_by,
            failure_category, failure_reason, stop_reason, tally, notes, era)
    SELECT id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, not_before_ms,
        is_expedited, is_forced, attempts, failures, interruptions, generation, lease_owner,
        lease_boot, lease_expires_ms, started_at_ms, finished_at_ms, checkpoint, caused_by,
        failure_category, failure_reason, stop_reason, tally,
        -- A backslash escapes now.
        replace(notes, char(92), char(92) || char(92)), era
    FROM runs;
    DROP TABLE runs;
    ALTER TABLE new_runs RENAME TO runs;

    CREATE INDEX runs_open ON runs (job_id) WHERE state IN ('enqueued', 'running');
    CREATE UNIQUE INDEX runs_one_running ON runs (job_id) WHERE state = 'running';
    CREATE UNIQUE INDEX runs_one_an_occurrence ON runs (job_id, era, scheduled_for_ms)
        WHERE trigger IN ('schedule', 'catchUp');
    CREATE INDEX runs_by_job ON runs (job_id, id);
    -- The finished in the order in which retention takes them, those that failed apart.
    CREATE INDEX runs_by_end ON runs (state = 'failed', finished_at_ms)
        WHERE finished_at_ms IS NOT NULL;
    -- Those of each job.
    CREATE INDEX runs_kept ON runs (job_id, state = 'failed', id)
        WHERE finished_at_ms IS NOT NULL;
    -- For `caused_by`, which is looked up whenever a run is removed.
    CREATE INDEX runs_by_cause ON runs (caused_by) WHERE caused_by IS NOT NULL;

    CREATE TABLE new_attempts (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 1),
        started_at_ms INTEGER NOT NULL,
        finished_at_ms INTEGER,
        result TEXT NOT NULL
            CHECK (result = 'running' OR result = 'succeeded' OR result = 'failed'
                OR result = 'stopped' OR result = 'interrupted'),
        stop_reason TEXT
            CHECK (stop_reason = 'timeout' OR stop_reason = 'stalled'
                OR stop_reason = 'constraintLost' OR stop_reason = 'shutdown'
                OR stop_reason = 'cancelled' OR stop_reason = 'superseded'
                OR stop_reason = 'leaseLost'),
        reason TEXT,
        tally TEXT NOT NULL,
        peak_memory_bytes INTEGER NOT NULL CHECK (peak_memory_bytes >= 0),
        PRIMARY KEY (run_id, number),
        CHECK ((result = 'running') = (finished_at_ms IS NULL))
    ) STRICT, WITHOUT ROWID;
    INSERT INTO new_attempts SELECT * FROM attempts;
    DROP TABLE attempts;
    ALTER TABLE new_attempts RENAME TO attempts;

    CREATE TABLE new_fates (
        job_id TEXT NOT NULL,
        era INTEGER NOT NULL CHECK (era >= 0),
        first_ms INTEGER NOT NULL,
        latest_ms INTEGER NOT NULL CHECK (latest_ms >= first_ms),
        occurrences INTEGER NOT NULL CHECK (occurrences >= 1),
        fate TEXT NOT NULL CHECK (fate = 'coalesced' OR fate = 'skipped' OR fate = 'expired' OR fate = 'paused'),
        run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
        PRIMARY KEY (job_id, era, first_ms)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO new_fates SELECT * FROM occurrence_fates;
    DROP TABLE occurrence_fates;
    ALTER TABLE new_fates RENAME TO occurrence_fates;
    CREATE INDEX fates_by_end ON occurrence_fates (latest_ms);
    CREATE INDEX fates_by_run ON occurrence_fates (run_id) WHERE run_id IS NOT NULL;

    CREATE TABLE new_deferrals (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        subject TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        until_ms INTEGER CHECK (until_ms >= since_ms),
        reason TEXT NOT NULL
            CHECK (reason = 'notDue' OR reason = 'constraint' OR reason = 'backoff'
                OR reason = 'overlap' OR reason = 'paused'),
        wanted TEXT NOT NULL,
        measured TEXT NOT NULL,
        source TEXT NOT NULL,
        -- The order in which a run's reasons to wait were found.
        place INTEGER NOT NULL,
        PRIMARY KEY (run_id, subject, since_ms)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO new_deferrals SELECT *, 0 FROM deferrals;
    DROP TABLE deferrals;
    ALTER TABLE new_deferrals RENAME TO deferrals;
    CREATE UNIQUE INDEX deferrals_now ON deferrals (run_id, subject) WHERE until_ms IS NULL;
    UPDATE deferrals SET until_ms = max(since_ms,
        (SELECT finished_at_ms FROM runs WHERE runs.id = run_id))
    WHERE until_ms IS NULL
        AND run_id IN (SELECT id FROM runs WHERE finished_at_ms IS NOT NULL);

    -- The texts from which the jobs of decisions were read, in the order in which they came.
    CREATE TABLE origins (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        text BLOB NOT NULL
    ) STRICT;

    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        origin TEXT NOT NULL,
        inputs TEXT NOT NULL,
        outcome TEXT NOT NULL,
        -- The runs that it was about when it was made.
        links INTEGER NOT NULL CHECK (links >= 0)
    ) STRICT;
    CREATE INDEX decisions_by_time ON decisions (at_ms);
    CREATE INDEX decisions_about_no_run ON decisions (at_ms) WHERE links = 0;
    CREATE INDEX decisions_by_origin ON decisions (origin);

    CREATE TABLE decision_runs (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        decision_id INTEGER NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
        PRIMARY KEY (run_id, decision_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX decision_runs_by_decision ON decision_runs (decision_id);

    CREATE TABLE prune_mark (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        at_ms INTEGER NOT NULL,
        through_run INTEGER NOT NULL,
        -- The last run whose job was held against the number of runs to keep, and that number.
        counted_run INTEGER NOT NULL,
        counted_limit INTEGER NOT NULL
    ) STRICT;
    """
