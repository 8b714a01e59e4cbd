@testable import ProgramTestSupport
import Database
import Testing

/// Evidence from a history and from the witnesses about which attempts ran when.
struct CrowdEvidence {
    /// Attempts of one job that ran at the same time, according to the history.
    let overlaps: [String]
    /// Attempts that found another attempt of their job running, according to the witnesses.
    let twice: [Substring]
    /// Attempts whose fencing token is not above the one before it, according to the witnesses.
    let unfenced: [String]
    /// Runs that failed, with their reasons.
    let failures: [String]
    /// Attempts that failed through a fault of their own.
    let broken: [String]
    /// Runs that have not ended.
    let open: [String]
    let runs: Int
    let attempts: Int
    /// The number of upload attempts that their scheduler had to kill, because they did not stop
    /// after a timeout, a cancellation or a shutdown.
    let killedUploads: Int
    /// The number of upload attempts that a signal ended, or that ran when their scheduler died.
    let interruptedUploads: Int
    /// The number of attempts that a witness recorded.
    let witnessed: Int

    /// Reads a history, and what the witnesses wrote into files of these names.
    init(_ playground: Playground, lines: (String) throws -> [Substring] = { _ in [] }) throws {
        let history = try playground.openHistory()
        overlaps = try history.all(
            """
            SELECT job || ': run ' || run_id || ' until ' || ended || ', run ' || next_run || ' from '
                || next_start
            FROM (SELECT job_id AS job, run_id, coalesce(attempts.finished_at_ms, 9e18) AS ended,
                    lead(run_id) OVER by_start AS next_run,
                    lead(attempts.started_at_ms) OVER by_start AS next_start
                FROM attempts JOIN runs ON runs.id = run_id
                WINDOW by_start AS (PARTITION BY job_id
                    ORDER BY attempts.started_at_ms, run_id, number)) AS pairs
            WHERE next_start < ended
            """
        ) { $0.text(0) }
        failures = try history.all(
            """
            SELECT job_id || ' run ' || id || ': ' || failure_reason FROM runs
            WHERE state = 'failed'
            """
        ) { $0.text(0) }
        broken = try OwnFault.kept(in: playground)
        open = try history.all(
            """
            SELECT job_id || ' run ' || id || ' is ' || state FROM runs
            WHERE finished_at_ms IS NULL
            """
        ) { $0.text(0) }
        func count(_ sql: String) throws -> Int {
            try history.first(sql) { Int($0.integer(0)) } ?? 0
        }
        runs = try count("SELECT count(*) FROM runs")
        attempts = try count("SELECT count(*) FROM attempts")

        let uploads =
            """
            SELECT count(*) FROM attempts JOIN runs ON runs.id = run_id
            WHERE (job_id LIKE 'upload%' OR job_id LIKE '%/upload')
            """
        killedUploads = try count(
            """
            \(uploads) AND attempts.stop_reason IS NOT NULL
                AND (attempts.reason IS NULL OR attempts.reason LIKE 'did not end%')
            """)
        interruptedUploads = try count(
            """
            \(uploads) AND (attempts.result = 'interrupted'
                OR attempts.reason LIKE '%was ended by signal%')
            """)

        twice = try lines("twice")
        let seen = try lines("seen")
        witnessed = seen.count
        unfenced = CrowdEvidence.unfenced(seen)
    }

    /// Returns the lines `JOB RUN ATTEMPT GENERATION` whose fencing token is not above all earlier
    /// tokens of the run.
    static func unfenced(_ lines: [Substring]) -> [String] {
        var highest: [Substring: Int] = [:]
        return lines.compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 4, let generation = Int(words[3]) else { return String(line) }
            let isHigher = generation > highest[words[1], default: 0]
            highest[words[1]] = max(highest[words[1], default: 0], generation)
            return isHigher ? nil : String(line)
        }
    }
}
