extension HealthSchema {
    /// The samples that are on their way, and the batches in which they go.
    static let outboxTables = """
        -- `sends` counts those of a batch that may have arrived, where a second one doubles it;
        -- `owner` is the attempt that sends it (`UploadOwner`).
        CREATE TABLE batches (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL DEFAULT 'sending'
                CONSTRAINT batches_state CHECK (state = 'sending' OR state = 'accepted'
                    OR state = 'confirmed' OR state = 'stored' OR state = 'unconfirmed'
                    OR state = 'failed'),
            client_timestamp_ms INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CONSTRAINT batches_attempts CHECK (attempts >= 0),
            processing_id TEXT,
            reason TEXT,
            accepted_at_ms INTEGER,
            finished_at_ms INTEGER,
            route TEXT NOT NULL DEFAULT 'metrics'
                CONSTRAINT batches_route CHECK (route = 'metrics' OR route = 'samples'),
            sends INTEGER NOT NULL DEFAULT 0 CONSTRAINT batches_sends CHECK (sends >= 0),
            asked_count INTEGER NOT NULL DEFAULT 0
                CONSTRAINT batches_asked CHECK (asked_count >= 0),
            last_asked_at_ms INTEGER,
            last_word TEXT,
            owner INTEGER,
            CONSTRAINT batches_accepted CHECK (state <> 'accepted'
                OR (processing_id IS NOT NULL AND accepted_at_ms IS NOT NULL)),
            CONSTRAINT batches_finished
                CHECK ((state = 'sending' OR state = 'accepted') = (finished_at_ms IS NULL)),
            CONSTRAINT batches_failed CHECK (state <> 'failed' OR reason IS NOT NULL)
        ) STRICT;
        CREATE INDEX batches_state ON batches (state, id);

        -- `sealed` is NULL once a confirmed value was removed; the row stays so that the sample
        -- is known again and not sent twice. `batched` stands for the state of the batch that
        -- the sample is in. `doubts` counts the sends that may have arrived beside those of its
        -- batch and the one that was taken. `as_of_s` is when an aggregate was true, NULL for a
        -- measurement, which nothing replaces.
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            start_s INTEGER NOT NULL,
            end_s INTEGER NOT NULL,
            tag BLOB NOT NULL CONSTRAINT outbox_tag CHECK (length(tag) = 8),
            state TEXT NOT NULL DEFAULT 'queued'
                CONSTRAINT outbox_state CHECK (state = 'queued' OR state = 'batched'
                    OR state = 'confirmed' OR state = 'stored' OR state = 'rejected'
                    OR state = 'setAside'),
            failures INTEGER NOT NULL DEFAULT 0
                CONSTRAINT outbox_failures CHECK (failures BETWEEN 0 AND 5),
            batch_id INTEGER REFERENCES batches (id),
            reason TEXT,
            sealed BLOB,
            hold TEXT CONSTRAINT outbox_hold CHECK (hold IS NULL
                OR (hold = 'kind' OR hold = 'future' OR hold = 'doubt') AND state = 'setAside'
                OR hold = 'range' AND state = 'rejected'),
            doubts INTEGER NOT NULL DEFAULT 0 CONSTRAINT outbox_doubts CHECK (doubts >= 0),
            as_of_s INTEGER,
            processing_failed INTEGER NOT NULL DEFAULT 0 CONSTRAINT outbox_processing_failed
                CHECK (processing_failed = 0 OR processing_failed = 1),
            CONSTRAINT outbox_place CHECK (CASE state
                WHEN 'confirmed' THEN (batch_id IS NULL) = (sealed IS NULL)
                WHEN 'stored' THEN (batch_id IS NULL) = (sealed IS NULL)
                WHEN 'batched' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                ELSE batch_id IS NULL AND sealed IS NOT NULL END),
            CONSTRAINT outbox_reason CHECK (reason IS NOT NULL
                OR state <> 'rejected' AND state <> 'setAside'),
            CONSTRAINT outbox_given_up CHECK (failures < 5 OR state = 'setAside')
        ) STRICT;
        -- Follows time as an export does, so that inserting stays local in the index.
        CREATE UNIQUE INDEX outbox_sample ON outbox (kind, start_s, end_s, tag);
        -- A sample that goes into a batch leaves the first index for the second. Its
        -- `batch_id`, always NULL, keeps queries from reading the rows for it.
        CREATE INDEX outbox_queue ON outbox (state, kind, failures, batch_id, start_s)
            WHERE batch_id IS NULL;
        CREATE INDEX outbox_batch ON outbox (batch_id, state) WHERE batch_id IS NOT NULL;
        CREATE INDEX outbox_hold ON outbox (hold, kind) WHERE hold IS NOT NULL;
        CREATE INDEX outbox_doubts ON outbox (doubts) WHERE doubts > 0;

        -- Each sample of the outbox with the state and the reason that count.
        CREATE VIEW samples AS
            SELECT outbox.id, kind, start_s, end_s, tag, sealed, failures, hold, batch_id, doubts,
                as_of_s, outbox.state AS own_state,
                iif(outbox.state = 'batched', batches.state, outbox.state) AS state,
                iif(outbox.state = 'batched' AND batches.state <> 'sending', batches.reason,
                    outbox.reason) AS reason
            FROM outbox LEFT JOIN batches ON batches.id = batch_id;

        -- What the backend said of the sample with this id when it refused it, without its
        -- values.
        CREATE TABLE server_words (
            id INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
            sealed BLOB NOT NULL
        ) STRICT;
        """

