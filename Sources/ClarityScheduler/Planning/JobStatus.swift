/// The status of a job, as `list`, `dry-run` and `explain` show it.
public struct JobStatus: Hashable, Sendable {
    public var job: JobID
    /// The next occurrence of the job's schedule, or one that is due; `nil` for none.
    public var next: Instant?
    /// When time alone would let the job start next: at its next occurrence, or later if a pause
    /// delays it; `nil` for never, as while it is paused until somebody resumes it.
    public var nextStart: Instant?
    /// The job's unfinished run, the oldest if there are several; a waiting backfill only if there
    /// is no other.
    public var open: Run?
    /// Everything that would keep a run of the job from starting now; the first is `notDue` if
    /// nothing asks for a run.
    public var deferrals: [Deferral]
    /// The oldest occurrence that is more than 15 minutes overdue and that no scheduler has looked
    /// at; `nil` if there is none.
    public var overdueSince: Instant?
    /// When the job's schedule goes on, because the wall clock was set back; `nil` if it was not.
    public var setBackUntil: Instant?
}

extension Planner {
    /// Returns the status of each job, in the order of the job file; decides and changes nothing.
    public func statuses(
        at moment: Moment, conditions: Conditions, ledger: Ledger
    ) -> [JobStatus] {
        var builder = PlanBuilder(self, [], moment, { conditions }, ledger)
        return jobs.jobs.map { builder.status(of: $0) }
    }
}

extension PlanBuilder {
    /// Returns the status of a job.
    mutating func status(of job: Job) -> JobStatus {
        let runs = openRuns(of: job.id)
        let open = runs.first { !$0.waitsForItself } ?? runs.first
        let next = next(of: job)
        let candidate = candidate(of: job)
        var deferrals = deferrals(of: candidate, job)
        if open == nil, next.map({ $0 > moment.wall }) ?? true {
            let wanted = next.map { "\($0) or later" } ?? "a request, an event or a chain"
            deferrals.insert(
                Deferral(
                    .notDue, subject: JobStatus.schedule, wanted: wanted, measured: "too early",
                    source: "schedule"), at: 0)
        }
        if deferrals.isEmpty { deferrals = placesWanted(by: candidate, job) }
        return JobStatus(
            job: job.id, next: next, nextStart: nextStart(of: job, next, open), open: open,
            deferrals: deferrals,
            overdueSince: job.schedule?.overdue(after: clock(of: job), at: moment.wall),
            setBackUntil: job.schedule?.setBackUntil(clock(of: job), at: moment.wall))
    }

    /// Returns the run that would start next: the one that waits, or a hypothetical one.
    mutating func candidate(of job: Job) -> Run {
        let waiting = openRuns(of: job.id).filter { $0.state == .enqueued }
        if let next = waiting.min(by: { $0.rank < $1.rank }) {
            return next
        }
        return Run(
            id: ledger.nextRun, job: job.id, kind: job.kind, trigger: .schedule,
            scheduledFor: next(of: job) ?? moment.wall, enqueuedAt: moment.wall)
    }

    private mutating func next(of job: Job) -> Instant? {
        let clock = clock(of: job)
        return job.schedule.flatMap { $0.next(after: clock.considered, anchor: clock.anchor) }
    }

    /// Returns when a job starts next, as far as pauses are concerned. Occurrences missed in a
    /// pause are caught up at its end if the job's policies allow it.
    private func nextStart(of job: Job, _ next: Instant?, _ open: Run?) -> Instant? {
        guard let pause = record(of: job.id).pause, pause.holds(at: moment.wall) else {
            return next
        }
        guard let until = pause.until else { return nil }
        if open?.state == .enqueued { return until }
        guard let next, next < until, let schedule = job.schedule,
            let anchor = record(of: job.id).clock?.anchor
        else { return next }
        guard let limit = lateness(job) else { return until }
        let eve = max(next, until - limit.most) - .milliseconds(1)
        return schedule.next(after: eve, anchor: anchor).map { max($0, until) }
    }

    /// Returns what the process that would start the run has recorded of places of machines and of
    /// reserved ones, with the runs that hold the places now; else what the job's groups say.
    private mutating func placesWanted(by run: Run, _ job: Job) -> [Deferral] {
        let noted = ledger.waits[run.id] ?? []
        if noted.areForPlaces, noted.contains(where: \.isForReservation) { return noted }
        // The record is out of date once nothing runs.
        if attempts > 0, var slot = noted.first(where: \.isForSlot) {
            slot.measured = slotsTaken(for: run.job.account)
            return [slot]
        }
        return groupDeferrals(of: job)
    }
}

extension Schedule {
    /// Returns the oldest occurrence that is more than 15 minutes overdue and that no scheduler has
    /// looked at; `nil` if there is none.
    public func overdue(after clock: JobClock, at now: Instant) -> Instant? {
        next(after: clock.considered, anchor: clock.anchor).flatMap {
            now - $0 > PlanBuilder.onTime ? $0 : nil
        }
    }

    /// Returns when the schedule goes on, if it waits until a wall clock that was set back is where
    /// it was; `nil` if it does not wait, or if it has no occurrence left.
    ///
    /// An occurrence that `flex` let start early is ahead of the clock as well.
    public func setBackUntil(_ clock: JobClock, at now: Instant) -> Instant? {
        let ahead = clock.considered - now
        guard ahead > flex, ahead <= Planner.clockTolerance + flex,
            next(after: clock.considered, anchor: clock.anchor) != nil
        else { return nil }
        return clock.considered
    }
}

