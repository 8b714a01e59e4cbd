extension HealthSchema {
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
