import ClarityScheduler

/// A random life of several schedulers on one store, with everything that can happen: clocks that
/// step, processes that die or stall, conditions that flip, and attempts that end in every way.
///
/// All of it follows from the seed. `PlannerTrialRules` are checked after every decision, and the
/// first broken rule ends the trial.
public struct PlannerTrial<Bed: RunStoreBed> {
    /// The process of a scheduler.
    struct Process {
        var planner: Planner
        let store: any RunStore
        let scope: Planner.Scope
        var hasReloaded = false
        var isDraining = false
        var workers: [RunID: TrialWorker] = [:]

        var owner: String { planner.owner }
    }

    private let seed: UInt64
    private let bed: Bed
    private var draw: TrialDraw
    private var moment: Moment
    private var conditions = Conditions.everythingAllowed
    private var processes: [Process] = []
    private var tallies = TrialTallies()
    private var log: [Entry] = []

    /// An event of the log, which is described only when a rule is broken.
    private struct Entry {
        var wall: Instant
        var text: String
        var events: [Planner.Event] = []
        var plan: Plan?
    }

    /// Sets up a trial on a new, empty store.
    public init(seed: UInt64, on bed: Bed) {
        self.seed = seed
        self.bed = bed
        draw = TrialDraw(seed: seed)
        moment = Moment(wall: draw.instant, elapsed: .seconds(draw.number(0...5000)))
    }

    /// Performs `steps` random events, then calms the world and waits for every run to end.
    ///
    /// - Throws: `TrialFault` for the first broken rule or refused change, or another error of the
    ///   store.
    public mutating func run(steps: Int) throws {
        do {
            for _ in 0..<steps { try step() }
            try calm()
        } catch let rule as BrokenRule {
            throw fault(rule.description)
        } catch let error as RunStoreError {
            throw fault("no change is refused: \(error)")
        }
    }

    // MARK: Events

    private mutating func step() throws {
        if processes.isEmpty || (processes.count < 3 && draw.isOne(in: 10)) { try start() }
        // A process that was asked for nothing has already returned.
        guard !processes.isEmpty else { return }
        let index = draw.index(of: processes)
        switch draw.number(0...99) {
        case 0..<22: pass(draw.span)
        case 22..<30:
            let wall = moment.wall
            moment.wall = draw.step(from: wall)
            note("the wall clock steps to \(moment.wall)")
            // The kernel notifies every process.
            for index in processes.indices.reversed() { try decide(index, [.tick]) }
        case 30..<42:
            draw.flip(&conditions)
            note("conditions change")
            try decide(index, [.conditionsChanged])
        case 42..<62: try endAttempt(of: index)
        case 62..<70:
            let jobs = draw.some(of: processes[index].planner.jobs.jobs.map(\.id))
            let isForced = draw.isOne(in: 4)
            let values = draw.isOne(in: 5) ? draw.one(of: TrialDraw.values) : [:]
            try decide(index, [.requested(jobs, isForced: isForced, parameters: values)])
        case 70..<73: try decide(index, [.happened(draw.one(of: EventName.ofTheEngine))])
        case 73..<78: kill(index)
        case 78:
            let jobs = JobSet(draw.jobs(around: moment.wall))
            processes[index].hasReloaded = true
            try decide(index, [.reload(jobs, maxParallel: Int(draw.number(1...3)))])
        case 79..<81:
            processes[index].isDraining = true
            try decide(index, [.drain])
        case 81..<84:
            note("the leases of \(processes[index].owner) run out")
            try bed.lapseLeases(of: processes[index].owner)
        case 84..<92: try decide(index, [try wish(of: index)])
        default: try decide(index, [.tick])
        }
    }

    /// Draws what a person may ask of a process.
    private mutating func wish(of index: Int) throws -> Planner.Event {
        let process = processes[index]
        let jobs = draw.some(of: process.planner.jobs.jobs.map(\.id))
        let run = RunID(draw.number(1...max(try process.store.ledger().nextRun.rawValue, 1)))
        switch draw.number(0...7) {
        case 6:
            let job = jobs.first ?? draw.anyJob
            let open = try process.store.ledger().open.values
            // Few backfill runs wait at a time, so that all of them have their turn in the end.
            let room =
                TrialDraw.mostBackfilled
                - open.count {
                    $0.job == job && $0.trigger == .backfill
                }
            let past = (0..<max(room, 0)).map { _ in
                moment.wall - .milliseconds(draw.number(1...10_000_000_000))
            }
            return .backfill(job, past)
        case 7:
            return .sourcesSeen([
                "/a": SourceFingerprint(files: 1, newestChange: draw.number(0...2))
            ])
        case 0:
            return .pause(jobs, until: draw.pauseEnd(after: moment.wall), reason: "a trial")
        case 1...2: return .resume(jobs)
        case 3: return .retry(run, of: jobs.first ?? draw.anyJob)
        case 4 where !process.workers.isEmpty:
            return .progressed(draw.one(of: process.workers.keys.sorted()), at: moment.elapsed)
        default: return .cancel(run)
        }
    }

