/// Version 1: the clocks of jobs, runs with their attempts, and what became of occurrences.
let firstHistoryVersion = """
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
    """

/// Version 3: the condition that a run itself needs, beyond its job's constraints.
let thirdHistoryVersion = """
    ALTER TABLE runs ADD COLUMN needs TEXT
        CHECK (needs = 'external_power' OR needs = 'network_unmetered')
        CHECK (needs IS NULL OR state <> 'running');
    """

/// Version 5: a run may wait for a login or a source file, words that the CHECK of `needs` refuses.
let awaitsHistoryVersion = """
    ALTER TABLE runs ADD COLUMN awaits TEXT
        CONSTRAINT awaits_words CHECK (awaits = 'login' OR awaits = 'source')
        CONSTRAINT awaits_state CHECK (awaits IS NULL OR state <> 'running');
    """

/// Version 6: the occurrence that a coalesced run stands for, and a server's Retry-After.
let patienceHistoryVersion = """
    -- The latest of the occurrences that were coalesced into a waiting run: it stands for that one.
    ALTER TABLE runs ADD COLUMN latest_occurrence_ms INTEGER;
    -- Before this instant a server wants no attempt of the job.
    ALTER TABLE job_records ADD COLUMN retry_after_ms INTEGER;
    """

/// Version 4: the output of attempts' programs, where it is kept; deleted with the attempt.
let outputHistoryVersion = """
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
