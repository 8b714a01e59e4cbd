public import ClarityScheduler
import ClaritySystem
import Glibc

extension Scheduler {
    /// Creates a scheduler of a job file's enabled jobs on this machine, for programs that bring
    /// their own worker.
    ///
    /// The history is kept in `stateDirectory`, which is made if need be and may be shared with any
    /// number of processes. Conditions and time are this machine's. So many attempts run at once as
    /// the file says, else two.
    ///
    /// - Throws: `RunStoreError` when the folder or the history in it cannot be used.
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
        // Here, and not in a decision, which holds the store while it is made.
        monitor.prepare()
        self.init(
            planner: planner, store: store, worker: worker, monitor: monitor,
            clock: SystemClock(), observer: observer)
    }
}

/// Where the checks of a program that brings its own worker look for commands.
private var searchPath: String { getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin" }
