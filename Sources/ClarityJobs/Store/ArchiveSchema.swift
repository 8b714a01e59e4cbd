/// The tables of the archive in `health.db`.
enum ArchiveSchema {
    static let tables = """
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

    static let pruned = """
        -- The months of a type that the person's rule removed, which no reading brings back. `bound` is
        -- the limit in bytes by which they went; without one they were too old.
        CREATE TABLE pruned_months (
            id INTEGER PRIMARY KEY,
            type TEXT NOT NULL,
            month INTEGER NOT NULL,
            bound INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX pruned_months_month ON pruned_months (type, month);
        """

    static let days = """
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
}
