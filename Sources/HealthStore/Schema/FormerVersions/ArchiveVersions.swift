extension HealthVersions {
    /// The months that the person's rule removed.
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

    /// The generation with which a month goes on that was let in again.
    static let generations = """
        -- The last generation that a segment of the month had: one of a month that was let in again
        -- goes on from there, so that no segment of before passes for a present one. The row stays for
        -- this.
        ALTER TABLE pruned_months ADD COLUMN generation INTEGER NOT NULL DEFAULT 0
            CONSTRAINT pruned_months_generation CHECK (generation >= 0);
        ALTER TABLE pruned_months ADD COLUMN is_back INTEGER NOT NULL DEFAULT 0
            CONSTRAINT pruned_months_is_back CHECK (is_back = 0 OR is_back = 1);
        """
}
