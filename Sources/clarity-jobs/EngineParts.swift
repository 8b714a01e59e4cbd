import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
@preconcurrency import Glibc

// What the scheduler of this program is made of.

extension Composition {
    /// Returns the jobs to plan, each with the options that its worker needs.
    func jobs(_ file: JobFile) -> [Job] { groups(file).flatMap(\.wholeJobs) }

    /// Returns the jobs to plan as a set.
    ///
    /// - Parameter former: the set that this one replaces.
    func jobSet(_ file: JobFile, replacing former: JobSet? = nil) -> JobSet {
        JobSet(groups(file), replacing: former)
    }

    private func groups(_ file: JobFile) -> [JobGroup] {
        let state = statePath(file)
        let whole = Composition.sections(StateOptions(directory: state)).options
        let common = Composition.sections(
            StateOptions(
                directory: StateDirectory.dataFolder(ofAccount: JobGroup.accountMark, in: state),
                limitsFolder: limitsFolder(file))
        ).options
        return file.groups.map { group in
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
        progress: @escaping Scheduler.ProgressObserver = { _, _, _ in }
    ) throws(CommandFailure) -> SteeredScheduler {
        let worker = try worker(inForce, history, monitor, EventClock(events))
        let happenings = steering.events()
        let feeders = heed(history, besides: paths, steering, on: events)
        monitor.listen(on: events)
        let planner = planner(inForce(), owner: history.owner, scope: scope)
        let scheduler = Scheduler(
            planner, on: history.store, worker: worker, monitor: monitor,
            clock: EventClock(events), observer: observer, progress: progress)
        return SteeredScheduler(scheduler, planner.jobs, happenings, feeders)
    }

    private func worker(
        _ inForce: @escaping @Sendable () -> JobFile, _ history: SharedHistory,
        _ monitor: HostConditions, _ clock: EventClock
    ) throws(CommandFailure) -> WorkerByKind {
        let process = ProcessWorker(
            executable: [try companion("clarity-jobs-worker"), "attempt"],
            environment: workerEnvironment(inForce), proof: history.proof)
        let keeper = CommandKeeper(try companion("clarity-jobs-keeper"), history.proof)
        return WorkerByKind(
            [
                .command: CommandWorker(
                    environment: { commandEnvironment(inForce()) }, keeper: keeper, clock: clock),
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
    func hostSettings(_ file: JobFile) -> HostConditions.Settings {
        var settings = HostConditions.Settings(file)
        let state = statePath(file)
        let paths = file.groups.reduce(into: [AccountID: [String]]()) { paths, group in
            if let account = group.account { paths[account] = group.sections.sourcePaths }
        }
        settings.ofAccount = { account in
            (
                StateDirectory.dataFolder(ofAccount: account.rawValue, in: state),
                paths[account] ?? []
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
        FileWatch(paths: [], folders: Set(file.groups.flatMap(\.sections.sourcePaths)).sorted())
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
