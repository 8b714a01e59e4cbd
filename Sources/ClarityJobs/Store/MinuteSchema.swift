extension HealthSchema {
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