    /// What limits when and how much is sent.
    static let sendingTables = """
        -- The requests of an hour.
        CREATE TABLE requests (
            id INTEGER PRIMARY KEY,
            route TEXT NOT NULL,
            sent_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX requests_time ON requests (route, sent_at_ms);

        -- Until when a route takes nothing.
        CREATE TABLE closures (
            route TEXT PRIMARY KEY,
            until_ms INTEGER NOT NULL
        ) STRICT;

        -- The bodies of uploads over a metered connection, in steps of 4 KiB.
        CREATE TABLE metered_bytes (
            id INTEGER PRIMARY KEY,
            sent_at_ms INTEGER NOT NULL,
            bytes INTEGER NOT NULL CONSTRAINT metered_bytes_bytes CHECK (bytes >= 0)
        ) STRICT;
        CREATE INDEX metered_bytes_time ON metered_bytes (sent_at_ms);
        """

    /// The measurements that the backend has and that need nothing more, packed by kind and month.
    static let packedTables = """
        -- As in `segments`. `packed_at_ms` is NULL once the values were removed. Ids are used
        -- once, so that the largest one tells whether anything was packed.
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
        """
}

extension HealthSchema {
    /// What was read from the sources, and what of it is kept to add up days.
    static let sourceTables = """
        -- The last reading of each source. `tag` is a keyed hash of the source, `sealed` what
        -- it had in it, and what tells its content from another (`LastReading`).
        CREATE TABLE sources (
            tag BLOB PRIMARY KEY CONSTRAINT sources_tag CHECK (length(tag) = 16),
            stamp TEXT NOT NULL,
            read_at_ms INTEGER NOT NULL,
            sealed BLOB
        ) STRICT;

        -- The name of the zone on whose clock days are told apart, since the first reading.
        CREATE TABLE day_zone (
            id INTEGER PRIMARY KEY CONSTRAINT day_zone_one CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- `day` is the days since 1970-01-01; `sealed` holds the steps of each of its minutes.
        CREATE TABLE minutes (
            day INTEGER PRIMARY KEY,
            known_minutes INTEGER NOT NULL
                CONSTRAINT minutes_known_minutes CHECK (known_minutes BETWEEN 0 AND 1440),
            sealed BLOB NOT NULL
        ) STRICT;

        -- One row a reading of a source. Old ones are summed up in one row a source, and in the
        -- one without a tag, which also has what no reading brought. `sealed` says of which
        -- types and for which reasons (`ReadingReasons`).
        CREATE TABLE readings (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tag BLOB CONSTRAINT readings_tag CHECK (length(tag) = 16),
            state TEXT NOT NULL DEFAULT 'open'
                CONSTRAINT readings_state
                    CHECK (state = 'open' OR state = 'ended' OR state = 'interrupted'
                        OR state = 'sum'),
            begun_at_ms INTEGER NOT NULL,
            finished_at_ms INTEGER,
            readings INTEGER NOT NULL DEFAULT 1 CONSTRAINT readings_readings CHECK (readings >= 0),
            interrupted INTEGER NOT NULL DEFAULT 0
                CONSTRAINT readings_interrupted CHECK (interrupted >= 0),
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
            CONSTRAINT readings_finished CHECK ((state = 'open') = (finished_at_ms IS NULL)),
            CONSTRAINT readings_one_reading
                CHECK (state = 'sum' OR (tag IS NOT NULL AND readings = 1))
        ) STRICT;
        CREATE INDEX readings_source ON readings (tag, state);

        -- The times at which the file was restored to an earlier state. What was measured
        -- before `until_s` and comes from a source only now may have been sent between the
        -- backup and the restore; with `is_held` it is set aside.
        CREATE TABLE restorations (
            id INTEGER PRIMARY KEY,
            made_at_ms INTEGER NOT NULL,
            until_s INTEGER NOT NULL,
            is_doubtful INTEGER NOT NULL
                CONSTRAINT restorations_is_doubtful CHECK (is_doubtful = 0 OR is_doubtful = 1),
            is_held INTEGER NOT NULL DEFAULT 0
                CONSTRAINT restorations_is_held CHECK (is_held = 0 OR is_held = 1)
        ) STRICT;
        """

