extension HealthVersions {
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

    /// The last reading of each source, the time zone of days, and which samples are aggregates.
    static let intake = """
        -- What the file had in it, and what tells its content from another (`LastReading`); NULL
        -- for one that an earlier version read.
        ALTER TABLE sources ADD COLUMN sealed BLOB;
        -- The name of the zone on whose clock days are told apart, since the first reading.
        CREATE TABLE day_zone (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- As of when an aggregate such as a day or a night is true, in seconds since 1970; NULL for
        -- a measurement, which nothing replaces.
        ALTER TABLE outbox ADD COLUMN as_of_s INTEGER;
        """

    /// The attempt that sends a batch, the samples that the backend has and says no more about, and
    /// those whose processing failed.
    ///
    /// Besides the new columns only constraints change, so that no row is written: their text is
    /// replaced where SQLite stores it (https://sqlite.org/lang_altertable.html, section 7). They
    /// compare with OR, because `IN (...)` makes SQLite build a b-tree for every row that it
    /// writes.
    static let sending = """
        -- The attempt that sends the batch, as `UploadOwner` knows it; NULL for a batch that an
        -- earlier version made.
        ALTER TABLE batches ADD COLUMN owner INTEGER;
        -- Whether the backend said last that it could not process the sample.
        ALTER TABLE outbox ADD COLUMN processing_failed INTEGER NOT NULL DEFAULT 0
            CONSTRAINT outbox_processing_failed
            CHECK (processing_failed = 0 OR processing_failed = 1);

        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
            'CHECK (state IN (''sending'', ''accepted'', ''confirmed'', ''unconfirmed'', ''failed''))',
            'CONSTRAINT batches_state CHECK (state = ''sending'' OR state = ''accepted''
                OR state = ''confirmed'' OR state = ''stored'' OR state = ''unconfirmed''
                OR state = ''failed'')'),
            'CHECK ((state IN (''confirmed'', ''unconfirmed'', ''failed'')) = (finished_at_ms IS NOT NULL))',
            'CONSTRAINT batches_finished
                CHECK ((state = ''sending'' OR state = ''accepted'') = (finished_at_ms IS NULL))'),
            'CHECK (route IN (''metrics'', ''samples''))',
            'CONSTRAINT batches_route CHECK (route = ''metrics'' OR route = ''samples'')')
            WHERE type = 'table' AND name = 'batches';
        UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
            'CHECK (state IN (''queued'', ''sending'', ''accepted'', ''confirmed'', ''unconfirmed'',
                    ''rejected'', ''setAside''))',
            'CONSTRAINT outbox_state CHECK (state = ''queued'' OR state = ''sending''
                OR state = ''accepted'' OR state = ''confirmed'' OR state = ''stored''
                OR state = ''unconfirmed'' OR state = ''rejected'' OR state = ''setAside'')'),
            'CHECK (CASE state
                WHEN ''confirmed'' THEN (batch_id IS NULL) = (sealed IS NULL)',
            'CONSTRAINT outbox_place CHECK (CASE state
                WHEN ''confirmed'' THEN (batch_id IS NULL) = (sealed IS NULL)
                WHEN ''stored'' THEN (batch_id IS NULL) = (sealed IS NULL)'),
            'CHECK (state NOT IN (''rejected'', ''setAside'') OR reason IS NOT NULL)',
            'CONSTRAINT outbox_reason CHECK (reason IS NOT NULL
                OR state <> ''rejected'' AND state <> ''setAside'')'),
            'OR hold IN (''kind'', ''future'', ''doubt'') AND state = ''setAside''',
            'OR (hold = ''kind'' OR hold = ''future'' OR hold = ''doubt'') AND state = ''setAside''')
            WHERE type = 'table' AND name = 'outbox';
        PRAGMA writable_schema = RESET;
        """

