/// Why a job runs or does not run now, what would change that, and when it likely starts. For a
/// running job, why no second run of it starts.
public struct JobExplanation: Hashable, Sendable {
    /// One factor that decides whether the job may start.
    public struct Factor: Hashable, Sendable {
        /// The state of a factor.
        public enum State: String, CaseIterable, Sendable {
            /// The factor holds, or is not in the way.
            case met
            /// The answer is unknown, and the constraint's rule lets the job run.
            case assumed
            /// The factor holds the job back.
            case unmet
            /// The constraint does not hold and does not apply: the run is forced, or so late that
            /// the job's `relax` has dropped it.
            case dropped
        }

        public var reason: WaitReason
        /// As in `Deferral.subject`.
        public var subject: String
        /// Empty for a factor that only held the job back before, like `measured` and `source`.
        public var wanted: String
        public var measured: String
        public var source: String
        public var state: State
        /// When the run drops or dropped the constraint; `nil` if no step of `relax` drops it.
        public var dropsAt: Instant?
        /// Since when the factor holds a run back; `nil` if it does not, or if no decision has
        /// recorded it.
        public var since: Instant?
        /// How often the factor held the job back in the last `JobPast.stretch`; `nil` for never.
        public var past: HoldSummary?
        /// What would end the hold; `nil` if the factor holds nothing back.
        public var change: Change?

        var cause: Deferral.Cause { Deferral.Cause(reason: reason, subject: subject) }
    }

    /// A change that would let the job start, as far as one factor is concerned.
    public enum Change: Hashable, Sendable {
        /// This constraint has to hold.
        case meet(Constraint)
        /// The answer to this constraint has to become known, or unknown has to count as yes.
        case makeKnown(Constraint)
        /// Time has to pass until a window opens or a group has its next place, even for a run by
        /// hand.
        case opens(Instant)
        /// This run of the job has to finish.
        case finish(RunID)
        /// An attempt of the job that is being killed has to end.
        case attemptGone
        /// One of the running attempts has to end and free its slot.
        case slot
        /// A place in this group has to become free.
        case place(group: String)
        /// A check that is being asked for another run has to answer.
        case answer
        /// Somebody has to resume the job; otherwise the pause ends at `until`, if there is one.
        case resume(until: Instant?)
        /// Time has to pass, unless somebody requests a run.
        case pass(until: Instant)
        /// Somebody or something has to request a run.
        case ask
    }

    public var status: JobStatus
    /// The waiting run, the oldest if there are several. The explanation is about this run, or
    /// about a hypothetical one.
    public var waiting: Run?
    /// The pause in effect now.
    public var pause: Pause?
    /// The constraints in order, then everything else that holds the job back, then what did so
    /// only in the past.
    public var factors: [Factor]
    /// When the waiting run expires if it has not started; `nil` for never.
    public var expiresAt: Instant?
    public var start: LikelyStart
    /// The machines with a loop, where several share the history.
    public var machines: [Candidate] = []

    /// A machine on which the leader may place the job.
    public struct Candidate: Hashable, Sendable {
        public var name: String
        public var labels: [String]
        /// The number of attempts that it has, and the most that it may have.
        public var attempts: Int
        public var places: Int
        /// What keeps the job from starting there besides a lack of places.
        public var holds: [Deferral]
    }
}

