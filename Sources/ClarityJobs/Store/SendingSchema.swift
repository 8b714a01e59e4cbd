extension HealthSchema {
    /// The attempt that sends a batch, the samples that the backend has and says no more about, and
    /// those whose processing failed.
    ///
    /// Besides the new columns only constraints change, so that no row is written: their text is
    /// replaced where SQLite stores it (https://sqlite.org/lang_altertable.html, section 7). They
    /// compare with OR, because `IN (...)` makes SQLite build a b-tree for every row that it
    /// writes.
    static let sending = """
        -- The attempt that sends the batch, as `UploadOwner` knows it; NULL for a batch that an
        -- earlier version made.
        ALTER TABLE batches ADD COLUMN owner INTEGER;
        -- Whether the backend said last that it could not process the sample.
        ALTER TABLE outbox ADD COLUMN processing_failed INTEGER NOT NULL DEFAULT 0
            CONSTRAINT outbox_processing_failed
            CHECK (processing_failed = 0 OR processing_failed = 1);

        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
            'CHECK (state IN (''sending'', ''accepted'', ''confirmed'', ''unconfirmed'', ''failed''))',
            'CONSTRAINT batches_state CHECK (state = ''sending'' OR state = ''accepted''
                OR state = ''confirmed'' OR state = ''stored'' OR state = ''unconfirmed''
                OR state = ''failed'')'),
            'CHECK ((state IN (''confirmed'', ''unconfirmed'', ''failed'')) = (finished_at_ms IS NOT NULL))',
            'CONSTRAINT batches_finished
                CHECK ((state = ''sending'' OR state = ''accepted'') = (finished_at_ms IS NULL))'),
            'CHECK (route IN (''metrics'', ''samples''))',
            'CONSTRAINT batches_route CHECK (route = ''metrics'' OR route = ''samples'')')
            WHERE type = 'table' AND name = 'batches';
        UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
            'CHECK (state IN (''queued'', ''sending'', ''accepted'', ''confirmed'', ''unconfirmed'',
                    ''rejected'', ''setAside''))',
            'CONSTRAINT outbox_state CHECK (state = ''queued'' OR state = ''sending''
                OR state = ''accepted'' OR state = ''confirmed'' OR state = ''stored''
                OR state = ''unconfirmed'' OR state = ''rejected'' OR state = ''setAside'')'),
            'CHECK (CASE state
                WHEN ''confirmed'' THEN (batch_id IS NULL) = (sealed IS NULL)',
            'CONSTRAINT outbox_place CHECK (CASE state
                WHEN ''confirmed'' THEN (batch_id IS NULL) = (sealed IS NULL)
                WHEN ''stored'' THEN (batch_id IS NULL) = (sealed IS NULL)'),
            'CHECK (state NOT IN (''rejected'', ''setAside'') OR reason IS NOT NULL)',
            'CONSTRAINT outbox_reason CHECK (reason IS NOT NULL
                OR state <> ''rejected'' AND state <> ''setAside'')'),
            'OR hold IN (''kind'', ''future'', ''doubt'') AND state = ''setAside''',
            'OR (hold = ''kind'' OR hold = ''future'' OR hold = ''doubt'') AND state = ''setAside''')
            WHERE type = 'table' AND name = 'outbox';
        PRAGMA writable_schema = RESET;
        """
}
