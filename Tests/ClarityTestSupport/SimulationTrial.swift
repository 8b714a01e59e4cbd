import ClarityScheduler

/// A simulation of random jobs over a random trace of conditions, checked against the rules of
/// `PlannerTrialRules` that are visible from outside.
public struct SimulationTrial {
    private let seed: UInt64
    private let jobs: [Job]
    private let maxParallel: Int
    private let stretch: Range<Instant>
    private let attempt: Duration
    /// The conditions from each instant on. The first instant is the start of the stretch.
    private let trace: [(at: Instant, conditions: Conditions)]

    /// Draws everything from the seed.
    public init(seed: UInt64) {
        self.seed = seed
        var draw = TrialDraw(seed: seed)
        let start = draw.instant
        jobs = draw.jobs(around: start).map { job in
            var job = job
            // A run every second takes long to check and shows nothing more.
            if job.schedule == .every(.seconds(1)) { job.schedule = .every(.seconds(77)) }
            return job
        }
        maxParallel = Int(draw.number(1...3))
        stretch = start..<(start + .seconds(draw.number(1...8000)))
        attempt = .seconds(draw.number(1...300))
        var conditions = Conditions.everythingAllowed
        var trace = [(at: start, conditions: conditions)]
        var at = start
        while at < stretch.upperBound {
            at = at + .seconds(draw.number(60...4000))
            draw.flip(&conditions)
            trace.append((at, conditions))
        }
        self.trace = trace
    }

    /// Simulates and checks the result.
    ///
    /// - Throws: `TrialFault` for the first broken rule.
    public func run() throws(TrialFault) {
        let report = simulate()
        do throws(BrokenRule) {
            // For one seed in ten, because it takes as long again.
            try expect(
                seed % 10 != 0 || report == simulate(), "the same simulation comes out the same")
            for (job, simulated) in zip(jobs, report.jobs) {
                try check(job, simulated, report.runs.map(\.run).filter { $0.job == job.id })
            }
            try checkGroups(report.runs.map(\.run))
        } catch {
            throw TrialFault(description: "seed \(seed): \(error)")
        }
    }

    private func simulate() -> SimulationReport {
        Simulation(
            jobs, maxParallel: maxParallel, over: stretch, conditions: conditions,
            nextChange: { instant in trace.first { $0.at > instant }?.at },
            attempt: { _ in attempt }
        ).run()
    }

    private func conditions(at instant: Instant) -> Conditions {
        trace.last { $0.at <= instant }?.conditions ?? Conditions()
    }

    private func check(
        _ job: Job, _ simulated: SimulatedJob, _ runs: [Run]
    ) throws(BrokenRule) {
        let own = runs.filter { [.schedule, .catchUp].contains($0.trigger) }.map(\.scheduledFor)
        // With `flex`, the last run may be that of a later occurrence.
        let last = stretch.upperBound - .milliseconds(1)
        let due = job.schedule?.due(
            after: stretch.lowerBound - .milliseconds(1),
            through: last, anchor: stretch.lowerBound)
        try expect(
            simulated.occurrences == due?.count ?? 0,
            "each occurrence of \(job.id) has one fate, \(simulated.occurrences) have of "
                + "\(due?.count ?? 0)")
        try expect(Set(own).count == own.count, "no occurrence has two runs")
        try expect(
            own.allSatisfy {
                stretch.lowerBound <= $0 && $0 <= last + (job.schedule?.flex ?? .zero)
            }, "only what comes up in the stretch has runs")
        // Only runs of one attempt, whose start is known.
        let single = runs.filter { $0.attempts == 1 }
        for (run, next) in zip(single, single.dropFirst()) {
            guard let finished = run.finishedAt, let started = next.startedAt else { continue }
            try expect(started >= finished, "runs \(run.id) and \(next.id) are not at once")
            try expect(
                started - finished >= job.earliestBegin,
                "runs \(run.id) and \(next.id) are the earliest begin apart")
        }
        for run in single {
            guard let started = run.startedAt else { continue }
            try expect(
                job.startWithin.map { started - run.occurrence <= $0 } ?? true,
                "run \(run.id) starts within its time or not at all")
            let late = started - run.scheduledFor
            let dropped = job.relaxations.filter { $0.after <= late }.map(\.drops)
            try expect(
                job.constraints.filter { !dropped.contains($0.name) }.allSatisfy {
                    allows($0, job, at: started)
                }, "run \(run.id) starts only when its constraints hold")
        }
    }

    /// Checks the groups at each start. Of a run with several attempts only the first start is known,
    /// and nothing of when the attempts ran.
    private func checkGroups(_ runs: [Run]) throws(BrokenRule) {
        for group in Set(jobs.flatMap(\.groups)) {
            let members = Set(jobs.filter { $0.groups.contains(group) }.map(\.id))
            let runs = runs.filter { members.contains($0.job) && $0.startedAt != nil }
            for run in runs {
                guard let start = run.startedAt else { continue }
                let running = runs.filter { other in
                    guard other.attempts == 1, other.state == .succeeded,
                        let since = other.startedAt
                    else { return false }
                    return since <= start && other.finishedAt.map { start < $0 } ?? true
                }
                try expect(
                    running.count <= group.atOnce ?? .max,
                    "\(running.count) attempts of group \(group.name) run at once at \(start)")
                guard let rate = group.rate else { continue }
                let starts = runs.filter { other in
                    other.startedAt.map { $0 <= start && start - $0 < rate.span } ?? false
                }
                try expect(
                    starts.count <= rate.count,
                    "\(starts.count) runs of group \(group.name) start within \(rate.span.text)")
            }
        }
    }

    private func allows(_ constraint: Constraint, _ job: Job, at instant: Instant) -> Bool {
        // The drawn conditions have no answers to checks, which then pass.
        if case .check = constraint { return true }
        return job.verdict(of: constraint, in: conditions(at: instant), at: instant).allows
    }

    private func expect(_ condition: Bool, _ rule: @autoclosure () -> String) throws(BrokenRule) {
        if !condition { throw BrokenRule(rule()) }
    }
}
