extension HealthVersions {
    /// Makes pulled metrics readable by type and time, and together with the outbox's samples.
    ///
    /// It needs no key. The encrypted value of a metric has the metric's numbers before its JSON;
    /// an earlier row has only the JSON. Such a row is read as it is. It gets its numbers and its
    /// `sample` when the backend lists it the next time.
    static let pulled = """
        -- The outbox's own row of the same metric; NULL where there is none or it is not known.
        ALTER TABLE metrics ADD COLUMN sample INTEGER REFERENCES outbox (id) ON DELETE SET NULL;
        CREATE INDEX metrics_sample ON metrics (sample) WHERE sample IS NOT NULL;
        CREATE INDEX metrics_type ON metrics (type, timestamp_ms);
        -- A later value that takes the place of an aggregate is another metric. The change of the
        -- master key, which turns the tags, never sets `as_of_s`.
        CREATE TRIGGER outbox_replaced AFTER UPDATE OF as_of_s ON outbox
        WHEN NEW.tag IS NOT OLD.tag
        BEGIN
            UPDATE metrics SET sample = NULL WHERE sample = OLD.id;
        END;

        -- When a pull last found all that is new, when one last went through everything, and the
        -- backend's name of the place at which one that does so has stopped.
        CREATE TABLE pulls (
            name TEXT PRIMARY KEY CHECK (name IN ('metrics', 'insights', 'profile')),
            ended_at_ms INTEGER,
            whole_at_ms INTEGER,
            place TEXT
        ) STRICT;
        """

    /// The steps of the last weeks, minute by minute.
    static let minutes = """
        -- `day` is the days since 1970-01-01; `sealed` holds the steps of each of its minutes.
        CREATE TABLE minutes (
            day INTEGER PRIMARY KEY,
            known_minutes INTEGER NOT NULL CHECK (known_minutes BETWEEN 0 AND 1440),
            sealed BLOB NOT NULL
        ) STRICT;
        """
}
