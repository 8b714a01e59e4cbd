import ClarityHost
import ClarityScheduler
import ClaritySystem
import Synchronization

/// Tells the service manager how a loop is doing: ready, reloading, stopping, what it runs, and
/// that it is alive. Without a manager that wants to hear, nothing happens.
final class ServiceReports: Sendable {
    private struct State {
        var jobs: [Job] = []
        var anchors: [JobID: Instant] = [:]
        var running: [RunID: JobID] = [:]
        var said = ""
        var isStopping = false
    }

    private let manager: ServiceManager?
    private let clock: any WallClock
    private let state = Mutex(State())

    init(_ manager: ServiceManager?, clock: any WallClock) {
        self.manager = manager
        self.clock = clock
    }

    /// Reports that the loop has its jobs and its place. `ledger` is called only if there is a
    /// manager.
    func ready(
        _ jobs: [Job], ledger: () throws(RunStoreError) -> Ledger
    ) throws(RunStoreError) {
        guard let manager else { return }
        let ledger = try ledger()
        let status = state.withLock { state in
            state.jobs = jobs
            for job in jobs { state.anchors[job.id] = ledger.anchor(of: job.id) }
            return news(&state)
        }
        manager.say("READY=1", status ?? "STATUS=idle")
    }

    /// Reports a reload, which `body` does; it returns the jobs that are then in force.
    func reload(_ body: () -> [Job]) {
        guard !state.withLock(\.isStopping) else {
            _ = body()
            return
        }
        let now = SystemClock().awake.components
        manager?.say(
            "RELOADING=1",
            "MONOTONIC_USEC=\(now.seconds * 1_000_000 + now.attoseconds / 1_000_000_000_000)")
        let jobs = body()
        guard let manager else { return }
        let status = state.withLock { state in
            state.jobs = jobs
            return news(&state)
        }
        manager.say(["READY=1", status].compactMap(\.self).joined(separator: "\n"))
    }

    func stopping() {
        state.withLock { $0.isStopping = true }
        manager?.say("STOPPING=1", "STATUS=stopping")
    }

    /// Reports what a durable change means for what runs and what comes next.
    func note(_ change: LedgerChange) {
        guard let manager else { return }
        let status: String? = state.withLock { state in
            switch change {
            case .setClock(let job, let clock): state.anchors[job] = clock.anchor
            case .put(let run):
                state.running[run.id] = run.state == .running ? run.job : nil
                return news(&state)
            default: break
            }
            return nil
        }
        if let status { manager.say(status) }
    }

    /// Gives signs of life at half the time that the manager allows, until the task is cancelled.
    ///
    /// `events` runs the whole loop on one thread. If anything holds that thread, the signs end.
    func watch(on events: EventThread) async {
        guard let manager, let span = manager.watchdog else { return }
        let clock = EventClock(events)
        while !Task.isCancelled {
            manager.say("WATCHDOG=1")
            await clock.sleep(for: span / 2)
        }
    }

    /// Returns the assignment for the status line, or `nil` if it has not changed.
    private func news(_ state: inout State) -> String? {
        let text = text(state)
        guard text != state.said, !state.isStopping else { return nil }
        state.said = text
        return "STATUS=\(text)"
    }

    private func text(_ state: State) -> String {
        let running = Set(state.running.values.map(\.rawValue)).sorted()
        guard running.isEmpty else {
            let others = running.count - 3
            return "runs " + running.prefix(3).joined(separator: ", ")
                + (others > 0 ? " and \(others) more" : "")
        }
        let now = clock.now
        let next = state.jobs.compactMap { job -> (at: Instant, job: JobID)? in
            job.schedule?.next(after: now, anchor: state.anchors[job.id] ?? now)
                .map { ($0, job.id) }
        }.min { $0.at < $1.at }
        return next.map { "idle; next \($0.job) at \($0.at)" } ?? "idle"
    }
}
