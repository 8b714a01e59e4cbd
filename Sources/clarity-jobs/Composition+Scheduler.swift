import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Synchronization

// What the scheduler of this program is made of.

extension Composition {
    /// Returns the jobs to plan, each with the options that its worker needs.
    func jobs(_ file: JobFile) -> [Job] { groups(file).flatMap(\.wholeJobs) }

    /// Returns the jobs to plan as a set.
    ///
    /// - Parameter former: the set that this one replaces, and its job file.
    func jobSet(
        _ file: JobFile, replacing former: (jobs: JobSet, file: JobFile)? = nil
    ) -> JobSet {
        if let former, let changed = file.changedGroups(since: former.file),
            let jobs = former.jobs.replacing(complete(changed, file))
        {
            return jobs
        }
        return JobSet(groups(file), replacing: former?.jobs)
    }

    private func groups(_ file: JobFile) -> [JobGroup] { complete(file.groups, file) }

    /// Returns the groups with the options that the job file does not name.
    private func complete(_ groups: [JobGroup], _ file: JobFile) -> [JobGroup] {
        let state = statePath(file)
        let whole = Composition.sections(StateOptions(directory: state)).options
        let common = Composition.sections(
            StateOptions(
                directory: StateDirectory.dataFolder(ofAccount: JobGroup.accountMark, in: state),
                limitsFolder: limitsFolder(file))
        ).options
        return groups.map { group in
            var group = group
            group.common = group.account == nil ? whole : common
            return group
        }
    }

    private static func sections(_ state: StateOptions) -> SectionValues {
        var sections = SectionValues()
        sections.set(state)
        return sections
    }

    func planner(
        _ file: JobFile, owner: String, scope: Planner.Scope
    ) -> Planner {
        Planner(jobSet(file), of: file, owner: owner, scope: scope)
    }

    /// Returns the scheduler that decides on a history, with all that it hears.
    ///
    /// - Parameters:
    ///   - inForce: the job file, which a loop may read anew.
    ///   - paths: other files whose changes concern it.
    func scheduler(
        _ inForce: @escaping @Sendable () -> JobFile, scope: Planner.Scope = .everything,
        on history: SharedHistory, _ monitor: HostConditions, _ steering: LoopSteering,
        besides paths: [String] = [], on events: EventThread,
        observer: @escaping Scheduler.Observer,
        progress: @escaping Scheduler.ProgressObserver = { _, _, _ in },
        output: CommandWorker.OutputHandler? = nil
    ) throws(CommandFailure) -> SteeredScheduler {
        let clock = EventClock(events)
        let worker = ProgressKeepingWorker(
            try worker(inForce, history, monitor, clock, output), history.live, clock: clock)
        let happenings = steering.events()
        let feeders = heed(history, besides: paths, steering, on: events)
        monitor.listen(on: events)
        let planner = planner(inForce(), owner: history.owner, scope: scope)
        let scheduler = Scheduler(
            planner, on: history.store, worker: worker, monitor: monitor,
            clock: clock, observer: observer, progress: progress)
        return SteeredScheduler(scheduler, planner.jobs, happenings, feeders, history)
    }

    private func worker(
        _ inForce: @escaping @Sendable () -> JobFile, _ history: SharedHistory,
        _ monitor: HostConditions, _ clock: EventClock, _ output: CommandWorker.OutputHandler?
    ) throws(CommandFailure) -> WorkerByKind {
        let program = try companion("clarity-jobs-worker")
        let process = ProcessWorker(
            executable: [program, "attempt"], environment: workerEnvironment(inForce),
            proof: history.proof, forks: ForkServer([program, "fork-server"]))
        let keeper = CommandKeeper(
            try companion("clarity-jobs-keeper"), history.proof, history.live)
        return WorkerByKind(
            [
                .command: CommandWorker(
                    environment: { commandEnvironment(inForce()) }, keeper: keeper,
                    finished: { run throws(Failure) in try self.run(run, inForce()) },
                    clock: clock, output: output),
                .notify: NoticeWorker(worker: process) { account throws(CommandFailure) in
                    var file = inForce()
                    if let account {
                        file = file.view(of: try self.account(named: account.rawValue, in: file))
                    }
                    let accounts = Set([account].compactMap(\.self))
                    return try historyNotices(file, monitor.conditions(of: accounts))
                },
            ],
            others: process,
            attempts: { monitor.attempts(are: $0) })
    }

    /// Returns a run of the history, for an attempt that has to know how it ended.
    private func run(_ id: RunID, _ file: JobFile) throws(Failure) -> Run? {
        do throws(CommandFailure) {
            let history = try history(file)
            return try askingStore { () throws(RunStoreError) in try history.run(id) }
        } catch {
            throw Failure(.disk, error.lines.first ?? "the history cannot be read")
        }
    }

