import Database

/// The server's data in one SQLite file; used by one thread at a time.
final class Store {
    let database: FileConnection
    /// The ids that were stored since the last call of `noteSend`.
    var newlyStored: Set<String> = []

    /// Opens `sandbox.db` in `directory`, which must exist, and migrates its schema.
    ///
    /// - Parameter version: the version to migrate to; tests begin with earlier ones.
    /// - Throws: `DatabaseError` or `Migrations.Fault` if the file cannot be used.
    init(directory: String, version: Int = .max) throws {
        database = try FileConnection(path: "\(directory)/sandbox.db")
        try database.execute("PRAGMA journal_mode = WAL")
        // A killed server loses nothing, because committed data is in the page cache. Only a crash
        // of the whole machine could lose the last commits, which a stand-in need not survive.
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA foreign_keys = ON")
        var migrations = Migrations.sandbox
        migrations.steps = Array(migrations.steps.prefix(version))
        try migrations.migrate(database)
    }

    /// Runs `body` in one transaction.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try database.transaction(body)
    }

    /// Counts an answer by its outcome.
    func count(_ outcome: String) throws {
        try database.run(
            """
            INSERT INTO answers (outcome, count) VALUES (?, 1)
            ON CONFLICT (outcome) DO UPDATE SET count = count + 1
            """, .text(outcome))
    }

    /// Returns how often each outcome was answered, sorted by name.
    func answers() throws -> [(name: String, count: Int)] {
        try counts("SELECT outcome, count FROM answers ORDER BY outcome")
    }

    /// Returns the result of a query for one number.
    func number(_ sql: String, _ values: Value...) throws -> Int {
        try all(sql, values) { Int($0.integer(0)) }.first ?? 0
    }

    /// Returns the results of a query for a word and a number, such as a count by type.
    func counts(_ sql: String, _ values: Value...) throws -> [(name: String, count: Int)] {
        try all(sql, values) { ($0.text(0), Int($0.integer(1))) }
    }

    /// Returns an element for each row, in the order of the rows.
    ///
    /// - Throws: the first error of `map`, after the last row.
    func all<Element>(
        _ sql: String, _ values: [Value], map: (borrowing Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        var fault: (any Error)?
        try database.forEach(sql, values) { row in
            do { elements.append(try map(row)) } catch { fault = fault ?? error }
        }
        if let fault { throw fault }
        return elements
    }
}

