-- Inserts runs of twenty jobs, half a minute apart, into a history that already has its tables.
-- The table `size` holds their number. Nineteen jobs share almost all runs; `job-19` has the
-- hundred oldest. Three runs in a hundred failed after two attempts, and five in a hundred waited
-- for the network.
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
PRAGMA foreign_keys = OFF;
PRAGMA main.cache_size = -262144;
BEGIN;
CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
INSERT INTO numbers WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < (SELECT runs FROM size))
SELECT n FROM count;
CREATE TEMP TABLE newest AS SELECT unixepoch() * 1000 AS ms;
INSERT INTO runs (
    id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, is_expedited, is_forced, attempts, failures,
    interruptions, generation, started_at_ms, finished_at_ms, failure_category, failure_reason, tally, notes, era)
SELECT n, 'job-' || CASE WHEN n <= 100 THEN 19 ELSE n % 19 END, 'refresh', 'schedule',
    CASE WHEN n % 100 < 3 THEN 'failed' ELSE 'succeeded' END,
    ms - (runs + 1 - n) * 31579, ms - (runs + 1 - n) * 31579 + 7, 0, 0,
    CASE WHEN n % 100 < 3 THEN 2 ELSE 1 END, CASE WHEN n % 100 < 3 THEN 2 ELSE 0 END, 0,
    CASE WHEN n % 100 < 3 THEN 2 ELSE 1 END,
    ms - (runs + 1 - n) * 31579 + 20, ms - (runs + 1 - n) * 31579 + 3600,
    CASE WHEN n % 100 < 3 THEN 'unreachable' END,
    CASE WHEN n % 100 < 3 THEN 'the backend did not answer within 10s' END,
    'metrics_pulled=' || n % 500 || ' insights_pulled=' || n % 7, '', 0
FROM numbers, newest, size;
INSERT INTO attempts (run_id, number, started_at_ms, finished_at_ms, result, reason, tally, peak_memory_bytes)
SELECT id, number, started_at_ms + (number - 1) * 1500, started_at_ms + number * 1400,
    CASE WHEN number = attempts THEN state ELSE 'failed' END,
    CASE WHEN number < attempts OR state = 'failed' THEN 'the backend did not answer within 10s' END,
    tally, 11000000 + id % 1000 * 1000
FROM runs, (SELECT 1 AS number UNION ALL SELECT 2) WHERE number <= attempts;
INSERT INTO deferrals (run_id, subject, since_ms, until_ms, reason, wanted, measured, source, place)
SELECT id, 'network', enqueued_at_ms, started_at_ms, 'constraint', 'any', 'none', '/proc/net/route and /proc/net/ipv6_route', 0
FROM runs WHERE id % 20 = 0;
INSERT INTO job_records (
    job_id, anchor_at_ms, considered_until_ms, schedule, schedule_since_ms, last_finished_ms, kept_runs, kept_failures,
    revision)
SELECT job_id, min(scheduled_for_ms), (SELECT ms FROM newest) + 3600000, '', min(scheduled_for_ms), max(finished_at_ms),
    sum(state <> 'failed'), sum(state = 'failed'), row_number() OVER (ORDER BY job_id)
FROM runs GROUP BY job_id;
COMMIT;
PRAGMA main.journal_mode = WAL;
