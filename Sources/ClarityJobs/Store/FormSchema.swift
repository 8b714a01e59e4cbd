extension HealthSchema {
    /// The tables and columns for `FormUpgrade`, after which nothing stored in plain text depends
    /// on a value.
    static let form = """
        -- The one row says that the file is still to be brought into the form, and how far that is. A
        -- file without a canary is new.
        CREATE TABLE form_upgrade (
            id INTEGER PRIMARY KEY CONSTRAINT one_upgrade CHECK (id = 1),
            table_name TEXT NOT NULL DEFAULT '',
            row INTEGER NOT NULL DEFAULT 0,
            rows INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO form_upgrade (id) SELECT 1 WHERE EXISTS (SELECT 1 FROM canary);

        -- Where a pull has stopped, by the backend's own name, which may be made of an id. `place` has
        -- no use any more.
        ALTER TABLE pulls ADD COLUMN sealed BLOB;

        -- In steps of 4 KiB.
        UPDATE metered_bytes SET bytes = (bytes + 4095) / 4096 * 4096;
        """
}
