extension HealthSchema {
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
}
