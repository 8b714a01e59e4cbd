extension HealthSchema {
    /// What each source knows about days, so that days are merged from all sources.
    static let contributions = """
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
}