extension Migrations {
    /// The schema of `sandbox.db`; `application_id` is `CLSB` in ASCII.
    static let sandbox = Migrations(
        applicationID: 0x434C_5342,
        steps: [
            """
            CREATE TABLE users (
                id TEXT PRIMARY KEY,
                email TEXT NOT NULL UNIQUE,
                first_name TEXT NOT NULL,
                last_name TEXT NOT NULL,
                phone_number TEXT,
                salt BLOB NOT NULL,
                iterations INTEGER NOT NULL,
                password BLOB NOT NULL,
                is_verified INTEGER NOT NULL CHECK (is_verified IN (0, 1)),
                verification_code TEXT,
                created_at_ms INTEGER NOT NULL,
                last_login_ms INTEGER
            ) STRICT;

            -- Tokens are kept as digests: the file lets nobody in.
            CREATE TABLE tokens (
                digest BLOB PRIMARY KEY,
                kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
                session TEXT NOT NULL,
                user_id TEXT NOT NULL REFERENCES users (id),
                expires_at_ms INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX tokens_by_session ON tokens (session);

            -- What the server works at after it has answered.
            CREATE TABLE work (
                id TEXT PRIMARY KEY,
                kind TEXT NOT NULL CHECK (kind IN ('metrics', 'healthkit', 'insight', 'analysis')),
                user_id TEXT NOT NULL REFERENCES users (id),
                state TEXT NOT NULL CHECK (state IN ('received', 'processing', 'completed', 'failed')),
                progress INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 100),
                polls INTEGER NOT NULL DEFAULT 0,
                ends_in TEXT NOT NULL CHECK (ends_in IN ('completed', 'failed')),
                digest BLOB,
                result TEXT NOT NULL,
                created_at_ms INTEGER NOT NULL,
                updated_at_ms INTEGER NOT NULL,
                CHECK (state <> 'completed' OR progress = 100)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX work_by_user ON work (user_id, kind, state, updated_at_ms);
            CREATE UNIQUE INDEX work_by_digest ON work (user_id, kind, digest)
                WHERE digest IS NOT NULL;

            -- A metric without work was there from the start and counts in no summary.
            CREATE TABLE metrics (
                sequence INTEGER PRIMARY KEY,
                metric_id TEXT NOT NULL UNIQUE,
                user_id TEXT NOT NULL REFERENCES users (id),
                work_id TEXT REFERENCES work (id),
                type TEXT NOT NULL,
                created_at_ms INTEGER NOT NULL,
                body TEXT NOT NULL
            ) STRICT;
            CREATE INDEX metrics_by_time ON metrics (user_id, created_at_ms, sequence);

            CREATE TABLE healthkit_samples (
                identifier TEXT NOT NULL,
                user_id TEXT NOT NULL REFERENCES users (id),
                work_id TEXT NOT NULL REFERENCES work (id),
                kind TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, identifier)
            ) STRICT, WITHOUT ROWID;

            -- How often each outcome was answered: a status, `reset` or `hang`.
            CREATE TABLE answers (
                outcome TEXT PRIMARY KEY,
                count INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            """,
            """
            -- A contract that recognises nothing stores what comes again as another copy. Copy 0
            -- came first.
            CREATE TABLE metrics_with_copies (
                sequence INTEGER PRIMARY KEY,
                metric_id TEXT NOT NULL,
                copy INTEGER NOT NULL DEFAULT 0 CHECK (copy >= 0),
                user_id TEXT NOT NULL REFERENCES users (id),
                work_id TEXT REFERENCES work (id),
                type TEXT NOT NULL,
                created_at_ms INTEGER NOT NULL,
                body TEXT NOT NULL,
                UNIQUE (metric_id, copy)
            ) STRICT;
            INSERT INTO metrics_with_copies
                SELECT sequence, metric_id, 0, user_id, work_id, type, created_at_ms, body
                FROM metrics;
            DROP TABLE metrics;
            ALTER TABLE metrics_with_copies RENAME TO metrics;
            CREATE INDEX metrics_by_time ON metrics (user_id, created_at_ms, sequence);
            CREATE INDEX metrics_by_work ON metrics (work_id);

            CREATE TABLE samples_with_copies (
                identifier TEXT NOT NULL,
                copy INTEGER NOT NULL DEFAULT 0 CHECK (copy >= 0),
                user_id TEXT NOT NULL REFERENCES users (id),
                work_id TEXT NOT NULL REFERENCES work (id),
                kind TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, identifier, copy)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO samples_with_copies
                SELECT identifier, 0, user_id, work_id, kind, body FROM healthkit_samples;
            DROP TABLE healthkit_samples;
            ALTER TABLE samples_with_copies RENAME TO healthkit_samples;

            -- What was sent and is not kept: dropped without a word, or refused with one.
            CREATE TABLE losses (
                fate TEXT NOT NULL CHECK (fate IN ('dropped', 'refused')),
                reason TEXT NOT NULL,
                count INTEGER NOT NULL,
                PRIMARY KEY (fate, reason)
            ) STRICT, WITHOUT ROWID;
            """,
            """
            -- Every upload request, whatever became of it.
            CREATE TABLE sends (
                id INTEGER PRIMARY KEY,
                connection INTEGER NOT NULL,
                peer_port INTEGER NOT NULL,
                answer TEXT NOT NULL,
                -- Whether the routes made the answer, and not a fault in their place.
                is_carried_out INTEGER NOT NULL,
                -- Whether the answer left whole, to a client that was still there.
                is_answered INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE INDEX sends_by_connection ON sends (connection, id);

            -- The samples of each. `known` was stored before and not stored again.
            CREATE TABLE sent_samples (
                send_id INTEGER NOT NULL REFERENCES sends (id),
                place INTEGER NOT NULL,
                sample_id TEXT NOT NULL,
                fate TEXT NOT NULL
                    CONSTRAINT sample_has_a_fate
                    CHECK (fate = 'stored' OR fate = 'known' OR fate = 'not kept'),
                PRIMARY KEY (send_id, place)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX sent_samples_by_id ON sent_samples (sample_id, send_id);
            """,
            """
            -- Every version of every FHIR resource; without a body for a deletion.
            CREATE TABLE fhir_versions (
                type TEXT NOT NULL,
                id TEXT NOT NULL,
                version INTEGER NOT NULL CHECK (version > 0),
                at_ms INTEGER NOT NULL,
                body TEXT,
                PRIMARY KEY (type, id, version)
            ) STRICT, WITHOUT ROWID;

            -- The current version of each; `at_ms` is when the first one was stored.
            CREATE TABLE fhir_resources (
                place INTEGER PRIMARY KEY,
                type TEXT NOT NULL,
                id TEXT NOT NULL,
                version INTEGER NOT NULL,
                at_ms INTEGER NOT NULL,
                is_deleted INTEGER NOT NULL CHECK (is_deleted IN (0, 1)),
                first_ms INTEGER,
                last_ms INTEGER,
                UNIQUE (type, id)
            ) STRICT;

            -- By what a search finds it.
            CREATE TABLE fhir_terms (
                name TEXT NOT NULL,
                value TEXT NOT NULL,
                system TEXT NOT NULL,
                place INTEGER NOT NULL,
                PRIMARY KEY (name, value, system, place)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX fhir_terms_by_place ON fhir_terms (place);

            -- Every FHIR request, with the answer to each entry of a bundle.
            CREATE TABLE fhir_requests (
                number INTEGER PRIMARY KEY,
                at_ms INTEGER NOT NULL,
                connection INTEGER NOT NULL,
                method TEXT NOT NULL,
                url TEXT NOT NULL,
                answer TEXT NOT NULL,
                entries TEXT NOT NULL
            ) STRICT;
            """,
        ])
}