    /// What each source knows about days, so that days are merged from all sources.
    static let partialAggregateTables = """
        -- The records of one quantity and four weeks in UTC from one source, padded to a power of two
        -- and sealed; `tag` is a keyed hash of the source. Days of a period with `folded < revision`
        -- have to be merged again.
        CREATE TABLE contributions (
            id INTEGER PRIMARY KEY,
            tag BLOB NOT NULL
                CONSTRAINT contributions_tag_length CHECK (length(tag) = 16),
            kind TEXT NOT NULL,
            period INTEGER NOT NULL,
            revision INTEGER NOT NULL DEFAULT 1,
            folded INTEGER NOT NULL DEFAULT 0,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX contributions_key ON contributions (kind, period, tag);
        CREATE INDEX contributions_changed ON contributions (period) WHERE folded < revision;
        """

    /// The records of the archive.
    static let segmentTables = """
        -- Records of a type and month, compressed, padded and sealed. `month` counts from January
        -- 1970. Each further segment of a month has the next generation, also one that takes the
        -- place of all of them, so that no older content passes for the present one.
        CREATE TABLE segments (
            id INTEGER PRIMARY KEY,
            type TEXT NOT NULL,
            month INTEGER NOT NULL,
            generation INTEGER NOT NULL CONSTRAINT segments_generation CHECK (generation > 0),
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX segments_month ON segments (type, month, generation);

        -- What each source last had of each type and month, as sealed fingerprints, so that what
        -- comes again is known without opening a segment.
        CREATE TABLE segment_marks (
            id INTEGER PRIMARY KEY,
            tag BLOB NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX segment_marks_tag ON segment_marks (tag);
        """

    /// The sums of days.
    static let segmentDayTables = """
        -- What the records of a type and month add up to, day by day, sealed. It follows from the
        -- segments: a row that does not belong to the newest one does not count.
        CREATE TABLE segment_days (
            id INTEGER PRIMARY KEY,
            type TEXT NOT NULL,
            month INTEGER NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX segment_days_month ON segment_days (type, month);
        """

    /// The months of a type that the person's rule removed.
    static let prunedTables = """
        -- No reading brings them back. `bound` is the limit in bytes by which they went;
        -- without one they were too old. `generation` is the last one that a segment of the
        -- month had: one of a month that was let in again goes on from there, so that no
        -- segment of before passes for a present one.
        CREATE TABLE pruned_months (
            id INTEGER PRIMARY KEY,
            type TEXT NOT NULL,
            month INTEGER NOT NULL,
            bound INTEGER,
            generation INTEGER NOT NULL DEFAULT 0
                CONSTRAINT pruned_months_generation CHECK (generation >= 0),
            is_back INTEGER NOT NULL DEFAULT 0
                CONSTRAINT pruned_months_is_back CHECK (is_back = 0 OR is_back = 1)
        ) STRICT;
        CREATE UNIQUE INDEX pruned_months_month ON pruned_months (type, month);
        """
}
