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
