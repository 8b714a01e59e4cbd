import ClarityHost
import ClarityScheduler
import Platform
import Synchronization

/// Tells the service manager how a loop is doing: ready, reloading, stopping, what runs, what waits
/// and for what, and that it is alive. Without a manager that wants to hear, nothing happens.
final class ServiceReports: Sendable {
    private struct State {
        var jobs = JobSet([])
        var ledger = Ledger()
        var said = ""
        var isStopping = false
    }

    /// Looking through all jobs for what comes next takes milliseconds if there are many.
    private static let pause = Duration.seconds(1)

    private let manager: ServiceManager?
    private let clock: any WallClock
    private let state = Mutex(State())
    private let (changes, change) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ manager: ServiceManager?, clock: any WallClock) {
        self.manager = manager
        self.clock = clock
    }

    /// Reports that the loop has its jobs and its place. `ledger` is called only if there is a
    /// manager.
    func ready(
        _ jobs: JobSet, ledger: () throws(RunStoreError) -> Ledger
    ) throws(RunStoreError) {
        guard let manager else { return }
        let ledger = try ledger()
        let status = state.withLock { state in
            state.jobs = jobs
            state.ledger = ledger
            return news(&state)
        }
        manager.say(["READY=1", status].compactMap(\.self).joined(separator: "\n"))
    }

    /// Reports that the loop is there and has nothing to decide on for now.
    func waiting(_ words: String) {
        guard let manager else { return }
        let isNews = state.withLock { state in
            defer { state.said = words }
            return state.said != words && !state.isStopping
        }
        if isNews { manager.say("READY=1", "STATUS=\(words)") }
    }

    /// Reports a reload, which `body` does; it returns the jobs that are then in force.
    func reload(_ body: () -> JobSet) {
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

    /// Takes a durable change into account; `show` reports what follows from it.
    func note(_ ledgerChange: LedgerChange) {
        guard manager != nil else { return }
        state.withLock { $0.ledger.apply(ledgerChange) }
        switch ledgerChange {
        case .setClock, .put, .deferred: change.yield()
        default: break
        }
    }

    /// Reports what runs, what waits and what comes next whenever that changes, once a second at
    /// most, until the task is cancelled.
    func show(on events: EventThread) async {
        guard let manager else { return }
        let clock = EventClock(events)
        for await _ in changes {
            if let status = state.withLock({ news(&$0) }) { manager.say(status) }
            await clock.sleep(for: ServiceReports.pause)
        }
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

    /// Returns a line such as `runs a, b; c waits for network`.
    ///
    /// It has names of jobs and constraints alone: every user of the machine may read it.
    private func text(_ state: State) -> String {
        let open = state.ledger.open.values
        let running = Set(open.filter { $0.state == .running }.map(\.job.rawValue)).sorted()
        let waits = open.sorted { ($0.job, $0.id) < ($1.job, $1.id) }.compactMap { run in
            waiting(run, state.ledger.waits[run.id] ?? [])
        }
        var parts: [String] = []
        if !running.isEmpty { parts.append("runs \(some(running, of: 3))") }
        if running.isEmpty, waits.isEmpty { parts.append("idle") }
        if !waits.isEmpty { parts.append(some(waits, of: 2)) }
        if running.isEmpty, let next = next(state) { parts.append(next) }
        return parts.joined(separator: "; ")
    }

    /// Returns what a run waits for, as `c waits for network`; `nil` if it runs or is not due.
    private func waiting(_ run: Run, _ deferrals: [Deferral]) -> String? {
        if deferrals.contains(where: { $0.reason == .paused }) { return "\(run.job) is paused" }
        let subjects = deferrals.filter { $0.reason != .notDue }.map(\.subject)
        guard run.state == .enqueued, !subjects.isEmpty else { return nil }
        return "\(run.job) waits for \(subjects.joined(separator: " and "))"
    }

    /// Returns what comes next; `nil` for so many jobs that looking through them each second costs
    /// more than running them.
    private func next(_ state: State) -> String? {
        guard state.jobs.count <= 500 else { return nil }
        let now = clock.now
        let next = state.jobs.next(after: now) { state.ledger.jobs[$0]?.clock?.anchor }
        return next.map { "next \($0.job) at \($0.at)" }
    }

    /// Returns the first few of some words, and how many more there are.
    private func some(_ words: [String], of most: Int) -> String {
        let rest = words.count - most
        return words.prefix(most).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

extension Composition {
    /// Writes the `metrics_textfile` of a job file, if it names one. A failure is one line on
    /// standard error.
    ///
    /// A process of its own does it, because some metrics need the master key, which no scheduler
    /// has.
    func writeMetrics(_ file: JobFile) {
        guard file.metricsTextfile != nil else { return }
        let problem: String?
        do throws(CommandFailure) {
            problem = CompanionProcess.run(
                [try companion("clarity-jobs-web"), "textfile"] + (try exporterWords(file)),
                environment: try keyedEnvironment(file), within: .seconds(10))
        } catch {
            problem = error.lines.first
        }
        if let problem { Console.fault("clarity-jobs: no metrics: \(problem)") }
    }

    /// Returns the paths that `clarity-jobs-web` wants: of the job file, and of the state.
    func exporterWords(_ file: JobFile) throws(CommandFailure) -> [String] {
        [absolute(try jobFilePath()), absolute(statePath(file))]
    }
}

/// Writes the metrics of a loop after changes, at most once a minute.
final class MetricsWriter: Sendable {
    private let changes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Notes that there is something new to write.
    func note() { continuation.yield() }

    /// Writes until the task is cancelled; `file` returns the job file in force.
    ///
    /// The writing blocks a thread of its own, so that the loop goes on meanwhile.
    func run(
        _ composition: Composition, on events: EventThread, file: @Sendable () -> JobFile
    ) async {
        for await _ in changes {
            let file = file()
            guard file.metricsTextfile != nil else { continue }
            await withCheckedContinuation { written in
                let code = DetachedThread.start {
                    composition.writeMetrics(file)
                    written.resume()
                }
                if code != 0 { written.resume() }
            }
            await EventClock(events).sleep(for: .seconds(60))
        }
    }
}
