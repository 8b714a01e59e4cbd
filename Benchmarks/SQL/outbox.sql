-- The outbox as it was when every sample had a row of it for ever, its CHECKs written with OR.
CREATE TABLE batches (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    start_s INTEGER NOT NULL,
    end_s INTEGER NOT NULL,
    tag BLOB NOT NULL CONSTRAINT outbox_tag CHECK (length(tag) = 8),
    state TEXT NOT NULL DEFAULT 'queued'
        CONSTRAINT outbox_state CHECK (state = 'queued' OR state = 'sending'
        OR state = 'accepted' OR state = 'confirmed' OR state = 'stored'
        OR state = 'unconfirmed' OR state = 'rejected' OR state = 'setAside'),
    failures INTEGER NOT NULL DEFAULT 0 CONSTRAINT outbox_failures CHECK (failures BETWEEN 0 AND 5),
    batch_id INTEGER REFERENCES batches (id),
    reason TEXT,
    sealed BLOB, hold TEXT CONSTRAINT outbox_hold CHECK (hold IS NULL
    OR (hold = 'kind' OR hold = 'future' OR hold = 'doubt') AND state = 'setAside'
    OR hold = 'range' AND state = 'rejected'), doubts INTEGER NOT NULL DEFAULT 0 CONSTRAINT outbox_doubts CHECK (doubts >= 0), as_of_s INTEGER, processing_failed INTEGER NOT NULL DEFAULT 0
    CONSTRAINT outbox_processing_failed
    CHECK (processing_failed = 0 OR processing_failed = 1),
    CONSTRAINT outbox_place CHECK (CASE state
        WHEN 'confirmed' THEN (batch_id IS NULL) = (sealed IS NULL)
        WHEN 'stored' THEN (batch_id IS NULL) = (sealed IS NULL)
        WHEN 'sending' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
        WHEN 'accepted' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
        WHEN 'unconfirmed' THEN batch_id IS NOT NULL AND sealed IS NOT NULL
        ELSE batch_id IS NULL AND sealed IS NOT NULL END),
    CONSTRAINT outbox_reason CHECK (reason IS NOT NULL
        OR state <> 'rejected' AND state <> 'setAside'),
    CONSTRAINT outbox_given_up CHECK (failures < 5 OR state = 'setAside')
) STRICT;
CREATE TRIGGER outbox_replaced AFTER UPDATE OF as_of_s ON outbox
WHEN NEW.tag IS NOT OLD.tag
BEGIN
    UPDATE metrics SET sample = NULL WHERE sample = OLD.id;
END;
CREATE UNIQUE INDEX outbox_sample ON outbox (kind, start_s, end_s, tag);
CREATE INDEX outbox_batch ON outbox (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX outbox_hold ON outbox (hold, kind) WHERE hold IS NOT NULL;
CREATE INDEX outbox_doubts ON outbox (doubts) WHERE doubts > 0;
CREATE INDEX outbox_queue ON outbox (state, kind, failures, start_s);
