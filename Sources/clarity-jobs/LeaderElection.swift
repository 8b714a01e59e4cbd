import ClarityHost
import ClarityScheduler
import Platform

/// Keeps a loop in a history while it can be: its scheduler decides there, or carries out what the
/// leader has placed on it.
///
/// On a server, one loop is the leader, and the others follow it until one of them takes its place.
/// A session ends when the server does not answer or has ended it, or when the disk of a file is
/// full; then the loop starts nothing, its attempts are stopped, and it tries again. Each try has a
/// history of its own, of which nothing is left when the next one begins.
struct LeaderElection {
    /// The first and the longest pause before another try. A loop that has what it waits for starts
    /// jobs within the longest one.
    private static let pauses: (first: Duration, longest: Duration) = (
        .milliseconds(500), .seconds(2)
    )
    /// A lead of this length shows that what the loop said last is over.
    private static let longLead = Duration.seconds(30)

    private let composition: Composition
    private let inForce: JobFileInForce
    private let monitor: HostConditions
    private let reports: ServiceReports
    private let steering: LoopSteering
    private let events: EventThread
    private let observer: Scheduler.Observer
    private let pulse: LoopPulse

    init(
        _ composition: Composition, _ inForce: JobFileInForce, _ monitor: HostConditions,
        _ reports: ServiceReports, _ steering: LoopSteering, on events: EventThread,
        observer: @escaping Scheduler.Observer
    ) {
        self.composition = composition
        self.inForce = inForce
        self.monitor = monitor
        self.reports = reports
        self.steering = steering
        self.events = events
        self.observer = observer
        pulse = LoopPulse(of: events)
    }

    /// Opens the history, after a look at what else the first lead needs.
    ///
    /// - Returns: `nil` if a server does not answer, which is said.
    func open() throws(CommandFailure) -> SharedHistory? {
        _ = try composition.ownState(inForce.file)
        _ = try composition.companion("clarity-jobs-worker")
        do throws(RunStoreError) {
            return try composition.sharedHistory(inForce.file, pulse: pulse)
        } catch {
            guard isTemporary(error), inForce.file.server != nil else {
                throw CommandFailure(error)
            }
            complain(error)
            return nil
        }
    }

    /// Leads whenever it can, until the loop is to stop.
    func run(_ first: SharedHistory?) async throws(CommandFailure) {
        var history = first
        var pause = LeaderElection.pauses.first
        var said: RunStoreError?
        while true {
            if let open = history {
                history = nil
                let began = SystemClock().awake
                do throws(RunStoreError) {
                    defer { open.end() }
                    try await take(open)
                    return
                } catch {
                    guard isTemporary(error) else { throw CommandFailure(error) }
                    let wasLong = SystemClock().awake - began >= LeaderElection.longLead
                    if wasLong { pause = LeaderElection.pauses.first }
                    if wasLong || error != said { complain(error) }
                    said = error
                }
            }
            reports.waiting(
                inForce.file.server == nil ? "waits for the disk" : "waits for the database")
            let (length, clock) = (pause, EventClock(events))
            await steering.pause(on: events) { await clock.sleep(for: length) }
            if steering.isStopping { return }
            pause = min(pause * 2, LeaderElection.pauses.longest)
            do throws(RunStoreError) {
                history = try composition.sharedHistory(inForce.file, pulse: pulse)
            } catch {
                // Said once, when the lead ended.
                guard isTemporary(error) else { throw CommandFailure(error) }
            }
        }
    }

    /// Follows the leader or leads until the loop drains.
    private func take(_ history: SharedHistory) async throws(RunStoreError) {
        let file = inForce.file
        history.leaseLock.announceLoop(since: composition.clock.now)
        var scheduler: SteeredScheduler
        do throws(CommandFailure) {
            scheduler = try composition.scheduler(
                { inForce.file }, on: history, monitor, steering,
                besides: [composition.loginMark(file)], on: events, observer: observer)
        } catch {
            throw .unusable(error.lines.joined(separator: "; "))
        }
        defer { scheduler.end() }
        guard let server = history.server else {
            let first = try begin(scheduler.jobs, history)
            _ = try await scheduler.run(until: .drained, first: first)
            return
        }
        // A loop that is alone has its lead at the first beat.
        if !server.isLeader {
            reports.waiting("following: another loop decides, and may place attempts here")
        }
        let (turn, jobs) = (server.turn, scheduler.jobs)
        // Both tasks run on the one thread of `events`, and neither waits while it uses the history.
        nonisolated(unsafe) let shared = history
        let promotion = Task(executorPreference: events) { [self] in
            for await _ in turn {}
            // A session that has ended is noticed by the next decision.
            guard !Task.isCancelled, shared.server?.isLeader == true else { return }
            promote(jobs, shared)
        }
        defer { promotion.cancel() }
        _ = try await scheduler.run(until: .drained)
    }

    /// Makes the scheduler look, which decides from now on.
    private func promote(_ jobs: JobSet, _ history: SharedHistory) {
        do throws(RunStoreError) {
            try begin(jobs, history).forEach(steering.post)
        } catch {
            // The next decision fails as well, and says so.
        }
        steering.post(.tick)
    }

    /// Reports that this loop decides.
    ///
    /// - Returns: the events with which it begins.
    private func begin(
        _ jobs: JobSet, _ history: SharedHistory
    ) throws(RunStoreError) -> [Planner.Event] {
        try reports.ready(jobs) { () throws(RunStoreError) in try history.store.ledger() }
        composition.failedServices(inForce.file).remove { _ in true }
        return composition.sourcesSeen(inForce.file, monitor)
    }

    /// Whether what failed may work again: a server that does not answer, or a disk that is full.
    private func isTemporary(_ error: RunStoreError) -> Bool {
        switch error {
        case .disk: true
        case .unreachable: inForce.file.server != nil
        case .unusable, .otherVersion, .refused: false
        }
    }

    private func complain(_ error: RunStoreError) {
        composition.console.fault("clarity-jobs: \(error); tries again until it works")
    }
}
