extension HealthVersions {
    /// What a login stores besides the session: the tenancy of the file, the record of the session,
    /// and the attempts to log in.
    static let sessions = """
        -- `number` rises when a logout removes everything: who began before may write no more.
        -- `is_vacant` from then until somebody logs in.
        CREATE TABLE tenancy (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            number INTEGER NOT NULL DEFAULT 1 CHECK (number >= 1),
            is_vacant INTEGER NOT NULL DEFAULT 0 CHECK (is_vacant IN (0, 1))
        ) STRICT;
        INSERT INTO tenancy (id) VALUES (1);

        CREATE TABLE session_record (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- `tag` is a keyed hash of the e-mail address.
        CREATE TABLE login_tries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tag BLOB NOT NULL CHECK (length(tag) = 16),
            tried_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX login_tries_tag ON login_tries (tag, tried_at_ms);
        """

    /// The last detected dialect of each backend.
    static let dialects = """
        CREATE TABLE dialects (
            backend TEXT PRIMARY KEY,
            name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40)
        ) STRICT, WITHOUT ROWID;
        """
}
