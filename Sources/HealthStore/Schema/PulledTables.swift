extension HealthSchema {
    /// What was pulled from the backend.
    static let pulledTables = """
        -- `sample` is the outbox's own row of the same metric, unless it is packed or there is
        -- none.
        CREATE TABLE metrics (
            id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CONSTRAINT metrics_digest CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL,
            sample INTEGER REFERENCES outbox (id) ON DELETE SET NULL,
            is_packed INTEGER NOT NULL DEFAULT 0
                CONSTRAINT metrics_is_packed CHECK (is_packed = 0 OR is_packed = 1)
        ) STRICT;
        CREATE INDEX metrics_time ON metrics (timestamp_ms);
        CREATE INDEX metrics_type ON metrics (type, timestamp_ms);
        CREATE INDEX metrics_sample ON metrics (sample) WHERE sample IS NOT NULL;

        -- A later value that takes the place of an aggregate is another metric. The change of
        -- the master key, which turns the tags, never sets `as_of_s`.
        CREATE TRIGGER outbox_replaced AFTER UPDATE OF as_of_s ON outbox
        WHEN NEW.tag IS NOT OLD.tag
        BEGIN
            UPDATE metrics SET sample = NULL WHERE sample = OLD.id;
        END;

        CREATE TABLE insights (
            id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CONSTRAINT insights_digest CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX insights_time ON insights (timestamp_ms);

        -- A row of the history, which has the beginning of the text, never takes the place of
        -- the text in full; whoever writes it meanwhile.
        CREATE TRIGGER insights_stay_full BEFORE UPDATE ON insights
        WHEN OLD.type = 'insight_full' AND NEW.type = 'insight'
            AND NEW.timestamp_ms <= OLD.timestamp_ms
        BEGIN SELECT RAISE(IGNORE); END;

        -- Insights whose full text the backend did not give when it was asked.
        CREATE TABLE missing_texts (
            insight_id TEXT PRIMARY KEY,
            asked_count INTEGER NOT NULL CONSTRAINT missing_texts_asked CHECK (asked_count > 0),
            last_asked_at_ms INTEGER NOT NULL
        ) STRICT;

        -- Versions that lost against a later one, sealed as they were in their own table.
        CREATE TABLE archive (
            id INTEGER PRIMARY KEY,
            origin TEXT NOT NULL
                CONSTRAINT archive_origin CHECK (origin = 'metrics' OR origin = 'insights'),
            row_id TEXT NOT NULL,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CONSTRAINT archive_digest CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            archived_at_ms INTEGER NOT NULL,
            UNIQUE (origin, row_id, digest)
        ) STRICT;
        CREATE INDEX archive_time ON archive (archived_at_ms);

        -- When a pull last found all that is new, when one last went through everything, and,
        -- sealed, the backend's name of the place at which one that does so has stopped.
        -- `place` has no use any more.
        CREATE TABLE pulls (
            name TEXT PRIMARY KEY
                CONSTRAINT pulls_name
                    CHECK (name = 'metrics' OR name = 'insights' OR name = 'profile'),
            ended_at_ms INTEGER,
            whole_at_ms INTEGER,
            place TEXT,
            sealed BLOB
        ) STRICT;
        """
}
