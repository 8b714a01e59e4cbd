/// Why a job does or does not run now, what would change that, and when it likely starts; of a job
/// that runs, why there is no second run of it.
public struct JobExplanation: Hashable, Sendable {
    /// One thing on which it depends whether the job may start.
    public struct Factor: Hashable, Sendable {
        /// What it says now.
        public enum Standing: String, CaseIterable, Sendable {
            /// It holds, or is not in the way.
            case met
            /// Nobody knows, and the constraint's rule lets the job run.
            case assumed
            /// It holds the job back.
            case unmet
            /// It does not hold, and the run does not ask for it: it is forced, or so late that the
            /// job's ladder has dropped this.
            case dropped
        }

        public var reason: WaitReason
        /// As in `Deferral.subject`.
        public var subject: String
        /// Empty, as what was measured and its source, for what only held the job back before.
        public var wanted: String
        public var measured: String
        public var source: String
        public var standing: Standing
        /// When the run stops to ask for it, or did; `nil` where no ladder drops it.
        public var dropsAt: Instant?
        /// Since when it holds a run back; `nil` where it does not, or none was decided about.
        public var since: Instant?
        /// How often it held the job back in the last `JobPast.stretch`; `nil` for never.
        public var past: HoldSummary?
        /// What would end it; `nil` where it holds nothing back.
        public var change: Change?
    }

    /// Something that would let the job start, as far as one factor goes.
    public enum Change: Hashable, Sendable {
        /// This constraint has to hold.
        case meet(Constraint)
        /// Somebody has to make known whether this constraint holds, or let unknown count as yes.
        case makeKnown(Constraint)
        /// Time has to pass until a window opens, whoever asks.
        case opens(Instant)
        /// This run of the job has to finish.
        case finish(RunID)
        /// An attempt of the job that is being ended has to be gone.
        case attemptGone
        /// One of the attempts that a process runs has to end.
        case place
        /// Somebody has to resume the job; without that it goes on at `until`, if there is one.
        case resume(until: Instant?)
        /// Time has to pass, unless somebody asks for a run at once.
        case pass(until: Instant)
        /// Somebody or something has to ask for a run.
        case ask
    }

    public var standing: JobStatus
    /// The run that waits, the oldest where there are several; what is said here is about it, or
    /// about one that there would be.
    public var waiting: Run?
    /// The pause that holds now.
    public var pause: Pause?
    /// The constraints in their order, then what else holds the job back, then what only did before.
    public var factors: [Factor]
    /// When the waiting run is given up if it has not started; `nil` for never.
    public var expiresAt: Instant?
    public var start: LikelyStart
}

extension Planner {
    /// Explains where a job stands; decides and changes nothing.
    ///
    /// - Returns: `nil` for a job that is not one of `jobs`.
    public func explanation(
        of id: JobID, at moment: Moment, conditions: Conditions, ledger: Ledger, past: JobPast
    ) -> JobExplanation? {
        guard let job = jobs[id] else { return nil }
        var builder = PlanBuilder(self, [], moment, { conditions }, ledger)
        return builder.explanation(of: job, past)
    }
}

extension PlanBuilder {
    fileprivate mutating func explanation(of job: Job, _ past: JobPast) -> JobExplanation {
        let standing = standing(of: job)
        let candidate = candidate(of: job)
        let isOpen = openRunNumbers(of: job.id).contains(candidate.id)
        let heldBack = Dictionary(past.heldBack.map { ($0.subject, $0) }) { first, _ in first }
        var factors = constraints(of: job, for: candidate)
        for deferral in standing.deferrals where deferral.reason != .constraint {
            factors.append(
                JobExplanation.Factor(
                    reason: deferral.reason, subject: deferral.subject, wanted: deferral.wanted,
                    measured: deferral.measured, source: deferral.source, standing: .unmet,
                    change: change(for: deferral, candidate, job, standing)))
        }
        let pause = record(of: job.id).pause.flatMap { $0.holds(at: moment.wall) ? $0 : nil }
        for index in factors.indices {
            let factor = factors[index]
            factors[index].past = heldBack[factor.subject]
            guard factor.standing == .unmet else { continue }
            factors[index].since =
                factor.reason == .paused ? pause?.since : past.waitingSince[factor.subject]
        }
        let shown = Set(factors.map(\.subject))
        factors += past.heldBack.filter { !shown.contains($0.subject) }.map { before in
            JobExplanation.Factor(
                reason: before.reason, subject: before.subject, wanted: "", measured: "",
                source: "", standing: .met, past: before)
        }
        let expiresAt = isOpen ? expiry(of: candidate, job) : nil
        return JobExplanation(
            standing: standing, waiting: isOpen ? candidate : nil, pause: pause, factors: factors,
            expiresAt: expiresAt,
            start: standing.open?.state == .running
                ? .running : LikelyStart(factors, now: moment.wall, expiresAt: expiresAt))
    }

    private mutating func constraints(of job: Job, for run: Run) -> [JobExplanation.Factor] {
        let relaxed = relaxed(job, for: run)
        return demands(of: run, job).map { demand in
            let (subject, constraint) = (demand.subject, demand.constraint)
            let verdict = verdict(on: demand, of: job)
            let step = job.relaxations.first { $0.drops == constraint.name }
            let isDropped = relaxed.contains(constraint.name) || run.isForced
            let standing: JobExplanation.Factor.Standing =
                switch verdict.standing {
                case .met: .met
                case .assumed: .assumed
                case .unmet: isDropped ? .dropped : .unmet
                }
            return JobExplanation.Factor(
                reason: .constraint, subject: subject, wanted: verdict.wanted,
                measured: verdict.measured, source: verdict.source, standing: standing,
                dropsAt: step.map { run.lateSince + $0.after },
                change: standing == .unmet ? change(for: verdict) : nil)
        }
    }

    private func change(for verdict: Verdict) -> JobExplanation.Change {
        switch verdict.constraint {
        case .window: verdict.changesAt.map { .opens($0) } ?? .meet(verdict.constraint)
        // One that does not answer is to be mended as one that says no.
        case .check: .meet(verdict.constraint)
        default: verdict.isUnknown ? .makeKnown(verdict.constraint) : .meet(verdict.constraint)
        }
    }

    private func change(
        for deferral: Deferral, _ run: Run, _ job: Job, _ standing: JobStatus
    ) -> JobExplanation.Change {
        switch deferral.reason {
        case .constraint: .ask
        case .paused: .resume(until: record(of: job.id).pause?.until)
        case .overlap:
            if deferral.subject == PlanBuilder.maxParallel {
                .place
            } else {
                runAhead(of: run).map { .finish($0.id) } ?? .attemptGone
            }
        case .backoff where deferral.subject == PlanBuilder.retryAfter:
            .pass(until: record(of: job.id).retryAfter ?? moment.wall)
        case .backoff: .pass(until: run.notBefore ?? moment.wall)
        case .notDue where deferral.subject == JobStatus.schedule:
            (standing.nextStart ?? standing.next).map { .pass(until: $0) } ?? .ask
        case .notDue where deferral.subject == PlanBuilder.earliestBegin:
            .pass(until: (record(of: job.id).lastFinished ?? moment.wall) + job.earliestBegin)
        case .notDue: .pass(until: run.notBefore ?? moment.wall)
        }
    }

    private func expiry(of run: Run, _ job: Job) -> Instant? {
        guard run.mayExpire else { return nil }
        return lateness(of: run, job).map { run.occurrence + $0.most }
    }
}
