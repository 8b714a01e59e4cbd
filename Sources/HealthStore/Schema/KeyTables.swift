extension HealthSchema {
    /// What proves the master key, the owner of the file, the change of the key, and the audit log.
    static let keyTables = """
        -- Sealed with the master key: what opens it is the right one.
        CREATE TABLE canary (
            id INTEGER PRIMARY KEY CONSTRAINT canary_one CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        CREATE TABLE owner (
            id INTEGER PRIMARY KEY CONSTRAINT owner_one CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        -- The tagging keys of former master keys, sealed with the present one: tags were made
        -- under one after the other (`Sealer.tag`). Each is there twice.
        CREATE TABLE former_keys (
            id INTEGER PRIMARY KEY,
            generation INTEGER NOT NULL CONSTRAINT former_keys_generation CHECK (generation > 0),
            copy INTEGER NOT NULL CONSTRAINT former_keys_copy CHECK (copy = 1 OR copy = 2),
            sealed BLOB NOT NULL,
            retired_at_ms INTEGER NOT NULL,
            UNIQUE (generation, copy)
        ) STRICT;

        -- How far a change of the master key has come; empty when there is none. `proof` is
        -- sealed with the new key, `former_hash` is what the last entry of the audit log that
        -- was chained anew had for its hash before.
        CREATE TABLE rotation (
            id INTEGER PRIMARY KEY CONSTRAINT rotation_one CHECK (id = 1),
            phase TEXT NOT NULL DEFAULT 'rows'
                CONSTRAINT rotation_phase CHECK (phase = 'rows' OR phase = 'placing'),
            begun_at_ms INTEGER NOT NULL,
            proof BLOB NOT NULL,
            new_in_file INTEGER NOT NULL
                CONSTRAINT rotation_new_in_file CHECK (new_in_file = 0 OR new_in_file = 1),
            former_in_file INTEGER NOT NULL
                CONSTRAINT rotation_former_in_file CHECK (former_in_file = 0 OR former_in_file = 1),
            table_name TEXT NOT NULL DEFAULT '',
            row INTEGER NOT NULL DEFAULT 0,
            rows INTEGER NOT NULL DEFAULT 0,
            damaged INTEGER NOT NULL DEFAULT 0,
            former_hash BLOB
        ) STRICT;

        -- `hash` covers the hash before it, the number, the time and the sealed entry.
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY CONSTRAINT audit_number CHECK (number > 0),
            at_ms INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            hash BLOB NOT NULL CONSTRAINT audit_hash CHECK (length(hash) = 32)
        ) STRICT;

        -- The entries after `anchor_number` up to `last_number` are kept; `mac` covers the rest
        -- of the row under a key of its own, so that entries cut off from the end are missed.
        -- The columns `count_...` say which rows of `counts` belong to it.
        CREATE TABLE audit_head (
            id INTEGER PRIMARY KEY CONSTRAINT audit_head_one CHECK (id = 1),
            anchor_number INTEGER NOT NULL,
            anchor_hash BLOB NOT NULL
                CONSTRAINT audit_head_anchor_hash CHECK (length(anchor_hash) = 32),
            last_number INTEGER NOT NULL,
            last_hash BLOB NOT NULL CONSTRAINT audit_head_last_hash CHECK (length(last_hash) = 32),
            uploaded_number INTEGER NOT NULL,
            broken_number INTEGER,
            mac BLOB NOT NULL CONSTRAINT audit_head_mac CHECK (length(mac) = 32),
            count_generation INTEGER NOT NULL DEFAULT 0,
            count_rows INTEGER NOT NULL DEFAULT 0,
            count_sum INTEGER NOT NULL DEFAULT 0,
            count_floor INTEGER NOT NULL DEFAULT 0,
            CONSTRAINT audit_head_order
                CHECK (anchor_number <= uploaded_number AND uploaded_number <= last_number)
        ) STRICT;

        -- Empty. A row says that 0.1.0 was cut short while it encrypted a file of an older version.
        CREATE TABLE form_upgrade (
            id INTEGER PRIMARY KEY CONSTRAINT one_upgrade CHECK (id = 1),
            table_name TEXT NOT NULL DEFAULT '',
            row INTEGER NOT NULL DEFAULT 0,
            rows INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        """

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

    /// What the jobs of the kinds `publish` and `fhir-upload` have given on.
    static let publicationTables = """
        -- Sealed: the receiver, and a digest of each part that it confirmed. With a part, which is a
        -- type and a month of the archive, the short ids of its records that the receiver has, has
        -- refused, or may have.
        CREATE TABLE publications (
            job TEXT NOT NULL,
            part TEXT NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (job, part)
        ) STRICT;
        """

    /// The rows that every user has from the beginning.
    static let firstRows = "INSERT INTO tenancy (id) VALUES (1) ON CONFLICT (id) DO NOTHING;"

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
