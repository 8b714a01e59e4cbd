public import ClarityScheduler
public import Platform
public import Database
@preconcurrency import Glibc

extension JobFile {
    /// Returns the server with the state; `nil` if the state is in files.
    ///
    /// Without a `passfile` in its URL, the credential `clarity-jobs.pgpass` has the passwords, if
    /// the service manager gives one.
    public func server(_ environment: [String: String]) -> ServerAddress? {
        guard var server else { return nil }
        if server.passwordFile == nil, let folder = environment["CREDENTIALS_DIRECTORY"],
            !folder.isEmpty, access("\(folder)/clarity-jobs.pgpass", R_OK) == 0
        {
            server.passwordFile = "\(folder)/clarity-jobs.pgpass"
        }
        return server
    }
}

extension RunHistory {
    /// Opens the history of a job file for reading, where the file says that it is.
    ///
    /// - Parameter directory: the state directory.
    /// - Throws: `RunStoreError` if it cannot be read.
    public init(
        of file: JobFile, inDirectory directory: String, environment: [String: String]
    ) throws(RunStoreError) {
        if let server = file.server(environment) {
            try self.init(at: server)
            live = LiveAttempts(inDirectory: directory)
        } else {
            try self.init(inDirectory: directory)
        }
    }
}

extension AccountErasure {
    /// Opens the history where a job file says that it is.
    ///
    /// - Returns: `nil` if there is none.
    public init?(
        of file: JobFile, in directory: StateDirectory, environment: [String: String]
    ) throws(RunStoreError) {
        if let server = file.server(environment) {
            self.init(
                try rethrowing(server: "\(server)") { try ServerHistory.connect(to: server) },
                at: "\(server)")
            return
        }
        guard let (connection, path) = try AccountErasure.file(in: directory) else { return nil }
        self.init(connection, at: path)
    }
}

/// A history in which this process decides beside others, and the lock that proves that it lives.
public struct SharedHistory {
    public let store: any RunStore
    /// What this process's leases are held as.
    public let owner: String
    /// The lock that says that this process lives.
    public let leaseLock: LeaseLock
    /// What the processes of its attempts hold.
    public let proof: AttemptProof
    /// Where its attempts leave what they have written so far.
    public let live: LiveAttempts
    /// The server, where one loop is the leader; `nil` for a file, which all processes decide on.
    public let server: PostgresRunStore?
    /// Prevents a restore of the state directory while the history is open.
    private let share: FileLock?

    /// Gives up all leases, whoever still refers to a part of this. Nothing of it may be used
    /// afterwards, and only then may the same process open another.
    public func end() {
        store.end()
        if server != nil { leaseLock.release() }
    }

    /// Opens the history where a job file says that it is, and creates the file if it is missing.
    ///
    /// - Parameter pulse: the pulse of the loop that opens it; `nil` for a command.
    /// - Throws: `RunStoreError` if it cannot be used.
    public init(
        of file: JobFile, in directory: StateDirectory, environment: [String: String],
        pulse: LoopPulse?
    ) throws(RunStoreError) {
        let uniqueNumber = UInt64.random(in: .min ... .max)
        guard let address = file.server(environment) else {
            let store = try SQLiteRunStore(in: directory, uniqueNumber: uniqueNumber)
            (self.store, owner, leaseLock) = (store, store.leaseLock.owner, store.leaseLock)
            (server, share) = (nil, nil)
            (proof, live) = (store.attemptLocks.proof, store.attemptLocks.live)
            return
        }
        let locks: AttemptLocks
        do throws(StateDirectoryError) {
            share = try directory.share()
            leaseLock = try LeaseLock(
                folder: directory.makeFolder("owners"), uniqueNumber: uniqueNumber)
            locks = try AttemptLocks(in: directory, owner: leaseLock.owner)
        } catch {
            throw RunStoreError(error)
        }
        let store = try PostgresRunStore(
            at: address, owner: ServerHistory.owner(leaseLock), attemptLocks: locks, pulse: pulse,
            // A loop is to notice soon, and a person waits rather than to ask again.
            patience: pulse == nil ? .seconds(30) : .seconds(10))
        (self.store, owner, server) = (store, store.owner, store)
        var proof = locks.proof
        proof.session = store.proof
        var live = locks.live
        // What a command runs, a person sees who runs it.
        if pulse != nil { live.board = store.progress }
        (self.proof, self.live) = (proof, live)
    }
}

extension AttemptLocks {
    /// What an attempt's process holds that has a lock among these.
    public var proof: AttemptProof {
        AttemptProof { order throws(StateDirectoryError) in try take(order) }
    }
}

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
    /// The largest number of attempts at the same time on this machine.
    public var mostAttempts: Int { min(maxParallel ?? 2, maxParallelTotal ?? .max) }
}

extension Planner {
    /// Creates the planner of a process that decides about a job file's jobs on this machine.
    ///
    /// - Parameter owner: what the process's leases are held as.
    public init(_ jobs: JobSet, of file: JobFile, owner: String, scope: Scope = .everything) {
        // Only who may meet another machine asks for the name of this one.
        let isNamed = file.server != nil || file.distinctJobs.contains { $0.machine != nil }
        self.init(
            jobs: jobs, owner: owner, maxParallel: file.mostAttempts,
            maxParallelTotal: file.maxParallelTotal, scope: scope, retention: file.retention,
            boot: SystemClock().boot,
            seed: UInt64.random(in: .min ... .max), machine: isNamed ? HostIdentity.name : "",
            labels: file.labels)
    }
}

extension HostConditions.Settings {
    /// Creates settings from what a job file says about the machine and what its enabled jobs
    /// require.
    public init(_ file: JobFile) {
        self.init()
        interfaces = file.conditions.interfaces
        idleLoadBelow = file.conditions.idleLoadBelowPercent
        let jobs = file.distinctJobs
        let constraints = jobs.flatMap(\.constraints)
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
        asksServices = jobs.contains(where: \.dependsOnServices)
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