    /// The times at which the file was restored to an earlier state.
    static let restorations = """
        -- What was measured before `until_s` and comes from a source only now may have been sent
        -- between the backup and the restore, where the backend would keep both.
        CREATE TABLE restorations (
            id INTEGER PRIMARY KEY,
            made_at_ms INTEGER NOT NULL,
            until_s INTEGER NOT NULL,
            is_doubtful INTEGER NOT NULL CHECK (is_doubtful IN (0, 1))
        ) STRICT;
        """

    /// Whether a restore was told to set aside what may have been sent.
    static let heldRestorations = """
        -- What a source brings only now is set aside then, as the restored samples were.
        ALTER TABLE restorations ADD COLUMN is_held INTEGER NOT NULL DEFAULT 0
            CONSTRAINT restorations_is_held CHECK (is_held = 0 OR is_held = 1);
        """

    /// The measurements that the backend has and that need nothing more, packed by kind and month.
    static let packed = """
        -- As in `segments`. `packed_at_ms` is NULL once the values were removed. Ids are used once, so that the largest one tells whether anything was
        -- packed.
        CREATE TABLE packed_samples (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            month INTEGER NOT NULL,
            generation INTEGER NOT NULL
                CONSTRAINT packed_samples_generation CHECK (generation > 0),
            packed_at_ms INTEGER,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX packed_samples_month ON packed_samples (kind, month, generation);

        -- How many samples of a kind are packed, and from when to when, sealed.
        CREATE TABLE packed_totals (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX packed_totals_kind ON packed_totals (kind);

        -- Whether the metric's own sample is packed; `sample` is NULL then.
        ALTER TABLE metrics ADD COLUMN is_packed INTEGER NOT NULL DEFAULT 0
            CONSTRAINT metrics_is_packed CHECK (is_packed = 0 OR is_packed = 1);
        """

    /// One state for the samples of a batch, which is the batch's.
    static let batched = """
        -- `batched` stands for the state of the batch that the sample is in. What an answer says of all
        -- samples is thus written once. A sample of a batch has a state of its own only if an answer
        -- named it.
        DROP INDEX outbox_queue;
        DROP INDEX outbox_batch;
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(replace(sql,
            'CHECK (state = ''queued'' OR state = ''sending''
                OR state = ''accepted'' OR state = ''confirmed'' OR state = ''stored''
                OR state = ''unconfirmed'' OR state = ''rejected'' OR state = ''setAside'')',
            'CHECK (state = ''queued'' OR state = ''batched''
                OR state = ''confirmed'' OR state = ''stored'' OR state = ''rejected''
                OR state = ''setAside'')'),
            'WHEN ''sending'' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                WHEN ''accepted'' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                WHEN ''unconfirmed'' THEN batch_id IS NOT NULL AND sealed IS NOT NULL',
            'WHEN ''batched'' THEN batch_id IS NOT NULL AND sealed IS NOT NULL')
            WHERE type = 'table' AND name = 'outbox';
        PRAGMA writable_schema = RESET;
        UPDATE outbox SET state = 'batched'
            WHERE state = 'sending' OR state = 'accepted' OR state = 'unconfirmed';
        -- A sample that goes into a batch leaves the first index for the second. Its `batch_id`, always
        -- NULL, keeps queries from reading the rows for it.
        CREATE INDEX outbox_queue ON outbox (state, kind, failures, batch_id, start_s)
            WHERE batch_id IS NULL;
        CREATE INDEX outbox_batch ON outbox (batch_id, state) WHERE batch_id IS NOT NULL;

        -- Each sample of the outbox with the state and the reason that count.
        CREATE VIEW samples AS
            SELECT outbox.id, kind, start_s, end_s, tag, sealed, failures, hold, batch_id, doubts,
                as_of_s, outbox.state AS own_state,
                iif(outbox.state = 'batched', batches.state, outbox.state) AS state,
                iif(outbox.state = 'batched' AND batches.state <> 'sending', batches.reason,
                    outbox.reason) AS reason
            FROM outbox LEFT JOIN batches ON batches.id = batch_id;
        """
}
