// Finds the occurrences that are missed, and how late they may still start.
extension PlanBuilder {
    /// How late an occurrence may start and still be on time: three times the five minutes after
    /// which cron or a timer usually calls `run --due` again.
    static let onTime: Duration = .seconds(15 * 60)

    /// Whether the run is of an occurrence that could not start on time, for whatever reason.
    func isMissed(_ run: Run) -> Bool {
        run.isOfSchedule && moment.wall - run.occurrence > PlanBuilder.onTime
    }

    /// Skips the runs whose occurrence may no longer start.
    mutating func expireLateRuns() {
        let late = waitingRuns.filter { run in
            run.mayExpire && planner.jobs[run.job].flatMap { lateness(of: run, $0) } != nil
        }
        for run in late.sorted(by: { $0.id < $1.id }) {
            let deferrals = ledger.waits[run.id] ?? []
            let waits = deferrals.map(\.subject)
            // A run that waits only for a place is not missed.
            guard let job = planner.jobs[run.job],
                let limit = lateness(of: run, job, onlyWaitsForPlace: deferrals.areForPlaces)
            else { continue }
            let late = moment.wall - run.occurrence
            guard late > limit.most else {
                wake(after: limit.most - late + .milliseconds(1))
                continue
            }
            let missing = waits.isEmpty ? "" : ", waiting for \(waits.joined(separator: ", "))"
            skip(run, limit.text + missing)
        }
    }

    /// How late a run may start, and which key of its job limits it.
    struct LatenessLimit {
        enum Rule { case startWithin, noCatchUp, window }

        var most: Duration
        var rule: Rule

        /// The reason in the history of a run that exceeds the limit.
        var text: String {
            switch rule {
            case .startWithin: "not started within \(most.text)"
            case .noCatchUp: "missed, and not caught up"
            case .window: "not caught up within \(most.text)"
            }
        }
    }

    /// Returns the strictest limit that a job sets to how late a run starts; `nil` for none.
    ///
    /// A run that an event or another run started is not of an occurrence, so `catch_up` does not
    /// apply to it.
    func lateness(
        of run: Run, _ job: Job, onlyWaitsForPlace: Bool = false
    ) -> LatenessLimit? {
        let isOccurrence = run.isOfSchedule || run.latestOccurrence != nil
        let isMissable = !onlyWaitsForPlace || job.catchUp != .none
        return lateness(job, heedsCatchUp: isOccurrence && isMissable)
    }

    /// Returns the strictest limit of a job on how late its occurrences start; `nil` for none.
    func lateness(_ job: Job, heedsCatchUp: Bool = true) -> LatenessLimit? {
        let startWithin = job.startWithin.map { LatenessLimit(most: $0, rule: .startWithin) }
        let ofCatchUp: LatenessLimit? =
            switch job.catchUp {
            case _ where !heedsCatchUp: nil
            case .latest: nil
            case .none: LatenessLimit(most: PlanBuilder.onTime, rule: .noCatchUp)
            case .all(let bounds): bounds.window.map { LatenessLimit(most: $0, rule: .window) }
            }
        guard let startWithin, let ofCatchUp else { return startWithin ?? ofCatchUp }
        return startWithin.most <= ofCatchUp.most ? startWithin : ofCatchUp
    }

    /// Skips a run that has had no attempt.
    mutating func skip(_ run: Run, _ reason: String) {
        var skipped = run
        skipped.state = .skipped
        skipped.finishedAt = moment.wall
        skipped.notBefore = nil
        skipped.failure = Failure(.work, reason)
        put(skipped)
    }

    /// Spreads the starts of a job's other waiting runs, as its `catch_up` asks, when the first
    /// missed run starts: only then has the cause of the delay ended.
    mutating func spread(_ job: Job, behind first: Run) {
        guard job.catchUp.longestSpread > .zero, first.notBefore == nil else { return }
        let others = waitingOccurrences(of: job).filter { $0.id > first.id && $0.notBefore == nil }
        let step = job.catchUp.longestSpread / (others.count + 1)
        for (index, other) in others.enumerated() {
            var other = other
            other.notBefore = moment.wall + step * (index + 1)
            put(other)
        }
    }

    /// Returns the job's waiting runs of occurrences that have had no attempt and were not
    /// expedited, oldest first.
    func waitingOccurrences(of job: Job) -> [Run] {
        openRuns(of: job.id).filter {
            $0.state == .enqueued && $0.attempts == 0 && $0.isOfSchedule && !$0.isExpedited
        }
    }
}

extension Run {
    /// Whether an occurrence of the job's schedule started it.
    var isOfSchedule: Bool { trigger == .schedule || trigger == .catchUp }

    /// Whether the run can expire: it has had no attempt, and no person requested it.
    var mayExpire: Bool {
        attempts == 0 && trigger != .manual && trigger != .backfill && !isExpedited
    }

    /// Whether the run was enqueued for an occurrence, at its time or later.
    var isOfOccurrence: Bool { isOfSchedule || trigger == .backfill }
}
