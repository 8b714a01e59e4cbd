/// Where a job stands: what `list` and `dry-run` show.
public struct JobStanding: Hashable, Sendable {
    public var job: JobID
    /// The next occurrence that its schedule names, or one that is due; `nil` for none.
    public var next: Instant?
    /// Its unfinished run, the oldest where there are several.
    public var open: Run?
    /// What would keep a run of it from starting now; `notDue` alone when nothing asks for one.
    public var deferrals: [Deferral]
}

extension Planner {
    /// Where each job stands, in the order of the job file; decides and changes nothing.
    public func standings(
        at moment: Moment, conditions: Conditions, ledger: Ledger
    ) -> [JobStanding] {
        var round = Round(self, [], moment, { conditions }, ledger)
        return jobs.jobs.map { job in
            let open = round.openRuns(of: job.id).first
            let waiting = open.flatMap { $0.state == .enqueued ? $0 : nil }
            let clock = round.clock(of: job)
            let next = job.schedule.flatMap {
                $0.next(after: clock.considered, anchor: clock.anchor)
            }
            let isDue = next.map { $0 <= moment.wall } ?? false
            let candidate =
                waiting
                ?? Run(
                    id: ledger.nextRun, job: job.id, kind: job.kind, trigger: .schedule,
                    scheduledFor: next ?? moment.wall, enqueuedAt: moment.wall)
            var deferrals = round.deferrals(of: candidate, job)
            if open == nil, !isDue {
                let wanted = next.map { "\($0) or later" } ?? "a request, an event or a chain"
                deferrals.insert(
                    Deferral(
                        .notDue, subject: "schedule", wanted: wanted, measured: "too early",
                        source: "schedule"), at: 0)
            }
            return JobStanding(job: job.id, next: next, open: open, deferrals: deferrals)
        }
    }
}