extension JobStatus {
    /// The subject of the deferral which means that nothing asks for a run.
    static let schedule = "schedule"
}

/// How often and how long one cause held a job back in a span of time.
public struct HoldSummary: Hashable, Sendable {
    public var reason: WaitReason
    /// As in `Deferral.subject`.
    public var subject: String
    /// The number of holds.
    public var spans: Int
    /// The total time within the span; time in which several runs waited at once counts once.
    public var total: Duration
    /// The number of runs that were held back.
    public var runs: Int
    /// The number of holds that have ended.
    public var ended = 0
    /// The median length of the ended holds, including time outside the span; for an even number,
    /// the lower of the two middle values. `nil` if none has ended.
    public var median: Duration?

    var cause: Deferral.Cause { Deferral.Cause(reason: reason, subject: subject) }

    /// Returns a summary for each cause of the spans that touch the time from `start` to `end`,
    /// longest total first. A span without an end continues to `end`.
    public static func sums(
        of spans: [DeferralSpan], from start: Instant, until end: Instant
    ) -> [HoldSummary] {
        let touching = spans.filter { $0.since < end && ($0.until ?? end) > start }
        return Dictionary(grouping: touching, by: \.deferral.cause).map { cause, spans in
            let lengths = spans.compactMap { span in span.until.map { $0 - span.since } }.sorted()
            return HoldSummary(
                reason: cause.reason, subject: cause.subject, spans: spans.count,
                total: covered(by: spans, start, end),
                runs: Set(spans.map(\.run)).count, ended: lengths.count,
                median: lengths.isEmpty ? nil : lengths[(lengths.count - 1) / 2])
        }.sorted { a, b in
            a.total != b.total
                ? a.total > b.total
                : (a.subject, a.reason.rawValue) < (b.subject, b.reason.rawValue)
        }
    }

    /// Returns the time that any of the spans covers.
    private static func covered(
        by spans: [DeferralSpan], _ start: Instant, _ end: Instant
    ) -> Duration {
        var total = Duration.zero
        var reached = start
        for span in spans.sorted(by: { $0.since < $1.since }) {
            let until = min(span.until ?? end, end)
            total += max(until - max(span.since, reached), .zero)
            reached = max(reached, until)
        }
        return total
    }
}

/// The history of what held a job back, for an explanation.
public struct JobPast: Hashable, Sendable {
    /// Since when the job's unfinished run waits for each subject.
    public var waitingSince: [String: Instant]
    /// What held the job back in the last `stretch`.
    public var holds: [HoldSummary]

    /// How far back an explanation looks: 7 days.
    public static let stretch: Duration = .seconds(7 * 86_400)

    /// Creates a past.
    public init(waitingSince: [String: Instant] = [:], holds: [HoldSummary] = []) {
        self.waitingSince = waitingSince
        self.holds = holds
    }
}

/// For how long a job's attempt runs, beside how long its attempts usually take.
public struct JobPace: Hashable, Sendable {
    /// How many of the job's last successful attempts say what is usual.
    public static let sampleSize = 20
    /// How many of them there must be.
    public static let smallestSample = 5
    /// How many times the 95th percentile an attempt may take, and how much more.
    public static let tolerance = (factor: 3, more: Duration.seconds(60))

    /// The start of the attempt.
    public var since: Instant
    /// The median of the successful attempts; `nil` if there are too few. For an even number, the
    /// lower of the two middle values.
    public var usual: Duration?
    /// The time that the job file expects an attempt to take; it alone says what is slow.
    public var expected: Duration?
    /// The time after which the attempt is slower than usual or expected; `nil` if nobody knows.
    public var slowAfter: Duration?

    /// Compares an attempt with the job's last successful ones.
    public init(since: Instant, lastSuccesses: [Duration], expected: Duration? = nil) {
        self.since = since
        self.expected = expected
        slowAfter = expected
        let lengths = lastSuccesses.sorted()
        guard lengths.count >= JobPace.smallestSample else { return }
        usual = lengths[(lengths.count - 1) / 2]
        // The nearest rank: the smallest length that 95 of 100 do not exceed.
        let percentile = lengths[(lengths.count * 95 + 99) / 100 - 1]
        slowAfter =
            expected ?? percentile * JobPace.tolerance.factor + JobPace.tolerance.more
    }

    /// Whether the attempt, if it still runs, is slower than usual or expected.
    public func isSlow(at now: Instant) -> Bool {
        slowAfter.map { now - since > $0 } ?? false
    }

    /// How long the attempt runs and how long it should, as `2h 10m, usually 12m`; `nil`
    /// if nobody knows how long it should.
    package func words(at now: Instant) -> String? {
        should.map { "\(JobPace.rounded(now - since).text), \($0)" }
    }

    /// How long an attempt of the job takes: what the job file expects, or else what is usual.
    package var should: String? {
        expected.map { "expected \($0.text)" }
            ?? usual.map { "usually \(JobPace.rounded($0).text)" }
    }

    /// Returns whole seconds, or whole minutes from ten minutes on.
    private static func rounded(_ span: Duration) -> Duration {
        let seconds = max(span.milliseconds, 0) / 1000
        return .seconds(seconds >= 600 ? seconds / 60 * 60 : seconds)
    }
}
