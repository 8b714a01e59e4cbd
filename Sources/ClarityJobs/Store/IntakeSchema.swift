extension HealthSchema {
    /// The last reading of each source, the time zone of days, and which samples are aggregates.
    static let intake = """
        -- What the file had in it, and what tells its content from another (`LastReading`); NULL
        -- for one that an earlier version read.
        ALTER TABLE sources ADD COLUMN sealed BLOB;
        -- The name of the zone on whose clock days are told apart, since the first reading.
        CREATE TABLE day_zone (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- As of when an aggregate such as a day or a night is true, in seconds since 1970; NULL for
        -- a measurement, which nothing replaces.
        ALTER TABLE outbox ADD COLUMN as_of_s INTEGER;
        """
}
