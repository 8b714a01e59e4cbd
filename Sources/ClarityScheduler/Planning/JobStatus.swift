/// Where a job stands: what `list`, `dry-run` and `explain` show.
public struct JobStatus: Hashable, Sendable {
    public var job: JobID
    /// The next occurrence that its schedule names, or one that is due; `nil` for none.
    public var next: Instant?
    /// When time alone would let it start next: its next occurrence, or what a pause leaves of it;
    /// `nil` for never, as while it is paused until somebody resumes it.
    public var nextStart: Instant?
    /// Its unfinished run, the oldest where there are several.
    public var open: Run?
    /// What would keep a run of it from starting now; `notDue` alone when nothing asks for one.
    public var deferrals: [Deferral]
    /// The oldest occurrence that no scheduler has looked at within 15 minutes of its time; `nil`
    /// where one has.
    public var overdueSince: Instant?
}

extension Planner {
    /// Where each job stands, in the order of the job file; decides and changes nothing.
    public func standings(
        at moment: Moment, conditions: Conditions, ledger: Ledger
    ) -> [JobStatus] {
        var builder = PlanBuilder(self, [], moment, { conditions }, ledger)
        return jobs.jobs.map { builder.standing(of: $0) }
    }
}

extension PlanBuilder {
    /// Where a job stands.
    mutating func standing(of job: Job) -> JobStatus {
        let runs = openRuns(of: job.id)
        let open = runs.first { !$0.isWaitingBackfill } ?? runs.first
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
        if deferrals.isEmpty, let place = placeWanted(by: candidate) { deferrals.append(place) }
        return JobStatus(
            job: job.id, next: next, nextStart: nextStart(of: job, next, open), open: open,
            deferrals: deferrals,
            overdueSince: next.flatMap { moment.wall - $0 > PlanBuilder.onTime ? $0 : nil })
    }

    /// The run that would be the next to start: the one that waits, or one that there would be.
    mutating func candidate(of job: Job) -> Run {
        let waiting = openRuns(of: job.id).filter { $0.state == .enqueued }
        if let next = waiting.first(where: { $0.trigger != .backfill }) ?? waiting.first {
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

    /// When a job starts next, as far as pauses go: what is missed in a pause is caught up at its end
    /// where the job's policies let it.
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

    /// What the process that would run it has said: that all its places are taken. By whom, the runs
    /// say.
    private mutating func placeWanted(by run: Run) -> Deferral? {
        var noted = ledger.waits[run.id]?.first { $0.subject == PlanBuilder.maxParallel }
        // It says nothing any more once nothing runs.
        guard attempts > 0 else { return nil }
        noted?.measured = placesTaken
        return noted
    }
}

extension JobStatus {
    /// The subject of the deferral that says that nothing asks for a run.
    static let schedule = "schedule"
}
