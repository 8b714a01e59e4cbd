extension HealthSchema {
    /// The insights that were known when one was requested, so that none of them is mistaken for
    /// it.
    static let knownInsights = """
        -- A JSON array of the ids from around the time of the first send.
        ALTER TABLE insight_requests ADD COLUMN known_ids TEXT;
        """
}
