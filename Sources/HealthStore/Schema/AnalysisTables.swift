extension HealthSchema {
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
