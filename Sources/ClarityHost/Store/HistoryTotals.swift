/// What happened since the file was made, which stays when runs are pruned.
///
/// Triggers count, in the transaction that ends the run or the attempt. A job has a bounded number
/// of rows, and the end of a run changes up to four of them.
let totalTables = """
    CREATE TABLE totals (
        job_id TEXT NOT NULL,
        measure TEXT NOT NULL CONSTRAINT totals_measure
            CHECK (measure = 'runs' OR measure = 'failures' OR measure = 'attempts'
                OR measure = 'delays'),
        -- The state of the runs, the category of the failures, or the upper bound of a bucket in
        -- milliseconds, 0 for the bucket without one.
        label TEXT NOT NULL,
        number INTEGER NOT NULL CONSTRAINT totals_number CHECK (number > 0),
        sum_ms INTEGER NOT NULL CONSTRAINT totals_sum CHECK (sum_ms >= 0),
        PRIMARY KEY (job_id, measure, label)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER totals_of_ended_run AFTER UPDATE OF finished_at_ms ON runs
    WHEN OLD.finished_at_ms IS NULL AND NEW.finished_at_ms IS NOT NULL
    BEGIN
        \(countingRun)
    END;

    CREATE TRIGGER totals_of_run_made_ended AFTER INSERT ON runs
    WHEN NEW.finished_at_ms IS NOT NULL
    BEGIN
        \(countingRun)
    END;

    -- Nobody knows when an interrupted attempt ended.
    CREATE TRIGGER totals_of_attempt AFTER UPDATE OF result ON attempts
    WHEN OLD.result = 'running' AND NEW.result <> 'running' AND NEW.result <> 'interrupted'
    BEGIN
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT job_id, 'attempts',
            \(bucket("NEW.finished_at_ms - NEW.started_at_ms", JobTotals.durationBounds)), 1,
            max(NEW.finished_at_ms - NEW.started_at_ms, 0)
        FROM runs WHERE id = NEW.run_id
        \(addingToTotals);
    END;
    """

/// How often a job's HTTP requests were answered, and with which class of status, since
/// the file was made.
///
/// An attempt's tally is `name=count` joined by spaces. CAST takes the digits and leaves the rest.
let answerTables = """
    CREATE TABLE answer_totals (
        job_id TEXT NOT NULL,
        class TEXT NOT NULL CONSTRAINT answer_totals_class
            CHECK (class = '2xx' OR class = '3xx' OR class = '4xx' OR class = '5xx'
                OR class = 'none'),
        number INTEGER NOT NULL CONSTRAINT answer_totals_number CHECK (number > 0),
        PRIMARY KEY (job_id, class)
    ) STRICT, WITHOUT ROWID;

    CREATE TRIGGER answer_totals_of_attempt AFTER UPDATE OF result ON attempts
    WHEN OLD.result = 'running' AND NEW.result <> 'running' AND instr(NEW.tally, 'http_') > 0
    BEGIN
        INSERT INTO answer_totals (job_id, class, number)
        SELECT job_id, class, number FROM (
            SELECT classes.column1 AS class, CAST(substr(NEW.tally,
                nullif(instr(' ' || NEW.tally, ' http_' || classes.column1 || '='), 0)
                    + length('http_' || classes.column1 || '=')) AS INTEGER) AS number
            FROM (VALUES ('2xx'), ('3xx'), ('4xx'), ('5xx'), ('none')) AS classes
        ), runs WHERE number > 0 AND runs.id = NEW.run_id
        ON CONFLICT (job_id, class) DO UPDATE SET number = number + excluded.number;
    END;
    """

private let countingRun = """
    INSERT INTO totals (job_id, measure, label, number, sum_ms)
        VALUES (NEW.job_id, 'runs', NEW.state, 1, 0)
        \(addingToTotals);
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT NEW.job_id, 'failures', NEW.failure_category, 1, 0
        WHERE NEW.state = 'failed' AND NEW.failure_category IS NOT NULL
        \(addingToTotals);
        INSERT INTO totals (job_id, measure, label, number, sum_ms)
        SELECT NEW.job_id, 'delays',
            \(bucket("NEW.started_at_ms - NEW.scheduled_for_ms", JobTotals.delayBounds)), 1,
            max(NEW.started_at_ms - NEW.scheduled_for_ms, 0)
        WHERE NEW.started_at_ms IS NOT NULL
            AND (NEW.trigger = 'schedule' OR NEW.trigger = 'catchUp')
        \(addingToTotals);
    """

private let addingToTotals = """
    ON CONFLICT (job_id, measure, label)
        DO UPDATE SET number = number + excluded.number, sum_ms = sum_ms + excluded.sum_ms
    """

/// Returns an SQL expression for the label of the bucket of a value in milliseconds.
func bucket(_ value: String, _ bounds: [Int64]) -> String {
    let cases = bounds.map { "WHEN \(value) <= \($0) THEN '\($0)'" }
    return "CASE \(cases.joined(separator: " ")) ELSE '0' END"
}