    /// Returns the monitor of this machine's conditions, with the settings of the job file.
    ///
    /// - Parameter asksServices: whether to ask the system services; by default only if a job
    ///   depends on one.
    func conditions(_ file: JobFile, asksServices: Bool? = nil) -> HostConditions {
        var settings = hostSettings(file)
        settings.asksServices = asksServices ?? settings.asksServices
        return HostConditions(
            stateDirectory: statePath(file), settings: settings, checks: checks(file))
    }

    /// Returns what the job file says about the machine, and where each account's data is.
    ///
    /// - Parameter jobs: the jobs of the file, if they are known.
    func hostSettings(_ file: JobFile, _ jobs: JobSet? = nil) -> HostConditions.Settings {
        var settings = HostConditions.Settings(file)
        let state = statePath(file)
        // Without accounts nobody asks for one.
        let hasAccounts = file.accounts != nil || file.account != nil
        let jobs = jobs ?? (hasAccounts ? jobSet(file) : JobSet([]))
        settings.ofAccount = { account in
            (
                StateDirectory.dataFolder(ofAccount: account.rawValue, in: state),
                jobs.sourcePaths(of: account)
            )
        }
        if let server = file.server(environment),
            file.distinctJobs.contains(where: { $0.constraints.contains(.login) })
        {
            let logins = ServerLogins(server)
            settings.logins = { logins.now() }
            settings.onlyAccount = HealthServer.name(of: nil)
        }
        return settings
    }

    /// Returns the runner of the job file's checks.
    ///
    /// Where root looks at the state of another user, it asks none: that user may have written what
    /// they run.
    private func checks(_ file: JobFile) -> CheckRunner {
        let isOthers = geteuid() == 0 && StateDirectory.otherOwner(of: statePath(file)) != nil
        let questions = isOthers ? [] : file.questions
        let worker =
            questions.isEmpty
            ? nil : companionIfThere("clarity-jobs-worker")
        return CheckRunner(
            questions, urlProgram: worker.map { [$0, "probe"] },
            environment: commandEnvironment(file),
            absent: isOthers ? "root runs no check for another user" : nil, clock: clock)
    }

    /// Returns the environment for the programs of commands and checks.
    ///
    /// It lacks keys, credentials and the secrets of notices, which only the worker receives.
    func commandEnvironment(_ file: JobFile) -> [String: String] {
        var secretVariables = file.secretVariables
        if let named = environment[Composition.keyPointer] { secretVariables.insert(named) }
        return environment.filter { name, _ in
            !name.hasPrefix("CLARITY_JOBS_") && name != "CREDENTIALS_DIRECTORY"
                && !secretVariables.contains(name)
        }
    }

    /// Returns a watch on the sources of the job file: files, and folders in which each new file
    /// counts.
    func sourceWatch(_ file: JobFile) -> FileWatch {
        // A path is either a file that may come and go, or a folder whose files are read.
        FileWatch(paths: [], folders: Set(file.groupedSections.flatMap(\.sourcePaths)).sorted())
    }

    /// Returns the current state of the sources if a job waits for one of them to change.
    ///
    /// The scheduler compares the states to find out what changed while nobody watched.
    func sourcesSeen(_ file: JobFile, _ monitor: HostConditions) -> [Planner.Event] {
        guard file.distinctJobs.contains(where: { $0.events.contains(.sourceChanged) }) else {
            return []
        }
        return [.sourcesSeen(sourceWatch(file).fingerprints(where: monitor.isThere))]
    }

    /// The files that determine the machine's time zone; empty if `TZ` is set.
    var localZonePaths: [String] {
        environment["TZ"] == nil ? ["/etc/localtime", "/etc/timezone"] : []
    }
}

/// Passes what happens to a scheduler, and ends the pauses of a loop when it is to stop.
///
/// A loop on a server has one scheduler after the other: none while another loop decides or the
/// server does not answer.
final class LoopSteering: Sendable {
    private struct State {
        var scheduler: AsyncStream<Planner.Event>.Continuation?
        var pause: Task<Void, Never>?
        var isStopping = false
        var fault: CommandFailure?
    }

    private let state = Mutex(State())

    /// Whether the loop is to stop.
    var isStopping: Bool { state.withLock(\.isStopping) }

    /// Passes an event to the scheduler, if there is one: the next one looks at everything anyway.
    func post(_ event: Planner.Event) { state.withLock { _ = $0.scheduler?.yield(event) } }

