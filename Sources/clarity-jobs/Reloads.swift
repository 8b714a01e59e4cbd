import ClarityHost
import ClarityScheduler
import ClaritySystem
import Glibc
import Synchronization

/// Reloads the job file on SIGHUP or when the machine's time zone changes, and watches its sources.
///
/// A faulty file is reported and changes nothing: the previous one stays in force. The same goes
/// for a file that names another state directory, which requires a restart.
final class Reloads: Sendable {
    private struct State {
        var file: JobFile
        var requests: Task<Void, Never>?
        var sources: Task<Void, Never>?
    }

    private let composition: Composition
    private let monitor: HostConditions
    private let reports: ServiceReports
    private let send: @Sendable (Planner.Event) -> Void
    private let state: Mutex<State>
    private let events: EventThread

    /// Starts to listen; `send` passes events to the scheduler.
    init(
        _ composition: Composition, _ file: JobFile, _ monitor: HostConditions,
        _ reports: ServiceReports, on events: EventThread,
        send: @escaping @Sendable (Planner.Event) -> Void
    ) {
        self.composition = composition
        self.monitor = monitor
        self.reports = reports
        self.send = send
        self.events = events
        state = Mutex(State(file: file))
        let hangups = events.signals(SIGHUP)
        let requests = Task(executorPreference: events) { [weak self] in
            for await _ in hangups { self?.reload("asked by SIGHUP") }
        }
        state.withLock { $0.requests = requests }
        watchSources(of: file)
    }

    deinit {
        state.withLock { state in
            state.requests?.cancel()
            state.sources?.cancel()
        }
    }

    /// The job file in force.
    var file: JobFile { state.withLock { $0.file } }

    /// Loads the job file as it is now.
    func reload(_ why: String) {
        reports.reload {
            readAgain(why)
            return file.enabledJobs
        }
    }

    private func readAgain(_ why: String) {
        let console = composition.console
        let before = file
        do throws(CommandFailure) {
            let file = try composition.jobFile()
            guard composition.statePath(file) == composition.statePath(before) else {
                throw CommandFailure(
                    .faultyInput,
                    "the state directory is now `\(composition.statePath(file))`, which needs a "
                        + "new start")
            }
            state.withLock { $0.file = file }
            watchSources(of: file)
            monitor.apply(HostConditions.Settings(file), checks: file.questions)
            send(
                .reload(
                    composition.jobSet(file), maxParallel: composition.maxParallel(file)))
            composition.sourcesSeen(file, monitor).forEach(send)
            console.note(LoopCommand.greeting("reloaded (\(why)),", file))
        } catch {
            for line in error.lines { Console.fault(line) }
            Console.fault(LoopCommand.greeting("job file not reloaded; still in force:", before))
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
}
