/// An attempt in flight as a decision keeps it: by the name of its job, whose declaration `origin`
/// has.
public struct AttemptRecord: Hashable, Sendable {
    public var job: JobID
    public var origin: String
    public var number: Int
    public var startedAt: Instant
    public var isForced: Bool
    public var warnAt: Duration
    public var killAt: Duration
    public var progressAt: Duration
    public var lostAt: Duration?
    public var stop: StopReason?
    public var isWarned: Bool
    public var isKilled: Bool

    /// Creates a record, as whoever reads one back does.
    public init(
        job: JobID, origin: String, number: Int, startedAt: Instant, isForced: Bool,
        warnAt: Duration, killAt: Duration, progressAt: Duration, lostAt: Duration?,
        stop: StopReason?, isWarned: Bool, isKilled: Bool
    ) {
        self.job = job
        self.origin = origin
        self.number = number
        self.startedAt = startedAt
        self.isForced = isForced
        self.warnAt = warnAt
        self.killAt = killAt
        self.progressAt = progressAt
        self.lostAt = lostAt
        self.stop = stop
        self.isWarned = isWarned
        self.isKilled = isKilled
    }

    init(_ attempt: AttemptInFlight) {
        self.init(
            job: attempt.job.id, origin: attempt.origin, number: attempt.number,
            startedAt: attempt.startedAt, isForced: attempt.isForced, warnAt: attempt.warnAt,
            killAt: attempt.killAt, progressAt: attempt.progressAt, lostAt: attempt.lostAt,
            stop: attempt.stop, isWarned: attempt.isWarned, isKilled: attempt.isKilled)
    }

    func attempt(of job: Job) -> AttemptInFlight {
        AttemptInFlight(
            job: job, origin: origin, number: number, startedAt: startedAt, isForced: isForced,
            warnAt: warnAt, killAt: killAt, progressAt: progressAt, lostAt: lostAt, stop: stop,
            isWarned: isWarned, isKilled: isKilled)
    }
}
