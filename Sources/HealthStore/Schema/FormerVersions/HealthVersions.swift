/// The steps that brought `health.db` from version to version before its present schema, and bring
/// a file of each former version to it. None of them ever changes.
enum HealthVersions {
    static let version1 = """
        CREATE TABLE canary (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        CREATE TABLE owner (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        CREATE TABLE session (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL
        ) STRICT;

        CREATE TABLE profile (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE batches (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL DEFAULT 'sending'
                CHECK (state IN ('sending', 'accepted', 'confirmed', 'unconfirmed', 'failed')),
            client_timestamp_ms INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            processing_id TEXT,
            reason TEXT,
            accepted_at_ms INTEGER,
            finished_at_ms INTEGER,
            CHECK (state <> 'accepted'
                OR (processing_id IS NOT NULL AND accepted_at_ms IS NOT NULL)),
            CHECK ((state IN ('confirmed', 'unconfirmed', 'failed')) = (finished_at_ms IS NOT NULL)),
            CHECK (state <> 'failed' OR reason IS NOT NULL)
        ) STRICT;
        CREATE INDEX batches_state ON batches (state, id);

        -- `sealed` is NULL once a confirmed value was pruned; the row stays so that the sample is
        -- recognised in the next export and not sent again.
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            start_s INTEGER NOT NULL,
            end_s INTEGER NOT NULL,
            tag BLOB NOT NULL CHECK (length(tag) = 8),
            state TEXT NOT NULL DEFAULT 'queued'
                CHECK (state IN ('queued', 'sending', 'accepted', 'confirmed', 'unconfirmed',
                    'rejected', 'setAside')),
            failures INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 5),
            batch_id INTEGER REFERENCES batches (id),
            reason TEXT,
            sealed BLOB,
            CHECK (CASE state
                WHEN 'confirmed' THEN (batch_id IS NULL) = (sealed IS NULL)
                WHEN 'sending' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                WHEN 'accepted' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                WHEN 'unconfirmed' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
                ELSE batch_id IS NULL AND sealed IS NOT NULL END),
            CHECK (state NOT IN ('rejected', 'setAside') OR reason IS NOT NULL),
            CHECK (failures < 5 OR state = 'setAside')
        ) STRICT;
        -- Follows time as an export does, so that inserting stays local in the index.
        CREATE UNIQUE INDEX outbox_sample ON outbox (kind, start_s, end_s, tag);
        CREATE INDEX outbox_state ON outbox (state, failures);
        CREATE INDEX outbox_batch ON outbox (batch_id) WHERE batch_id IS NOT NULL;

        CREATE TABLE metrics (
            id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX metrics_time ON metrics (timestamp_ms);

        CREATE TABLE insights (
            id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            synced_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX insights_time ON insights (timestamp_ms);

        -- Versions that lost against a later one, sealed as they were in their own table.
        CREATE TABLE archive (
            id INTEGER PRIMARY KEY,
            origin TEXT NOT NULL CHECK (origin IN ('metrics', 'insights')),
            row_id TEXT NOT NULL,
            type TEXT NOT NULL,
            timestamp_ms INTEGER NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 16),
            sealed BLOB NOT NULL,
            archived_at_ms INTEGER NOT NULL,
            UNIQUE (origin, row_id, digest)
        ) STRICT;
        CREATE INDEX archive_time ON archive (archived_at_ms);

        CREATE TABLE sources (
            tag BLOB PRIMARY KEY CHECK (length(tag) = 16),
            stamp TEXT NOT NULL,
            read_at_ms INTEGER NOT NULL
        ) STRICT;
        """

