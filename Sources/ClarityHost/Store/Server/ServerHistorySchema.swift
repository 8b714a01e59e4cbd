import Database

/// The schema of a history in PostgreSQL: the tables of the file by the map of types, and what the
/// map leaves out.
enum ServerHistorySchema {
    /// The schema of PostgreSQL in which the tables are.
    static let name = "clarity_history"

    /// A step of the file's schema after version 15 has an upgrade here that does the same.
    static let schema = ServerSchema(name, first: 18, of: "history")

    /// Locks without the numbers of advisory locks, which every role sees and may take: a decision
    /// locks the table `decisions`, and the loop that has the lead is noted in `lead`.
    private static let lockTables = """
        CREATE TABLE decisions ();
        CREATE TABLE lead (leader text COLLATE "C" NOT NULL);
        """

    /// What the loops share about their machines, the attempts that the leader has placed on them,
    /// and how far the attempts of each process are; a file has one machine. Rows of a machine or
    /// process count while the session of its mark lives.
    private static let placementTables = """
        CREATE TABLE machines (
            owner TEXT PRIMARY KEY NOT NULL,
            mark TEXT NOT NULL,
            name TEXT NOT NULL,
            labels TEXT NOT NULL,
            places INTEGER NOT NULL CONSTRAINT machines_places CHECK (places >= 0),
            conditions TEXT NOT NULL,
            sources TEXT NOT NULL,
            revision INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE placements (
            run_id INTEGER NOT NULL,
            number INTEGER NOT NULL CONSTRAINT placements_number CHECK (number >= 1),
            owner TEXT NOT NULL,
            state TEXT NOT NULL CONSTRAINT placements_state
                CHECK (state = 'offered' OR state = 'taken' OR state = 'declined'
                    OR state = 'ended'),
            report TEXT,
            head BLOB,
            left_out_bytes INTEGER,
            tail BLOB,
            PRIMARY KEY (run_id),
            CONSTRAINT placements_report
                CHECK ((report IS NULL) = (state = 'offered' OR state = 'taken'))
        ) STRICT;
        CREATE INDEX placements_by_owner ON placements (owner);
        CREATE TABLE progress (
            owner TEXT PRIMARY KEY NOT NULL,
            mark TEXT NOT NULL,
            attempts TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Keeps out all other decisions until the end of the transaction, and nobody who only reads.
    static let decisionLock = "LOCK TABLE \(name).decisions IN SHARE UPDATE EXCLUSIVE MODE"

    private static let map = PostgresSchema()

    /// The statements that make it, in order, for a role that owns the database.
    static var statements: String {
        schema.statements(
            tables: """
                \(map.translated(stateTable))
                \(lockTables)
                \(map.translated(placementTables))
                \(map.translated(historyMigrations.schema ?? ""))
                \(totalsTriggers)
                \(answersTrigger)
                \(waitTriggers)
                INSERT INTO writes (id) VALUES (1);
                INSERT INTO lead VALUES ('');
                """)
    }

    /// How often the history was written.
    private static let stateTable = """
        CREATE TABLE writes (
            id INTEGER PRIMARY KEY CONSTRAINT writes_one CHECK (id = 1),
            version INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        """

    // MARK: Triggers, as in HistorySchema.swift

    private static let totalsTriggers = """
        CREATE FUNCTION count_run() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO totals (job_id, measure, label, number, sum_ms)
            VALUES (NEW.job_id, 'runs', NEW.state, 1, 0)
            \(addingToTotals);
            IF NEW.state = 'failed' AND NEW.failure_category IS NOT NULL THEN
                INSERT INTO totals (job_id, measure, label, number, sum_ms)
                VALUES (NEW.job_id, 'failures', NEW.failure_category, 1, 0)
                \(addingToTotals);
            END IF;
            IF NEW.started_at_ms IS NOT NULL AND NEW.trigger IN ('schedule', 'catchUp') THEN
                INSERT INTO totals (job_id, measure, label, number, sum_ms)
                VALUES (NEW.job_id, 'delays',
                    \(bucket("NEW.started_at_ms - NEW.scheduled_for_ms", JobTotals.delayBounds)),
                    1, greatest(NEW.started_at_ms - NEW.scheduled_for_ms, 0))
                \(addingToTotals);
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER totals_of_ended_run AFTER UPDATE OF finished_at_ms ON runs FOR EACH ROW
        WHEN (OLD.finished_at_ms IS NULL AND NEW.finished_at_ms IS NOT NULL)
        EXECUTE FUNCTION count_run();
        CREATE TRIGGER totals_of_run_made_ended AFTER INSERT ON runs FOR EACH ROW
        WHEN (NEW.finished_at_ms IS NOT NULL)
        EXECUTE FUNCTION count_run();

        CREATE FUNCTION count_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO totals (job_id, measure, label, number, sum_ms)
            SELECT job_id, 'attempts',
                \(bucket("NEW.finished_at_ms - NEW.started_at_ms", JobTotals.durationBounds)), 1,
                greatest(NEW.finished_at_ms - NEW.started_at_ms, 0)
            FROM runs WHERE id = NEW.run_id
            \(addingToTotals);
            RETURN NULL;
        END $$;
        CREATE TRIGGER totals_of_attempt AFTER UPDATE OF result ON attempts FOR EACH ROW
        WHEN (OLD.result = 'running' AND NEW.result <> 'running' AND NEW.result <> 'interrupted')
        EXECUTE FUNCTION count_attempt();
        """

    private static let addingToTotals = """
        ON CONFLICT (job_id, measure, label) DO UPDATE SET
            number = totals.number + excluded.number, sum_ms = totals.sum_ms + excluded.sum_ms
        """

    private static let answersTrigger = """
        CREATE FUNCTION count_answers() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO answer_totals (job_id, class, number)
            SELECT job_id, class, number FROM (
                SELECT class, (regexp_match(' ' || NEW.tally,
                    ' http_' || class || '=([0-9]+)'))[1]::bigint AS number
                FROM (VALUES ('2xx'), ('3xx'), ('4xx'), ('5xx'), ('none')) AS classes (class)
            ) AS found, runs WHERE number > 0 AND runs.id = NEW.run_id
            ON CONFLICT (job_id, class) DO UPDATE SET
                number = answer_totals.number + excluded.number;
            RETURN NULL;
        END $$;
        CREATE TRIGGER answer_totals_of_attempt AFTER UPDATE OF result ON attempts FOR EACH ROW
        WHEN (OLD.result = 'running' AND NEW.result <> 'running'
            AND position('http_' IN NEW.tally) > 0)
        EXECUTE FUNCTION count_answers();
        """

    private static let waitTriggers = """
        CREATE FUNCTION count_wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO wait_totals (job_id, reason, sum_ms)
            SELECT job_id, NEW.reason, NEW.until_ms - NEW.since_ms FROM runs
            WHERE id = NEW.run_id
            ON CONFLICT (job_id, reason) DO UPDATE SET
                sum_ms = wait_totals.sum_ms + excluded.sum_ms;
            RETURN NULL;
        END $$;
        CREATE TRIGGER wait_totals_of_ended AFTER UPDATE OF until_ms ON deferrals FOR EACH ROW
        WHEN (OLD.until_ms IS NULL AND NEW.until_ms IS NOT NULL)
        EXECUTE FUNCTION count_wait();

        CREATE FUNCTION count_missed() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            before bigint := 0;
        BEGIN
            IF TG_OP = 'UPDATE' THEN before := OLD.occurrences; END IF;
            INSERT INTO missed_totals (job_id, fate, number)
            VALUES (NEW.job_id, NEW.fate, NEW.occurrences - before)
            ON CONFLICT (job_id, fate) DO UPDATE SET
                number = missed_totals.number + excluded.number;
            RETURN NULL;
        END $$;
        CREATE TRIGGER missed_totals_of_outcome AFTER INSERT ON occurrence_fates FOR EACH ROW
        EXECUTE FUNCTION count_missed();
        CREATE TRIGGER missed_totals_of_more AFTER UPDATE OF occurrences ON occurrence_fates
        FOR EACH ROW WHEN (NEW.occurrences > OLD.occurrences)
        EXECUTE FUNCTION count_missed();
        """
}
