// What became too late to start on time, and how late it may still start.
extension PlanBuilder {
    /// How long after its instant an occurrence may start and still be on time: three times the five
    /// minutes after which cron or a timer usually comes back with `run --due`.
    static let onTime: Duration = .seconds(15 * 60)

    /// Whether a run of an occurrence could not start on time, for whatever reason.
    func isMissed(_ run: Run) -> Bool {
        run.isOfSchedule && moment.wall - run.occurrence > PlanBuilder.onTime
    }

    /// Ends the runs whose occurrence may not start any more.
    mutating func expireLateRuns() {
        let late = waitingRuns.filter { run in
            run.mayExpire && planner.jobs[run.job].flatMap { lateness(of: run, $0) } != nil
        }
        for run in late.sorted(by: { $0.id < $1.id }) {
            let waits = (ledger.waits[run.id] ?? []).map(\.subject)
            // A run that only waits for its turn is not missed: it could start otherwise.
            guard let job = planner.jobs[run.job],
                let limit = lateness(
                    of: run, job, onlyWaitsForTurn: waits == [PlanBuilder.maxParallel])
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

    /// How late a run may start, and which key of its job says so.
    struct LatenessLimit {
        enum Rule { case startWithin, noCatchUp, window }

        var most: Duration
        var rule: Rule

        /// What the history says of a run that is over it.
        var text: String {
            switch rule {
            case .startWithin: "not started within \(most.text)"
            case .noCatchUp: "missed, and not caught up"
            case .window: "not caught up within \(most.text)"
            }
        }
    }

    /// The strictest limit that a job sets to how late a run starts; `nil` for none.
    ///
    /// What an event or another run asked for is no occurrence, so `catch_up` says nothing of it.
    func lateness(
        of run: Run, _ job: Job, onlyWaitsForTurn: Bool = false
    ) -> LatenessLimit? {
        let isOccurrence = run.isOfSchedule || run.latestOccurrence != nil
        let isMissable = !onlyWaitsForTurn || job.catchUp != .none
        return lateness(job, heedsCatchUp: isOccurrence && isMissable)
    }

    /// The strictest limit that a job sets to how late its occurrences start; `nil` for none.
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

    /// Ends a run that has had no attempt.
    mutating func skip(_ run: Run, _ reason: String) {
        var skipped = run
        skipped.state = .skipped
        skipped.finishedAt = moment.wall
        skipped.notBefore = nil
        skipped.failure = Failure(.work, reason)
        put(skipped)
    }

    /// Puts the starts of a job's other waiting runs apart, as its `catch_up` asks, once the first
    /// of what was missed starts: what was in the way has ended.
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

    /// The job's runs of occurrences that have had no attempt, oldest first.
    func waitingOccurrences(of job: Job) -> [Run] {
        openRuns(of: job.id).filter {
            $0.state == .enqueued && $0.attempts == 0 && $0.isOfSchedule && !$0.isExpedited
        }
    }
}

extension Run {
    /// Whether an occurrence of its job's schedule asked for it.
    var isOfSchedule: Bool { trigger == .schedule || trigger == .catchUp }

    /// Whether it can become too late to start: what a person asked for cannot.
    var mayExpire: Bool {
        attempts == 0 && trigger != .manual && trigger != .backfill && !isExpedited
    }

    /// Whether it was enqueued for an occurrence, when it came or later.
    var isOfOccurrence: Bool { isOfSchedule || trigger == .backfill }
}
