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
