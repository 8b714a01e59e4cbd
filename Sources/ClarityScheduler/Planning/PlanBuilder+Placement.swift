// Places attempts on the machines of other loops, and settles what these report.
extension PlanBuilder {
    /// How long a loop may take to take an attempt that is placed on it. Then the attempt is placed
    /// elsewhere.
    static let takenWithin = Duration.seconds(5)
    /// How long a process goes without a look at what it shares with others if nobody wakes it.
    static let poll = Duration.seconds(5)
    /// The subject of the deferral of a run whose job belongs on another machine.
    static let machine = "machine"

    // MARK: Settling

    /// Settles the attempts that have ended on other machines, and takes those back that their
    /// machine has not taken or has declined.
    mutating func settlePlacedAttempts() {
        guard !ledger.placements.isEmpty || !planner.placed.isEmpty else { return }
        planner.placed = planner.placed.filter { ledger.placements[$0.key] != nil }
        for placement in ledger.placements.values.sorted(by: { $0.run < $1.run }) {
            guard let run = run(placement.run), run.state == .running,
                run.attempts == placement.number, run.lease?.owner == placement.owner
            else {
                // Another process has ended the run or taken it over.
                unplace(placement.run)
                continue
            }
            switch placement.state {
            case .ended(let report): settle(placement, run, report)
            case .declined(let reason):
                if ledger.role == .leader {
                    let machines = planner.declined[run.job, default: [:]]
                        .filter { moment.elapsed - $0.value < Planner.recheck }
                    planner.declined[run.job] = machines.merging(
                        [placement.owner: moment.elapsed]
                    ) { $1 }
                }
                takeBack(placement, run, "\(name(of: placement.owner)) gave it back: \(reason)")
            case .offered, .taken:
                // A loop that has become the leader never starts what it was offered before.
                if placement.owner == planner.owner {
                    if planner.inFlight[run.id] == nil {
                        takeBack(placement, run, "its machine has become the leader")
                    }
                } else if placement.state == .offered {
                    watch(placement, run)
                } else if ledger.role == .leader {
                    wake(after: PlanBuilder.poll)
                }
            }
        }
    }

    /// Takes an attempt back that its machine does not take.
    private mutating func watch(_ placement: Placement, _ run: Run) {
        let name = name(of: placement.owner)
        if run.lease?.state == .lapsed {
            return takeBack(placement, run, "\(name) ended before it took the attempt")
        }
        guard ledger.role == .leader else { return }
        let known = planner.placed[run.id] ?? memory(of: placement, run)
        planner.placed[run.id] = known
        let rest = known.since + PlanBuilder.takenWithin - moment.elapsed
        guard rest <= .zero else { return wake(after: rest) }
        let span = PlanBuilder.takenWithin.text
        takeBack(placement, run, "\(name) did not take it within \(span)")
    }

    private mutating func settle(_ placement: Placement, _ run: Run, _ report: PlacedEnd) {
        let known = planner.placed[run.id] ?? memory(of: placement, run)
        unplace(run.id)
        var attempt = AttemptInFlight(
            job: known.job, number: placement.number, startedAt: known.startedAt,
            isForced: run.isForced, warnAt: .zero, killAt: .zero, progressAt: .zero)
        attempt.stop = report.stop
        attempt.isKilled = report.wasKilled
        settle(run.id, report.end, of: attempt, isOwn: true)
    }

    /// Puts a run back of which nothing was started: no retry is used up.
    private mutating func takeBack(_ placement: Placement, _ run: Run, _ reason: String) {
        settle(
            placement, run,
            PlacedEnd(AttemptEnd(.broke(.notStarted(reason))), stop: .leaseLost))
    }

    private func memory(of placement: Placement, _ run: Run) -> PlacedAttempt {
        PlacedAttempt(
            // Whoever has a job file without the job knows at least what the run says.
            job: planner.jobs[run.job] ?? Job(id: run.job, kind: run.kind),
            number: placement.number, startedAt: run.startedAt ?? moment.wall,
            since: moment.elapsed)
    }

    /// Forgets that an attempt is placed, if it is.
    mutating func unplace(_ run: RunID) {
        planner.placed[run] = nil
        if ledger.placements[run] != nil { add(.placing(.unplace(run))) }
    }

    /// The name of a loop's machine.
    private func name(of owner: String) -> String {
        ledger.machines.first { $0.owner == owner }?.name
            ?? owner.split(separator: "/").first.map(String.init) ?? owner
    }

    // MARK: Choosing

