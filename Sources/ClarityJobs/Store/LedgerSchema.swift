extension HealthSchema {
    /// The results of every reading of a source, the order in which samples are sent, the bytes
    /// sent over metered connections, and what the backend said about a sample.
    static let ledger = """
        -- One row a reading of a source; `tag` is a keyed hash of the source. Old ones are summed up in
        -- one row a source, and in the one without a tag, which also has what no reading brought: the
        -- rows from before there was this table, and the ones removed beside a reading. `sealed` says
        -- of which types and for which reasons (`ReadingReasons`).
        CREATE TABLE readings (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tag BLOB CHECK (length(tag) = 16),
            state TEXT NOT NULL DEFAULT 'open'
                CHECK (state IN ('open', 'ended', 'interrupted', 'sum')),
            begun_at_ms INTEGER NOT NULL,
            finished_at_ms INTEGER,
            readings INTEGER NOT NULL DEFAULT 1 CHECK (readings >= 0),
            interrupted INTEGER NOT NULL DEFAULT 0 CHECK (interrupted >= 0),
            read INTEGER NOT NULL DEFAULT 0,
            queued INTEGER NOT NULL DEFAULT 0,
            known INTEGER NOT NULL DEFAULT 0,
            paired INTEGER NOT NULL DEFAULT 0,
            folded INTEGER NOT NULL DEFAULT 0,
            repeated INTEGER NOT NULL DEFAULT 0,
            unmapped INTEGER NOT NULL DEFAULT 0,
            refused INTEGER NOT NULL DEFAULT 0,
            before_since INTEGER NOT NULL DEFAULT 0,
            made INTEGER NOT NULL DEFAULT 0,
            made_queued INTEGER NOT NULL DEFAULT 0,
            made_known INTEGER NOT NULL DEFAULT 0,
            made_replaced INTEGER NOT NULL DEFAULT 0,
            made_corrected INTEGER NOT NULL DEFAULT 0,
            made_refused INTEGER NOT NULL DEFAULT 0,
            made_before_since INTEGER NOT NULL DEFAULT 0,
            rows_before INTEGER NOT NULL DEFAULT 0,
            rows_removed INTEGER NOT NULL DEFAULT 0,
            sealed BLOB,
            CHECK ((state = 'open') = (finished_at_ms IS NULL)),
            CHECK (state = 'sum' OR (tag IS NOT NULL AND readings = 1))
        ) STRICT;
        CREATE INDEX readings_source ON readings (tag, state);
        INSERT INTO readings (state, begun_at_ms, finished_at_ms, readings, rows_before)
            SELECT 'sum', 0, 0, 0, (SELECT count(*) FROM outbox)
            WHERE EXISTS (SELECT 1 FROM outbox);

        -- The newest and the oldest of a kind are found without sorting.
        DROP INDEX outbox_queue;
        CREATE INDEX outbox_queue ON outbox (state, kind, failures, start_s);

        -- The bodies of uploads over a metered connection.
        CREATE TABLE metered_bytes (
            id INTEGER PRIMARY KEY,
            sent_at_ms INTEGER NOT NULL,
            bytes INTEGER NOT NULL CHECK (bytes >= 0)
        ) STRICT;
        CREATE INDEX metered_bytes_time ON metered_bytes (sent_at_ms);

        -- What the backend said of the sample with this id when it refused it, without its values.
        CREATE TABLE server_words (
            id INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
            sealed BLOB NOT NULL
        ) STRICT;
        """
}