    private mutating func start() throws {
        let (store, owner) = try bed.open()
        let scope = draw.one(of: [Planner.Scope.requested, .due, .everything, .everything])
        let planner = Planner(
            jobs: JobSet(draw.jobs(around: moment.wall)), owner: owner,
            maxParallel: Int(draw.number(1...3)), scope: scope, seed: draw.seed)
        processes.append(
            Process(planner: planner, store: store, scope: scope))
        note("\(owner) starts, scope \(scope)")
        try decide(processes.count - 1, [.tick])
    }

    private mutating func kill(_ index: Int) {
        let process = processes.remove(at: index)
        note("\(process.owner) dies with \(process.workers.count) workers")
        bed.end(process.owner)
    }

    private mutating func pass(_ span: Duration) {
        moment.wall = moment.wall + span
        moment.elapsed += span
        note("\(span.text) pass")
    }

    private mutating func endAttempt(of index: Int) throws {
        let running = processes[index].workers.keys.sorted()
        guard let run = running.isEmpty ? nil : draw.one(of: running),
            let worker = processes[index].workers.removeValue(forKey: run)
        else { return try decide(index, [.tick]) }
        let end = worker.isKilled ? .killed() : draw.end
        var events: [Planner.Event] = [.finished(run, end)]
        // Events that arrive while a decision is written are decided together.
        if draw.isOne(in: 6) { events.insert(.happened(.sourceChanged), at: 0) }
        if draw.isOne(in: 6) { events.append(.requested([worker.job.id], isForced: false)) }
        try decide(index, events)
    }

    private mutating func decide(_ index: Int, _ events: [Planner.Event]) throws {
        let plan = try round(index, events)
        // Some answers arrive at once, some never.
        for check in plan.asks.sorted() where draw.isOne(in: 2) {
            conditions.checks[check] = draw.answer(at: moment.wall)
            note("\(check) answers \(conditions.checks[check]?.value.map { "\($0)" } ?? "nothing")")
            try decide(index, [.conditionsChanged])
            return
        }
        // Everything that can be decided now has been decided: the next look finds nothing to do.
        let again = try round(index, [.tick])
        guard again.acts.isEmpty else { throw BrokenRule("a decision leaves nothing undone") }
        guard again.wakeAfter.map({ $0 > .zero }) ?? true || plan.acts.contains(where: isWarning)
        else { throw BrokenRule("a scheduler sleeps between its looks") }
        let process = processes[index]
        if plan.isIdle, process.isDraining || process.scope != .everything {
            processes.remove(at: index)
            bed.end(process.owner)
            note("\(process.owner) returns")
        }
    }

    private func isWarning(_ act: Plan.Act) -> Bool {
        if case .signal(_, .warn) = act { true } else { false }
    }

    private mutating func round(_ index: Int, _ events: [Planner.Event]) throws -> Plan {
        var process = processes[index]
        var planner = process.planner
        var plan = Plan()
        var before = Ledger()
        let (moment, conditions) = (moment, conditions)
        let starts = process.planner.recall(for: events, at: moment.wall)
        try process.store.decide(recalling: starts) { ledger in
            before = ledger
            planner = process.planner
            plan = planner.handle(events, at: moment, conditions: conditions, ledger: ledger)
            return plan.changes
        }
        let repeated = RepeatedDecision(
            planner: process.planner, events: events, moment: moment, conditions: conditions,
            ledger: before, plan: plan)
        process.planner = planner
        log.append(Entry(wall: moment.wall, text: process.owner, events: events, plan: plan))
        try repeated.check()
        let rules = PlannerTrialRules(
            jobs: Dictionary(uniqueKeysWithValues: planner.jobs.jobs.map { ($0.id, $0) }),
            planner: planner, scope: process.scope, hasReloaded: process.hasReloaded,
            workers: process.workers, isDraining: process.isDraining, moment: moment,
            conditions: conditions,
            before: before, after: try process.store.ledger(), plan: plan,
            starts: tallies.starts)
        try rules.check(&tallies)
        tallies.starts += plan.started.map { AttemptStart(of: $0.job, at: moment.wall) }
        for act in plan.acts { process.perform(act, at: moment.elapsed) }
        processes[index] = process
        return plan
    }