    /// Returns the deferral of a run whose job belongs on another machine than this.
    func misplaced(_ run: Run, _ job: Job) -> Deferral? {
        // By hand, a run starts where it is requested.
        guard let pin = job.machine, !planner.isPinnedHere(pin), planner.scope != .requested else {
            return nil
        }
        let others = ledger.machines.map(\.name).sorted()
        return Deferral(
            .constraint, subject: PlanBuilder.machine, wanted: "a machine `\(pin)`",
            measured: "this machine is `\(planner.machine)`"
                + (others.isEmpty ? "" : "; also there: \(others.joined(separator: ", "))"),
            source: "job file")
    }

    /// Returns where a run starts; `nil` if there is no such place now.
    ///
    /// - Parameters:
    ///   - deferrals: what keeps the run from starting in this process.
    ///   - isFull: whether all places of this process are taken.
    mutating func host(
        for run: Run, _ job: Job, _ deferrals: [Deferral], isFull: Bool
    ) -> Host? {
        let isOpenHere = deferrals.isEmpty && !isFull
        guard ledger.role == .leader, !ledger.machines.isEmpty,
            deferrals.allSatisfy({ $0.reason == .constraint })
        else { return isOpenHere ? .here : nil }
        var best: (host: Host, load: Double, isLast: Bool)?
        func consider(_ host: Host, _ load: Double, _ owner: String) {
            let isLast = planner.lastMachine[job.id.account] == owner
            guard let known = best else {
                best = (host, load, isLast)
                return
            }
            if load < known.load || load == known.load && isLast && !known.isLast {
                best = (host, load, isLast)
            }
        }
        if isOpenHere {
            consider(.here, Double(attemptsHere) / Double(planner.maxParallel), planner.owner)
        }
        for machine in ledger.machines {
            let taken = attempts(on: machine.owner)
            guard taken < machine.places else { continue }
            let load = Double(taken) / Double(machine.places)
            guard best.map({ load <= $0.load }) ?? true, holds(on: machine, run, job).isEmpty
            else { continue }
            consider(.machine(machine), load, machine.owner)
        }
        return best?.host
    }

    /// Returns what keeps a run from starting on a machine besides a lack of places.
    ///
    /// A check without a valid answer holds nothing back: the machine asks it.
    mutating func holds(on machine: Machine, _ run: Run, _ job: Job) -> [Deferral] {
        if let pin = job.machine, !machine.matches(pin) {
            return [
                Deferral(
                    .constraint, subject: PlanBuilder.machine, wanted: "a machine `\(pin)`",
                    measured: ([machine.name] + machine.labels.sorted()).joined(separator: ", "),
                    source: "job file")
            ]
        }
        if let at = planner.declined[job.id]?[machine.owner],
            moment.elapsed - at < Planner.recheck
        {
            return [
                Deferral(
                    .constraint, subject: PlanBuilder.machine, wanted: "a machine that takes it",
                    measured: "gave it back", source: machine.name)
            ]
        }
        guard !run.isForced else { return [] }
        var conditions = machine.conditions
        // All machines ask the same server.
        conditions.login = self.conditions.login
        if let account = job.id.account, let own = self.conditions.accounts[account] {
            let source: Conditions.Reading<Bool> =
                machine.sources.contains(account)
                ? Conditions.Reading(true, source: machine.name, isSampled: true)
                : .sampledUnknown(machine.name)
            conditions.accounts[account] = .init(login: own.login, source: source)
        }
        return unmet(of: job, for: run, in: conditions, asksElsewhere: true)
    }

    // MARK: Places

    /// The number of attempts of this process, and of others on this machine that no loop runs
    /// which has places of its own.
    var attemptsHere: Int {
        mutating get {
            if let otherAttemptsHere { return planner.inFlight.count + otherAttemptsHere }
            // Placing an attempt changes nothing here.
            let others = load.reduce(0) { $0 + (isElsewhere($1.key) ? 0 : $1.value) }
            otherAttemptsHere = others
            return planner.inFlight.count + others
        }
    }

    /// Whether all machines together have as many attempts as they may.
    mutating func isTotalFull(reserved: Int) -> Bool {
        planner.maxParallelTotal.map { attempts + reserved >= $0 } ?? false
    }

    /// Whether no attempt may start, wherever that is.
    mutating func isEverywhereFull(reserved: Int) -> Bool {
        if isTotalFull(reserved: reserved) { return true }
        guard attemptsHere + reserved >= planner.maxParallel else { return false }
        let load = load
        return ledger.machines.allSatisfy { (load[$0.owner] ?? 0) >= $0.places }
    }

