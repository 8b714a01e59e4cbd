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

    /// The analyses of movement and the requested insights.
    ///
    /// ```
    /// analyses:         queued <-> sending -> accepted -> completed | failed | unconfirmed
    ///                              sending -> completed | failed      answered at once
    ///                   queued, sending -> failed                     another week took its place
    /// insight_requests: queued <-> sending -> generating -> completed | failed | unconfirmed
    ///                              sending -> completed | failed
    /// ```
    static let analysisTables = """
        -- A week of steps by minute. `last_day` is the days since 1970-01-01 to its last day,
        -- `sends` counts those that may have arrived.
        CREATE TABLE analyses (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            form TEXT NOT NULL
                CONSTRAINT analyses_form CHECK (form = 'steps' OR form = 'actigraphy'),
            last_day INTEGER NOT NULL,
            known_minutes INTEGER NOT NULL
                CONSTRAINT analyses_known_minutes CHECK (known_minutes BETWEEN 1 AND 10080),
            state TEXT NOT NULL DEFAULT 'queued'
                CONSTRAINT analyses_state
                    CHECK (state = 'queued' OR state = 'sending' OR state = 'accepted'
                        OR state = 'completed' OR state = 'failed' OR state = 'unconfirmed'),
            sends INTEGER NOT NULL DEFAULT 0 CONSTRAINT analyses_sends CHECK (sends >= 0),
            processing_id TEXT,
            made_at_ms INTEGER NOT NULL,
            accepted_at_ms INTEGER,
            finished_at_ms INTEGER,
            asked_count INTEGER NOT NULL DEFAULT 0
                CONSTRAINT analyses_asked CHECK (asked_count >= 0),
            last_asked_at_ms INTEGER,
            last_word TEXT,
            reason TEXT,
            sealed BLOB,
            CONSTRAINT analyses_accepted CHECK (state <> 'accepted'
                OR (processing_id IS NOT NULL AND accepted_at_ms IS NOT NULL)),
            CONSTRAINT analyses_finished
                CHECK ((state = 'completed' OR state = 'failed'
                    OR state = 'unconfirmed') = (finished_at_ms IS NOT NULL)),
            CONSTRAINT analyses_reason
                CHECK (state <> 'failed' AND state <> 'unconfirmed' OR reason IS NOT NULL),
            CONSTRAINT analyses_sealed CHECK (sealed IS NULL OR state = 'completed')
        ) STRICT;
        CREATE INDEX analyses_day ON analyses (last_day, form, id);
        CREATE INDEX analyses_state ON analyses (state, id);

        -- What an insight is made of, sealed until it is there. `sends` counts those that may
        -- have made one and were not answered, the first and the last of them at the two times;
        -- `insight_id` is the row of `insights`, `known_ids` a JSON array of the ids from
        -- around the time of the first send.
        CREATE TABLE insight_requests (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            analysis_id INTEGER NOT NULL UNIQUE REFERENCES analyses (id),
            state TEXT NOT NULL DEFAULT 'queued'
                CONSTRAINT insight_requests_state
                    CHECK (state = 'queued' OR state = 'sending' OR state = 'generating'
                        OR state = 'completed' OR state = 'failed' OR state = 'unconfirmed'),
            sends INTEGER NOT NULL DEFAULT 0 CONSTRAINT insight_requests_sends CHECK (sends >= 0),
            made_at_ms INTEGER NOT NULL,
            first_sent_at_ms INTEGER,
            last_sent_at_ms INTEGER,
            finished_at_ms INTEGER,
            insight_id TEXT,
            asked_count INTEGER NOT NULL DEFAULT 0
                CONSTRAINT insight_requests_asked CHECK (asked_count >= 0),
            last_asked_at_ms INTEGER,
            last_word TEXT,
            reason TEXT,
            sealed BLOB,
            known_ids TEXT,
            CONSTRAINT insight_requests_sent CHECK (state <> 'sending' AND state <> 'generating'
                OR (first_sent_at_ms IS NOT NULL AND last_sent_at_ms IS NOT NULL)),
            CONSTRAINT insight_requests_insight
                CHECK (state <> 'generating' AND state <> 'completed' OR insight_id IS NOT NULL),
            CONSTRAINT insight_requests_finished
                CHECK ((state = 'completed' OR state = 'failed'
                    OR state = 'unconfirmed') = (finished_at_ms IS NOT NULL)),
            CONSTRAINT insight_requests_reason
                CHECK (state <> 'failed' AND state <> 'unconfirmed' OR reason IS NOT NULL),
            CONSTRAINT insight_requests_sealed
                CHECK ((sealed IS NULL) = (finished_at_ms IS NOT NULL))
        ) STRICT;
        CREATE INDEX insight_requests_state ON insight_requests (state, id);
        """
}
