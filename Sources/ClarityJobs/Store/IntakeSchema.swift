extension HealthSchema {
    /// What is known of the last reading of a source.
    static let intake = """
        -- What the file had in it, and what tells its content from another (`LastReading`); NULL
        -- for one that an earlier version read.
        ALTER TABLE sources ADD COLUMN sealed BLOB;
        """
}
