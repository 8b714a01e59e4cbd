public import ClarityScheduler
import Database

/// What a job has done since its history was made. Pruning the history changes none of it.
public struct JobTotals: Hashable, Sendable {
    /// How many values were in each bucket, and their sum.
    public struct Distribution: Hashable, Sendable {
        /// The upper bounds of the buckets in milliseconds, ascending.
        public let bounds: [Int64]
        /// The number of values in each bucket, and last of those above every bound.
        public fileprivate(set) var counts: [Int64]
        public fileprivate(set) var sum: Duration = .zero

        fileprivate init(bounds: [Int64]) {
            self.bounds = bounds
            counts = Array(repeating: 0, count: bounds.count + 1)
        }
    }

    /// The finished runs, by how they ended.
    public fileprivate(set) var runs: [RunState: Int64] = [:]
    /// The runs that failed for good, by the category of the last failure.
    public fileprivate(set) var failures: [Failure.Category: Int64] = [:]
    /// The answers to the attempts' HTTP requests, by `AnswerClass`.
    public fileprivate(set) var answers: [AnswerClass: Int64] = [:]
    /// How long the attempts took, without those that vanished.
    public fileprivate(set) var attempts = Distribution(bounds: durationBounds)
    /// How long after their occurrence the runs of the schedule started.
    public fileprivate(set) var delays = Distribution(bounds: delayBounds)

    /// The first digit of an answer's status, or that no answer came. The words are part of the
    /// schema's version 11, and end the names of an attempt's counts of answers.
    public enum AnswerClass: String, CaseIterable, Sendable {
        case success = "2xx"
        case redirect = "3xx"
        case refusal = "4xx"
        case fault = "5xx"
        case none
    }

    /// How long its runs waited, by the reason, including those that wait still. Two constraints at
    /// the same time count each.
    public fileprivate(set) var waits: [WaitReason: Duration] = [:]
    /// The occurrences that started no run of their own, by what became of them.
    public fileprivate(set) var missed: [OccurrenceOutcome: Int64] = [:]

    /// Creates the totals of a job that has done nothing yet.
    public init() {}

    /// The bounds for the durations of attempts. They are part of the schema's version 10: another
    /// list needs a step with other triggers.
    static let durationBounds: [Int64] = [
        100, 1000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
    ]
    /// The bounds for delays; as `durationBounds`.
    static let delayBounds: [Int64] = [
        1000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000,
    ]
}

extension RunHistory {
    /// Returns the totals of every job that has any, also of jobs that no job file names any more. A
    /// job that runs for several accounts has their sum.
    ///
    /// - Parameter now: until when the runs that wait still have waited.
    public func totals(at now: Instant) throws(RunStoreError) -> [JobID: JobTotals] {
        guard let connection else { return [:] }
        return try rethrowing(path) {
            var totals: [JobID: JobTotals] = [:]
            try connection.forEach("SELECT job_id, measure, label, number, sum_ms FROM totals") {
                row in
                guard let job = JobID(row.text(0))?.declared else { return }
                totals[job, default: JobTotals()].take(
                    row.text(1), row.text(2), row.integer(3), .milliseconds(row.integer(4)))
            }
            try connection.forEach("SELECT job_id, class, number FROM answer_totals") { row in
                guard let job = JobID(row.text(0))?.declared,
                    let answer = JobTotals.AnswerClass(rawValue: row.text(1))
                else { return }
                totals[job, default: JobTotals()].answers[answer, default: 0] +=
                    row.integer(2)
            }
            try connection.forEach(
                """
                SELECT job_id, reason, sum_ms FROM wait_totals UNION ALL
                SELECT job_id, reason, CASE WHEN since_ms < ?1 THEN ?1 - since_ms ELSE 0 END
                FROM deferrals JOIN runs ON runs.id = run_id WHERE until_ms IS NULL
                """, [.instant(now)]
            ) { row in
                guard let job = JobID(row.text(0))?.declared,
                    let reason = WaitReason(rawValue: row.text(1))
                else { return }
                totals[job, default: JobTotals()].waits[reason, default: .zero] +=
                    .milliseconds(row.integer(2))
            }
            try connection.forEach("SELECT job_id, fate, number FROM missed_totals") { row in
                guard let job = JobID(row.text(0))?.declared,
                    let outcome = OccurrenceOutcome(rawValue: row.text(1))
                else { return }
                totals[job, default: JobTotals()].missed[outcome, default: 0] += row.integer(2)
            }
            return totals
        }
    }
}

