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
}
