/// When a job's occurrences are.
public enum Schedule: Hashable, Sendable {
    /// At the job's anchor and each `period` after it, in elapsed time.
    case every(Duration)
    /// At the minutes that five fields name, on the clock of a zone.
    case cron(CronExpression, Zone)
    /// Once.
    case at(Instant)
}