    // MARK: The end

    /// Ends all processes and starts one in which every constraint holds and every attempt
    /// succeeds. Checks that every waiting run ends and every schedule goes on.
    private mutating func calm() throws {
        while !processes.isEmpty { kill(0) }
        conditions = .everythingAllowed
        try start(draw.lastingJobs)
        let firstNewRun = try processes[0].store.ledger().nextRun
        _ = try round(0, [.resume(processes[0].planner.jobs.jobs.map(\.id))])
        let deadline = moment.elapsed + PlannerTrialRules.patience
        var idle = Set(processes[0].planner.jobs.jobs.map(\.id))
        var unfinished: Set<RunID> = []
        repeat {
            guard moment.elapsed < deadline else {
                throw BrokenRule(
                    "every run ends and every schedule goes on: \(unfinished), \(idle)")
            }
            let plan = try round(0, [.tick])
            for check in plan.asks {
                conditions.checks[check] = Conditions.Reading(
                    true, source: "calm", at: moment.wall)
            }
            if !plan.asks.isEmpty { continue }
            idle.subtract(processes[0].workers.values.map(\.job.id))
            if let run = processes[0].workers.keys.min() {
                processes[0].workers[run] = nil
                _ = try round(0, [.finished(run, .success())])
            } else if let span = plan.wakeAfter {
                pass(span)
            }
            unfinished = Set(
                try processes[0].store.ledger().open.keys.filter { $0 < firstNewRun })
        } while !idle.isEmpty || !unfinished.isEmpty
    }

    private mutating func start(_ jobs: [Job]) throws {
        let (store, owner) = try bed.open()
        processes = [
            Process(
                planner: Planner(jobs: JobSet(jobs), owner: owner, maxParallel: 4, seed: draw.seed),
                store: store, scope: .everything)
        ]
        note("calm: \(owner) starts")
    }

    private mutating func note(_ text: String) {
        log.append(Entry(wall: moment.wall, text: text))
    }

    private func fault(_ rule: String) -> TrialFault {
        let lines = log.suffix(24).map { entry in
            let decision = entry.plan.map { " hears \(entry.events), decides \(summary($0))" }
            return "\(entry.wall) \(entry.text)\(decision ?? "")"
        }
        return TrialFault(description: "seed \(seed): \(rule)\n" + lines.joined(separator: "\n"))
    }
}

/// Returns a short description of a plan.
private func summary(_ plan: Plan) -> String {
    let runs = plan.changes.compactMap { change in
        if case .put(let run) = change {
            "\(run.job) run \(run.id) \(run.state) after \(run.attempts) attempts"
        } else {
            nil
        }
    }
    let waits = plan.waiting.map { waiting in
        "\(waiting.job) waits for \(waiting.deferrals.map(\.subject))"
    }
    let starts = plan.started.map { "start \($0.run)" }
    let signals = plan.signals.map { "\($1) \($0)" }
    let look = plan.wakeAfter.map { "looks in \($0.text)" } ?? "looks never"
    return (runs + waits + starts + signals + [look]).joined(separator: ", ")
}

/// The rule that a trial broke, with the seed and the last events.
public struct TrialFault: Error, CustomStringConvertible {
    public let description: String
}

/// A rule that a decision broke.
struct BrokenRule: Error, CustomStringConvertible {
    let description: String

    init(_ rule: String) { description = rule }
}

/// The process of an attempt.
struct TrialWorker {
    let job: Job
    let startedAt: Duration
    var warnedAt: Duration?
    var isKilled = false
}

extension PlannerTrial.Process {
    /// Performs an act of a plan.
    fileprivate mutating func perform(_ act: Plan.Act, at elapsed: Duration) {
        switch act {
        case .start(let order):
            guard let job = planner.jobs[order.job] else { return }
            workers[order.run] = TrialWorker(job: job, startedAt: elapsed)
        case .signal(let run, .warn): workers[run]?.warnedAt = elapsed
        case .signal(let run, .kill): workers[run]?.isKilled = true
        }
    }
}
