/// Version 9: the fingerprints of the sources, and backfills of past occurrences.
let sourcesHistoryVersion = """
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