    /// Makes the scheduler drain, and those that come later.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.scheduler?.yield(.drain)
            state.pause?.cancel()
        }
    }

    /// Stops as `stop` does, for a reason that the loop ends with.
    func fail(_ fault: CommandFailure) {
        state.withLock { $0.fault = $0.fault ?? fault }
        stop()
    }

    /// Throws the reason of `fail`.
    func check() throws(CommandFailure) {
        if let fault = state.withLock(\.fault) { throw fault }
    }

    /// Returns the events for a new scheduler.
    func events() -> AsyncStream<Planner.Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        state.withLock { state in
            state.scheduler = continuation
            if state.isStopping { continuation.yield(.drain) }
        }
        return stream
    }

    /// Waits for `body`, which ends when its task is cancelled, or until the loop is to stop.
    func pause(on events: EventThread, _ body: @escaping @Sendable () async -> Void) async {
        let task = Task(executorPreference: events) { await body() }
        let isStopping = state.withLock { state in
            state.scheduler = nil
            state.pause = task
            return state.isStopping
        }
        if isStopping { task.cancel() }
        await task.value
        state.withLock { $0.pause = nil }
    }
}

/// A scheduler, and what makes it look.
struct SteeredScheduler {
    private var scheduler: Scheduler
    let jobs: JobSet
    private let happenings: AsyncStream<Planner.Event>
    private let feeders: [Task<Void, Never>]
    private let history: SharedHistory

    init(
        _ scheduler: Scheduler, _ jobs: JobSet, _ happenings: AsyncStream<Planner.Event>,
        _ feeders: [Task<Void, Never>], _ history: SharedHistory
    ) {
        (self.scheduler, self.jobs) = (scheduler, jobs)
        (self.happenings, self.feeders, self.history) = (happenings, feeders, history)
    }

    /// Decides until `end`, beginning with `first`.
    mutating func run(
        until end: Scheduler.End, first: [Planner.Event] = []
    ) async throws(RunStoreError) -> Scheduler.Report {
        try await scheduler.run(until: end, first: first, events: happenings)
    }

    /// Stops listening, before the history is let go of: the feeders would take the removal of its
    /// lock for that of the state directory, and end the loop.
    func end() {
        withExtendedLifetime(history) { feeders.forEach { $0.cancel() } }
    }
}

extension Composition {
    /// Makes the scheduler look when another process has changed something, until the tasks are
    /// cancelled.
    ///
    /// - Parameter paths: other files whose changes concern it.
    func heed(
        _ history: SharedHistory, besides paths: [String] = [], _ steering: LoopSteering,
        on events: EventThread
    ) -> [Task<Void, Never>] {
        // Others announce a change by touching the lock that this process holds, or through the
        // server, and a login creates its mark.
        let lock = history.leaseLock.path
        let files = FileWatch(paths: [lock] + paths).changes(on: events)
        let place = FilePlace(lock)
        return [files, history.server?.changes].compactMap(\.self).map { changes in
            Task(executorPreference: events) {
                for await _ in changes {
                    // The lock is gone with the history to which it belonged.
                    if Task.isCancelled { return }
                    if place?.isInPlace == false {
                        steering.fail(
                            CommandFailure(
                                .unreachable,
                                "the state directory has been moved or removed: `\(lock)` is gone"))
                    }
                    steering.post(.tick)
                }
            }
        }
    }
}

extension Composition {
    /// The result of passing the user's request to the planner.
    struct Answer {
        var plan: Plan
        /// The ledger after the decision.
        var ledger: Ledger
    }

    /// Records what the user wants; a scheduler carries it out.
    ///
    /// The decision also records what is due now, but nothing starts here. A loop with the same
    /// state directory is notified at once.
    func submit(_ events: [Planner.Event], _ file: JobFile) throws(CommandFailure) -> Answer {
        let history = try store(file)
        let store = history.store
        var planner = planner(file, owner: history.owner, scope: .nothing)
        var answer = Answer(plan: Plan(), ledger: Ledger())
        let (clock, monitor) = (clock, conditions(file))
        try askingStore { () throws(RunStoreError) in
            try store.decide { ledger in
                answer.plan = planner.handle(
                    events, at: clock.moment,
                    conditions: monitor.conditions(of: ledger.accountsInNeed), ledger: ledger)
                return answer.plan.changes
            }
            answer.ledger = try store.ledger()
        }
        return answer
    }

    /// Returns the jobs that words of the command line name, each once.
    func jobs(named names: [String], in file: JobFile) throws(CommandFailure) -> [JobID] {
        var ids: [JobID] = []
        for name in names {
            let id = try job(named: name, in: file).id
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }
}
