extension HealthVersions {
    /// The analyses of movement, the requested insights, and the questions asked about an upload.
    ///
    /// ```
    /// analyses:         queued <-> sending -> accepted -> completed | failed | unconfirmed
    ///                              sending -> completed | failed      answered at once
    ///                   queued, sending -> failed                     another week took its place
    /// insight_requests: queued <-> sending -> generating -> completed | failed | unconfirmed
    ///                              sending -> completed | failed
    /// ```
    static let analyses = """
        -- A week of steps by minute. `last_day` is the days since 1970-01-01 to its last day, `sends`
        -- counts those that may have arrived.
        CREATE TABLE analyses (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            form TEXT NOT NULL CHECK (form IN ('steps', 'actigraphy')),
            last_day INTEGER NOT NULL,
            known_minutes INTEGER NOT NULL CHECK (known_minutes BETWEEN 1 AND 10080),
            state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sending', 'accepted',
                'completed', 'failed', 'unconfirmed')),
            sends INTEGER NOT NULL DEFAULT 0 CHECK (sends >= 0),
            processing_id TEXT,
            made_at_ms INTEGER NOT NULL,
            accepted_at_ms INTEGER,
            finished_at_ms INTEGER,
            asked_count INTEGER NOT NULL DEFAULT 0 CHECK (asked_count >= 0),
            last_asked_at_ms INTEGER,
            last_word TEXT,
            reason TEXT,
            sealed BLOB,
            CHECK (state <> 'accepted'
                OR (processing_id IS NOT NULL AND accepted_at_ms IS NOT NULL)),
            CHECK ((state IN ('completed', 'failed', 'unconfirmed')) = (finished_at_ms IS NOT NULL)),
            CHECK (state NOT IN ('failed', 'unconfirmed') OR reason IS NOT NULL),
            CHECK (sealed IS NULL OR state = 'completed')
        ) STRICT;
        CREATE INDEX analyses_day ON analyses (last_day, form, id);
        CREATE INDEX analyses_state ON analyses (state, id);

        -- What an insight is made of, sealed until it is there. `sends` counts those that may have
        -- made one and were not answered, the first and the last of them at the two times;
        -- `insight_id` is the row of `insights`.
        CREATE TABLE insight_requests (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            analysis_id INTEGER NOT NULL UNIQUE REFERENCES analyses (id),
            state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sending', 'generating',
                'completed', 'failed', 'unconfirmed')),
            sends INTEGER NOT NULL DEFAULT 0 CHECK (sends >= 0),
            made_at_ms INTEGER NOT NULL,
            first_sent_at_ms INTEGER,
            last_sent_at_ms INTEGER,
            finished_at_ms INTEGER,
            insight_id TEXT,
            asked_count INTEGER NOT NULL DEFAULT 0 CHECK (asked_count >= 0),
            last_asked_at_ms INTEGER,
            last_word TEXT,
            reason TEXT,
            sealed BLOB,
            CHECK (state NOT IN ('sending', 'generating')
                OR (first_sent_at_ms IS NOT NULL AND last_sent_at_ms IS NOT NULL)),
            CHECK (state NOT IN ('generating', 'completed') OR insight_id IS NOT NULL),
            CHECK ((state IN ('completed', 'failed', 'unconfirmed')) = (finished_at_ms IS NOT NULL)),
            CHECK (state NOT IN ('failed', 'unconfirmed') OR reason IS NOT NULL),
            CHECK ((sealed IS NULL) = (finished_at_ms IS NOT NULL))
        ) STRICT;
        CREATE INDEX insight_requests_state ON insight_requests (state, id);

        -- Insights whose full text the backend did not give when it was asked.
        CREATE TABLE missing_texts (
            insight_id TEXT PRIMARY KEY,
            asked_count INTEGER NOT NULL CHECK (asked_count > 0),
            last_asked_at_ms INTEGER NOT NULL
        ) STRICT;

        -- A row of the history, which has the beginning of the text, never takes the place of the
        -- text in full; whoever writes it meanwhile.
        CREATE TRIGGER insights_stay_full BEFORE UPDATE ON insights
        WHEN OLD.type = 'insight_full' AND NEW.type = 'insight'
            AND NEW.timestamp_ms <= OLD.timestamp_ms
        BEGIN SELECT RAISE(IGNORE); END;

        -- What was asked about an upload, and what the last answer said, in words of this program.
        ALTER TABLE batches ADD COLUMN asked_count INTEGER NOT NULL DEFAULT 0
            CHECK (asked_count >= 0);
        ALTER TABLE batches ADD COLUMN last_asked_at_ms INTEGER;
        ALTER TABLE batches ADD COLUMN last_word TEXT;
        """

    /// The insights that were known when one was requested, so that none of them is mistaken for
    /// it.
    static let knownInsights = """
        -- A JSON array of the ids from around the time of the first send.
        ALTER TABLE insight_requests ADD COLUMN known_ids TEXT;
        """
}
