extension HealthSchema {
    /// Which insights were known when one was asked for, so that none of them is taken for it.
    static let knownInsights = """
        -- A JSON array of the ids from around the time of the first send.
        ALTER TABLE insight_requests ADD COLUMN known_ids TEXT;
        """
}