extension JobTotals {
    fileprivate mutating func take(
        _ measure: String, _ label: String, _ number: Int64, _ sum: Duration
    ) {
        switch measure {
        case "runs": RunState(rawValue: label).map { runs[$0, default: 0] += number }
        case "failures":
            Failure.Category(rawValue: label).map { failures[$0, default: 0] += number }
        case "attempts": attempts.take(label, number, sum)
        case "delays": delays.take(label, number, sum)
        default: break
        }
    }
}

extension JobTotals.Distribution {
    fileprivate mutating func take(_ label: String, _ number: Int64, _ sum: Duration) {
        let place = bounds.firstIndex { String($0) == label } ?? bounds.count
        counts[place] += number
        self.sum += sum
    }
}

/// What held a job back in some time, and how many runs that cost.
public struct JobWaits: Hashable, Sendable {
    public var job: JobID
    /// How long a run of the job waited; time with several reasons or several runs counts once.
    public var total: Duration
    /// The reasons, the longest first.
    public var holds: [HoldSummary]
    /// The number of runs that began in this time.
    public var started: Int
    /// How many more runs there would have been without a subject, by its name: the occurrences that
    /// were merged into a run while nothing else held that run back, and the runs that were skipped
    /// although nothing else held them back at some time.
    ///
    /// The history keeps merged occurrences as stretches, in which they count as evenly spaced. The
    /// additional runs count as short, and constraints that nobody measured as held.
    public var lost: [String: Int]
}

extension RunHistory {
    /// Returns what held jobs back from one instant to another, by the id of the job. Waiting for
    /// the time of the schedule does not count.
    ///
    /// - Parameter job: `nil` for all jobs.
    public func waits(
        of job: JobID?, account: AccountID? = nil, since: Instant, until: Instant
    ) throws(RunStoreError) -> [JobWaits] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            try connection.snapshot {
                let query = WaitQuery(connection, job, account, since, until)
                let spans = try query.spans()
                let merged = try query.mergedOccurrences()
                let skipped = try query.skippedRuns()
                let started = try query.startedRuns()
                return spans.map { job, spans in
                    JobWaits(
                        job: job, total: Stretches(of: spans, until).cut(since..<until).total,
                        holds: HoldSummary.sums(of: spans, from: since, until: until),
                        started: started[job] ?? 0,
                        lost: JobWaits.lost(
                            by: spans, until, merged[job] ?? [], skipped[job] ?? []))
                }.sorted { $0.job < $1.job }
            }
        }
    }
}

extension JobWaits {
    /// Returns the number of runs that each subject has cost.
    fileprivate static func lost(
        by spans: [DeferralSpan], _ now: Instant, _ merged: [MissedOccurrences],
        _ skipped: Set<RunID>
    ) -> [String: Int] {
        // Without a backoff or an overlap, other things would be different too.
        let counted: Set<WaitReason> = [.constraint, .paused]
        let merged = Dictionary(grouping: merged) { $0.run }
        var lost: [String: Int] = [:]
        for (run, spans) in Dictionary(grouping: spans, by: \.run) {
            let subjects = Set(
                spans.filter { counted.contains($0.deferral.reason) }.map(\.deferral.subject))
            for subject in subjects {
                let own = spans.filter { $0.deferral.subject == subject }
                let others = spans.filter { $0.deferral.subject != subject }
                let alone = Stretches(of: own, now).without(Stretches(of: others, now))
                var count = merged[run]?.reduce(0) { $0 + alone.count(of: $1.due) } ?? 0
                if skipped.contains(run), alone.total > .zero { count += 1 }
                if count > 0 { lost[subject, default: 0] += count }
            }
        }
        return lost
    }
}

/// Stretches of time that do not touch, in order.
private struct Stretches {
    private(set) var ranges: [Range<Instant>] = []

