extension HealthSchema {
    /// The notices, and whom to tell of each.
    static let noticeTables = """
        -- What a person should know. A notice is open until `resolved_at_ms`. Nothing in it is
        -- encrypted: it has job names, kinds of data and counts.
        CREATE TABLE notices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            text TEXT NOT NULL,
            raised_at_ms INTEGER NOT NULL,
            resolved_at_ms INTEGER,
            CONSTRAINT notices_order CHECK (resolved_at_ms >= raised_at_ms)
        ) STRICT;
        CREATE UNIQUE INDEX notices_open ON notices (kind, subject) WHERE resolved_at_ms IS NULL;

        -- What to tell each target. `sends` counts the sends that may have arrived: more than one
        -- means that the target may have it twice.
        CREATE TABLE notice_deliveries (
            notice INTEGER NOT NULL REFERENCES notices (id) ON DELETE CASCADE,
            target TEXT NOT NULL,
            event TEXT NOT NULL
                CONSTRAINT deliveries_event CHECK (event = 'raised' OR event = 'resolved'),
            state TEXT NOT NULL CONSTRAINT deliveries_state
                CHECK (state = 'pending' OR state = 'sending' OR state = 'sent'),
            sends INTEGER NOT NULL DEFAULT 0 CONSTRAINT deliveries_sends CHECK (sends >= 0),
            sent_at_ms INTEGER,
            PRIMARY KEY (notice, target, event),
            CONSTRAINT deliveries_sent CHECK ((state = 'sent') = (sent_at_ms IS NOT NULL)),
            CONSTRAINT deliveries_begun CHECK (state = 'pending' OR sends > 0)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX notice_deliveries_open ON notice_deliveries (target) WHERE state <> 'sent';
        """
}
