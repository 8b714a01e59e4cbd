public import ClarityScheduler
import ClaritySystem
import Glibc

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
            throw error.isDisk ? .disk(error.description) : .unreachable(error.description)
        }
        let store = try SQLiteRunStore(
            in: directory, uniqueNumber: UInt64.random(in: .min ... .max))
        let planner = Planner(
            jobs: JobSet(file.enabledJobs),
            owner: store.leaseLock.owner, maxParallel: file.maxParallel ?? 2,
            retention: file.retention, boot: SystemClock().boot,
            seed: UInt64.random(in: .min ... .max))
        let monitor = HostConditions(
            stateDirectory: stateDirectory, settings: HostConditions.Settings(file),
            checks: CheckRunner(file.questions, environment: ["PATH": searchPath]))
        // Wait for the services here: a decision would keep the store locked meanwhile.
        monitor.prepare()
        self.init(
            planner: planner, store: store, worker: worker, monitor: monitor,
            clock: SystemClock(), observer: observer)
    }
}

/// The `PATH` in which checks find commands, for a program that brings its own worker.
private var searchPath: String { getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin" }