    /// The route of each batch, the sends that got no answer, the samples that our own rules keep
    /// back, and the requests of an hour.
    static let uploads = """
        -- Batches of before went by the only route that there was.
        ALTER TABLE batches ADD COLUMN route TEXT NOT NULL DEFAULT 'metrics'
            CHECK (route IN ('metrics', 'samples'));
        -- The sends of it that may have arrived, counted where a second one doubles it, the answered
        -- one of a taken batch included.
        ALTER TABLE batches ADD COLUMN sends INTEGER NOT NULL DEFAULT 0 CHECK (sends >= 0);

        ALTER TABLE outbox ADD COLUMN hold TEXT CHECK (hold IS NULL
            OR hold IN ('kind', 'future', 'doubt') AND state = 'setAside'
            OR hold = 'range' AND state = 'rejected');
        -- The sends that may have arrived beside those of its batch and the one that was taken.
        ALTER TABLE outbox ADD COLUMN doubts INTEGER NOT NULL DEFAULT 0 CHECK (doubts >= 0);
        DROP INDEX outbox_state;
        CREATE INDEX outbox_queue ON outbox (state, kind, failures);
        CREATE INDEX outbox_hold ON outbox (hold, kind) WHERE hold IS NOT NULL;
        CREATE INDEX outbox_doubts ON outbox (doubts) WHERE doubts > 0;

        CREATE TABLE requests (
            id INTEGER PRIMARY KEY,
            route TEXT NOT NULL,
            sent_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX requests_time ON requests (route, sent_at_ms);

        CREATE TABLE closures (
            route TEXT PRIMARY KEY,
            until_ms INTEGER NOT NULL
        ) STRICT;
        """

    /// The tables for changing the master key, and the audit log.
    static let vault = """
        -- The tagging keys of former master keys, sealed with the present one: tags were made under
        -- one after the other (`Sealer.tag`). Each is there twice.
        CREATE TABLE former_keys (
            id INTEGER PRIMARY KEY,
            generation INTEGER NOT NULL CHECK (generation > 0),
            copy INTEGER NOT NULL CHECK (copy IN (1, 2)),
            sealed BLOB NOT NULL,
            retired_at_ms INTEGER NOT NULL,
            UNIQUE (generation, copy)
        ) STRICT;

        -- How far a change of the master key has come; empty when there is none. `proof` is sealed
        -- with the new key, `former_hash` is what the last entry of the audit log that was chained
        -- anew had for its hash before.
        CREATE TABLE rotation (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            phase TEXT NOT NULL DEFAULT 'rows' CHECK (phase IN ('rows', 'placing')),
            begun_at_ms INTEGER NOT NULL,
            proof BLOB NOT NULL,
            new_in_file INTEGER NOT NULL CHECK (new_in_file IN (0, 1)),
            former_in_file INTEGER NOT NULL CHECK (former_in_file IN (0, 1)),
            table_name TEXT NOT NULL DEFAULT '',
            row INTEGER NOT NULL DEFAULT 0,
            rows INTEGER NOT NULL DEFAULT 0,
            damaged INTEGER NOT NULL DEFAULT 0,
            former_hash BLOB
        ) STRICT;

        -- `hash` covers the hash before it, the number, the time and the sealed entry.
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY CHECK (number > 0),
            at_ms INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            hash BLOB NOT NULL CHECK (length(hash) = 32)
        ) STRICT;

        -- The entries after `anchor_number` up to `last_number` are kept; `mac` covers the rest of
        -- the row under a key of its own, so that entries cut off from the end are missed.
        CREATE TABLE audit_head (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            anchor_number INTEGER NOT NULL,
            anchor_hash BLOB NOT NULL CHECK (length(anchor_hash) = 32),
            last_number INTEGER NOT NULL,
            last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
            uploaded_number INTEGER NOT NULL,
            broken_number INTEGER,
            mac BLOB NOT NULL CHECK (length(mac) = 32),
            CHECK (anchor_number <= uploaded_number AND uploaded_number <= last_number)
        ) STRICT;
        """

    /// Which counts of rows belong to the head of the audit log.
    static let countedHead = """
        ALTER TABLE audit_head ADD COLUMN count_generation INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_rows INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_sum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_floor INTEGER NOT NULL DEFAULT 0;
        """
}
