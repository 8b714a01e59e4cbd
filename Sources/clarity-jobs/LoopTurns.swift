import ClarityHost
import ClarityScheduler
import ClaritySystem

/// The turns of a loop: in each, it has the history to decide on, and a scheduler.
///
/// With a history in a file, there is one turn, and what fails it fails the loop. On a server, one
/// loop has its turn and the others stand by. A turn ends when the server does not answer or has
/// ended the session; then the loop starts nothing, its attempts are stopped, and it tries again.
struct LoopTurns {
    /// The first and the longest pause before another try.
    private static let pauses: (first: Duration, longest: Duration) = (.seconds(1), .seconds(30))

    private let composition: Composition
    private let inForce: JobFileInForce
    private let monitor: HostConditions
    private let reports: ServiceReports
    private let steering: LoopSteering
    private let events: EventThread
    private let observer: Scheduler.Observer

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
    }

    /// Opens the history, after a look at what else the first turn needs.
    ///
    /// - Returns: `nil` if a server does not answer, which is said.
    func open() throws(CommandFailure) -> SharedHistory? {
        _ = try composition.ownState(inForce.file)
        _ = try composition.companion("clarity-jobs-worker")
        do throws(RunStoreError) {
            return try composition.sharedHistory(inForce.file, isLoop: true)
        } catch {
            guard isTemporary(error) else { throw CommandFailure(error) }
            complain(error)
            return nil
        }
    }

    /// Takes turns until the loop is to stop.
    func run(_ first: SharedHistory?) async throws(CommandFailure) {
        var history = first
        var pause = LoopTurns.pauses.first
        while true {
            if let open = history {
                history = nil
                pause = LoopTurns.pauses.first
                do throws(RunStoreError) {
                    try await take(open)
                    return
                } catch {
                    guard isTemporary(error) else { throw CommandFailure(error) }
                    complain(error)
                }
            }
            reports.waiting("waits for the database")
            let (length, clock) = (pause, EventClock(events))
            await steering.pause(on: events) { await clock.sleep(for: length) }
            if steering.isStopping { return }
            pause = min(pause * 2, LoopTurns.pauses.longest)
            do throws(RunStoreError) {
                history = try composition.sharedHistory(inForce.file, isLoop: true)
            } catch {
                // Said once, when the turn ended.
                guard isTemporary(error) else { throw CommandFailure(error) }
            }
        }
    }

    /// Waits for the turn, and decides until the loop drains.
    private func take(_ history: SharedHistory) async throws(RunStoreError) {
        let file = inForce.file
        history.leaseLock.announceLoop(since: composition.clock.now)
        if let server = history.server { try await wait(for: server) }
        // Other processes announce a change by touching the lock that this process holds, or through
        // the server, and a login creates its mark.
        let nudges = FileWatch(paths: [history.leaseLock.path, composition.loginMark(file)])
            .changes(on: events)
        let steering = steering
        var feeders = [
            Task(executorPreference: events) {
                for await _ in nudges { steering.post(.tick) }
            }
        ]
        if let changes = history.server?.changes {
            feeders.append(
                Task(executorPreference: events) {
                    for await _ in changes { steering.post(.tick) }
                })
        }
        defer { feeders.forEach { $0.cancel() } }
        let planner = composition.planner(file, owner: history.owner, scope: .everything)
        let happenings = steering.events()
        var scheduler: Scheduler
        do throws(CommandFailure) {
            scheduler = try composition.scheduler(
                planner, { inForce.file }, history, monitor, on: events, observer: observer)
        } catch {
            throw .unusable(error.lines.joined(separator: "; "))
        }
        try reports.ready(planner.jobs) { () throws(RunStoreError) in try history.store.ledger() }
        composition.failedServices(file).remove { _ in true }
        _ = try await scheduler.run(
            until: .drained, first: composition.sourcesSeen(file, monitor), events: happenings)
    }

    /// Waits until this loop is the one that decides.
    private func wait(for server: PostgresRunStore) async throws(RunStoreError) {
        let turn = server.turn
        // A loop that is alone has its turn at the first beat.
        if !server.hasTurn { reports.waiting("stands by: another loop decides") }
        await steering.pause(on: events) { for await _ in turn {} }
        guard server.hasTurn || steering.isStopping else {
            throw .unreachable("the session with the database has ended")
        }
    }

    /// Whether the failure is of a server that may answer again.
    private func isTemporary(_ error: RunStoreError) -> Bool {
        guard inForce.file.server != nil else { return false }
        switch error {
        case .unreachable, .disk: return true
        case .unusable, .newer, .refused: return false
        }
    }

    private func complain(_ error: RunStoreError) {
        Console.fault("clarity-jobs: \(error); tries again until the database answers")
    }
}