    /// Joins the times of spans; one without an end continues to `now`.
    init(of spans: [DeferralSpan], _ now: Instant) {
        for span in spans.sorted(by: { $0.since < $1.since }) {
            let end = max(span.until ?? now, span.since)
            if let last = ranges.last, span.since <= last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, end)
            } else {
                ranges.append(span.since..<end)
            }
        }
    }

    private init(_ ranges: [Range<Instant>]) { self.ranges = ranges.filter { !$0.isEmpty } }

    var total: Duration { ranges.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// Returns the parts within a range.
    func cut(_ range: Range<Instant>) -> Stretches {
        Stretches(ranges.map { $0.clamped(to: range) })
    }

    /// Returns the parts in none of the others.
    func without(_ others: Stretches) -> Stretches {
        var left: [Range<Instant>] = []
        for range in ranges {
            var start = range.lowerBound
            for other in others.ranges where other.overlaps(range) {
                if other.lowerBound > start { left.append(start..<other.lowerBound) }
                start = max(start, other.upperBound)
            }
            if start < range.upperBound { left.append(start..<range.upperBound) }
        }
        return Stretches(left)
    }

    /// Returns how many of evenly spaced occurrences are within the stretches.
    func count(of due: DueOccurrences) -> Int {
        guard due.count > 1 else { return ranges.count { $0.contains(due.first) } }
        let (first, length) = (
            due.first.millisecondsSince1970,
            due.latest.millisecondsSince1970 - due.first.millisecondsSince1970
        )
        /// The number of occurrences before an instant.
        func before(_ instant: Instant) -> Int64 {
            let gaps = Int64(due.count - 1)
            let past = instant.millisecondsSince1970 - first
            guard past > 0 else { return 0 }
            let (scaled, overflow) = past.multipliedReportingOverflow(by: gaps)
            guard !overflow, length > 0 else { return gaps + 1 }
            return min((scaled + length - 1) / length, gaps + 1)
        }
        return ranges.reduce(0) { $0 + Int(before($1.upperBound) - before($1.lowerBound)) }
    }
}

/// Reads what is known of waits from one instant to another.
private struct WaitQuery {
    private let connection: Connection
    private let values: [Value]

    /// Which jobs are meant.
    private static let isChosen = """
        (CAST(?1 AS TEXT) IS NULL OR job_id = ?1)
            AND (CAST(?2 AS TEXT) IS NULL OR job_id > ?2 AND job_id < ?3)
        """

    init(
        _ connection: Connection, _ job: JobID?, _ account: AccountID?, _ since: Instant,
        _ until: Instant
    ) {
        self.connection = connection
        values = [
            job.map { .text($0.rawValue) } ?? .null,
            account.map { .text($0.jobs.lowerBound) } ?? .null,
            account.map { .text($0.jobs.upperBound) } ?? .null, .instant(since), .instant(until),
        ]
    }

    func spans() throws(DatabaseError) -> [JobID: [DeferralSpan]] {
        try grouped(
            """
            SELECT \(DeferralRow.columns), job_id FROM deferrals JOIN runs ON runs.id = run_id
            WHERE \(WaitQuery.isChosen) AND reason <> 'notDue' AND since_ms < ?5
                AND (until_ms IS NULL OR until_ms > ?4)
            """, jobAt: Int32(DeferralRow.Column.allCases.count), DeferralRow.span)
    }

    func mergedOccurrences() throws(DatabaseError) -> [JobID: [MissedOccurrences]] {
        try grouped(
            """
            SELECT job_id, first_ms, latest_ms, occurrences, fate, run_id FROM occurrence_fates
            WHERE \(WaitQuery.isChosen) AND fate = 'coalesced' AND run_id IS NOT NULL
                AND first_ms >= ?4 AND first_ms < ?5
            """, jobAt: 0, MissedOccurrences.init
        ).mapValues { $0.compactMap(\.self) }
    }

    func skippedRuns() throws(DatabaseError) -> [JobID: Set<RunID>] {
        try grouped(
            """
            SELECT job_id, id FROM runs
            WHERE \(WaitQuery.isChosen) AND state = 'skipped' AND finished_at_ms >= ?4
                AND finished_at_ms < ?5
            """, jobAt: 0
        ) { RunID($0.integer(1)) }.mapValues { Set($0) }
    }

    func startedRuns() throws(DatabaseError) -> [JobID: Int] {
        try grouped(
            """
            SELECT job_id, count(*) FROM runs
            WHERE \(WaitQuery.isChosen) AND started_at_ms >= ?4 AND started_at_ms < ?5
            GROUP BY job_id
            """, jobAt: 0
        ) { Int($0.integer(1)) }.mapValues { $0.reduce(0, +) }
    }

    private func grouped<Found>(
        _ sql: String, jobAt column: Int32, _ read: (borrowing Row) -> Found
    ) throws(DatabaseError) -> [JobID: [Found]] {
        var found: [JobID: [Found]] = [:]
        try connection.forEach(sql, values) { row in
            guard let job = JobID(row.text(column)) else { return }
            found[job, default: []].append(read(row))
        }
        return found
    }
}
