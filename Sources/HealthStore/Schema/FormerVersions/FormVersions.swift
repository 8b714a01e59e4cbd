extension HealthVersions {
    /// Gives each CHECK a name, and removes `IN (...)`, for which SQLite builds a b-tree with every
    /// row that it writes.
    ///
    /// Only the texts change, as in `sending`: each allows the same rows as the former one.
    static let named = """
        PRAGMA writable_schema = ON;
        WITH RECURSIVE
            -- The text of a CHECK, what follows the table's name in its own, and its new text.
            checks (n, text, name, new) AS (VALUES
                (1, '(id = 1)', 'one', NULL),
                (2, '(attempts >= 0)', 'attempts', NULL),
                (3, '(sends >= 0)', 'sends', NULL),
                (4, '(asked_count >= 0)', 'asked', NULL),
                (5, '(asked_count > 0)', 'asked', NULL),
                (6, '(state <> ''accepted''', 'accepted', NULL),
                (7, '(state <> ''failed'' OR reason IS NOT NULL)', 'failed', NULL),
                (8, '(length(tag) = 8)', 'tag', NULL),
                (9, '(length(tag) = 16)', 'tag', NULL),
                (10, '(length(digest) = 16)', 'digest', NULL),
                (11, '(failures BETWEEN 0 AND 5)', 'failures', NULL),
                (12, '(failures < 5 OR state = ''setAside'')', 'given_up', NULL),
                (13, '(hold IS NULL', 'hold', NULL),
                (14, '(doubts >= 0)', 'doubts', NULL),
                (15, '(origin IN (''metrics'', ''insights''))', 'origin',
                    '(origin = ''metrics'' OR origin = ''insights'')'),
                (16, '(number >= 1)', 'number', NULL),
                (17, '(number > 0)', 'number', NULL),
                (18, '(is_vacant IN (0, 1))', 'is_vacant', '(is_vacant = 0 OR is_vacant = 1)'),
                (19, '(generation > 0)', 'generation', NULL),
                (20, '(copy IN (1, 2))', 'copy', '(copy = 1 OR copy = 2)'),
                (21, '(phase IN (''rows'', ''placing''))', 'phase',
                    '(phase = ''rows'' OR phase = ''placing'')'),
                (22, '(new_in_file IN (0, 1))', 'new_in_file',
                    '(new_in_file = 0 OR new_in_file = 1)'),
                (23, '(former_in_file IN (0, 1))', 'former_in_file',
                    '(former_in_file = 0 OR former_in_file = 1)'),
                (24, '(length(hash) = 32)', 'hash', NULL),
                (25, '(length(anchor_hash) = 32)', 'anchor_hash', NULL),
                (26, '(length(last_hash) = 32)', 'last_hash', NULL),
                (27, '(length(mac) = 32)', 'mac', NULL),
                (28, '(anchor_number <= uploaded_number', 'order', NULL),
                (29, '(length(name) BETWEEN 1 AND 40)', 'name', NULL),
                (30, '(known_minutes BETWEEN', 'known_minutes', NULL),
                (31, '(state IN (''open'', ''ended'', ''interrupted'', ''sum''))', 'state',
                    '(state = ''open'' OR state = ''ended'' OR state = ''interrupted''
                OR state = ''sum'')'),
                (32, '(readings >= 0)', 'readings', NULL),
                (33, '(interrupted >= 0)', 'interrupted', NULL),
                (34, '((state = ''open'') = (finished_at_ms IS NULL))', 'finished', NULL),
                (35, '(state = ''sum'' OR', 'one_reading', NULL),
                (36, '(bytes >= 0)', 'bytes', NULL),
                (37, '(name IN (''metrics'', ''insights'', ''profile''))', 'name',
                    '(name = ''metrics'' OR name = ''insights'' OR name = ''profile'')'),
                (38, '(form IN (''steps'', ''actigraphy''))', 'form',
                    '(form = ''steps'' OR form = ''actigraphy'')'),
                (39, '(state IN (''queued'', ''sending'', ''accepted'',
                ''completed'', ''failed'', ''unconfirmed''))', 'state',
                    '(state = ''queued'' OR state = ''sending'' OR state = ''accepted''
                OR state = ''completed'' OR state = ''failed'' OR state = ''unconfirmed'')'),
                (40, '(state IN (''queued'', ''sending'', ''generating'',
                ''completed'', ''failed'', ''unconfirmed''))', 'state',
                    '(state = ''queued'' OR state = ''sending'' OR state = ''generating''
                OR state = ''completed'' OR state = ''failed'' OR state = ''unconfirmed'')'),
                (41, '((state IN (''completed'', ''failed'', ''unconfirmed'')) =', 'finished',
                    '((state = ''completed'' OR state = ''failed'' OR state = ''unconfirmed'') ='),
                (42, '(state NOT IN (''failed'', ''unconfirmed'') OR', 'reason',
                    '(state <> ''failed'' AND state <> ''unconfirmed'' OR'),
                (43, '(sealed IS NULL OR state = ''completed'')', 'sealed', NULL),
                (44, '(state NOT IN (''sending'', ''generating'')', 'sent',
                    '(state <> ''sending'' AND state <> ''generating'''),
                (45, '(state NOT IN (''generating'', ''completed'') OR', 'insight',
                    '(state <> ''generating'' AND state <> ''completed'' OR'),
                (46, '((sealed IS NULL) =', 'sealed', NULL),
                (47, '(is_doubtful IN (0, 1))', 'is_doubtful',
                    '(is_doubtful = 0 OR is_doubtful = 1)')),
            made (name, n, sql) AS (
                SELECT name, 0, sql FROM sqlite_schema
                WHERE type = 'table' AND name <> 'contributions' AND name <> 'form_upgrade'
                UNION ALL
                SELECT made.name, checks.n, replace(sql, 'CHECK ' || text,
                    'CONSTRAINT ' || made.name || '_' || checks.name
                        || ' CHECK ' || coalesce(new, text))
                FROM made JOIN checks ON checks.n = made.n + 1)
        UPDATE sqlite_schema AS old SET sql = made.sql FROM made
        WHERE old.type = 'table' AND old.name = made.name AND made.n = (SELECT max(n) FROM checks);
        PRAGMA writable_schema = RESET;
        """

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