extension Planner {
    /// Explains the status of a job; decides and changes nothing.
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
        let status = status(of: job)
        let candidate = candidate(of: job)
        let isOpen = openRunNumbers(of: job.id).contains(candidate.id)
        let holds = Dictionary(past.holds.map { ($0.cause, $0) }) { first, _ in first }
        var factors = constraints(of: job, for: candidate)
        for deferral in status.deferrals
        where deferral.reason != .constraint || deferral.subject == PlanBuilder.machine {
            factors.append(
                JobExplanation.Factor(
                    reason: deferral.reason, subject: deferral.subject, wanted: deferral.wanted,
                    measured: deferral.measured, source: deferral.source, state: .unmet,
                    change: change(for: deferral, candidate, job, status)))
        }
        let pause = record(of: job.id).pause.flatMap { $0.holds(at: moment.wall) ? $0 : nil }
        for index in factors.indices {
            let factor = factors[index]
            factors[index].past = holds[factor.cause]
            guard factor.state == .unmet else { continue }
            factors[index].since =
                factor.reason == .paused ? pause?.since : past.waitingSince[factor.subject]
        }
        let shown = Set(factors.map(\.cause))
        factors += past.holds.filter { !shown.contains($0.cause) }.map { before in
            JobExplanation.Factor(
                reason: before.reason, subject: before.subject, wanted: "", measured: "",
                source: "", state: .met, past: before)
        }
        let expiresAt = isOpen ? expiry(of: candidate, job) : nil
        let machines = ledger.machines.map { machine in
            JobExplanation.Candidate(
                name: machine.name, labels: machine.labels.sorted(),
                attempts: attempts(on: machine.owner), places: machine.places,
                holds: self.holds(on: machine, candidate, job))
        }
        return JobExplanation(
            status: status, waiting: isOpen ? candidate : nil, pause: pause, factors: factors,
            expiresAt: expiresAt,
            start: status.open?.state == .running
                ? .running : LikelyStart(factors, now: moment.wall, expiresAt: expiresAt),
            machines: machines)
    }

    private mutating func constraints(of job: Job, for run: Run) -> [JobExplanation.Factor] {
        let relaxed = relaxed(job, for: run)
        return requirements(of: run, job).map { requirement in
            let (subject, constraint) = (requirement.subject, requirement.constraint)
            let verdict = verdict(on: requirement, of: job, in: conditions)
            let step = job.relaxations.first { $0.drops == constraint.name }
            let isDropped = relaxed.contains(constraint.name) || run.isForced
            let state: JobExplanation.Factor.State =
                switch verdict.state {
                case .met: .met
                case .assumed: .assumed
                case .unmet: isDropped ? .dropped : .unmet
                }
            return JobExplanation.Factor(
                reason: .constraint, subject: subject, wanted: verdict.wanted,
                measured: verdict.measured, source: verdict.source, state: state,
                dropsAt: step.map { run.lateSince + $0.after },
                change: state == .unmet ? change(for: verdict) : nil)
        }
    }

    private func change(for verdict: Verdict) -> JobExplanation.Change {
        switch verdict.constraint {
        case .window: verdict.changesAt.map { .opens($0) } ?? .meet(verdict.constraint)
        // A check that does not answer needs the same remedy as one that says no.
        case .check: .meet(verdict.constraint)
        default: verdict.isUnknown ? .makeKnown(verdict.constraint) : .meet(verdict.constraint)
        }
    }

    private mutating func change(
        for deferral: Deferral, _ run: Run, _ job: Job, _ status: JobStatus
    ) -> JobExplanation.Change {
        switch deferral.reason {
        case .constraint: .ask
        case .paused: .resume(until: record(of: job.id).pause?.until)
        case .overlap where deferral.group != nil: .place(group: deferral.group ?? "")
        case .backoff where deferral.group != nil:
            .opens(
                job.groups.first { $0.name == deferral.group }.flatMap { nextPlace(in: $0) }
                    ?? moment.wall)
        case .overlap:
            if deferral.isForSlot {
                deferral.isForReservation ? .answer : .slot
            } else {
                runAhead(of: run).map { .finish($0.id) } ?? .attemptGone
            }
        case .backoff where deferral.subject == PlanBuilder.retryAfter:
            .pass(until: record(of: job.id).retryAfter ?? moment.wall)
        case .backoff: .pass(until: run.notBefore ?? moment.wall)
        case .notDue where deferral.subject == JobStatus.schedule:
            (status.nextStart ?? status.next).map { .pass(until: $0) } ?? .ask
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

/// When a job likely starts: a certain time, an estimate from the past, or why there is neither.
public enum LikelyStart: Hashable, Sendable {
    /// The job is running.
    case running
    /// Nothing is in the way.
    case now
    /// Only time is in the way: the job starts then, if conditions stay as they are.
    case at(Instant)
    /// The job starts then at the latest, because the run drops these constraints.
    case by(Instant, dropping: [String])
    /// The job starts then, if each hold takes as long as its median.
    case estimated(Instant, [Basis])
    /// The start is unknown; it is not before `notBefore`, if that is given.
    case unknown(notBefore: Instant?, [Doubt])
    /// The job does not start: the run expires before it can.
    case never(expires: Instant)

    /// The basis of an estimate: the median length of earlier holds.
    public struct Basis: Hashable, Sendable {
        public var subject: String
        /// Since when the subject holds the run back now.
        public var since: Instant
        /// The number of earlier holds that are known.
        public var times: Int
        public var median: Duration
    }

    /// Why there is no estimate.
    public enum Doubt: Hashable, Sendable {
        /// Nothing names a time: the job waits for a request.
        case untilAsked
        /// The job is paused until somebody resumes it.
        case untilResumed
        /// The subject holds no run back yet, so the start of the hold is unknown.
        case notWaitedFor(subject: String)
        /// Fewer than `fewestTimes` earlier holds are known.
        case tooFewTimes(subject: String, times: Int)
        /// The hold is already longer than its median.
        case longerThanMostly(Basis)
    }

    /// The smallest number of earlier holds that allows an estimate.
    public static let fewestTimes = 3
}

extension LikelyStart {
    /// Derives the start from the factors that hold a run back: the latest time at which one of
    /// them ends.
    init(_ factors: [JobExplanation.Factor], now: Instant, expiresAt: Instant?) {
        let releases = factors.filter { $0.state == .unmet }
            .map { Release(of: $0, now: now, expiresAt: expiresAt) }
        let doubts = releases.compactMap(\.doubt)
        let bases = releases.compactMap(\.basis)
        let certain = releases.filter(\.isCertain).compactMap(\.instant).max()
        if let certain, let expiresAt, certain > expiresAt {
            self = .never(expires: expiresAt)
        } else if !doubts.isEmpty {
            self = .unknown(notBefore: certain, doubts)
        } else if let last = releases.compactMap(\.instant).max() {
            let dropped = releases.filter { $0.instant == last }.compactMap(\.dropped)
            if !bases.isEmpty {
                self = .estimated(last, bases)
            } else {
                self = dropped.isEmpty ? .at(last) : .by(last, dropping: dropped)
            }
        } else {
            self = .now
        }
    }

    /// When one factor stops holding the run back.
    private enum Release {
        case certain(Instant)
        case dropped(Instant, String)
        case estimated(Instant, Basis)
        case open(Doubt)

        var instant: Instant? {
            switch self {
            case .certain(let instant), .dropped(let instant, _), .estimated(let instant, _):
                instant
            case .open: nil
            }
        }
        var isCertain: Bool { if case .certain = self { true } else { false } }
        var doubt: Doubt? { if case .open(let doubt) = self { doubt } else { nil } }
        var basis: Basis? { if case .estimated(_, let basis) = self { basis } else { nil } }
        var dropped: String? { if case .dropped(_, let name) = self { name } else { nil } }

        init(of factor: JobExplanation.Factor, now: Instant, expiresAt: Instant?) {
            switch factor.change {
            case .pass(let until): self = .certain(until)
            case .opens(let opens):
                self =
                    if let dropsAt = factor.dropsAt, dropsAt < opens {
                        .dropped(dropsAt, factor.subject)
                    } else {
                        .certain(opens)
                    }
            case .resume(let until?): self = .certain(until)
            case .resume(nil): self = .open(.untilResumed)
            case .ask: self = .open(.untilAsked)
            case .meet, .makeKnown, .finish, .attemptGone, .slot, .place, .answer, nil:
                let expected = Release.expected(factor, now)
                guard let dropsAt = factor.dropsAt, dropsAt <= expiresAt ?? dropsAt,
                    dropsAt <= expected.instant ?? dropsAt
                else {
                    self = expected
                    return
                }
                self = .dropped(dropsAt, factor.subject)
            }
        }

        private static func expected(_ factor: JobExplanation.Factor, _ now: Instant) -> Release {
            guard let since = factor.since else {
                return .open(.notWaitedFor(subject: factor.subject))
            }
            guard let past = factor.past, past.ended >= fewestTimes, let median = past.median else {
                return .open(
                    .tooFewTimes(subject: factor.subject, times: factor.past?.ended ?? 0))
            }
            let basis = Basis(
                subject: factor.subject, since: since, times: past.ended, median: median)
            let instant = since + median
            return instant > now ? .estimated(instant, basis) : .open(.longerThanMostly(basis))
        }
    }
}
