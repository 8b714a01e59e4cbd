extension HealthSchema {
    /// What a login stores, and what is known of the backend.
    static let sessionTables = """
        CREATE TABLE session (
            id INTEGER PRIMARY KEY CONSTRAINT session_one CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        CREATE TABLE session_record (
            id INTEGER PRIMARY KEY CONSTRAINT session_record_one CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- `number` rises when a logout removes everything: who began before may write no more.
        -- `is_vacant` from then until somebody logs in.
        CREATE TABLE tenancy (
            id INTEGER PRIMARY KEY CONSTRAINT tenancy_one CHECK (id = 1),
            number INTEGER NOT NULL DEFAULT 1 CONSTRAINT tenancy_number CHECK (number >= 1),
            is_vacant INTEGER NOT NULL DEFAULT 0
                CONSTRAINT tenancy_is_vacant CHECK (is_vacant = 0 OR is_vacant = 1)
        ) STRICT;

        -- `tag` is a keyed hash of the e-mail address.
        CREATE TABLE login_tries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tag BLOB NOT NULL CONSTRAINT login_tries_tag CHECK (length(tag) = 16),
            tried_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX login_tries_tag ON login_tries (tag, tried_at_ms);

        CREATE TABLE profile (
            id INTEGER PRIMARY KEY CONSTRAINT profile_one CHECK (id = 1),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL
        ) STRICT;

        -- The dialect that each backend spoke last.
        CREATE TABLE dialects (
            backend TEXT PRIMARY KEY,
            name TEXT NOT NULL CONSTRAINT dialects_name CHECK (length(name) BETWEEN 1 AND 40)
        ) STRICT, WITHOUT ROWID;
        """

    /// The rows that every user has from the beginning.
    static let firstRows = "INSERT INTO tenancy (id) VALUES (1) ON CONFLICT (id) DO NOTHING;"
}