    /// Whether the attempts of a process take no place of this one. In a file, whose owners name no
    /// machine, all do.
    private func isElsewhere(_ owner: String) -> Bool {
        let parts = owner.split(separator: "/", maxSplits: 1)
        return parts.count == 2 && parts[0] != planner.machine
            || ledger.machines.contains { $0.owner == owner }
    }

    /// The number of attempts on the machine of a loop.
    mutating func attempts(on owner: String) -> Int { load[owner] ?? 0 }

    /// Writes that an attempt starts on another machine.
    mutating func place(_ run: Run, _ job: Job, on machine: Machine) {
        noteElsewhere(run)
        planner.placed[run.id] = PlacedAttempt(
            job: job, number: run.attempts, startedAt: moment.wall, since: moment.elapsed)
        add(
            .placing(
                .place(Placement(run: run.id, number: run.attempts, owner: machine.owner))))
        wake(after: PlanBuilder.takenWithin)
    }

    // MARK: Publishing

    /// Publishes what this machine is, if that has changed.
    mutating func publish() {
        guard ledger.role != .alone else { return }
        let places = planner.isDraining ? 0 : planner.maxParallel
        let isNews = events.contains { event in
            switch event {
            case .conditionsChanged, .reload, .labelled, .sourcesReached: true
            default: false
            }
        }
        let age = planner.publishedAt.map { moment.elapsed - $0 }
        let isDue = age.map { $0 >= Planner.recheck } ?? true
        // Others want to know how far they are.
        if !planner.inFlight.isEmpty { wake(after: PlanBuilder.poll) }
        defer {
            let age = planner.publishedAt.map { moment.elapsed - $0 } ?? .zero
            wake(after: Planner.recheck - age)
        }
        guard isNews || isDue || planner.published?.places != places else { return }
        planner.publishedAt = moment.elapsed
        // The next decision knows which sources are there.
        if planner.reachedAt == nil { wake(after: .zero) }
        let machine = Machine(
            owner: planner.owner, name: planner.machine, labels: planner.labels, places: places,
            conditions: conditions.inSteps(from: planner.published?.conditions).toPublish,
            sources: ReachedSources(planner.reached, of: planner.jobs.accountsWithSources))
        guard machine != planner.published else { return }
        planner.published = machine
        add(.placing(.publish(machine)))
    }

    // MARK: Following

    /// Carries out what the leader has placed on this process, and decides about nothing else.
    mutating func follow() {
        for event in events {
            switch event {
            case .progressed(let run, let elapsed): planner.inFlight[run]?.progressAt = elapsed
            case .finished(let run, let end): report(run, end)
            case .labelled(let labels): planner.labels = labels
            case .drain: drain()
            default: break
            }
        }
        endLostAttempts()
        watchAttempts()
        takeOffers()
        publish()
        wake(after: PlanBuilder.poll)
    }

    private mutating func report(_ id: RunID, _ end: AttemptEnd) {
        guard let attempt = planner.inFlight.removeValue(forKey: id),
            let placement = ledger.placements[id], placement.number == attempt.number
        else { return }
        answer(
            placement,
            .ended(PlacedEnd(end, stop: attempt.stop, wasKilled: attempt.isKilled)))
    }

    private mutating func takeOffers() {
        for run in ledger.open.values.sorted(by: { $0.id < $1.id }) {
            guard let placement = ledger.placements[run.id], planner.inFlight[run.id] == nil,
                !events.contains(where: { $0.isEnd(of: run.id) })
            else { continue }
            guard !planner.isDraining, run.stopRequest == nil, let job = planner.jobs[run.job]
            else {
                let reason =
                    planner.isDraining
                    ? "its loop ends"
                    : run.stopRequest == nil ? "its job file has no such job" : "it is to end"
                answer(placement, .declined(reason))
                continue
            }
            let unmet = run.isForced ? [] : unmet(of: job, for: run)
            let asked = unmet.isEmpty ? [] : askChecks(job, for: run, unmet)
            if unmet.isEmpty {
                if placement.state == .offered { answer(placement, .taken) }
                carryOut(run, job)
            } else if asked.isEmpty {
                let measured = unmet.map { "\($0.subject): \($0.measured)" }
                answer(placement, .declined(measured.joined(separator: "; ")))
            } else if placement.state == .offered {
                // It keeps its place while the check is asked.
                answer(placement, .taken)
            }
        }
    }

    private mutating func answer(_ placement: Placement, _ state: Placement.State) {
        var placement = placement
        placement.state = state
        add(.placing(.answer(placement)))
    }
}

extension Planner.Event {
    fileprivate func isEnd(of run: RunID) -> Bool {
        if case .finished(run, _) = self { true } else { false }
    }
}
