import ClarityHost
import ClarityScheduler
import Platform
import Glibc
import Synchronization

/// The job file by which a scheduler works, which a reload replaces.
final class JobFileInForce: Sendable {
    private let current: Mutex<JobFile>

    init(_ file: JobFile) { current = Mutex(file) }

    var file: JobFile { current.withLock { $0 } }

    func replace(by file: JobFile) { current.withLock { $0 = file } }
}

extension JobFile {
    /// Whether each account has the sources that it had in a file that was read before, and waits for
    /// their change if it did; `false` if that has to be found by comparing all accounts.
    fileprivate func hasSameSources(as former: JobFile) -> Bool {
        changedAccounts(since: former)?.allSatisfy { former, now in
            former.isEnabled == now.isEnabled && former.waitsForSources == now.waitsForSources
                && former.sections.sourcePaths == now.sections.sourcePaths
        } ?? false
    }
}

extension AccountDeclaration {
    fileprivate var waitsForSources: Bool {
        jobs.contains { $0.events.contains(.sourceChanged) && !disabled.contains($0.id) }
    }
}

/// Reloads the job file when it changes, on SIGHUP, when the machine's time zone changes, and when a
/// file of its folder of accounts comes, changes or goes; and watches its sources.
///
/// A faulty file is reported once and changes nothing: the previous one stays in force. The same goes
/// for a file that names another state directory, which requires a restart.
final class Reloads: Sendable {
    private struct State {
        var jobs: JobSet
        var requests: Task<Void, Never>?
        var sources: Task<Void, Never>?
        var accounts: (folder: String, task: Task<Void, Never>)?
        var edits: Task<Void, Never>?
        /// What was wrong with the file when it was last read; empty if nothing was.
        var faults: [String] = []
    }

    private let composition: Composition
    private let monitor: HostConditions
    private let reports: ServiceReports
    private let send: @Sendable (Planner.Event) -> Void
    private let inForce: JobFileInForce
    private let state: Mutex<State>
    private let events: EventThread
    private let memory: AccountMemory

    /// Starts to listen; `send` passes events to the scheduler.
    ///
    /// - Parameters:
    ///   - memory: what was remembered when the file in force was read.
    ///   - edits: the changes of the job file since before it was read.
    init(
        _ composition: Composition, _ inForce: JobFileInForce, _ memory: AccountMemory,
        _ monitor: HostConditions,
        _ reports: ServiceReports, edits: AsyncStream<Void>, on events: EventThread,
        send: @escaping @Sendable (Planner.Event) -> Void
    ) {
        self.composition = composition
        self.monitor = monitor
        self.reports = reports
        self.send = send
        self.events = events
        self.inForce = inForce
        self.memory = memory
        state = Mutex(State(jobs: composition.jobSet(inForce.file)))
        let hangups = events.signals(SIGHUP)
        let requests = Task(executorPreference: events) { [weak self] in
            for await _ in hangups { self?.reload("asked by SIGHUP") }
        }
        let watch = Task(executorPreference: events) { [weak self] in
            for await _ in edits { self?.reload("the job file changed", isAsked: false) }
        }
        state.withLock { ($0.requests, $0.edits) = (requests, watch) }
        watchSources(of: inForce.file)
        watchAccounts(of: inForce.file)
    }

    deinit {
        state.withLock { state in
            state.requests?.cancel()
            state.edits?.cancel()
            state.sources?.cancel()
            state.accounts?.task.cancel()
        }
    }

    /// The job file in force.
    var file: JobFile { inForce.file }

    /// Loads the job file as it is now, and all that it depends on.
    ///
    /// - Parameter isAsked: whether somebody wants to know how it went, also if it is as before.
    func reload(_ why: String, isAsked: Bool = true) {
        memory.forget()
        reloadWhatChanged(why, isAsked: isAsked)
    }

    /// The same, but of the accounts' files reads those that have changed.
    private func reloadWhatChanged(_ why: String, isAsked: Bool = false) {
        reports.reload {
            readAgain(why, isAsked)
            return state.withLock { $0.jobs }
        }
    }

    private func readAgain(_ why: String, _ isAsked: Bool) {
        let console = composition.console
        let before = file
        do throws(CommandFailure) {
            let file = try composition.jobFileToRun(remembering: memory)
            guard composition.statePath(file) == composition.statePath(before) else {
                throw CommandFailure(
                    .faultyInput,
                    "the state directory is now `\(composition.statePath(file))`, which needs a "
                        + "new start")
            }
            inForce.replace(by: file)
            let jobs = state.withLock { state in
                state.jobs = composition.jobSet(file, replacing: (state.jobs, before))
                state.faults = []
                return state.jobs
            }
            // A watch that goes on has missed nothing.
            let hasSameSources = file.hasSameSources(as: before)
            if !hasSameSources { watchSources(of: file) }
            watchAccounts(of: file)
            monitor.apply(
                composition.hostSettings(file, jobs), checks: file.questions,
                environment: composition.commandEnvironment(file))
            send(
                .reload(jobs, maxParallel: file.mostAttempts, total: file.maxParallelTotal))
            if file.labels != before.labels { send(.labelled(file.labels)) }
            if !hasSameSources { composition.sourcesSeen(file, monitor).forEach(send) }
            console.note(LoopCommand.greeting("reloaded (\(why)),", file))
            composition.reportHeld(file)
            composition.keepValid(file)
        } catch {
            var file = before
            file.laterFault = error.lines.joined(separator: "; ")
            inForce.replace(by: file)
            let isKnown = state.withLock { state in
                defer { state.faults = error.lines }
                return state.faults == error.lines
            }
            guard isAsked || !isKnown else { return }
            for line in error.lines { composition.console.fault(line) }
            composition.console.fault(
                LoopCommand.greeting("job file not reloaded; still in force:", before))
        }
    }

    private func watchSources(of file: JobFile) {
        let changes = composition.sourceWatch(file).changes(on: events)
        let (composition, monitor, send) = (composition, monitor, send)
        let task = Task(executorPreference: events) {
            for await _ in changes { composition.sourcesSeen(file, monitor).forEach(send) }
        }
        let before = state.withLock { state in
            defer { state.sources = task }
            return state.sources
        }
        before?.cancel()
    }

    private func watchAccounts(of file: JobFile) {
        let before = state.withLock { state -> Task<Void, Never>? in
            guard state.accounts?.folder != file.accountsFolder else { return nil }
            defer { state.accounts = file.accountsFolder.map { ($0, accountsTask($0)) } }
            return state.accounts?.task
        }
        before?.cancel()
    }

    private func accountsTask(_ folder: String) -> Task<Void, Never> {
        let changes = FileWatch(paths: [], folders: [folder], countsRemovals: true)
            .changes(on: events)
        return Task(executorPreference: events) { [weak self] in
            for await _ in changes { self?.reloadWhatChanged("the accounts changed") }
        }
    }
}
