public import ClarityScheduler
import Platform
@preconcurrency import Glibc

extension Scheduler {
    /// Creates a scheduler for a job file's enabled jobs on this machine, for programs that bring
    /// their own worker.
    ///
    /// The history lives in `stateDirectory`. The folder is created if it does not exist, and any
    /// number of processes may share it. Conditions and time come from this machine. The file's
    /// `max_parallel` limits how many attempts run at the same time; the default is two.
    ///
    /// - Throws: `RunStoreError` if the folder or its history cannot be used.
    public init(
        _ file: JobFile, stateDirectory: String, worker: any Worker,
        observer: @escaping Observer = { _ in }
    ) throws(RunStoreError) {
        let directory: StateDirectory
        do throws(StateDirectoryError) {
            directory = try StateDirectory(path: stateDirectory)
        } catch {
            throw RunStoreError(error)
        }
        let store = try SQLiteRunStore(
            in: directory, uniqueNumber: UInt64.random(in: .min ... .max))
        let monitor = HostConditions(
            stateDirectory: stateDirectory, settings: HostConditions.Settings(file),
            checks: CheckRunner(
                file.questions,
                environment: ["PATH": Environment.value("PATH") ?? "/usr/bin:/bin"]))
        self.init(
            Planner(JobSet(file.groups), of: file, owner: store.leaseLock.owner), on: store,
            worker: worker, monitor: monitor, clock: SystemClock(), observer: observer)
    }

    /// Creates a scheduler that decides by this machine's conditions.
    public init(
        _ planner: Planner, on store: any RunStore, worker: any Worker, monitor: HostConditions,
        clock: any WallClock, observer: @escaping Observer,
        progress: @escaping ProgressObserver = { _, _, _ in }
    ) {
        self.init(
            planner: planner, store: store, worker: worker, monitor: monitor, clock: clock,
            observer: observer, progress: progress)
    }
}

extension JobFile {
    /// The largest number of attempts at the same time.
    public var mostAttempts: Int { maxParallel ?? 2 }
}

extension Planner {
    /// Creates the planner of a process that decides about a job file's jobs on this machine.
    ///
    /// - Parameter owner: what the process's leases are held as.
    public init(_ jobs: JobSet, of file: JobFile, owner: String, scope: Scope = .everything) {
        self.init(
            jobs: jobs, owner: owner, maxParallel: file.mostAttempts, scope: scope,
            retention: file.retention, boot: SystemClock().boot,
            seed: UInt64.random(in: .min ... .max))
    }
}

extension HostConditions.Settings {
    /// Creates settings from what a job file says about the machine and what its enabled jobs
    /// require.
    public init(_ file: JobFile) {
        self.init()
        interfaces = file.conditions.interfaces
        idleLoadBelow = file.conditions.idleLoadBelowPercent
        let constraints = file.distinctJobs.flatMap(\.constraints)
        storagePaths = Set(
            constraints.compactMap { constraint -> String? in
                if case .storageFree(_, let path) = constraint { path } else { nil }
            }
        ).sorted()
        sourcePaths = file.sections.sourcePaths
        pressure =
            constraints.compactMap { constraint -> Int? in
                if case .pressureBelow(let percent) = constraint { percent } else { nil }
            }.min()
        asksServices = file.distinctJobs.contains(where: \.dependsOnServices)
    }
}

extension Job {
    /// Whether the job needs conditions that system services report, for its constraints, its
    /// events or its worker.
    public var dependsOnServices: Bool {
        heedsConditions || events.contains(.networkRestored)
            || constraints.contains(where: \.facts.isReported)
    }
}

extension JobFileReader {
    /// Creates a reader that takes zones, the home folder, the working folder and the host's
    /// identity from this machine and process.
    public init(catalogue: JobCatalogue) {
        let environment = Environment.values(["HOME", "TZ", "TZDIR"])
        let folder = getcwd(nil, 0)
        defer { free(folder) }
        self.init(
            catalogue: catalogue, zones: SystemZones(environment: environment),
            home: environment["HOME"] ?? "/",
            workingDirectory: folder.map { String(cString: $0) } ?? "/",
            localZone: LocalZone.identifier(environment: environment), host: HostIdentity.text())
    }
}
